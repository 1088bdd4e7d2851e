"""Plays classes of one's own in the place of policies, orders of messages and routings."""

from __future__ import annotations

import hashlib
import importlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest
from commands import fails, linkwright
from interrupts import running

import linkwright as lw
from linkwright import contracts
from linkwright.errors import ContractError
from linkwright.sweeps import local_processes

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
RING = lw.Pattern("ring", 2)
RULES = "own_rules"


@pytest.fixture(name="rules")
def own_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """Imports the module of the guide, as one in the current folder."""
    monkeypatch.chdir(EXAMPLES)
    monkeypatch.syspath_prepend(str(EXAMPLES))
    yield importlib.import_module(RULES)
    sys.modules.pop(RULES, None)


class Answers:
    """Gives what it is told to."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def choose(self, machine: Any, request: Any, free: list[int]) -> Any:
        del machine, request, free
        return self.answer


class Fails:
    """Raises an exception of Python's."""

    def choose(self, machine: Any, request: Any, free: list[int]) -> Any:
        del machine, request, free
        raise ZeroDivisionError("of one's own")


class ByBandwidth:
    """Does as `greedy`."""

    def rule(self, request: contracts.Request) -> str:
        return f"the most bandwidth for {request.pattern.size} GPUs"

    def objective(self, request: contracts.Request) -> str:
        del request
        return "aggregated"

    def choose(
        self, machine: contracts.Machine, request: contracts.Request, free: list[int]
    ) -> contracts.Selection | None:
        return machine.best(request.pattern, "aggregated", free)


class Newest:
    """Sends the message that came last."""

    def __init__(self) -> None:
        self.queue: list[int] = []

    def push(self, message: contracts.QueuedMessage) -> None:
        assert message.size > 0
        assert message.arrived >= 0
        self.queue.append(message.index)

    def next(self) -> int | None:
        return self.queue[-1] if self.queue else None

    def packetised(self, left: int) -> None:
        if left == 0:
            self.queue.pop()


class Circle:
    """Sends every packet over the first channel of each switch."""

    def __init__(self, fabric: lw.network.Fabric) -> None:
        self.fabric = fabric

    def virtual_channels(self) -> int:
        return 1

    def route(self, at: int, packet: contracts.Packet) -> tuple[int, int]:
        if self.fabric.switch_of(packet.destination) == at:
            return self.fabric.channel_to(packet.destination), 0
        return self.fabric.channels_from(at)[0][0], 0


def test_the_examples_keep_their_promises(rules: ModuleType) -> None:
    for rule in (rules.LowestIds, rules.FirstCome, rules.ByDestination):
        contracts.check(rule)
    contracts.check(ByBandwidth())


def test_a_policy_gives_gpus_in_place_of_a_name(rules: ModuleType) -> None:
    system = lw.System("dgx1-v100")
    for policy in (rules.LowestIds, rules.LowestIds(), f"{RULES}:LowestIds"):
        own, known = lw.Allocator(system, cast(Any, policy)), lw.Allocator(system, "baseline")
        assert own.policy == f"{RULES}:LowestIds"
        for job in ("a", "b", "c"):
            assert own.allocate(job, RING) == known.allocate(job, RING)
        assert pickle.loads(pickle.dumps(own)).decide("d", RING) == known.decide("d", RING)
    greedy, known = lw.Allocator(system, ByBandwidth), lw.Allocator(system, "greedy")
    why, same = greedy.explain("a", RING), known.explain("a", RING)
    assert why is not None
    assert same is not None
    assert why.rule == "the most bandwidth for 2 GPUs"
    assert why.verdict == same.verdict


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ([9, 0], "`dgx1-v100` has 8 GPUs, from 0"),
        ([-1, 0], "`dgx1-v100` has 8 GPUs, from 0"),
        ([2**70, 0], "`dgx1-v100` has 8 GPUs, from 0"),
        ([3, 3], "GPU 3 is named twice"),
        ([0, 1], "GPU 0 is not free"),
        ([1], "the job asks for 2 GPUs"),
        ([], "the job asks for 2 GPUs"),
        (None, "6 GPUs are free for a job of 2"),
        ("01", "that is no list of GPUs"),
        (7, "that is no list of GPUs"),
        ([True, False], "that is no list of GPUs"),
        ({1: 2}, "that is no list of GPUs"),
    ],
)
def test_what_is_no_answer_is_told_with_the_class(answer: object, said: str) -> None:
    allocator = lw.Allocator(lw.System("dgx1-v100"), Answers(answer))
    allocator.hold("other", [0, 7])
    with pytest.raises(ContractError) as error:
        allocator.decide("a", RING)
    assert said in error.value.problem
    assert "test_plugins:Answers#" in error.value.problem
    assert ".choose` gave" in error.value.problem
    assert error.value.remedy == "give 2 of the free GPUs 1,2,3,4,5,6 as a list"
    assert allocator.free == [1, 2, 3, 4, 5, 6]


