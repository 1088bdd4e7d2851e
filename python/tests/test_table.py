"""Tables cross to Python through the Arrow C stream with types, units and nulls."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from linkwright import Machine, Table

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture
def machine() -> Machine:
    return Machine.from_toml((EXAMPLES / "pair.toml").read_text(encoding="utf-8"))


def test_a_table_reads_as_a_pyarrow_table(machine: Machine) -> None:
    table = pa.table(machine.devices())
    assert table.to_pydict() == {
        "name": ["GPU0", "GPU1", "CPU0"],
        "kind": ["gpu", "gpu", "cpu"],
        "model": ["V100-SXM2-16GB", "V100-SXM2-16GB", ""],
        "is_gpu": [True, True, False],
        "links": [[0, 1], [0, 2], [1, 2]],
        "gpu_fabric_bandwidth": [50.0, 50.0, None],
        "cpu_affinity": ["", "", ""],
        "numa_affinity": ["", "", ""],
        "pci_address": ["", "", ""],
    }


def test_types_and_units_are_the_field_s(machine: Machine) -> None:
    schema = pa.table(machine.devices()).schema
    assert schema.field("links").type == pa.list_(pa.uint32())
    assert schema.field("gpu_fabric_bandwidth").nullable
    assert not schema.field("name").nullable
    links = pa.table(machine.links()).schema
    assert links.field("latency").type == pa.uint64()
    assert links.field("latency").metadata == {b"unit": b"ps"}
    assert links.field("bandwidth").metadata == {b"unit": b"B/s"}


def test_a_table_tells_its_shape(machine: Machine) -> None:
    table = machine.links()
    assert table.num_rows == 3
    assert table.column_names == ["a", "b", "kind", "count", "bandwidth", "latency"]
    assert repr(table) == "<Table: 3 rows; a, b, kind, count, bandwidth, latency>"


def test_a_schema_reads_without_the_rows(machine: Machine) -> None:
    table = machine.links()
    # The published stubs do not know that `pyarrow.schema` reads the protocol too.
    assert pa.schema(table) == pa.table(table).schema  # type: ignore[arg-type]


def test_a_stream_can_be_read_again_and_outlives_its_table(machine: Machine) -> None:
    def read() -> pa.Table:
        table: Table = machine.links()
        first = pa.table(table)
        assert pa.table(table) == first
        return first

    assert read().num_rows == 3


def test_a_capsule_that_nobody_reads_is_released(machine: Machine) -> None:
    for _ in range(1000):
        machine.links().__arrow_c_stream__()
        machine.links().__arrow_c_schema__()
