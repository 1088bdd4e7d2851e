use proptest::prelude::*;

use super::*;
use crate::system::import::host_tree::Relation;
use crate::system::locality::Affinity;
use crate::system::test_support::{
    assert_cuts_are_safe, assert_is_helpful, assert_nothing_vanishes, assert_rectangles_are_safe,
    census, damaged, example, quirk, relation,
};
use crate::system::{BandwidthProfile, GpuGraph};

const DGX1: &str = example!("dgx1-v100.nvidia-smi-topo-m.txt");
const DGX_A100: &str = example!("dgx-a100-12-nics.nvidia-smi-topo-m.txt");
const HGX_H100: &str = example!("hgx-h100.nvidia-smi-topo-m.txt");
const PCIE_ONLY: &str = example!("4x-rtx6000ada-pcie.nvidia-smi-topo-m.txt");
const B200: &str = example!("b200-16-nics.nvidia-smi-topo-m.txt");
const BOARD: &str = quirk!("board-without-nvlink.nvidia-smi.txt");
const BLANK: &str = quirk!("blank-affinity.nvidia-smi.txt");
const LOST_TABS: &str = quirk!("lost-tabs.nvidia-smi.txt");
const SPACED: &str = quirk!("spaced-columns.nvidia-smi.txt");
const NO_LEGEND: &str = quirk!("no-legend.nvidia-smi.txt");
const NUMA_LIST: &str = quirk!("numa-list.nvidia-smi.txt");
const TERMINAL_CUT: &str = quirk!("terminal-cut.nvidia-smi.txt");
/// Lists the texts that read whole.
const WHOLE: [&str; 10] =
    [DGX1, DGX_A100, HGX_H100, PCIE_ONLY, B200, BLANK, LOST_TABS, SPACED, NO_LEGEND, NUMA_LIST];

fn plain(text: &str) -> Result<Server, SystemError> {
    read("paste", text, &NvidiaSmiOptions::default())
}

fn links_of_kind(machine: &Server, kind: LinkKind) -> Vec<(&str, &str, u32)> {
    let name = |id: usize| machine.devices()[id].name.as_str();
    let links = machine.links().iter().filter(|link| link.kind == kind);
    links.map(|link| (name(link.a), name(link.b), link.count)).collect()
}

/// Asserts that every PCIe cell of the paste is the machine's relation.
fn assert_explains(text: &str, machine: &Server) {
    let matrix = matrix::read("paste", text, &paste::words_by_line(text)).unwrap();
    let id = |n: usize| machine.device(&matrix.devices[n].name.text).unwrap();
    for (row, cells) in matrix.cells.iter().enumerate() {
        for (column, cell) in cells.iter().enumerate() {
            if let Cell::Pcie(expected) = cell {
                let word = &matrix.words[row][column];
                let found = relation(machine, id(row), id(column));
                let one_node = *expected == Relation::System && found == Relation::Socket;
                assert!(found == *expected || one_node, "{word:?}");
            }
        }
    }
}

#[test]
fn pastes_are_explained_cell_by_cell() {
    for text in WHOLE {
        assert_explains(text, &plain(text).unwrap());
    }
}

#[test]
fn a_dgx1_has_its_cube_mesh() {
    let machine = plain(DGX1).unwrap();
    let nvlinks = links_of_kind(&machine, LinkKind::Nvlink2);
    assert_eq!(nvlinks.len(), 16);
    assert_eq!(nvlinks.iter().map(|link| link.2).sum::<u32>(), 24);
    assert!(nvlinks.contains(&("GPU0", "GPU3", 2)) && nvlinks.contains(&("GPU0", "GPU1", 1)));
    let census = census(&machine);
    assert_eq!((census["gpu"], census["cpu"], census["nic"], census["pcie-switch"]), (8, 2, 1, 1));
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU2"), id("GPU3")), Relation::Switch);
    assert_eq!(links_of_kind(&machine, LinkKind::Upi), [("CPU0", "CPU1", 1)]);
    let said = machine.assumptions().join("\n");
    for word in ["`nvlink`", "`pcie`", "pcie3", "GPU0, GPU1, GPU4", "upi"] {
        assert!(said.contains(word), "{word} in {said}");
    }
}