def test_each_broken_promise_is_told_in_a_sentence() -> None:
    with pytest.raises(ContractError, match="gave None: 4 GPUs are free for a job of 2"):
        contracts.check(Answers(None))

    class Turns:
        def __init__(self) -> None:
            self.asked = 0

        def choose(self, machine: Any, request: Any, free: list[int]) -> list[int] | None:
            del machine
            self.asked += 1
            size = request.pattern.size
            at = self.asked % max(1, len(free) - size + 1)
            return free[at : at + size] if len(free) >= size else None

    with pytest.raises(ContractError, match="promise that the same question has the same"):
        contracts.check(Turns)

    class Keeps(Newest):
        def next(self) -> int | None:
            return None

    with pytest.raises(ContractError, match=r"Keeps.next` gave None: 1 messages are queued"):
        contracts.check(Keeps)
    with pytest.raises(ContractError, match=r"Circle.route` gave .*does not end within 64"):
        contracts.check(Circle)
    with pytest.raises(lw.errors.ArgumentError, match="give a class with a method `choose`"):
        contracts.check(object())
    with pytest.raises(ZeroDivisionError):
        contracts.check(Fails)


def test_an_exception_ends_the_run_with_its_traceback(rules: ModuleType) -> None:
    del rules
    with pytest.raises(ZeroDivisionError, match="of one's own") as error:
        lw.Allocator(lw.System("dgx1-v100"), Fails).decide("a", RING)
    assert error.traceback[-1].name == "choose"
    jobs = lw.scenario.generate_jobs(seed=1)
    with pytest.raises(ZeroDivisionError) as error:
        lw.scenario.play_jobs(lw.System("dgx1-v100"), jobs, Fails)
    assert error.traceback[-1].name == "choose"
    # It is forgotten by then.
    assert lw.scenario.play_jobs(lw.System("dgx1-v100"), jobs, "baseline").makespan > 0

    class NoNetwork(Circle):
        def __init__(self, fabric: lw.network.Fabric) -> None:
            raise ValueError(fabric.name)

    class Deaf(Newest):
        def push(self, message: contracts.QueuedMessage) -> None:
            raise ValueError(str(message.index))

    for setting in ({"routing": NoNetwork}, {"routing": Circle}, {"nic": Deaf}):
        for fidelity in ("flow", "packet"):
            settings = {"fidelity": fidelity, "system": {"network": setting}}
            expected = ContractError if setting == {"routing": Circle} else ValueError
            with pytest.raises(expected):
                lw.scenario.play_programs("own-rules.toml", settings=settings)


def test_a_copy_gives_the_bytes_of_a_day(rules: ModuleType) -> None:
    run = lw.scenario.play_mix("dgx1-v100-mix.toml", policies=[rules.LowestIds, "baseline"])
    own, known = run.results
    assert own.policy == f"{RULES}:LowestIds"
    assert own.named("a").to_json() == known.named("a").to_json()
    both: Any = [ByBandwidth, "greedy"]
    greedy = lw.scenario.play_mix("dgx1-v100-mix.toml", policies=both).results
    assert greedy[0].named("a").to_json() == greedy[1].named("a").to_json()


