"""Tests `linkwright machine`: its output, the files that it reads, and its errors."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from commands import fails, linkwright, parsed

from linkwright import System
from linkwright.errors import FileError, InputError, MachineError
from linkwright.files import LARGEST_TEXT
from linkwright.names import ExportFormatName
from linkwright.network import (
    Fabric,
    export_format_names,
    fabric_names,
    preset_names,
    read_fabric,
    read_system,
)
from linkwright.scenario import read_text

PASTES = Path(__file__).resolve().parents[2] / "examples" / "topologies"
DGX1 = PASTES / "dgx1-v100.nvidia-smi-topo-m.txt"


def test_every_preset_is_listed_with_its_gpus() -> None:
    rows = parsed("machine", "list")
    names = [name for name, _ in preset_names()]
    assert [row["name"] for row in rows if row["kind"] == "server"] == names
    networks = [row for row in rows if row["kind"] == "network"]
    assert [row["name"] for row in networks] == fabric_names()
    assert [row["ports"] for row in networks] == [Fabric(row["name"]).ports for row in networks]
    shown = linkwright("machine", "list").stdout
    assert all(name in shown for name in fabric_names())
    assert {row["name"]: row["gpus"] for row in rows}["dgx2"] == 16
    assert "dgx-a100" in linkwright("machine", "list").stdout


def test_a_machine_is_shown_as_a_matrix_with_its_sockets_and_assumptions() -> None:
    shown = linkwright("machine", "show", "dgx1-v100").stdout
    assert "GPU0    X  NV1  NV1  NV2  NV2  SYS  SYS  SYS" in shown
    assert "NV2  50 GB/s" in shown
    assert "CPU1: GPU4, GPU5, GPU6, GPU7" in shown
    assert "Assumed:" in shown


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("name", [name for name, _ in preset_names()])
def test_a_machine_fits_the_terminal(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = linkwright("machine", "show", name).stdout.splitlines()
    assert max(map(len, lines)) <= width


def test_a_matrix_wider_than_the_terminal_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    shown = linkwright("machine", "show", "gb200-nvl72").stdout
    assert "NV18  900 GB/s  2,556 pairs of GPUs" in shown
    monkeypatch.setenv("COLUMNS", "400")
    assert "GPU71 NV18 NV18" in linkwright("machine", "show", "gb200-nvl72").stdout


def test_a_bandwidth_profile_labels_the_links() -> None:
    sheet = linkwright("machine", "show", "dgx1-v100", "--bandwidth-profile", "data-sheet").stdout
    assert sheet != linkwright("machine", "show", "dgx1-v100").stdout


def test_each_form_is_what_the_library_writes() -> None:
    machine = System("dgx1-p100")
    assert linkwright("machine", "show", "dgx1-p100", "--as", "toml").stdout == machine.to_toml()
    assert parsed("machine", "show", "dgx1-p100") == json.loads(machine.to_json())
    assert linkwright("machine", "show", "dgx1-p100", "--as", "dot").stdout.startswith("graph")


def test_an_import_prints_toml_and_says_what_it_assumed(tmp_path: Path) -> None:
    result = linkwright("machine", "import", DGX1)
    machine = System.from_text(result.stdout)
    assert (machine.name, machine.gpu_count) == ("dgx1-v100", 8)
    assert result.stderr.startswith("Assumed:\n- ")
    file = tmp_path / "machine.toml"
    assert linkwright("machine", "import", DGX1, "--name", "mine", "-o", file).stdout == ""
    assert read_system(file).name == "mine"
    assert linkwright("machine", "show", file).exit_code == 0


@pytest.mark.parametrize("paste", sorted(PASTES.glob("*.txt")), ids=lambda path: path.stem)
def test_a_paste_on_standard_input_is_read_as_its_file(paste: Path) -> None:
    text = paste.read_text(encoding="utf-8")
    name = paste.name.split(".")[0]
    piped = parsed("machine", "import", "-", "--name", name, stdin=text)
    assert piped == parsed("machine", "import", paste)


def test_a_truncated_paste_is_refused_with_its_place() -> None:
    lines = DGX1.read_text(encoding="utf-8").splitlines()
    line = fails(2, "machine", "import", "-", stdin="\n".join(lines[:4])[:-20])
    assert line.startswith("error: <stdin>:")


def test_an_unknown_machine_is_answered_with_the_closest() -> None:
    line = fails(2, "machine", "show", "dgx1-v10")
    assert "neither a preset nor a file `dgx1-v10`; did you mean `dgx1-v100`" in line
    assert "did you mean" not in fails(2, "machine", "show", "zzzzzz")


def test_what_cannot_be_read_is_said_in_one_line(tmp_path: Path) -> None:
    assert "is a directory" in fails(2, "machine", "show", tmp_path)
    assert "there is no file" in fails(2, "machine", "import", tmp_path / "none")
    wide = tmp_path / "wide.txt"
    wide.write_bytes("GPU0 X".encode("utf-16"))
    assert f"{wide}:1:1: the text is not UTF-8" in fails(2, "machine", "show", wide)
    assert "UTF-16" in fails(2, "machine", "show", wide)
    late = tmp_path / "late.toml"
    late.write_bytes(b"name = 'a'\nsource = '\xe9'\n")
    assert f"{late}:2:11:" in fails(2, "machine", "show", late)
    assert "there is no format `nvidia`" in fails(
        2, "machine", "import", DGX1, "--format", "nvidia"
    )
    assert "no link kind" in fails(2, "machine", "import", DGX1, "--set", "nvlink=nvlink9")


def test_output_into_no_directory_is_refused(tmp_path: Path) -> None:
    lost = tmp_path / "none" / "machine.toml"
    assert "make it first" in fails(2, "machine", "import", DGX1, "-o", lost)
    assert "is a directory" in fails(2, "machine", "import", DGX1, "-o", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_named_as_a_preset_is_reached_by_its_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "dgx2").write_text(System("titan-z").to_toml(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert read_system("dgx2").gpu_count == 16
    assert read_system("./dgx2").gpu_count == 2


def test_standard_input_is_shown_and_refused_as_a_file_is() -> None:
    text = DGX1.read_text(encoding="utf-8")
    assert "NV2  50 GB/s" in linkwright("machine", "show", "-", stdin=text).stdout
    assert "<stdin>:1:1: the text is not UTF-8" in fails(2, "machine", "show", "-", stdin=b"\xff")


def test_json_is_printed_beside_the_file_that_is_written(tmp_path: Path) -> None:
    file = tmp_path / "machine"
    printed = parsed("machine", "import", DGX1, "--output", file)
    assert read_system(file) == System.from_text(linkwright("machine", "import", DGX1).stdout)
    assert printed == parsed("machine", "import", DGX1) == parsed("machine", "show", file)
    parsed("machine", "import", DGX1, "--as", "dot", "--output", file)
    assert file.read_text(encoding="utf-8").startswith("graph")


@pytest.mark.parametrize(
    "words", [["show", "dgx2", "--as", "dot"], ["import", DGX1, "--as", "dot"]]
)
def test_two_forms_to_print_are_one_too_many(words: list[str]) -> None:
    assert "both say what to print" in fails(2, "machine", *words, "--json")


@pytest.mark.parametrize("name", ["", " ", "a\x1b[31m", "a\nb"])
def test_a_machine_is_not_named_what_cannot_be_read(name: str) -> None:
    assert "--name" in fails(2, "machine", "import", DGX1, "--name", name)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no endless file")
def test_an_endless_file_is_refused() -> None:
    assert "more than 16 MiB" in fails(2, "machine", "show", "/dev/zero")


def test_the_largest_input_is_still_read(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"x" * LARGEST_TEXT)
    assert len(read_text(file)) == LARGEST_TEXT
    file.write_bytes(b"x" * (LARGEST_TEXT + 1))
    with pytest.raises(FileError, match="holds more than"):
        read_text(file)
    said = fails(2, "machine", "import", "-", stdin="x" * (LARGEST_TEXT + 1))
    assert "`<stdin>` holds more than 16 MiB" in said


def test_what_files_and_people_write_cannot_move_the_cursor(tmp_path: Path) -> None:
    odd = tmp_path / "a\x1b[2Jb"
    odd.write_text("GPU0 \x1b]0;title\x07 X", encoding="utf-8")
    for word in (odd, f"{odd}c"):
        assert fails(2, "machine", "show", word).isprintable()
    error = InputError("f", 1, 2, "no", "\x1b[2J\n", "write less")
    assert str(error) == "f:1:2: no: `\\x1b[2J\\n`; write less"


def test_a_file_s_name_need_not_be_text() -> None:
    assert "\\udcff" in fails(2, "machine", "show", "\udcff")


CLOUD = PASTES / "cloud-8x-a100-nvswitch.nccl-topo.xml"


def test_a_doubtful_machine_is_warned_of_before_every_answer() -> None:
    shown = linkwright("machine", "show", CLOUD)
    assert shown.stdout.startswith("Warning:\n- The file lists 8 GPUs and no NVLink between them")
    allocated = linkwright("allocate", "-m", CLOUD, "-k", "2")
    assert allocated.stderr.startswith("Warning:\n- The file lists 8 GPUs")
    imported = linkwright("machine", "import", CLOUD)
    assert imported.stderr.startswith("Warning:\n- The file lists 8 GPUs")
    assert read_system(CLOUD).warnings == System.from_text(imported.stdout).warnings
    added = linkwright("machine", "import", CLOUD, "--set", "nvlink=nvlink3")
    assert not System.from_text(added.stdout).warnings


def test_gpus_that_mig_slices_are_warned_of(tmp_path: Path) -> None:
    paste = (PASTES / "dgx1-v100.nvidia-smi.txt").read_text(encoding="utf-8")
    gpu, others = paste.split("\n", 1)
    sliced = tmp_path / "sliced.txt"
    cut = "  MIG 1g.10gb     Device  0: (UUID: MIG-1)"
    sliced.write_text(f"{gpu}\n{cut}\n{others}", encoding="utf-8")
    for words in (["machine", "import", sliced], ["allocate", "-m", sliced, "--gpus", 2]):
        said = linkwright(*words).stderr
        assert "- MIG slices these GPUs: GPU0 (1 of 1g.10gb). A job there gets a slice" in said


def test_a_file_larger_than_any_machine_is_refused_unread(tmp_path: Path) -> None:
    huge = tmp_path / "huge.txt"
    with huge.open("wb") as stream:
        stream.truncate(36 << 20)
    with pytest.raises(FileError, match="16 MiB"):
        read_system(huge)


FABRICS = PASTES.parent / "fabrics"


def test_a_network_is_shown_by_its_name_with_levels_links_and_parameters() -> None:
    shown = linkwright("machine", "show", "fat-tree").stdout
    assert "2,048 ports, 320 switches, InfiniBand" in shown
    assert "bisection bandwidth: 12,185.6 GB/s" in shown
    rows = [line.split() for line in shown.splitlines()]
    assert ["leaf", "128", "32"] in rows
    assert ["core", "64", "32"] in rows
    assert ["radix", "32"] in rows


@pytest.mark.parametrize(("file", "passes"), [("two-racks.toml", 100.0), ("ring.dot", 25.0)])
def test_a_network_s_file_is_shown_and_read_from_the_input(file: str, passes: float) -> None:
    text = (FABRICS / file).read_text("utf-8")
    shown = linkwright("machine", "show", str(FABRICS / file)).stdout
    assert linkwright("machine", "show", "-", stdin=text).stdout == shown
    assert f"bisection bandwidth: {passes} GB/s" in shown
    # A graph of over 20 switches has bounds.
    assert "GB/s in each direction (bounds)" in linkwright("machine", "show", "quartz").stdout
    found = parsed("machine", "show", str(FABRICS / file))
    assert found["kind"] == "graph"
    assert found["ports"] == Fabric.from_text(text).ports


@pytest.mark.parametrize("name", fabric_names())
def test_each_form_of_a_network_is_what_the_library_writes(name: str) -> None:
    fabric = read_fabric(name)
    shown = linkwright("machine", "show", name, "--as", "dot").stdout
    assert shown == fabric.to_dot()
    again = Fabric.from_text(linkwright("machine", "show", name, "--as", "toml").stdout)
    assert again == fabric
    found = parsed("machine", "show", name)
    assert found["parameters"] == fabric.parameters
    assert sum(level["switches"] for level in found["levels"]) == fabric.switches


def test_mistakes_with_networks_are_named(tmp_path: Path) -> None:
    assert "did you mean `fat-tree`?" in fails(2, "machine", "show", "fattree")
    assert "no bandwidth profiles" in fails(
        2, "machine", "show", "torus", "--bandwidth-profile", "mapa"
    )
    ring = str(FABRICS / "ring.dot")
    assert "write it as DOT" in fails(1, "machine", "show", ring, "--as", "toml")
    broken = tmp_path / "broken.toml"
    broken.write_text('kind = "fat-tree"\npods = 99\n', encoding="utf-8")
    assert f"{broken}:2:8: " in fails(2, "machine", "show", str(broken))


def test_a_fabric_has_the_ports_that_are_asked_for() -> None:
    assert Fabric("fat-tree", ports=17).parameters["radix"] == 8
    assert Fabric("single-switch", ports=5, links="ethernet").link_kind == "ethernet"
    with pytest.raises(MachineError, match="16 ports, 4 fewer than the 20 needed"):
        Fabric("fat-tree", ports=20, radix=4)
    with pytest.raises(InputError, match="pots"):
        Fabric("fat-tree", pots=20)
    with pytest.raises(MachineError, match="leave out ports"):
        read_fabric(FABRICS / "ring.dot", ports=3)
    with pytest.raises(FileError, match="did you mean `torus`"):
        read_fabric("torsu")


def test_small_machines_and_networks_draw_themselves_in_a_notebook() -> None:
    small: list[System | Fabric] = [System("dgx1-v100"), Fabric("fat-tree", ports=16)]
    for value in small:
        drawn = value._repr_html_()
        assert drawn.startswith("<svg ")
        assert drawn.count("<line ") > 16
    large: list[System | Fabric] = [System("gb200-nvl72"), Fabric("dragonfly")]
    assert all(value._repr_html_().startswith("<table>") for value in large)


def test_every_device_is_listed_with_what_is_known_of_it() -> None:
    file = str(PASTES / "mi300x-8.nccl-topo.xml")
    listed = linkwright("machine", "show", file, "--devices").stdout.splitlines()
    row = {line.split()[0]: line.split() for line in listed if line and line[0].isalnum()}
    assert row["name"][-3:] == ["CPU", "cores", "memory"]
    gpu = "GPU0 gpu AMD Instinct MI300X 1002 74a1 1002:74a1 0000:0c:00.0 0 0-55,112-167 192 GiB"
    assert " ".join(row["GPU0"]) == gpu
    assert " ".join(row["CPU0"]) == "CPU0 cpu GenuineIntel 6:143 0 0-55,112-167"
    devices = {device["name"]: device for device in parsed("machine", "show", file)["devices"]}
    ids = ["vendor_id", "device_id", "subsystem_id"]
    assert [devices["mlx5_0"][key] for key in ids] == ["15b3", "1021", "15b3:0101"]
    assert devices["GPU0"]["memory_bytes"] == 192 << 30


def test_columns_that_say_nothing_of_a_machine_are_left_out() -> None:
    preset = linkwright("machine", "show", "dgx1-v100", "--devices").stdout
    assert "16 GiB" in preset
    assert "PCI address" not in preset


@pytest.mark.parametrize("words", ["dgx1-v100 --devices --json", "torus --devices"])
def test_devices_are_a_table_of_a_machine(words: str) -> None:
    assert "--devices" in fails(2, "machine", "show", *words.split())


FOUR = ("machine", "show", "dgx1-v100", "--servers", 4, "--network", "fat-tree")


def test_servers_on_a_network_are_shown() -> None:
    shown = linkwright(*FOUR).stdout
    assert shown.startswith("4xdgx1-v100 on fat-tree-16\n32 GPUs in 4 servers; 20 switches")
    for part in ("16 of 16 ports in use", "node \N{EN DASH} leaf", "node1/mlx5_0, node1/mlx5_1"):
        assert part in shown, part
    assert "Assumed" in shown
    devices = linkwright(*FOUR, "--devices").stdout
    assert "node3/GPU7" in devices
    assert "core3" in devices
    mixed = linkwright("machine", "show", "dgx1-v100", "--network", "100Gb/s").stdout
    assert "1 switch, InfiniBand; 4 of 4 ports" in mixed


def test_servers_on_a_network_have_the_forms_of_servers() -> None:
    data = parsed(*FOUR)
    assert data == json.loads(linkwright(*FOUR, "--as", "json").stdout)
    assert data["servers"] == [{"name": "dgx1-v100", "count": 4, "gpus": 8}]
    assert (data["gpus"], len(data["devices"]), len(data["ports"])) == (32, 92, 16)
    assert data["fabric"]["switches"] == 20
    assert data["ports"][4]["interface"] == "node1/mlx5_0"
    assert tomllib.loads(linkwright(*FOUR, "--as", "toml").stdout) == {
        "network": {"kind": "fat-tree", "machine": "dgx1-v100", "servers": 4}
    }
    assert linkwright(*FOUR, "--as", "dot").stdout.startswith('graph "4xdgx1-v100 on fat-tree-16"')
    assert "go with a server" in fails(2, "machine", "show", "torus", "--servers", 2)
    few = fails(2, *FOUR[:-1], "fat-tre")
    assert "did you mean `fat-tree`" in few


def test_a_file_that_lists_its_network_is_shown_as_a_system(tmp_path: Path) -> None:
    file = tmp_path / "pair.toml"
    device = '[[device]]\nkind = "{}"\nnames = {}\n'
    file.write_text(
        'name = "pair"\n'
        + device.format("gpu", '["A/GPU", "B/GPU"]')
        + device.format("nic", '["A/NIC", "B/NIC"]')
        + device.format("network-switch", '["switch"]')
        + '[[link]]\nkind = "pcie4"\nbetween = [["A/GPU", "A/NIC"], ["B/GPU", "B/NIC"]]\n'
        + '[[link]]\nkind = "infiniband"\nbetween = [["A/NIC", "switch"], ["B/NIC", "switch"]]\n',
        encoding="utf-8",
    )
    shown = linkwright("machine", "show", file).stdout
    assert shown.startswith("pair\n2 GPUs in 2 servers; 1 switch, InfiniBand; 2 of 2 ports in use")
    assert "node1/NIC" in linkwright("machine", "show", file, "--devices").stdout
    assert parsed("machine", "show", file)["servers"] == [{"name": "A", "count": 2, "gpus": 1}]
    refused = fails(1, "machine", "show", file, "--servers", 2)
    assert "`pair` is 2 servers on a network of their own; leave out `servers`" in refused


@pytest.mark.parametrize("form", export_format_names())
def test_a_machine_is_written_as_its_own_tools_would_print_it(form: ExportFormatName) -> None:
    preset = "mi300x-8" if form == "rocm-smi" else "dgx2"
    shown = linkwright("machine", "show", preset, "--as", form)
    machine = System(preset)
    assert shown.stdout == machine.to_text(form)
    assert all(f"- {note}" in " ".join(shown.stderr.split()) for note in machine.text_notes(form))
    again = linkwright("machine", "import", "-", "--as", form, stdin=shown.stdout)
    assert System.from_text(again.stdout).gpu_count == machine.gpu_count
    four = linkwright("machine", "show", preset, "--servers", 4, "--as", form)
    assert four.stdout == shown.stdout


def test_a_text_of_one_tool_becomes_that_of_another(tmp_path: Path) -> None:
    file = tmp_path / "topology.xml"
    said = linkwright("machine", "import", DGX1, "--as", "nccl-xml", "--output", file).stderr
    assert "The PCI addresses of 10 devices" in " ".join(said.split())
    assert read_system(file).gpu_matrix() == read_system(DGX1).gpu_matrix()


def test_what_a_tool_cannot_show_is_refused_with_one_that_can() -> None:
    line = fails(1, "machine", "show", "mi300x-8", "--as", "nvidia-smi")
    assert "write it as rocm-smi or nccl-xml" in line
    assert "is a network" in fails(2, "machine", "show", "fat-tree", "--as", "nccl-xml")
    assert "both say what to print" in fails(
        2, "machine", "show", "dgx2", "--as", "nccl-xml", "--json"
    )
    mixed = System([("dgx2", 1), ("dgx-a100", 1)], network="fat-tree")
    with pytest.raises(MachineError, match="several kinds"):
        mixed.to_text("nccl-xml")
    with pytest.raises(MachineError, match="use one of nvidia-smi, rocm-smi, nccl-xml"):
        System("dgx2").to_text("lstopo")  # type: ignore[arg-type]