#[test]
fn switched_machines_get_one_switch() {
    for (text, kind, count) in
        [(DGX_A100, LinkKind::Nvlink3, 12), (HGX_H100, LinkKind::Nvlink4, 18)]
    {
        let machine = plain(text).unwrap();
        let expected: Vec<String> = (0..8).map(|n| format!("GPU{n}")).collect();
        let expected: Vec<(&str, &str, u32)> =
            expected.iter().map(|gpu| (gpu.as_str(), "NVSwitch0", count)).collect();
        assert_eq!(links_of_kind(&machine, kind), expected);
    }
    let census = census(&plain(DGX_A100).unwrap());
    assert_eq!((census["cpu"], census["nic"]), (6, 12));
    let said = plain(DGX_A100).unwrap().assumptions().join("\n");
    for words in ["over PCIe: GPU0-GPU1,", "switches between GPU0, GPU1, mlx5_0, mlx5_1,"] {
        assert!(said.contains(words), "{words} in {said}");
    }
    let machine = plain(HGX_H100).unwrap();
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU0"), id("GPU3")), Relation::Socket);
    assert_eq!(relation(&machine, id("GPU0"), id("GPU4")), Relation::System);
}

#[test]
fn a_pcie_machine_has_no_nvlink() {
    let machine = plain(PCIE_ONLY).unwrap();
    assert!(machine.links().iter().all(|link| !link.kind.is_gpu_fabric()));
    let census = census(&machine);
    assert_eq!((census["gpu"], census["nic"], census["pcie-switch"]), (4, 4, 2));
    assert!(!census.contains_key("host-bridge"));
}

#[test]
fn options_replace_assumptions() {
    let options = NvidiaSmiOptions {
        name: Some("mine".to_owned()),
        nvlink: Some(LinkKind::Nvlink2),
        pcie: Some(LinkKind::Pcie4),
    };
    let machine = read("paste", DGX1, &options).unwrap();
    assert_eq!(machine.name(), "mine");
    assert!(!machine.assumptions().join("").contains("option"));
    assert!(machine.links().iter().any(|link| link.kind == LinkKind::Pcie4));
    let old = NvidiaSmiOptions { nvlink: Some(LinkKind::Nvlink3), ..options.clone() };
    assert!(read("paste", HGX_H100, &old).unwrap_err().to_string().starts_with("paste:2:"));
    for wrong in [
        NvidiaSmiOptions { nvlink: Some(LinkKind::Pcie4), ..options.clone() },
        NvidiaSmiOptions { nvlink: Some(LinkKind::Xgmi), ..options.clone() },
        NvidiaSmiOptions { pcie: Some(LinkKind::Nvlink2), ..options },
    ] {
        assert_is_helpful(&read("paste", DGX1, &wrong).unwrap_err());
    }
}

#[test]
fn pastes_of_every_manner_read_alike() {
    for text in WHOLE {
        let expected = plain(text).unwrap();
        let matrix: Vec<&str> = text.lines().take_while(|line| !line.is_empty()).collect();
        let squeeze = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join("\t");
        let manners = [
            text.replace('\n', "\r\n"),
            format!("user@host:~$ nvidia-smi topo -m\n{text}\n\nuser@host:~$ \n"),
            format!("\u{feff}\n\u{1b}[4m{}\u{1b}[0m\n{}\n", matrix[0], matrix[1..].join("\n")),
            format!("[4m{}[0m\n{}\n", matrix[0].trim_start(), matrix[1..].join("\n")),
            matrix.join("\n\n"),
            matrix.iter().map(squeeze).collect::<Vec<_>>().join("\n"),
            text.lines().map(|line| format!("    {line}\n")).collect(),
            expanded(text),
            text.replace("SYS", "SOC"),
            text.lines().map(|line| format!("> {line}\n")).collect(),
            text.lines().map(|line| format!(">>{line}\n")).collect(),
        ];
        // Without its tabs a blank cell has no place, and an assumption quotes what ran together.
        let blank_has_place = |manner: &str| manner.contains("\t\t") || !manner.contains('\t');
        let is_alike = |manner: &&String| {
            (text != BLANK || blank_has_place(manner)) && !manner.contains("SOCSOC")
        };
        for manner in manners.iter().filter(is_alike) {
            assert_eq!(plain(manner).unwrap(), expected, "{manner}");
        }
    }
}

