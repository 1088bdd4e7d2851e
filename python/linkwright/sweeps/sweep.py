"""A sweep from its runs to their results, in order, with every finished run kept."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from linkwright import __version__
from linkwright.errors import SweepError, SweepInterruptedError
from linkwright.files import PathOrName, path_of
from linkwright.sweeps.checkpoint import Checkpoint, Finished, Manifest, open_checkpoint
from linkwright.sweeps.fingerprint import code_sha256, inputs_sha256
from linkwright.sweeps.pace import Pace
from linkwright.sweeps.perform import Failure, Outcome, perform
from linkwright.sweeps.workers import (
    Pool,
    Workers,
    given_executor,
    is_lost_worker,
    local_processes,
)

__all__ = ["Sweep", "SweepResult", "play_sweep"]

# How often a run is begun in all if its worker is lost each time.
TRIES = 3

# Between two looks at the progress, in seconds.
INTERVAL = 0.5


@dataclass(frozen=True)
class Sweep:
    """Independent runs of one function.

    Attributes:
        function: The function that each run calls, by keyword. It must be pure: its result follows
            from its parameters and the inputs alone. JSON must be able to hold the result.
        runs: The parameters of each run, which JSON must be able to hold. Runs with the same
            parameters are performed once.
        seed: The number from which the runs were drawn, for the checkpoint. A run that draws by
            itself has its seed among its parameters.
        inputs: The files and folders that the runs read: a checkpoint is of their contents.
        places: Where the inputs lie, which every run is told beside its parameters. A checkpoint
            does not hold it. It goes on after they were moved.
        plug_ins: Names the classes of one's own that the runs ask.
    """

    function: Callable[..., Any]
    runs: Sequence[Mapping[str, object]]
    seed: int | None = None
    inputs: Sequence[PathOrName] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    plug_ins: Sequence[str] = ()


@dataclass(frozen=True)
class SweepResult:
    """Holds the results of a sweep.

    Attributes:
        results: The result of each run, in the order of the runs.
        resumed: How many runs were found in the checkpoint.
        cpu_seconds: The processor time of all runs, those found in the checkpoint among them.
            Where runs share a process, each counts what the others used meanwhile, too.
        notes: The oddities that were found and mended, in sentences.
    """

    results: list[Any]
    resumed: int
    cpu_seconds: float
    notes: tuple[str, ...]


def play_sweep(
    sweep: Sweep,
    workers: Workers | Executor | None = None,
    *,
    checkpoint: PathOrName | None = None,
    progress: Callable[[str, int, int], object] | None = None,
    what: str = "runs",
) -> SweepResult:
    """Performs the runs of a sweep that its checkpoint does not hold.

    A run that raises stops the sweep: no other is begun, and those under way are finished and
    kept. A run whose worker is lost is begun again, three times in all, the last time alone, so
    that no neighbour is blamed for it.

    Args:
        sweep: The runs.
        workers: Where; processes on this computer where absent.
        checkpoint: A file that keeps every finished run; made if it is not there. A sweep with the
            same runs goes on from it.
        progress: Called at least every half second with what is done and how fast, the runs done,
            and the runs in all.
        what: The name of the runs, for the progress.

    Returns:
        The results, in the order of the runs.

    Raises:
        SweepError: If a run raises or loses its worker too often, or the sweep cannot begin.
        InputError: If the checkpoint is of another sweep, or damaged.
        FileError: If the checkpoint cannot be read or written, or an input not be read.
        SweepInterruptedError: On Ctrl-C; finished runs are kept.
    """
    name = _name_of(sweep.function)
    if workers is None:
        workers = local_processes()
    elif isinstance(workers, Executor):
        workers = given_executor(workers)
    workers.check(sweep.function)
    workers.check_plug_ins(sweep.plug_ins)
    texts = [_parameters_text(at, run) for at, run in enumerate(sweep.runs, start=1)]
    made_of = code_sha256(sweep.function), inputs_sha256(sweep.inputs)
    identity = json.dumps([__version__, name, sweep.seed, *made_of])
    keys = [_sha256(identity + text) for text in texts]
    runs = dict(zip(keys, texts, strict=True))
    parameters = _sha256("\n".join(runs.values()))
    manifest = Manifest(__version__, name, sweep.seed, len(runs), parameters, *made_of)
    file = None if checkpoint is None else path_of("checkpoint", checkpoint)
    opened = nullcontext() if file is None else open_checkpoint(file, manifest, runs)
    with opened as kept:
        finished = {} if kept is None else dict(kept.finished)
        resumed = len(finished)
        pace = Pace(what, resumed, len(runs), progress)
        course = _Course(sweep, runs, finished, kept, file, pace)
        course.carry_out(workers)
    return SweepResult(
        results=[finished[key].result for key in keys],
        resumed=resumed,
        cpu_seconds=sum(finished[key].cpu_seconds for key in runs),
        notes=() if kept is None or not kept.note else (kept.note,),
    )


class _Course:
    """A sweep while it is carried out: which runs wait, are under way, have ended."""

    def __init__(
        self,
        sweep: Sweep,
        runs: Mapping[str, str],
        finished: dict[str, Finished],
        checkpoint: Checkpoint | None,
        file: Path | None,
        pace: Pace,
    ) -> None:
        self._function = sweep.function
        self._places = dict(sweep.places)
        self._runs = runs
        self._finished = finished
        self._checkpoint = checkpoint
        self._file = file
        self._pace = pace
        self._waiting = deque(key for key in runs if key not in finished)
        self._under_way: dict[Future[Outcome], str] = {}
        self._losses: Counter[str] = Counter()
        self._failures: dict[str, Failure] = {}

    def carry_out(self, workers: Workers) -> None:
        """Performs all runs that wait; an executor that breaks is opened anew."""
        try:
            self._pace.show(len(self._finished))
            while self._waiting and not self._failures:
                with ExitStack() as stack:
                    try:
                        pool = stack.enter_context(workers.open())
                    except SweepError as error:
                        remedies = (error.remedy, self._standing())
                        remedy = "; ".join(filter(None, remedies))
                        raise SweepError(error.problem, remedy) from error
                    try:
                        self._perform_in(pool)
                    finally:
                        self._abandon(pool, self._under_way)
        except KeyboardInterrupt as interruption:
            # A run may have ended while its worker was being stopped.
            for future in [future for future in self._under_way if future.done()]:
                self._collect(future, stopping=True)
            raise SweepInterruptedError(self._standing()) from interruption
        if self._failures:
            self._report_failures()

    def _perform_in(self, pool: Pool) -> None:
        """Performs runs until none waits or the pool breaks."""
        whole = True
        while whole:
            whole = self._refill(pool)
            if not self._under_way:
                return
            done, _ = wait(self._under_way, INTERVAL, FIRST_COMPLETED)
            for future in [future for future in self._under_way if future in done]:
                whole &= self._collect(future)
            self._pace.show(len(self._finished))
        # Runs that ended before the pool broke are done. The others went with it, and an executor
        # tells of them one after the other.
        wait(self._under_way, INTERVAL)
        for future in list(self._under_way):
            if future.done():
                self._collect(future)
            else:
                self._abandon(pool, [future])
                self._count_loss(self._under_way.pop(future), "its executor broke")

    def _abandon(self, pool: Pool, futures: Iterable[Future[Outcome]]) -> None:
        """Lets these begin no more in an executor that stays open; any other sees to it itself."""
        if pool.stays_open:
            for future in futures:
                future.cancel()

    def _refill(self, pool: Pool) -> bool:
        """Begins runs while there is room, and says whether the pool is whole."""
        try:
            room = pool.room()
            while self._waiting and not self._failures and len(self._under_way) < room:
                if self._under_way and (self._is_lonely() or self._is_last_try(self._waiting[0])):
                    break
                key = self._waiting[0]
                told = json.dumps(self._places | json.loads(self._runs[key]))
                future = pool.executor.submit(perform, self._function, told, __version__)
                self._under_way[future] = self._waiting.popleft()
        except BrokenExecutor:
            # A run that could not even begin waits on, and pays for it.
            if not self._under_way and self._waiting:
                self._count_loss(self._waiting.popleft(), "its executor is broken")
            return False
        return True

    def _is_lonely(self) -> bool:
        """Whether a run is under way that no other may join."""
        return any(self._is_last_try(key) for key in self._under_way.values())

    def _is_last_try(self, key: str) -> bool:
        return self._losses[key] == TRIES - 1

    def _collect(self, future: Future[Outcome], *, stopping: bool = False) -> bool:
        """Takes a run that has ended, and says whether its executor is whole."""
        key = self._under_way.pop(future)
        try:
            outcome = future.result()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if stopping:
                return False
            if is_lost_worker(error):
                self._count_loss(key, str(error))
                # Dask cancels what its client can no longer follow.
                return not isinstance(error, BrokenExecutor | CancelledError)
            self._failures[key] = Failure(f"{type(error).__name__}: {error}", "")
            return True
        if outcome.failure is not None:
            self._failures[key] = outcome.failure
            return True
        run = Finished(json.loads(outcome.result), outcome.cpu_seconds)
        if self._checkpoint is not None:
            self._checkpoint.keep(key, self._runs[key], run)
        self._finished[key] = run
        return True

    def _count_loss(self, key: str, cause: str) -> None:
        """Lets a run whose worker was lost wait again, or gives it up."""
        self._losses[key] += 1
        self._waiting.appendleft(key)
        if self._losses[key] == TRIES:
            raise SweepError(
                f"run {self._runs[key]} lost its worker {TRIES} times ({cause.rstrip('.')})",
                "check the memory that it needs, and that a worker can begin: the function must be "
                "in a module or a script, and a script must guard its "
                f'start with `if __name__ == "__main__":`; {self._standing()}',
            )

    def _report_failures(self) -> None:
        """Raises the error of the first failed run in the order of the runs."""
        first, *others = [key for key in self._runs if key in self._failures]
        failure = self._failures[first]
        more = f" (and {len(others)} more failed)" if others else ""
        error = SweepError(
            f"run {self._runs[first]} failed{more}: {failure.message}", self._standing()
        )
        if failure.traceback:
            error.add_note(failure.traceback.rstrip())
        raise error

    def _standing(self) -> str:
        """How many runs are finished, and how to go on."""
        kept = self._checkpoint
        count = len(self._finished) if kept is None else kept.count()
        done = f"{count} of {len(self._runs)} runs are finished"
        if self._file is None:
            return f"{done} and lost; a checkpoint would have kept them"
        return f"{done} and kept in `{self._file}`; the same sweep with it goes on from there"


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", None)
    if name is None:
        raise SweepError("the runs' function has no name", "give a plain function")
    return f"{function.__module__}:{name}"


def _parameters_text(number: int, parameters: Mapping[str, object]) -> str:
    """The parameters as the one JSON text that stands for them."""
    try:
        return json.dumps(dict(parameters), sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SweepError(
            f"JSON cannot hold the parameters of run {number}: {error}",
            "give texts, finite numbers, lists and mappings",
        ) from error


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
