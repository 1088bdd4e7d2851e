use proptest::prelude::*;

use super::*;
use crate::system::import::host_tree::Relation;
use crate::system::test_support::{
    assert_cuts_are_safe, assert_is_helpful, assert_nothing_vanishes, assert_rectangles_are_safe,
    census, damaged, example, quirk, relation,
};
use crate::system::{Affinity, BandwidthProfile, GpuGraph};

const MI210: &str = example!("4x-mi210.rocm-smi-showtopo.txt");

/// The names of an older version, which writes no weights, and a node that the driver does not know.
const SPACED_NAMES: &str = quirk!("spaced-names.rocm-smi.txt");

/// Describes two pairs of GPUs on two sockets, PCIe between the pairs.
const PAIRS: &str = "\
==== Hops between two GPUs ====
       GPU0 GPU1 GPU2 GPU3
GPU0   0 1 3 3
GPU1   1 0 3 3
GPU2   3 3 0 2
GPU3   3 3 2 0
==== Link Type between two GPUs ====
       GPU0 GPU1 GPU2 GPU3
GPU0   0    XGMI PCIE PCIE
GPU1   XGMI 0    PCIE PCIE
GPU2   PCIE PCIE 0    PCIE
GPU3   PCIE PCIE PCIE 0
==== End of ROCm SMI Log ====
";

fn plain(text: &str) -> Result<Server, SystemError> {
    read("paste", text, &RocmSmiOptions::default())
}

#[test]
fn four_mi210_are_all_joined() {
    let machine = plain(MI210).unwrap();
    let xgmi = machine.links().iter().filter(|link| link.kind == LinkKind::Xgmi);
    assert_eq!(xgmi.count(), 6);
    let census = census(&machine);
    assert_eq!((census["gpu"], census["cpu"]), (4, 4));
    let said = machine.assumptions().join("\n");
    for word in ["`pcie`", "`xgmi_links`", "infinity-fabric"] {
        assert!(said.contains(word), "{word} in {said}");
    }
}

#[test]
fn hops_place_pcie_pairs_without_numa_lines() {
    let machine = plain(PAIRS).unwrap();
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU0"), id("GPU1")), Relation::Socket);
    assert_eq!(relation(&machine, id("GPU2"), id("GPU3")), Relation::Socket);
    assert_eq!(relation(&machine, id("GPU0"), id("GPU2")), Relation::System);
    assert_eq!(machine.links().iter().filter(|link| link.kind == LinkKind::Xgmi).count(), 1);
}

#[test]
fn weights_tell_indirect_pairs() {
    let heavy = MI210
        .replacen("GPU0   0            15           15           15", "GPU0 0 15 15 30", 1)
        .replacen("GPU3   15           15           15           0", "GPU3 30 15 15 0", 1);
    let machine = plain(&heavy).unwrap();
    assert_eq!(machine.links().iter().filter(|link| link.kind == LinkKind::Xgmi).count(), 5);
    assert!(machine.assumptions().join("").contains("GPU0 and GPU3 speak xGMI"));
}

#[test]
fn options_replace_assumptions() {
    let options = RocmSmiOptions {
        name: Some("mine".to_owned()),
        pcie: Some(LinkKind::Pcie5),
        xgmi_links: Some(2),
    };
    let machine = read("paste", MI210, &options).unwrap();
    assert!(!machine.assumptions().join("").contains("option"));
    assert!(machine.links().iter().any(|link| link.kind == LinkKind::Xgmi && link.count == 2));
    for wrong in [
        RocmSmiOptions { pcie: Some(LinkKind::Xgmi), ..options.clone() },
        RocmSmiOptions { xgmi_links: Some(0), ..options },
    ] {
        assert_is_helpful(&read("paste", MI210, &wrong).unwrap_err());
    }
}