#[test]
fn odd_but_real_pastes_read() {
    let wsl = "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t\t\t\tN/A\n";
    assert_eq!(census(&plain(wsl).unwrap())["gpu"], 1);
    let unknown = "GPU0 GPU1 CPU Affinity NUMA Affinity\nGPU0 X PHB 0-7 N/A\nGPU1 PHB X 0-7 N/A";
    assert_eq!(census(&plain(unknown).unwrap())["host-bridge"], 1);
    let lists = "GPU0 GPU1 NUMA Affinity\nGPU0 X NV4 0-1\nGPU1 NV4 X 0,2\n";
    assert_eq!(census(&plain(lists).unwrap())["cpu"], 2);
    let virtual_machine = "GPU0 GPU1 NUMA Affinity\nGPU0 X SYS 0-1\nGPU1 SYS X 0-1\n";
    let machine = plain(virtual_machine).unwrap();
    assert_eq!(census(&machine)["cpu"], 2);
    assert!(machine.assumptions().join("").contains("shares its affinity"));
    let bridged = "GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV4 SYS N/A\nGPU1 NV4 X SYS N/A\n\
        GPU2 SYS SYS X N/A\n";
    let machine = plain(bridged).unwrap();
    assert_eq!(links_of_kind(&machine, LinkKind::Nvlink2), [("GPU0", "GPU1", 4)]);
    assert!(machine.assumptions().join("").contains("socket holds GPU1; taken to be on CPU0"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let pair = "GPU0 GPU1 CPU Affinity\nGPU0 X NV2 0-7\nGPU1 NV2 X 8-15\n";
    assert!(plain(pair).is_ok());
    let cases = [
        (String::new(), "1:1", "empty"),
        ("hello".to_owned(), "1:1", "no GPU"),
        (pair.replace("GPU0 GPU1 CPU Affinity\n", ""), "1:1", "header is missing"),
        (pair.replace("GPU1 NV2 X 8-15\n", ""), "2:15", "before the row of GPU1"),
        (pair.replace("X 8-15", "X"), "3:11", "before its affinities"),
        (pair.replace("NV2 X 8-15", "NV2"), "3:9", "before its cell for GPU1"),
        (pair.replace("GPU1 NV2", "GPU1 NV1"), "3:6", "GPU0-GPU1"),
        (pair.replace("GPU1 NV2", "GPU1 NVx"), "3:6", "none that nvidia-smi prints"),
        (pair.replace("NV2", "NV0"), "2:8", "none of them"),
        (pair.replace("NV2", "NV37"), "2:8", "too many"),
        (pair.replace("NV2", "X"), "2:8", "off the diagonal"),
        (pair.replace("NV2 X", "NV2 SYS"), "3:10", "not X"),
        (pair.replace("GPU1 NV2", "GPU0 NV2"), "3:1", "twice"),
        (pair.replace("GPU1 NV2", "GPU7 NV2"), "3:1", "no column"),
        (pair.replace("GPU0 X NV2 0-7\n", ""), "2:1", "out of order"),
        (pair.replace("0-7", "7-0"), "2:12", "no affinity"),
        (pair.replace("0-7", "0-7 0"), "2:16", "more cells"),
        (format!("{pair}GPU1 NV2 X 8-15\n"), "4:1", "follows the last"),
        (format!("{pair}GPU2 SYS SYS X 8-15\n"), "4:1", "no column in the header"),
        (format!("{pair}\nmlx5_0 PIX SYS\n"), "5:1", "no column in the header"),
        (pair.replace(" CPU Affinity", ""), "1:10", "devices may be cut off"),
        (pair.replace("GPU1 CPU Affinity", "GP"), "1:8", "devices may be cut off"),
        (pair.replace("GPU0 GPU1 CPU", "GPU0 GPU0 CPU"), "1:6", "two columns"),
        (pair.replace("Affinity", "Affinity GPU2"), "1:24", "not known"),
        (pair.replace("GPU1", "CPU1"), "1:6", "this name"),
        (pair.replace("GPU1", "NIC0"), "2:8", "joins a NIC"),
    ];
    for (text, place, words) in cases {
        let error = plain(&text).unwrap_err();
        assert_is_helpful(&error);
        let error = error.to_string();
        assert!(error.starts_with(&format!("paste:{place}: ")), "{error}\n{text}");
        assert!(error.contains(words), "{error}\n{text}");
    }
}

#[test]
fn relations_of_no_tree_are_refused() {
    let text = "GPU0 GPU1 NIC0 CPU Affinity\nGPU0 X SYS PIX 0\nGPU1 SYS X PIX 0\nNIC0 PIX PIX X\n";
    let error = plain(text).unwrap_err().to_string();
    assert!(error.starts_with("paste:2:8: ") && error.contains("PIX to NIC0"));
}

#[test]
fn counts_of_neither_wires_nor_switches_are_refused() {
    let text = "GPU0 GPU1 GPU2 CPU Affinity\nGPU0 X NV12 NV12 0\nGPU1 NV12 X NV6 0\n\
        GPU2 NV12 NV6 X 0\n";
    let error = plain(text).unwrap_err().to_string();
    assert!(error.starts_with("paste:3:13: "), "{error}");
}

#[test]
fn a_cut_paste_is_never_a_smaller_machine() {
    for text in WHOLE {
        assert_cuts_are_safe(text, plain);
    }
}

#[test]
fn a_paste_cut_on_the_right_is_never_a_smaller_machine() {
    for text in WHOLE {
        let rows = text.lines().take_while(|line| !line.is_empty()).count() + 3;
        assert_rectangles_are_safe(text, rows, plain);
    }
}

/// One device of a random host: whether it is a GPU, and its socket, host bridge, upstream
/// switch and switch.
type Leaf = (bool, [usize; 4]);

fn true_relation(a: &Leaf, b: &Leaf) -> Relation {
    let levels = [Relation::System, Relation::Socket, Relation::HostBridge, Relation::Switches];
    let differs = (0..4).find(|level| a.1[*level] != b.1[*level]);
    differs.map_or(Relation::Switch, |level| levels[level])
}

fn word(relation: Relation) -> &'static str {
    match relation {
        Relation::Switch => "PIX",
        Relation::Switches => "PXB",
        Relation::HostBridge => "PHB",
        Relation::Socket => "NODE",
        Relation::System => "SYS",
    }
}

fn print(leaves: &[Leaf], bridged: &[bool], numa_known: bool) -> String {
    let name = |n: usize| if leaves[n].0 { format!("GPU{n}") } else { format!("mlx5_{n}") };
    let mut rows: Vec<Vec<String>> = vec![(0..leaves.len()).map(name).collect()];
    rows[0].push("NUMA Affinity".to_owned());
    for (a, leaf) in leaves.iter().enumerate() {
        let cell = |b: usize| match &leaves[b] {
            _ if a == b => "X",
            other if leaf.0 && other.0 && bridged[a.min(b) * leaves.len() + a.max(b)] => "NV1",
            other => word(true_relation(leaf, other)),
        };
        let mut row = vec![name(a)];
        row.extend((0..leaves.len()).map(|b| cell(b).to_owned()));
        if leaf.0 {
            row.push(if numa_known { leaf.1[0].to_string() } else { "N/A".to_owned() });
        }
        rows.push(row);
    }
    rows.iter().map(|row| row.join("\t") + "\n").collect()
}

proptest! {
    #[test]
    fn any_host_prints_reads_and_prints_again(
        mut leaves in prop::collection::vec(
            (any::<bool>(), [0..3usize, 0..2usize, 0..2usize, 0..2usize]), 1..10),
        bridged in prop::collection::vec(prop::bool::weighted(0.2), 100),
        numa_known in any::<bool>(),
    ) {
        leaves[0].0 = true;
        leaves.sort_by_key(|leaf| !leaf.0);
        let text = print(&leaves, &bridged, numa_known);
        let machine = plain(&text).unwrap();
        assert_explains(&text, &machine);
    }

    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = plain(&text);
    }

    #[test]
    fn words_of_the_format_never_panic(
        words in prop::collection::vec(prop::sample::select(vec![
            "GPU0", "GPU1", "NIC0", "X", "NV1", "NV18", "PIX", "SYS", "NODE", "CPU", "Affinity",
            "NUMA", "N/A", "0-3", "\n", "\n", "\t", "\u{1b}[4m",
        ]), 0..40),
    ) {
        let _ = plain(&words.join(" "));
    }

    #[test]
    fn one_wrong_character_loses_no_device(
        (text, damaged) in prop::sample::select(WHOLE.to_vec())
            .prop_flat_map(|text| (Just(text), damaged(text))),
    ) {
        assert_nothing_vanishes(text, &damaged, plain);
    }
}

