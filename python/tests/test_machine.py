"""Machines from Python: reading, writing, and what an error says."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from linkwright import LinkwrightError, System
from linkwright.errors import InputError, MachineError

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAIR = (EXAMPLES / "pair.toml").read_text(encoding="utf-8")


def test_a_machine_says_what_it_is() -> None:
    machine = System.from_text(PAIR)
    assert machine.name == "pair"
    assert machine.source == "an example, no real machine"
    assert machine.assumptions == []
    assert machine.gpu_count == 2
    assert repr(machine) == '<System "pair": 2 GPUs, 3 devices, 3 bundles of links>'


def test_a_machine_survives_its_own_text() -> None:
    machine = System.from_text(PAIR)
    assert System.from_text(machine.to_toml()) == machine
    assert System.from_text(PAIR.replace("pair", "other")) != machine
    assert machine != PAIR


@pytest.fixture
def error() -> InputError:
    with pytest.raises(InputError) as caught:
        System.from_text(PAIR.replace("nvlink2", "nvlonk"), "pair.toml")
    return caught.value


def test_an_input_error_carries_the_place_and_the_value(error: InputError) -> None:
    assert (error.file, error.line, error.column) == ("pair.toml", 15, 8)
    assert "nvlonk" in error.value
    assert error.problem.startswith("unknown name")
    assert str(error).startswith("pair.toml:15:8: unknown name")
    assert str(error).endswith(error.remedy)


def test_an_input_error_is_caught_by_its_families(error: InputError) -> None:
    assert isinstance(error, LinkwrightError)
    assert isinstance(error, ValueError)
    assert not isinstance(error, MachineError)


def test_an_input_error_survives_pickling(error: InputError) -> None:
    # A sweep's worker processes hand their errors back pickled.
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    assert again.remedy == error.remedy


def test_text_without_a_name_is_called_text() -> None:
    with pytest.raises(InputError, match=r"^<text>:1:8: "):
        System.from_text("name = 3")


def test_a_text_that_lists_servers_and_their_network_is_a_system_of_them() -> None:
    names = ["A", "B"]
    listed = "".join(
        f'[[device]]\nkind = "{kind}"\nnames = ["A/{name}", "B/{name}"]\n'
        for kind, name in (("gpu", "GPU"), ("cpu", "CPU"), ("nic", "NIC"))
    )
    wired = "".join(f'["{at}/GPU", "{at}/CPU"], ["{at}/NIC", "{at}/CPU"], ' for at in names)
    text = (
        f'name = "pair"\n{listed}[[device]]\nkind = "network-switch"\nnames = ["switch"]\n'
        f'[[link]]\nkind = "pcie4"\nbetween = [{wired}]\n[[link]]\nkind = "infiniband"\n'
        'between = [["A/NIC", "switch"], ["B/NIC", "switch"]]\n'
    )
    system = System.from_text(text)
    assert (system.name, system.server_count, system.gpu_count) == ("pair", 2, 2)
    assert [count for _, count in system.servers()] == [2]
    assert system.fabric is not None
    assert pickle.loads(pickle.dumps(system)) == system
    with pytest.raises(MachineError, match=r"`B/NIC` of `pair` has no link to a switch"):
        System.from_text(text.replace(', ["B/NIC", "switch"]', ""))
