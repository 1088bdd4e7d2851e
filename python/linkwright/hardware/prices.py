"""Prices and watts of parts, from a file that the user writes: none are known here."""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from linkwright.gpu import GpuModel, gpu_models
from linkwright.network import preset_names
from linkwright.errors import InputError, MachineError, did_you_mean, printable
from linkwright.files import LARGEST_TEXT, PathOrName, decode, path_of, read_bytes
from linkwright.hardware.bill import PARTS, UNNAMED, Bill

__all__ = ["Cost", "Price", "Prices", "busy_power", "read_prices"]

HOURS_OF_A_YEAR = 8760.0
SECONDS_OF_AN_HOUR = 3600.0
FIELDS = ("price", "watts")
# Only of GPUs: who is busy for a part of the time rests for the other.
REST = "rest"
GPU = "gpu"
# Of the whole file: money for a kWh, and years over which parts are paid off.
NUMBERS = ("electricity", "lifetime")
KEYS = ("currency", *NUMBERS, *PARTS)


@dataclass(frozen=True)
class Price:
    """Says what one part costs and draws.

    Attributes:
        price: Is in the file's currency. None stands where the file does not say it.
        watts: Are drawn while jobs run. None stands for the same.
        rest: Are the watts of a GPU that no job holds. None stands for the same.
    """

    price: float | None = None
    watts: float | None = None
    rest: float | None = None


@dataclass(frozen=True)
class Cost:
    """Says the price and the power of a system, and the cost of one job of several.

    Attributes:
        price: Is of all parts. It is in the file's currency.
        power: Is of all parts. It is in W, while all GPUs work.
        cost_of_a_job: Is its share of price and electricity. It needs both `lifetime` and
            `electricity`, else it is None.
        energy_of_a_job: Is of all parts. It is in kWh.
        other_energy_of_a_job: Is of all parts but GPUs.
    """

    price: float
    power: float
    cost_of_a_job: float | None
    energy_of_a_job: float
    other_energy_of_a_job: float


@dataclass(frozen=True)
class Prices:
    """Holds a file of prices.

    Attributes:
        file: Names it.
        currency: Is the unit of all prices.
        electricity: Is the price of a kWh. None stands where the file does not say it.
        lifetime: Is in years, over which parts are paid off. None stands for the same.
        parts: Has the prices of each kind of part, by model. The empty name is of all others.
    """

    file: str
    currency: str
    electricity: float | None
    lifetime: float | None
    parts: Mapping[str, Mapping[str, Price]]
    lines: Mapping[tuple[str, str], int] = field(repr=False, default_factory=dict)

    def check(self, bills: Sequence[Bill]) -> None:
        """Refuses models that nobody knows, and parts of a system that the file does not price.

        Raises:
            InputError: If there is one, with its place.
        """
        known = {
            "server": [name for name, _ in preset_names()],
            "gpu": [model.name for model in gpu_models()],
        }
        for part, priced in self.parts.items():
            of_bills = [name for bill in bills for name in bill.names(part)]
            for name in priced:
                names = [*known.get(part, []), *of_bills]
                if name != UNNAMED and name not in names:
                    raise InputError(
                        self.file,
                        self.lines.get((part, name), 1),
                        1,
                        f"no {part} has this name",
                        name,
                        f"{did_you_mean(name, names)}leave it out, or price `[{part}]`",
                    )
        for bill in bills:
            for _ in self._of(bill):
                pass

    @property
    def gpu_watts(self) -> dict[str, tuple[float | None, float | None]]:
        """The watts of each model of GPU, busy and at rest, as far as the file says them."""
        return {name: (it.watts, it.rest) for name, it in self.parts.get(GPU, {}).items()}

    def _of(self, bill: Bill) -> Iterator[tuple[str, int, Price]]:
        """Gives each part, how many there are, and the price of one."""
        for part, models in bill.parts.items():
            of_part = self.parts.get(part, {})
            for name, count in models.items():
                if count == 0:
                    continue
                own, others = of_part.get(name, Price()), of_part.get(UNNAMED, Price())
                price = others.price if own.price is None else own.price
                watts = others.watts if own.watts is None else own.watts
                if part == GPU and watts is None:
                    watts = busy_power(name)
                for key, value in zip(FIELDS, (price, watts), strict=True):
                    if value is None:
                        which = f"{part} `{name}`" if name else part
                        raise InputError(
                            self.file,
                            self.lines.get((part, name), self.lines.get((part, UNNAMED), 1)),
                            1,
                            f"no {key} of the {which}, of which a system has {count:,}",
                            "",
                            f"write `{key} = NUMBER` in `[{part}]`, or 0 if another part has it",
                        )
                yield part, count, Price(price, watts)

    def price(self, bill: Bill) -> float:
        """Gives the price of all parts of a system.

        Raises:
            InputError: If the system has a part that the file does not price.
        """
        return sum(count * (each.price or 0.0) for _, count, each in self._of(bill))

    def cost(self, bill: Bill, seconds: float, jobs: int, gpu_energy: float) -> Cost:
        """Gives what a system costs, and each job that it plays.

        All parts but GPUs draw their watts for the whole time, and the jobs share it evenly.

        Args:
            bill: The system's parts.
            seconds: From the first job's start to the last one's end.
            jobs: How many there are. They share all evenly.
            gpu_energy: Of all GPUs. It is in kWh.

        Raises:
            InputError: If the system has a part that the file does not price.
        """
        price = self.price(bill)
        gpu_watts = other_watts = 0.0
        for part, count, each in self._of(bill):
            if part == GPU:
                gpu_watts += count * (each.watts or 0.0)
            else:
                other_watts += count * (each.watts or 0.0)
        hours = seconds / SECONDS_OF_AN_HOUR / jobs
        other = other_watts / 1000.0 * hours
        energy = gpu_energy / jobs + other
        cost = None
        if self.electricity is not None and self.lifetime is not None:
            cost = price * hours / (self.lifetime * HOURS_OF_A_YEAR) + energy * self.electricity
        return Cost(price, gpu_watts + other_watts, cost, energy, other)