#[test]
fn affinities_stay_with_their_devices() {
    let machine = plain(HGX_H100).unwrap();
    let places: Vec<String> = machine
        .gpus()
        .iter()
        .map(|id| serde_json::to_string(&machine.devices()[*id].locality).unwrap())
        .collect();
    let shown = |cores: &str, node: u32| {
        format!("{{\"cpu_affinity\":\"{cores}\",\"numa_affinity\":\"{node}\"}}")
    };
    let expected: Vec<String> = matrix::read("paste", HGX_H100, &paste::words_by_line(HGX_H100))
        .unwrap()
        .devices
        .iter()
        .filter(|device| device.is_gpu)
        .map(|gpu| {
            let (cores, node) = (gpu.cores.clone().unwrap(), gpu.numa.clone().unwrap());
            shown(&cores.to_string(), node.to_string().parse().unwrap())
        })
        .collect();
    assert_eq!(places, expected);
    assert_ne!(places[0], places[7], "the two sockets differ");
}

/// Returns a text with its tabs as spaces, as terminals copy it.
fn expanded(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut spaced = String::new();
        for field in line.split_inclusive('\t') {
            spaced.push_str(field.trim_end_matches('\t'));
            if field.ends_with('\t') {
                spaced.push_str(&" ".repeat(8 - spaced.chars().count() % 8));
            }
        }
        lines.push(spaced);
    }
    lines.join("\n")
}