@pytest.mark.parametrize("fidelity", ["flow", "packet"])
def test_copies_give_the_bytes_of_a_replay(rules: ModuleType, fidelity: str) -> None:
    def played(**network: object) -> bytes:
        settings = {"fidelity": fidelity, "system": {"network": network}}
        return pickle.dumps(
            lw.scenario.play_programs("own-rules.toml", settings=settings).run.jobs()
        )

    known = played(routing="static", nic="fcfs")
    assert played(routing=rules.ByDestination, nic="fcfs") == known
    assert played(routing="static", nic=rules.FirstCome) == known
    assert played() == known
    assert played(routing="adaptive", nic="fcfs") != known


def test_the_manifest_names_class_module_and_source(rules: ModuleType) -> None:
    source = hashlib.sha256((EXAMPLES / "own_rules.py").read_bytes()).hexdigest()
    fact = {"module": RULES, "source_sha256": source}
    run = lw.scenario.play_mix("dgx1-v100-mix.toml", policies=[rules.LowestIds])
    assert run.manifest["plug_ins"] == [{"class": "LowestIds", **fact}]
    replay = lw.scenario.play_programs("own-rules.toml")
    assert replay.manifest["plug_ins"] == [
        {"class": "ByDestination", **fact},
        {"class": "FirstCome", **fact},
    ]
    assert (
        "plug_ins" not in lw.scenario.play_mix("dgx1-v100-mix.toml", policies=["greedy"]).manifest
    )


def test_a_sweep_refuses_a_class_that_workers_cannot_import(rules: ModuleType) -> None:
    class Local(ByBandwidth):
        pass

    for policy in (Local, Answers([0])):
        with pytest.raises(lw.errors.SweepError, match="other processes cannot import the class"):
            lw.compare(
                "dgx1-v100-mix.toml",
                policies=[policy, "baseline"],  # type: ignore[list-item]
                reference="baseline",
                workers=local_processes(1),
            )
    compared = [rules.LowestIds, "baseline"]
    found = lw.compare(
        "dgx1-v100-mix.toml",
        policies=compared,
        reference="baseline",
        workers=local_processes(1),
        seeds=2,
    )
    assert f"{RULES}:LowestIds" in str(found.summary())


def test_the_command_line_takes_a_class(rules: ModuleType) -> None:
    del rules
    day = "dgx1-v100-mix.toml"
    assert "own_rules:LowestIds" in linkwright("run", day, "--policy", "own_rules:LowestIds").stdout
    told = fails(1, "run", day, "--policy", "own_rulez:LowestIds")
    assert "there is no module `own_rulez`; run where `own_rulez.py` stands" in told
    told = fails(1, "run", day, "--policy", "own_rules:Lowest")
    assert "module `own_rules` has no class `Lowest`" in told
    told = fails(1, "run", day, "--policy", "own_rules:FirstCome")
    assert "has no method `choose`, as an allocation policy has" in told
    assert "SUM" not in linkwright("run", "own-rules.toml").stdout


SPINS = """
import linkwright as lw
class Spins:
    def choose(self, machine, request, free):
        print("spins", flush=True)
        while True:
            pass
lw.scenario.play_jobs(lw.System("dgx1-v100"), lw.scenario.generate_jobs(seed=1), Spins)
"""


def test_ctrl_c_ends_a_class_that_spins() -> None:
    with running(
        sys.executable,
        "-c",
        textwrap.dedent(SPINS),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == b"spins\n"
        begun = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, told = run.communicate(timeout=20)
    assert time.monotonic() - begun < 15
    assert b"KeyboardInterrupt" in told
    assert b"in choose" in told


def test_threads_do_not_mix_what_classes_raise() -> None:
    jobs = lw.scenario.generate_jobs(seed=1)
    system, found = lw.System("dgx1-v100"), {}

    def play(name: str, policy: Any) -> None:
        try:
            found[name] = lw.scenario.play_jobs(system, jobs, policy).makespan
        except ZeroDivisionError:
            found[name] = -1.0

    runs = {"fails": Fails, "own": ByBandwidth}
    threads = [threading.Thread(target=play, args=each) for each in runs.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found["fails"] == -1.0
    assert found["own"] == lw.scenario.play_jobs(system, jobs, "greedy").makespan