#[test]
fn pastes_of_every_manner_read_alike() {
    let expected = plain(MI210).unwrap();
    let spaced = (0..4).fold(MI210.to_owned(), |text, n| {
        text.replace(&format!("GPU[{n}]\t\t:"), &format!("GPU {n}          :"))
    });
    let manners = [
        spaced,
        MI210.replace('\n', "  \r\n"),
        format!("$ rocm-smi --showtopo\nWARNING: low-power state\n\n{MI210}\n$ "),
        MI210.lines().map(|line| format!("  {line}\n")).collect(),
        MI210.lines().map(|line| format!("> {line}\n")).collect(),
        format!("{MI210}== Link accessibility ==\n     GPU0 GPU1\nGPU0 True False\n"),
        MI210.replace("=== End of ROCm SMI Log", ""),
    ];
    for manner in manners {
        assert_eq!(plain(&manner).unwrap(), expected, "{manner}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let unended = PAIRS.replace("==== End of ROCm SMI Log ====\n", "");
    let cases = [
        (String::new(), "1:1", "empty"),
        ("hello".to_owned(), "1:6", "`Link Type between two GPUs` is missing"),
        (unended, "12:24", "NUMA lines of GPU0"),
        (PAIRS.replace("GPU1   XGMI", "GPU1   PCIE"), "10:8", "GPU1-GPU0"),
        (PAIRS.replace("GPU1   XGMI", "GPU1   FAST"), "10:8", "no such cell"),
        (PAIRS.replace("0    PCIE PCIE\nGPU2", "0    PCIE\nGPU2"), "10:22", "cell for GPU3"),
        (PAIRS.replace("GPU2   3 3 0 2\n", ""), "5:1", "row of GPU2"),
        (PAIRS.replace("3 3 0 2", "3 3 0 2 2"), "5:16", "more cells"),
        (PAIRS.replace("3 3 0 2", "3 3 1 2"), "5:12", "itself is 0"),
        (PAIRS.replace("Hops", "Link Type"), "7:1", "twice"),
        (PAIRS.replace("0 2", "0 1").replace("2 0", "1 0"), "5:14", "at least two hops"),
        (MI210.replace("Numa Node: 3", "Numa Node: x"), "30:33", "no number"),
        (MI210.replace("Numa Nodes", "Numa Nods"), "24:1", "no title `Numa Nodes`"),
        (MI210.replace("Hops between", "Hop between"), "11:1", "no title"),
        (MI210.replace("GPU[3]\t\t: (Topology) Numa Node: 3\n", ""), "31:81", "gap"),
        (MI210.replace("GPU[3]", "GPU[4]"), "30:1", "no column"),
        (MI210.replace("Numa Affinity: 3", "Numa Node: 3"), "31:1", "twice"),
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
fn an_older_version_s_names_read_too() {
    let machine = plain(SPACED_NAMES).unwrap();
    assert_eq!(machine.links().iter().filter(|link| link.kind == LinkKind::Xgmi).count(), 1);
    let node = |gpu: usize| machine.devices()[gpu].locality.numa_affinity.clone();
    assert_eq!((node(0), node(1)), (None, Some(Affinity::one(0))));
    assert_cuts_are_safe(SPACED_NAMES, plain);
}

#[test]
fn hops_of_no_tree_are_refused() {
    let text = PAIRS
        .replace("GPU0   0 1 3 3", "GPU0   0 1 2 2")
        .replace("GPU2   3 3 0 2", "GPU2   2 3 0 3")
        .replace("GPU3   3 3 2 0", "GPU3   2 3 3 0");
    let error = plain(&text).unwrap_err().to_string();
    assert!(error.starts_with("paste:") && error.contains("different sockets"), "{error}");
}

#[test]
fn a_cut_paste_is_never_a_smaller_machine() {
    assert_cuts_are_safe(MI210, plain);
    assert_cuts_are_safe(PAIRS, plain);
}

/// Describes eight GPUs, whose columns go on beyond the titles.
fn eight() -> String {
    let block = |title: &str, cell: &str| {
        let rule = "=".repeat(24);
        let names: Vec<String> = (0..8).map(|gpu| format!("GPU{gpu}         ")).collect();
        let mut text =
            format!("{rule} {title} between two GPUs {rule}\n       {}\n", names.concat());
        for row in 0..8 {
            let cells = (0..8).map(|column| if row == column { "0" } else { cell });
            let cells: Vec<String> = cells.map(|cell| format!("{cell:<13}")).collect();
            text += &format!("GPU{row}   {}\n", cells.concat());
        }
        text
    };
    let blocks = [block("Weight", "15"), block("Hops", "1"), block("Link Type", "XGMI")];
    let numa = (0..8).map(|gpu| {
        let line = format!("GPU[{gpu}]\t\t: (Topology) Numa");
        format!("{line} Node: {0}\n{line} Affinity: {0}\n", gpu / 4)
    });
    let end = "===== End of ROCm SMI Log =====\n";
    format!("{}======== Numa Nodes ========\n{}{end}", blocks.concat(), numa.collect::<String>())
}

#[test]
fn a_paste_cut_on_the_right_is_never_a_smaller_machine() {
    assert_rectangles_are_safe(MI210, usize::MAX, plain);
    assert_rectangles_are_safe(PAIRS, usize::MAX, plain);
    assert_rectangles_are_safe(&eight(), usize::MAX, plain);
    let last_matrix = MI210.find("========================== Link").unwrap();
    assert_rectangles_are_safe(&MI210[last_matrix..], usize::MAX, plain);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>(), block in any::<String>()) {
        let _ = plain(&text);
        let _ = plain(&format!("== Link Type between two GPUs ==\n{block}"));
        let _ = plain(&format!("{PAIRS}== Numa Nodes ==\n{block}"));
    }

    #[test]
    fn one_wrong_character_loses_no_device(
        (text, damaged) in prop::sample::select(vec![MI210, PAIRS])
            .prop_flat_map(|text| (Just(text), damaged(text))),
    ) {
        assert_nothing_vanishes(text, &damaged, plain);
    }
}

/// Describes eight GPUs, each joined to each.
fn mesh() -> String {
    let names: Vec<String> = (0..8).map(|gpu| format!("GPU{gpu}")).collect();
    let mut text = format!("==== Link Type between two GPUs ====\n{}\n", names.join(" "));
    for a in 0..8 {
        let cells = (0..8).map(|b| if a == b { "0" } else { "XGMI" });
        text += &format!("GPU{a} {}\n", cells.collect::<Vec<_>>().join(" "));
    }
    text + "==== End of ROCm SMI Log ====\n"
}

#[test]
fn the_generation_is_that_of_the_gpus() {
    let kind = |machine: &Server| {
        machine.links().iter().map(|link| link.kind).find(|kind| kind.is_xgmi()).unwrap()
    };
    let plain = |text: &str| read("paste", text, &RocmSmiOptions::default()).unwrap();
    let machine = plain(&mesh());
    assert_eq!(kind(&machine), LinkKind::XgmiMi300);
    assert!(machine.warnings()[0].contains("76.8"));
    for (name, expected) in [
        ("Card Series: AMD Instinct MI355X", LinkKind::XgmiMi350),
        ("GFX Version: gfx942", LinkKind::XgmiMi300),
        ("Card Series: AMD INSTINCT MI250", LinkKind::Xgmi),
    ] {
        let machine = plain(&format!("GPU[0] : {name}\n{}", mesh()));
        assert_eq!((kind(&machine), machine.warnings().len()), (expected, 0), "{name}");
    }
    let pcie = Some(LinkKind::Pcie5);
    let wide = read("paste", &mesh(), &RocmSmiOptions { pcie, ..Default::default() }).unwrap();
    let graph = GpuGraph::new(&wide, BandwidthProfile::Mapa).unwrap();
    assert_eq!(graph.pair(0, 7).unwrap().link.label(), "XGMI1");
}

#[test]
fn showbus_tells_addresses_and_the_tool_the_vendor() {
    let bus = "GPU[0]\t\t: PCI Bus: 0000:29:00.0\nGPU[2]\t\t: PCI Bus: 0000:AA:00.0\n\
        GPU[3]\t\t: PCI Bus: none\n";
    let text = format!("{bus}{MI210}");
    let machine = read("paste", &text, &RocmSmiOptions::default()).unwrap();
    let gpus: Vec<_> = machine.gpus().iter().map(|id| &machine.devices()[*id]).collect();
    let addresses: Vec<_> = gpus.iter().map(|gpu| gpu.locality.pci_address.as_deref()).collect();
    assert_eq!(addresses, [Some("0000:29:00.0"), None, Some("0000:aa:00.0"), None]);
    assert!(gpus.iter().all(|gpu| gpu.vendor_id() == Some("1002")));
}