#[test]
fn a_blank_affinity_is_that_of_its_column() {
    for text in [BLANK.to_owned(), expanded(BLANK)] {
        let machine = plain(&text).unwrap();
        let of = |gpu: usize| machine.devices()[machine.gpus()[gpu]].locality.clone();
        for gpu in 0..2 {
            assert_eq!(
                (of(gpu).cpu_affinity, of(gpu).numa_affinity),
                (None, Some(Affinity::one(0)))
            );
        }
        assert_eq!(of(2).cpu_affinity, Some(Affinity::one(1)));
    }
    let doubtful = "GPU0 CPU Affinity NUMA Affinity GPU NUMA ID\nGPU0 X 0 N/A\n";
    let error = plain(doubtful).unwrap_err();
    assert_is_helpful(&error);
    assert!(
        error.to_string().starts_with("paste:2:8: an affinity of this row is blank"),
        "{error}"
    );
}

#[test]
fn lost_tabs_are_read_back_and_recorded() {
    let machine = plain(LOST_TABS).unwrap();
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU1"), id("NIC1")), Relation::Switches);
    assert_eq!(relation(&machine, id("GPU1"), id("NIC0")), Relation::Socket);
    assert_eq!(relation(&machine, id("GPU1"), id("NIC2")), Relation::System);
    assert_eq!(census(&machine)["nic"], 3);
    let said = machine.assumptions().join("\n");
    assert!(said.contains("`PXBSYS` as PXB SYS, `SYSSYS` as SYS SYS"), "{said}");
    let wrong = LOST_TABS.replacen("PXBSYS", "PIXSYS", 1);
    assert!(plain(&wrong).unwrap_err().to_string().contains("GPU1-NIC1"));
}

