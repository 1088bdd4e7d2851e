"""The compiled half of the package `linkwright`; use the package, not this module."""

from typing import ClassVar, final

from typing_extensions import CapsuleType

__all__ = ["Machine", "Table", "__version__"]

__version__: str

@final
class Machine:
    """A server (or several): its devices and the links between them."""

    __hash__: ClassVar[None]  # type: ignore[assignment]

    @staticmethod
    def from_toml(text: str, file: str = "<text>") -> Machine:
        """Reads a machine from its TOML text; `file` names the text in errors.

        Raises:
            InputError: If the text is no machine, with line and column.
        """

    @property
    def name(self) -> str:
        """The machine's name."""

    @property
    def source(self) -> str:
        """Where its description comes from."""

    @property
    def assumptions(self) -> list[str]:
        """What an importer had to assume because the source does not say it."""

    @property
    def gpu_count(self) -> int:
        """How many GPUs it has."""

    def devices(self) -> Table:
        """One row per device: name, kind, model, links and bandwidth to other GPUs."""

    def links(self) -> Table:
        """One row per bundle of links: its ends, kind, count, bandwidth and latency."""

    def to_toml(self) -> str:
        """The machine as text that `from_toml` reads back to an equal machine."""

    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Table:
    """Columns with names and units, for any library that reads Arrow.

    `pyarrow.table(t)`, `polars.DataFrame(t)` and DuckDB read it without a copy; the unit of a
    column is its field's metadata under the key "unit".
    """

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns, from the left."""

    def __arrow_c_schema__(self) -> CapsuleType:
        """The schema as an Arrow C schema in a capsule."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> CapsuleType:
        """The rows as an Arrow C stream in a capsule.

        A requested schema is only a wish, and the protocol lets a producer pass it over.
        """