def busy_power(name: str) -> float | None:
    """The watts of a model of GPU by its data sheet; None where that is not known."""
    try:
        return GpuModel.find(name).busy_power
    except MachineError:
        return None


def read_prices(path: PathOrName) -> Prices:
    """Reads a file of prices.

    Args:
        path: Its TOML file. It has `currency`, `electricity` (of a kWh) and `lifetime` (years).
            Each kind of part has a table, such as `[server]`, with `price` and `watts`.
            `[gpu.NAME]` and `[server.NAME]` are of one model. GPUs have `rest`, too: watts while
            no job holds one.

    Raises:
        FileError: If it cannot be read.
        InputError: If a part or a key is unknown, or a figure is negative, with its line.
    """
    path = path_of("prices", path, "read_prices")
    text = decode(str(path), read_bytes(path, LARGEST_TEXT))
    file = printable(str(path))
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        line, column = (int(place[1]), int(place[2])) if place else (1, 1)
        problem = str(error).partition(" (at ")[0]
        raise InputError(file, line, column, problem, "", "write TOML") from error
    reader = _Reader(file, text)
    reader.check(table, KEYS, "")
    currency = table.get("currency", "")
    if not isinstance(currency, str):
        reader.refuse("currency", "no name of a currency", currency, 'write one, as "EUR"')
    parts: dict[str, dict[str, Price]] = {}
    lines = {}
    for part in PARTS:
        priced = table.get(part, {})
        if not isinstance(priced, dict):
            reader.refuse(
                part, "no table of a part", priced, f"write `[{part}]` and below it `price`"
            )
        models = {key: value for key, value in priced.items() if isinstance(value, dict)}
        own = {key: value for key, value in priced.items() if key not in models}
        parts[part] = {UNNAMED: reader.price(own, part)}
        lines[part, UNNAMED] = reader.line(rf"\s*\[\s*{part}\s*\]")
        for name, model in models.items():
            lines[part, name] = reader.line(rf"\s*\[\s*{part}\s*\.\s*[\"']?{re.escape(name)}")
            parts[part][name] = reader.price(model, f"{part}.{name}", lines[part, name])
    numbers = {key: reader.number(key, table.get(key), 0) for key in NUMBERS}
    if numbers["lifetime"] == 0:
        reader.refuse("lifetime", "no time in which parts are paid off", 0, "write years above 0")
    return Prices(file, currency, numbers["electricity"], numbers["lifetime"], parts, lines)


@dataclass(frozen=True)
class _Reader:
    """Refuses what is not as it should be, at its line."""

    file: str
    text: str

    def line(self, pattern: str, after: int = 0) -> int:
        """The first line from `after` on that begins so; the first of all where there is none."""
        rows = self.text.splitlines()
        found = (at for at in range(after, len(rows)) if re.match(pattern, rows[at]))
        return next(found, 0) + 1

    def refuse(self, key: str, problem: str, value: object, remedy: str, after: int = 0) -> None:
        line = self.line(rf"\s*\[?\s*{re.escape(key)}\b", after)
        raise InputError(self.file, line, 1, problem, str(value), remedy)

    def check(
        self, table: Mapping[str, Any], known: Sequence[str], where: str, at: int = 0
    ) -> None:
        for key in table:
            if key not in known:
                fields = " or ".join(known)
                kinds = f"the parts are {', '.join(PARTS)}" if not where else f"write {fields}"
                problem = f"unknown part or key{f' of {where}' if where else ''}"
                self.refuse(key, problem, key, f"{did_you_mean(key, known)}{kinds}", at)

    def number(self, key: str, value: object, after: int) -> float | None:
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            self.refuse(key, f"no number as `{key}`", value, "write one from 0 on", after)
        number = float(str(value))
        if number < 0:
            self.refuse(key, f"a negative `{key}`", value, "write a number from 0 on", after)
        return number

    def price(self, table: Mapping[str, Any], where: str, line: int | None = None) -> Price:
        at = (line or self.line(rf"\s*\[\s*{re.escape(where)}\s*\]")) - 1
        fields = (*FIELDS, REST) if where.partition(".")[0] == GPU else FIELDS
        self.check(table, fields, where, at)
        return Price(*(self.number(key, table.get(key), at) for key in fields))