#[test]
fn a_cut_terminal_a_list_of_nodes_and_spaced_columns_are_told() {
    let error = plain(TERMINAL_CUT).unwrap_err();
    assert_is_helpful(&error);
    assert!(error.to_string().contains("devices may be cut off"), "{error}");
    let machine = plain(NUMA_LIST).unwrap();
    assert_eq!(census(&machine)["cpu"], 2, "two nodes are two sockets");
    let near = machine.devices()[0].locality.numa_affinity.clone();
    assert_eq!(near, Affinity::parse("0-1"));
    assert_eq!(links_of_kind(&plain(SPACED).unwrap(), LinkKind::Nvlink2).len(), 4);
    let machine = plain(NO_LEGEND).unwrap();
    assert_eq!(links_of_kind(&machine, LinkKind::Nvlink3), [("GPU0", "GPU1", 12)]);
}

#[test]
fn the_name_of_the_gpus_tells_their_links() {
    let listed = |name: &str| {
        let lines: Vec<String> =
            (0..8).map(|gpu| format!("GPU {gpu}: NVIDIA {name} (UUID: GPU-1)\n")).collect();
        format!("{}\n{HGX_H100}", lines.concat())
    };
    let table = |name: &str| {
        let line = "+-----------------------------------------+\n";
        let rows = (0..8).map(|gpu| {
            format!("|   {gpu}  NVIDIA {name}      On  | 0000000{gpu}:1B:00.0 Off |      0 |\n")
        });
        format!("{HGX_H100}\n{line}{}{line}", rows.collect::<String>())
    };
    for (name, kind) in [("B200", LinkKind::Nvlink5), ("H100 80GB HBM3", LinkKind::Nvlink4)] {
        for text in [listed(name), table(name)] {
            let machine = plain(&text).unwrap();
            assert_eq!(links_of_kind(&machine, kind).len(), 8, "{text}");
            assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
            assert_eq!(machine.devices()[0].model.as_deref(), Some(name));
        }
    }
    let unnamed = plain(HGX_H100).unwrap();
    assert!(unnamed.warnings()[0].contains("B200 (50)"), "{:?}", unnamed.warnings());
    assert!(!unnamed.assumptions().join("").contains("NVLink generation"));
    let nvlink = Some(LinkKind::Nvlink5);
    let told = read("paste", HGX_H100, &NvidiaSmiOptions { nvlink, ..Default::default() });
    assert!(told.unwrap().warnings().is_empty());
    assert!(plain(DGX1).unwrap().warnings().is_empty());
    let more = listed("B200").replace("GPU 7:", "GPU 8:");
    assert!(plain(&more).unwrap_err().to_string().contains("the matrix has none of its number"));
    let pair = "GPU 0: NVIDIA GeForce RTX 3090\nGPU 1: NVIDIA GeForce RTX 3090\n\
        GPU0 GPU1 CPU Affinity\nGPU0 X NV4 0-7\nGPU1 NV4 X 0-7\n";
    let machine = plain(pair).unwrap();
    let bridge = machine.links().iter().find(|link| link.kind == LinkKind::Nvlink3).unwrap();
    assert_eq!(bridge.total_bandwidth().as_gigabytes_per_second(), 56.25);
}

