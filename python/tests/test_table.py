"""Tables cross to Python through the Arrow C stream with types, units and nulls."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from linkwright import LinkwrightError, System
from linkwright.scenario import Job, Table, generate_jobs, play_jobs

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def machine() -> System:
    return System.from_text((EXAMPLES / "pair.toml").read_text(encoding="utf-8"))


def test_a_table_reads_as_a_pyarrow_table(machine: System) -> None:
    columns = pa.table(machine.devices()).to_pydict()
    # Where each stands on a drawing: no two in one place.
    assert len(set(zip(columns.pop("x"), columns.pop("y"), strict=True))) == 3
    assert columns == {
        "name": ["GPU0", "GPU1", "CPU0"],
        "kind": ["gpu", "gpu", "cpu"],
        "model": ["V100-SXM2-16GB", "V100-SXM2-16GB", ""],
        "is_gpu": [True, True, False],
        "links": [[0, 1], [0, 2], [1, 2]],
        "gpu_fabric_bandwidth": [50.0, 50.0, None],
        "cpu_affinity": ["", "", ""],
        "numa_affinity": ["", "", ""],
        "pci_address": ["", "", ""],
        "vendor_id": ["10de", "10de", ""],
        "device_id": ["", "", ""],
        "subsystem_id": ["", "", ""],
        "cores": [None, None, None],
        "memory": [16 << 30, 16 << 30, None],
        "memory_bandwidth": [900_000_000_000, 900_000_000_000, None],
    }


def test_types_and_units_are_the_field_s(machine: System) -> None:
    schema = pa.table(machine.devices()).schema
    assert schema.field("links").type == pa.list_(pa.uint32())
    assert schema.field("gpu_fabric_bandwidth").nullable
    assert not schema.field("name").nullable
    links = pa.table(machine.links()).schema
    assert links.field("latency").type == pa.uint64()
    assert links.field("latency").metadata == {b"unit": b"ps"}
    assert links.field("bandwidth").metadata == {b"unit": b"B/s"}


def test_a_table_tells_its_shape(machine: System) -> None:
    table = machine.links()
    assert table.num_rows == 3
    assert table.column_names == ["a", "b", "kind", "count", "bandwidth", "latency", "discipline"]
    assert repr(table) == "<Table: 3 rows; a, b, kind, count, bandwidth, latency, discipline>"


def test_a_schema_reads_without_the_rows(machine: System) -> None:
    table = machine.links()
    # The published stubs do not know that `pyarrow.schema` reads the protocol too.
    assert pa.schema(table) == pa.table(table).schema  # type: ignore[arg-type]


def test_a_stream_can_be_read_again_and_outlives_its_table(machine: System) -> None:
    def read() -> pa.Table:
        table: Table = machine.links()
        first = pa.table(table)
        assert pa.table(table) == first
        return first

    assert read().num_rows == 3


def test_a_capsule_that_nobody_reads_is_released(machine: System) -> None:
    for _ in range(1000):
        machine.links().__arrow_c_stream__()
        machine.links().__arrow_c_schema__()


def test_a_table_has_rows(machine: System) -> None:
    table = machine.devices()
    rows = pa.table(table).to_pylist()
    assert len(table) == table.num_rows == 3
    assert list(table) == rows
    assert [table[at] for at in range(-3, 3)] == rows + rows
    for at in (3, -4, 2**62):
        with pytest.raises(IndexError, match="there is no row"):
            table[at]
    first, second = iter(table), iter(table)
    assert next(first) == next(second)


def test_a_table_is_printed_with_its_units(machine: System) -> None:
    assert str(machine.links()).splitlines() == [
        "<Table: 3 rows; a, b, kind, count, bandwidth, latency, discipline>",
        "a     b     kind     count  bandwidth (B/s)  latency (ps)  discipline",
        "GPU0  GPU1  nvlink2      2      25000000000        500000  pipe",
        "GPU0  CPU0  pcie3        1      15754000000        250000  packets",
        "GPU1  CPU0  pcie3        1      15754000000        250000  packets",
    ]
    many = str(play_jobs(machine, generate_jobs(count=30, max_gpus=2)).jobs()).splitlines()
    assert (len(many), many[-1]) == (23, "... and 10 more")


def test_a_notebook_shows_a_table_and_runs_nothing_of_it() -> None:
    name = "<script>alert(1)</script>"
    jobs = [Job(f"{name}{at}", "gmm", 1) for at in range(25)]
    html = play_jobs(System("dgx1-v100"), jobs).jobs()._repr_html_()
    assert "<script" not in html
    assert html.count("&lt;script&gt;") == 20
    assert '<th style="text-align: right">arrival (s)</th>' in html
    assert "and 5 more rows" in html


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("to_polars", "polars")])
def test_a_package_that_is_missing_is_named(
    machine: System, method: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(LinkwrightError, match=rf"`{method}` needs .*pip install .*{package}"):
        getattr(machine.links(), method)()


def test_a_table_goes_to_polars(machine: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(DataFrame=pa.table))
    assert machine.links().to_polars() == pa.table(machine.links())
