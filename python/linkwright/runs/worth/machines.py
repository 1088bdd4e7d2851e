"""Reads the machines of a comparison, and how many servers each has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from linkwright.errors import SimulationError, did_you_mean, printable
from linkwright.hardware import Prices, bill_of
from linkwright.runs.scenarios import ScenarioFile, read_scenario_file
from linkwright.runs.variants import written_of
from linkwright.systems import read_system
from linkwright.texts import counted

__all__ = ["EQUAL", "Equal", "Machine", "bought", "machine_of"]

# By what the machines of a comparison are made alike.
EQUAL = ("gpus", "servers", "price")
# As many servers as a system may have.
MOST_SERVERS = 1 << 20


@dataclass(frozen=True)
class Machine:
    """Is a kind of server, with a number of them.

    Attributes:
        name: Is for people. It is as typed.
        machine: Is a preset's name, or a file.
        servers: Counts them. None stands for as many as the scenario has.
    """

    name: str
    machine: str
    servers: int | None = None


@dataclass(frozen=True)
class Taken:
    """Says how many servers of a machine were taken, so that machines are alike.

    Attributes:
        machine: Is its name.
        servers: Counts them.
        value: Is to be alike: GPUs, servers, or the price.
        over: Is left of the reference's. It is below zero where one server has more.
    """

    machine: str
    servers: int
    value: float
    over: float


@dataclass(frozen=True)
class Equal:
    """Says by what machines are alike.

    Attributes:
        by: Is one of `EQUAL`.
        of: Is the reference's number of GPUs or servers, or its price.
        taken: Has a row for each. The reference comes first.
        reference: Is the reference's kind of server.
        unit: Is the currency of a price.
    """

    by: str
    of: float
    taken: Sequence[Taken]
    reference: str
    unit: str = ""

    @property
    def notes(self) -> list[str]:
        """Tells of each machine but the reference how many were taken, and how much is over."""
        told = []
        reference = self.taken[0]
        for each in self.taken[1:]:
            what = f"{self._amount(each.value)}, against {self._amount(self.of)}"
            if self.by == "servers":
                rest = "as many"
            elif each.over == 0:
                rest = "nothing is over"
            elif each.over > 0:
                rest = f"{self._amount(each.over)} over, less than one more server takes"
            else:
                rest = f"{self._amount(-each.over)} too many, as there is one server at least"
            told.append(
                f"{each.machine}: {counted(each.servers, 'server')} taken by equal {self.by}: "
                f"{what} of {counted(reference.servers, 'server')} of {self.reference}; {rest}."
            )
        return told

    def _amount(self, value: float) -> str:
        if self.by == "price":
            return f"{value:,.0f} {self.unit}".rstrip()
        return f"{value:,.0f} {'GPUs' if self.by == 'gpus' else 'servers'}"

    def summary(self) -> dict[str, object]:
        """Gives the same as JSON holds it."""
        rows = [
            {"machine": it.machine, "servers": it.servers, "value": it.value, "over": it.over}
            for it in self.taken
        ]
        return {"by": self.by, "of": self.of, "machines": rows}


def machine_of(text: str) -> Machine:
    """Reads a machine and the count behind it, such as `hgx-h100=32`.

    Raises:
        SimulationError: If what stands behind `=` is no count of servers.
    """
    machine, equals, count = text.rpartition("=")
    if not equals or "/" in count or "." in count:
        return Machine(text, text)
    digits = count.strip()
    servers = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else 0
    if not (machine.strip() and 0 < servers <= MOST_SERVERS):
        raise SimulationError(
            f"`{printable(text)}` has no number of servers behind `=`",
            f"write a machine and a whole number from 1, such as {machine.strip() or 'hgx-h100'}=4",
        )
    return Machine(text, machine.strip(), servers)


def bought(
    loaded: ScenarioFile,
    settings: Mapping[str, object],
    machines: Sequence[str],
    equal: str | None,
    prices: Prices | None,
) -> tuple[list[Machine], Equal | None]:
    """The machines to compare, each with its servers, and by what they are alike.

    Where one machine alone is named, the scenario's own servers are the reference.

    Args:
        loaded: Is the scenario, with the settings.
        settings: Were put over its file.
        machines: Are presets or files. There may be `=` and a number of servers behind each.
        equal: Is one of `EQUAL`. Then each other has as many servers as make it alike the first,
            rounded down, at least one.
        prices: Has the prices of parts.

    Raises:
        FileError: If a machine is neither a preset nor a file.
        InputError: If a system has a part that the prices do not have, or a file is no machine.
        SimulationError: If a count is none, or `equal` is not known, or lacks prices, or stands
            beside a count.
    """
    found = [machine_of(text) for text in machines]
    systems = {it.machine: read_system(it.machine) for it in found}
    if equal is None:
        return found, None
    if equal not in EQUAL:
        raise SimulationError(
            f"machines cannot be equal by `{printable(equal)}`",
            f"{did_you_mean(equal, EQUAL)}there are {', '.join(EQUAL)}",
        )
    if equal == "price" and prices is None:
        raise SimulationError(
            "an equal price needs the prices of parts",
            "give a file of them (`--prices FILE`), or compare by equal gpus or servers",
        )
    counts = [count for _, _, count in loaded.scenario.servers]
    if len(found) == 1:
        found.insert(0, _own(loaded, found[0]))
        systems[found[0].machine] = read_system(found[0].machine)
    reference = found[0]
    for other in found[1:]:
        if other.servers is not None:
            raise SimulationError(
                f"`{printable(other.name)}` has a number of servers beside equal {equal}, which "
                "chooses it",
                f"write {other.machine}, or leave out --equal",
            )
    first = reference.servers or sum(counts) or 1
    kind = reference.machine if "=" in reference.name else reference.name
    chosen = [replace(reference, servers=first)]
    if equal == "price" and prices is not None:
        asked = _Priced(loaded, settings, prices)
        of = asked.price(reference.machine, first)
        taken = [Taken(reference.name, first, of, 0.0)]
        for other in found[1:]:
            servers = asked.most(other.machine, of)
            value = asked.price(other.machine, servers)
            chosen.append(replace(other, servers=servers))
            taken.append(Taken(other.name, servers, value, of - value))
        return chosen, Equal(equal, of, taken, kind, prices.currency)
    each = {name: 1 if equal == "servers" else it.gpu_count for name, it in systems.items()}
    of = first * each[reference.machine]
    taken = [Taken(reference.name, first, of, 0)]
    for other in found[1:]:
        servers = max(1, of // each[other.machine])
        value = servers * each[other.machine]
        chosen.append(replace(other, servers=servers))
        taken.append(Taken(other.name, servers, value, of - value))
    return chosen, Equal(equal, of, taken, kind)


def _own(loaded: ScenarioFile, other: Machine) -> Machine:
    """The scenario's own servers, with which a machine that is named alone is compared.

    Raises:
        SimulationError: If it has several kinds, or none.
    """
    servers = loaded.scenario.servers
    if len(servers) != 1:
        raise SimulationError(
            f"`{loaded.path.name}` has no single kind of server to compare {other.name} with",
            "name the reference first, such as --machine hgx-h100=32",
        )
    name, kind, count = servers[0]
    return Machine(name, str(loaded.path.parent / name) if kind == "file" else name, count)


class _Priced:
    """Prices a scenario's system with any number of servers of a machine."""

    def __init__(
        self, loaded: ScenarioFile, settings: Mapping[str, object], prices: Prices
    ) -> None:
        self._loaded, self._settings, self._prices = loaded, settings, prices

    def price(self, machine: str, servers: int) -> float:
        of_system = {
            "system.server": written_of(self._loaded, machine),
            "system.servers": servers,
        }
        whole = read_scenario_file(self._loaded.path, {**self._settings, **of_system})
        return self._prices.price(bill_of(whole.system()))

    def most(self, machine: str, price: float) -> int:
        """Finds the most servers that cost no more than this: one at least.

        Raises:
            SimulationError: If a server costs nothing.
        """
        if self.price(machine, 1) <= 0:
            raise SimulationError(
                f"a server of {machine} costs nothing by {self._prices.file}",
                "give it a price, or compare by equal gpus or servers",
            )
        least, most = 1, 2
        while most <= MOST_SERVERS and self.price(machine, most) <= price:
            least, most = most, 2 * most
        while most - least > 1:
            between = (least + most) // 2
            if self.price(machine, between) <= price:
                least = between
            else:
                most = between
        return least