#[test]
fn no_socket_is_made_up_for_gpus_of_one_numa_node() {
    let mut text = String::from("GPU0\tGPU1\tGPU2\tGPU3\tNIC0\tCPU Affinity\tNUMA Affinity\n");
    for gpu in 0..4 {
        let cells = (0..5).map(|other| if other == gpu { "X" } else { "SYS" });
        let cells: Vec<&str> = cells.collect();
        text += &format!("GPU{gpu}\t{}\t0-7\t{}\n", cells.join("\t"), gpu / 2);
    }
    text += "NIC0\tSYS\tSYS\tSYS\tSYS\tX\n";
    let machine = plain(&text).unwrap();
    assert_eq!(census(&machine)["cpu"], 2);
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU0"), id("GPU1")), Relation::Socket);
    assert_eq!(relation(&machine, id("GPU0"), id("GPU2")), Relation::System);
    let said = machine.assumptions().join("\n");
    assert!(said.contains("its own root port"), "{said}");
}

#[test]
fn peer_access_is_named_and_passed_over() {
    let access = " \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\tX\n\nLegend:\n  OK   = Status Ok\n";
    let error = plain(access).unwrap_err();
    assert_is_helpful(&error);
    assert!(error.to_string().contains("topo -p2p") && error.to_string().contains("topo -m"));
    let pair = "GPU0 GPU1 CPU Affinity\nGPU0 X NV2 0-7\nGPU1 NV2 X 0-7\n";
    let both = plain(&format!("{pair}\n{access}")).unwrap();
    assert_eq!(both, plain(pair).unwrap());
    let pcie = plain(&format!("$ nvidia-smi topo -mp\n{pair}")).unwrap();
    assert!(pcie.warnings().join("").contains("topo -m`"));
}

#[test]
fn a_huge_paste_is_refused_unread() {
    let header: Vec<String> = (0..3000).map(|gpu| format!("GPU{gpu}")).collect();
    let wide = plain(&header.join("\t")).unwrap_err().to_string();
    assert!(wide.contains("more than 512 devices"), "{wide}");
    let long = plain(&"GPU0\tX\n".repeat(1 << 20)).unwrap_err();
    assert_is_helpful(&long);
    assert!(long.to_string().contains("4 MiB"), "{long}");
}

#[test]
fn the_table_of_a_paste_tells_addresses() {
    let rows: String = (0..8)
        .map(|gpu| {
            format!(
                "|   {gpu}  NVIDIA H100 80GB HBM3      On  | 00000000:{gpu}B:00.0 Off |    0 |\n"
            )
        })
        .collect();
    let machine = plain(&format!("{rows}{HGX_H100}")).unwrap();
    let gpu = &machine.devices()[machine.gpus()[3]];
    assert_eq!(gpu.locality.pci_address.as_deref(), Some("0000:3b:00.0"), "as Linux writes it");
    assert_eq!(gpu.vendor_id(), Some("10de"));
    assert_eq!(gpu.memory().map(|size| size.to_string()).as_deref(), Some("80 GiB"));
    let far = plain(&format!("{}{HGX_H100}", rows.replace("00000000:3B", "00010000:3B"))).unwrap();
    let gpu = &far.devices()[far.gpus()[3]];
    assert_eq!(gpu.locality.pci_address.as_deref(), Some("00010000:3b:00.0"), "a long domain");
}

#[test]
fn what_is_shown_is_nvidia_s() {
    let machine = plain(HGX_H100).unwrap();
    let vendors: Vec<Option<&str>> =
        machine.devices().iter().map(crate::system::Device::vendor_id).collect();
    assert_eq!(vendors.iter().filter(|vendor| **vendor == Some("10de")).count(), 8);
    assert_eq!(vendors.iter().flatten().count(), 8, "nothing is said of other devices");
}

