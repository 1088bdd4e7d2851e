"""The heat of packages: against scipy, as a run, and from the shell."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from commands import linkwright as run
from scipy.sparse import coo_array  # type: ignore[import-untyped]
from scipy.sparse.linalg import spsolve  # type: ignore[import-untyped]

from linkwright.errors import FileError, InputError, SimulationError
from linkwright.gpu import Floorplan, steady_heat, read_floorplan
from linkwright.scenario import write_run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "mgpu-tsm-package.toml"
CELLS = 10
# Layers from the board up: thickness in mm, conductivity; the second has two blocks.
LAYERS = [("base", 0.1, 110.0), ("chips", 0.2, 1.6), ("paste", 0.05, 4.0), ("lid", 2.0, 400.0)]
# In cells of 2 mm: from x and y, width, height; power; conductivity.
BLOCKS = [((1, 1, 4, 3), 30.0, 120.0), ((6, 5, 3, 4), 12.0, 90.0)]
SINK, BOARD = 0.4, 2.5


def plan() -> Floorplan:
    lines = ["width = 20", "height = 20", "ambient = 30"]
    lines += [f"sink = {{ resistance = {SINK} }}", f"board = {{ resistance = {BOARD} }}"]
    for name, thickness, conductivity in LAYERS:
        lines += ["[[layer]]", f'name = "{name}"', f"thickness = {thickness}"]
        lines += [f"conductivity = {conductivity}"]
    for at, ((x, y, width, height), power, conductivity) in enumerate(BLOCKS):
        lines += ["[[block]]", f'name = "b{at}"', 'layer = "chips"', f"x = {2 * x}", f"y = {2 * y}"]
        lines += [f"width = {2 * width}", f"height = {2 * height}", f"power = {power}"]
        lines += [f"conductivity = {conductivity}"]
    return Floorplan.from_text("\n".join(lines), "plan.toml")


def by_scipy() -> np.ndarray:
    """The temperatures over the air, layer by layer, from matrices of their own."""
    shape = (len(LAYERS), CELLS, CELLS)
    conductivity = np.empty(shape)
    heat = np.zeros(shape)
    for z, (_, _, own) in enumerate(LAYERS):
        conductivity[z] = own
    for (x, y, width, height), power, own in BLOCKS:
        conductivity[1, y : y + height, x : x + width] = own
        heat[1, y : y + height, x : x + width] = power / (width * height)
    thickness = np.array([row[1] for row in LAYERS])[:, None, None] * 1e-3
    side = 2e-3
    number = np.arange(heat.size).reshape(shape)
    rows, columns, values = [], [], []

    def join(axis: int, lower: np.ndarray, upper: np.ndarray, resistance: np.ndarray) -> None:
        del axis
        for own, other in ((lower, upper), (upper, lower)):
            rows.extend([own.ravel(), own.ravel()])
            columns.extend([own.ravel(), other.ravel()])
            values.extend([1 / resistance.ravel(), -1 / resistance.ravel()])

    half = side / 2 / (conductivity * thickness * side)
    join(2, number[:, :, :-1], number[:, :, 1:], half[:, :, :-1] + half[:, :, 1:])
    join(1, number[:, :-1], number[:, 1:], half[:, :-1] + half[:, 1:])
    upright = thickness / 2 / (conductivity * side**2)
    join(0, number[:-1], number[1:], upright[:-1] + upright[1:])
    for z, resistance in ((0, BOARD), (-1, SINK)):
        rows.append(number[z].ravel())
        columns.append(number[z].ravel())
        values.append(1 / (upright[z].ravel() + resistance * CELLS**2))
    entries = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns)))
    found: np.ndarray = spsolve(coo_array(entries).tocsr(), heat.ravel()).reshape(shape)
    return found


def test_temperatures_are_those_of_a_sparse_direct_solver() -> None:
    found, expected = plan().solve(CELLS), 30 + by_scipy()
    for z, (name, _, _) in enumerate(LAYERS):
        ours = [row["temperature"] for row in found.temperatures(name)]
        np.testing.assert_allclose(ours, expected[z].ravel(), rtol=1e-6)
    assert found.maximum == pytest.approx(expected.max(), rel=1e-6)
    assert found.sink_heat + found.board_heat == pytest.approx(42.0, rel=1e-7)
    assert found.hottest_block == "b0"
    assert found.rounds < 30
    assert found.unaccounted <= 1e-8


def test_a_package_is_changed_copied_and_pickled() -> None:
    first = plan()
    assert (first.name, first.width, first.power, first.board) == ("package", 20, 42, BOARD)
    assert first.sink_coefficient == pytest.approx(1 / (SINK * 400e-6))
    assert len(first.blocks()) == 2
    assert [row["name"] for row in first.layers()] == [name for name, _, _ in LAYERS]
    cooler, warmer = first.with_sink(0.1), first.with_ambient(50)
    assert cooler.solve(6).maximum < first.solve(6).maximum
    assert warmer.solve(6).maximum == pytest.approx(first.solve(6).maximum + 20, abs=1e-5)
    found = first.sink_for(60, 6)
    assert found.maximum == pytest.approx(60, abs=1e-4)
    again = pickle.loads(pickle.dumps(found))
    assert again.maximum == pytest.approx(found.maximum, abs=1e-9)
    assert again.floorplan == found.floorplan
    assert repr(first) == "<Floorplan: package, 42.0 W on 20 x 20 mm>"
    assert repr(found) == "<ThermalMap: package, at most 60.00 degrees>"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match=r"f.toml:1:1: no key"):
        Floorplan.from_text("width = 1", "f.toml")
    with pytest.raises(FileError, match="there is no file"):
        read_floorplan("nowhere.toml")
    for cells in (0, -1, 3000, 2**70):
        with pytest.raises(SimulationError, match="each way is not possible; 1 to 2048 are"):
            plan().solve(cells)
    with pytest.raises(SimulationError, match="no sink makes 20 degrees"):
        plan().sink_for(20, 4)
    with pytest.raises(SimulationError, match="did you mean `chips`"):
        plan().solve(4).temperatures("chip")


def test_a_run_is_written_whole(tmp_path: Path) -> None:
    found = steady_heat(EXAMPLE, cells=12)
    written = {path.name for path in write_run(found, tmp_path / "heat")}
    tables = {f"{name}.parquet" for name in ("blocks", "layers", "temperatures")}
    assert written == {*tables, "summary.json", "manifest.json", "report.html"}
    page = (tmp_path / "heat" / "report.html").read_text(encoding="utf-8")
    assert "TAP-2.5D" in page
    assert "data:image/png;base64," in page
    summary = json.loads((tmp_path / "heat" / "summary.json").read_text(encoding="utf-8"))
    assert summary["power"] == pytest.approx(910.6)
    assert summary["sink"]["heat"] == pytest.approx(910.6, rel=1e-7)


def test_the_shell_tells_and_draws(tmp_path: Path) -> None:
    picture = tmp_path / "map.png"
    result = run("thermal", EXAMPLE, "--cells", 24, "--plot", picture)
    assert result.exit_code == 0, result.output
    assert "At most 99." in result.stdout
    assert "the 100 °C that are borne" in result.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
    result = run("thermal", EXAMPLE, "--cells", 24, "--target", 88.6, "--limit", 85, "--json")
    fields = json.loads(result.stdout)
    assert fields["maximum"] == pytest.approx(88.6, abs=1e-4)
    assert fields["sink"]["resistance"] == pytest.approx(0.0043, abs=2e-4)
    assert fields["within_limit"] is False
    wide = run("thermal", EXAMPLE, "--cells", 12, "--layer", "sink", "--plot", picture)
    assert wide.exit_code == 0, wide.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--sink", "0.1", "--target", "80"), "leave one out"),
        (("--sink", "0"), "a sink's resistance (K/W) of 0 is not possible"),
        (("--cells", "0"), "0 is not from 1 to 2,048"),
        (("--layer", "chip"), "did you mean `chips`"),
        (("--plot", "map.gif"), ".png"),
    ],
)
def test_the_shell_refuses(arguments: tuple[str, ...], says: str) -> None:
    result = run("thermal", EXAMPLE, *arguments)
    assert result.exit_code != 0
    assert says in " ".join(result.stderr.split())


def test_blocks_that_overlap_are_named_with_their_place(tmp_path: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8").replace("x = 3.356", "x = 13.356", 1)
    file = tmp_path / "package.toml"
    file.write_text(text, encoding="utf-8")
    result = run("thermal", file)
    assert result.exit_code != 0
    assert "overlaps block" in result.stderr
    assert "package.toml:" in result.stderr