#[test]
fn slices_of_gpus_are_warned_of_and_change_nothing_else() {
    let listed = |slices: &str| {
        let gpu = |gpu| format!("GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n{slices}");
        format!("{}{HGX_H100}", (0..8).map(gpu).collect::<String>())
    };
    let whole = plain(&listed("")).unwrap();
    let sliced = plain(&listed("  MIG 1g.10gb     Device  0: (UUID: MIG-1)\n")).unwrap();
    assert_eq!(whole.warnings(), [""; 0]);
    let [warning] = sliced.warnings() else { panic!("{:?}", sliced.warnings()) };
    assert!(warning.contains("GPU0 (1 of 1g.10gb), GPU1 (1 of 1g.10gb), "), "{warning}");
    assert_eq!((sliced.devices(), sliced.links()), (whole.devices(), whole.links()));
}

#[test]
fn a_board_whose_links_the_matrix_hides_is_warned_of_and_stated() {
    let machine = plain(BOARD).unwrap();
    let said = machine.warnings().join("\n");
    assert!(said.contains("H100 80GB HBM3 has 18 NVLinks, and the matrix shows none"), "{said}");
    assert!(said.contains("option `nvlink`, such as `nvlink4`"), "{said}");
    let options = NvidiaSmiOptions { nvlink: Some(LinkKind::Nvlink4), ..Default::default() };
    let stated = read("paste", BOARD, &options).unwrap();
    assert!(stated.warnings().is_empty());
    let graph = GpuGraph::new(&stated, BandwidthProfile::DataSheet).unwrap();
    let pair = graph.pair(0, 7).unwrap();
    assert_eq!((pair.link.label().as_str(), pair.bandwidth.0), ("NV18", 450_000_000_000));
    let names = |product: &str| plain(&BOARD.replace("H100 80GB HBM3", product)).unwrap();
    for (product, words) in [
        ("A100-SXM4-80GB", "has 12 NVLinks"),
        ("B200", "has 18 NVLinks"),
        ("Tesla V100-SXM2-32GB", "`dgx1-v100`"),
    ] {
        let said = names(product).warnings().join("\n");
        assert!(said.contains(words), "{product}: {said}");
    }
    // Sold as cards: a bridge between two of them is bought apart, or there is none.
    for product in ["H100 PCIe", "A100-PCIE-40GB", "NVIDIA L40S"] {
        assert!(names(product).warnings().is_empty(), "{product}");
    }
    let card = read("paste", &BOARD.replace("H100 80GB HBM3", "L40S"), &options).unwrap();
    assert!(card.links().iter().all(|link| !link.kind.is_nvlink()));
    let without_names = BOARD.split_once("\tGPU0").map(|(_, matrix)| format!("\tGPU0{matrix}"));
    let unnamed = plain(&without_names.unwrap()).unwrap();
    assert!(unnamed.warnings().is_empty(), "nothing says which GPUs these are");
    let only = plain(&format!("$ nvidia-smi topo -mp\n{BOARD}")).unwrap();
    assert_eq!(only.warnings().len(), 1, "the command says why");
}

#[test]
fn one_gpu_whose_links_are_down_is_named() {
    let names: String =
        (0..8).map(|gpu| format!("GPU {gpu}: NVIDIA H100 80GB HBM3 (UUID: GPU-{gpu})\n")).collect();
    let down = |text: &str| {
        let mut row = 0;
        let lines = text.lines().map(|line| {
            if !line.starts_with("GPU") {
                return line.to_owned();
            }
            let mut cells: Vec<String> = line.split('\t').map(str::to_owned).collect();
            for (column, cell) in cells.iter_mut().enumerate().skip(1) {
                if cell.starts_with("NV") && (row == 7 || column == 8) {
                    *cell = "SYS".to_owned();
                }
            }
            row += 1;
            cells.join("\t")
        });
        lines.collect::<Vec<_>>().join("\n")
    };
    let machine = plain(&format!("{names}{}", down(HGX_H100))).unwrap();
    let said = machine.warnings().join("\n");
    assert!(said.contains("and the matrix shows none of GPU7:"), "{said}");
    assert!(plain(&format!("{names}{HGX_H100}")).unwrap().warnings().is_empty());
}
