//! Tests every file, and refusals.

use std::collections::BTreeSet;
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::system::presets;
use crate::units::{Bandwidth, Bytes, OperationRate};

const V100: &str = include_str!("v100-sxm2-16gb.toml");

#[test]
fn every_file_is_a_model_under_its_own_name_and_survives_writing() {
    for (file, model) in FILES.iter().zip(all()) {
        assert_eq!(file.name(), model.name);
        assert_eq!(read("again", &write(model)).as_ref(), Ok(model));
    }
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/system/gpus");
    let stored = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let stored = stored.map(|name| name.into_string().unwrap()).filter(|n| n.ends_with(".toml"));
    let listed: BTreeSet<String> =
        FILES.iter().map(|file| format!("{}.toml", file.name())).collect();
    assert_eq!(stored.collect::<BTreeSet<_>>(), listed);
}

#[test]
fn every_model_is_found_by_its_own_names_and_ids() {
    for model in all() {
        for name in [&model.name, &model.product].into_iter().chain(&model.names) {
            assert_eq!(find(name), Ok(model), "{name}");
            assert_eq!(find(&format!(" nvidia {}", name.to_lowercase())), Ok(model), "{name}");
            assert_eq!(by_text(&format!("1x {}, used", name.to_lowercase())), Some(model));
        }
        for id in &model.pci_ids {
            assert_eq!(by_pci_id(Some(id.vendor), id.device), Some(model), "{id}");
            assert_eq!(by_pci_id(None, id.device), Some(model), "{id}");
            assert_eq!(by_pci_id(Some(0xffff), id.device), None, "{id}");
            assert_eq!(format!("{:04x}", id.vendor), model.vendor.pci_id(), "{id}");
        }
    }
    for ((name, model), (other, another)) in
        NAMES.iter().flat_map(|a| NAMES.iter().map(move |b| (a, b)))
    {
        let alike = without_brands(name) == without_brands(other);
        assert!(
            !alike || model.name == another.name,
            "{name} is {} and {}",
            model.name,
            another.name
        );
    }
}

#[test]
fn tools_names_are_known() {
    use LinkKind::{Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Xgmi, XgmiMi300, XgmiMi350};
    let cases = [
        ("Tesla P100-SXM2-16GB", "p100-sxm2-16gb", Some(Nvlink1)),
        ("Tesla V100-SXM2-32GB-LS", "v100-sxm2-32gb", Some(Nvlink2)),
        ("Tesla V100-PCIE-32GB", "v100-pcie-32gb", None),
        ("V100-SXM3-32GB", "v100-sxm3-32gb", Some(Nvlink2)),
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb", Some(Nvlink3)),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb", Some(Nvlink3)),
        ("NVIDIA A10G", "a10g", None),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb", Some(Nvlink4)),
        ("NVIDIA H100 NVL", "h100-nvl", Some(Nvlink4)),
        ("NVIDIA H200", "h200-sxm5-141gb", Some(Nvlink4)),
        ("NVIDIA GH200 480GB", "gh200-96gb", Some(Nvlink4)),
        ("NVIDIA B200", "b200-sxm6-180gb", Some(Nvlink5)),
        ("NVIDIA GB200", "gb200-186gb", Some(Nvlink5)),
        ("NVIDIA L40S", "l40s", None),
        ("NVIDIA GeForce RTX 4090", "rtx-4090", None),
        ("NVIDIA GeForce RTX 4090 D", "rtx-4090-d", None),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada", None),
        ("Quadro RTX 6000", "quadro-rtx-6000", Some(Nvlink2)),
        ("AMD Instinct MI250X/MI250", "mi250x", Some(Xgmi)),
        ("AMD Instinct MI300X", "mi300x", Some(XgmiMi300)),
        ("AMD INSTINCT MI300A", "mi300a", Some(XgmiMi300)),
        ("AMD Instinct MI355X", "mi355x", Some(XgmiMi350)),
    ];
    for (name, model, kind) in cases {
        let found = by_text(name).unwrap();
        assert!(find(name) == Ok(found) || name.ends_with("-LS"), "{name}");
        assert_eq!((found.name.as_str(), found.links.map(|links| links.kind)), (model, kind));
    }
    for name in ["NVIDIA RTX A1000", "Quadro K2000", "", "GB2000", "MI3000"] {
        assert_eq!(by_text(name), None, "{name}");
    }
    let narrow = find("rtx-3090").unwrap().links.unwrap();
    assert_eq!(narrow.bandwidth(), Bandwidth(14_062_500_000));
    let full = find("a30").unwrap().links.unwrap();
    assert_eq!(full.bandwidth(), Bandwidth::gigabytes_per_second(25));
}

#[test]
fn generations_are_those_of_their_models() {
    use LinkKind::{
        Infiniband, Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Xgmi, XgmiMi100, XgmiMi300,
        XgmiMi350,
    };
    let most = [Nvlink1, Nvlink2, Nvlink3, Nvlink4, Nvlink5, Infiniband].map(most_links);
    assert_eq!(most, [4, 6, 12, 18, 18, 0]);
    for (processor, kind) in [
        ("906", XgmiMi100),
        ("gfx908", XgmiMi100),
        ("90a", Xgmi),
        ("910", Xgmi),
        ("gfx940", XgmiMi300),
        ("941", XgmiMi300),
        ("gfx942", XgmiMi300),
        ("950", XgmiMi350),
    ] {
        assert_eq!(xgmi_of(processor), Some(kind), "{processor}");
    }
    assert_eq!([xgmi_of("gfx1100"), xgmi_of("70"), xgmi_of("")], [None; 3]);
}

#[test]
fn every_gpu_of_a_preset_that_has_a_model_has_a_known_one() {
    for name in presets::NAMES {
        let machine = presets::preset(name).unwrap();
        for gpu in machine.gpus() {
            let model = machine.devices()[*gpu].model.as_deref();
            // The presets that stand for any small machine leave their GPUs open.
            let is_any = ["pcie-tree-4", "pcie4-tree-4"].contains(&name);
            assert_eq!(model.is_none(), is_any, "{name}");
            let found = model.map(|model| find(model).unwrap());
            let links = found.and_then(|found| found.links);
            for link in machine.links().iter().filter(|link| link.a == *gpu || link.b == *gpu) {
                if link.kind.is_gpu_fabric() {
                    assert_eq!(links.map(|it| it.kind), Some(link.kind), "{name}");
                }
            }
        }
    }
}

/// These are the facts of the MAPA papers' GPU, on which workloads are timed, and of some others,
/// by their data sheets.
#[test]
fn facts_are_those_of_the_data_sheets() {
    let v100 = find("V100-SXM2-16GB").unwrap();
    assert_eq!(v100.vector_rate(NumberType::Fp32), Ok(OperationRate(15_700_000_000_000)));
    assert_eq!(v100.matrix_rate(NumberType::Fp16), Ok(OperationRate(125_000_000_000_000)));
    let memory = v100.memory().unwrap();
    assert_eq!((memory.capacity, memory.kind), (Bytes(16 << 30), MemoryKind::Hbm2));
    assert_eq!(memory.bandwidth, Bandwidth::gigabytes_per_second(900));
    let engines = v100.copy_engines().unwrap();
    assert_eq!((engines.count, engines.directions), (5, 2));
    assert_eq!(v100.caches().unwrap().l2, Bytes(6 << 20));
    let a100 = find("a100-sxm4-80gb").unwrap();
    assert_eq!(a100.matrix_rate(NumberType::Bf16), Ok(OperationRate(312_000_000_000_000)));
    // A module's dies show as two GPUs, with half of its memory each.
    assert_eq!(find("mi250x").unwrap().memory().unwrap().capacity, Bytes(64 << 30));
}

/// Speeds rise as numbers narrow, and a tensor core is never slower than the plain cores. A slip of
/// a digit, or a rate with sparsity beside dense ones, would show.
#[test]
fn speeds_are_of_one_piece() {
    for model in all() {
        let Ok(peak) = model.peak() else { continue };
        assert!(!peak.vector.is_empty() || !peak.matrix.is_empty(), "{}", model.name);
        let rate = |number| peak.matrix.get(&number).map(|rate| rate.0 as f64);
        let ratio = |narrow, wide| Some(rate(narrow)? / rate(wide)?);
        for (narrow, wide, least, most) in [
            (NumberType::Fp16, NumberType::Tf32, 1.95, 2.05),
            (NumberType::Fp8, NumberType::Fp16, 1.95, 2.05),
            (NumberType::Fp4, NumberType::Fp8, 1.95, 4.05),
        ] {
            let found = ratio(narrow, wide);
            assert!(found.is_none_or(|found| (least..most).contains(&found)), "{}", model.name);
        }
        for (number, vector) in &peak.vector {
            let matrix = peak.matrix.get(number);
            assert!(matrix.is_none_or(|matrix| matrix >= vector), "{} {number:?}", model.name);
        }
    }
}

/// GeForce GPUs of the 40 and 50 series reach no other over PCIe; data centers' and professionals' do.
#[test]
fn peer_access_over_pcie_is_that_of_the_product() {
    for model in all() {
        let has = model.peer_access().map(|access| access.pcie).ok();
        let is_geforce = model.product.contains("GeForce");
        let newest = ["RTX 40", "RTX 50"].iter().any(|series| model.product.contains(series));
        let is_other = ["GeForce", "TITAN", "Radeon", "MI300A"];
        let is_unknown = is_other.iter().any(|words| model.product.contains(words));
        let expected = if is_geforce && newest { Some(false) } else { Some(true) };
        assert_eq!(has, expected.filter(|_| newest || !is_unknown), "{}", model.name);
    }
    let pro = find("NVIDIA RTX PRO 6000 Blackwell Server Edition").unwrap();
    assert!(pro.peer_access().unwrap().pcie);
}

#[test]
fn what_a_file_lacks_is_named() {
    let h20 = find("NVIDIA H20").unwrap();
    let error = h20.memory().unwrap_err().to_string();
    assert!(error.starts_with("the GPU model `h20` has no section [memory]"));
    for missing in [h20.peak().err(), h20.caches().err(), h20.copy_engines().err()] {
        assert!(missing.unwrap().to_string().contains("has no section"));
    }
    assert_eq!(h20.vector_rate(NumberType::Fp32), Err(h20.peak().unwrap_err()));
    let error = find("t4").unwrap().matrix_rate(NumberType::Bf16).unwrap_err().to_string();
    assert!(error.contains("`t4` has no bf16 in [peak.matrix] of system/gpus/t4.toml"), "{error}");
}

#[test]
fn a_name_of_no_model_is_refused_with_the_nearest() {
    let error = find("V100-SXM2-15GB").unwrap_err().to_string();
    let expected = "there is no GPU model `V100-SXM2-15GB`; did you mean `v100-sxm2-16gb`?";
    assert_eq!(error, expected);
    let error = find("abacus").unwrap_err().to_string();
    assert!(error.starts_with("there is no GPU model `abacus`; use one of k40c, k20c,"), "{error}");
    // Of a family, but of another memory than any that is known.
    for name in ["A100-SXM-64GB", "NVIDIA H100 64GB", "Tesla V100-SXM2-32GB-LS", ""] {
        assert!(find(name).is_err(), "{name}");
    }
}

#[test]
fn what_is_wrong_in_a_file_is_named_with_its_place() {
    for (from, to, place, word) in [
        ("wiring = \"board\"", "wirign = \"board\"", "48:1", "wirign"),
        ("fp64 = ", "fp65 = ", "21:1", "fp65"),
        ("7.8 TFLOP/s", "7.8 TB/s", "21:8", "is not a speed"),
        ("7.8 TFLOP/s", "0 TFLOP/s", "", "speed of fp64 is zero"),
        ("\"900 GB/s\"", "\"0 GB/s\"", "31:13", "above 0"),
        ("\"16 GiB\"", "16", "30:12", "write a text in quotes"),
        ("directions = 2", "directions = 3", "36:14", "1 or 2"),
        ("units = 80", "units = 0", "40:9", "above 0"),
        ("l1 = \"128 KiB\"", "l1 = \"0 B\"", "41:6", "above 0"),
        ("\"pcie3\"", "\"nvlink2\"", "7:8", "no generation of PCIe"),
        ("\"nvlink2\"", "\"infiniband\"", "46:8", "which join GPUs"),
        ("10de:1db1", "1db1", "5:", "lspci -nn"),
        ("\"hbm2\"", "\"hbm9\"", "29:8", "hbm2e"),
        ("vendor = \"nvidia\"", "vendor = \"ati\"", "4:10", "use one of nvidia, amd"),
        ("[\"V100\"]", "[\" \"]", "3:9", "empty"),
        ("clock = 1530", "clock = 15", "14:9", "from 100 to 10000"),
    ] {
        assert!(V100.contains(from), "{from}");
        let error = read("v100.toml", &V100.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(&format!("v100.toml:{place}")), "{to}: {error}");
        assert!(error.contains(word), "{to}: {error}");
    }
}

prop_compose! {
    fn rates()(rates in prop::collection::btree_map(0_usize..9, 1_u64.., 0..9)) -> Vec<(usize, u64)> {
        rates.into_iter().collect()
    }
}

proptest! {
    /// Whatever numbers a file has, they are read as they were written, to the last digit.
    #[test]
    fn any_model_survives_writing(
        vector in rates(), matrix in rates(), capacity in 1_u64.., bandwidth in 1_u64..,
        count in 1_u32.., units in 1_u32.., clock in 100_u32..=10_000, l1 in prop::option::of(1_u64..), l2 in 1_u64..,
        own in prop::option::of(1_u64..), id: (u16, u16), words in "[\\PC&&\\S]{1,12}",
    ) {
        let mut text = format!(
            "name = 'x'\nproduct = 'y'\nvendor = 'amd'\nprocessors = []\npcie = 'pcie4'\n\
             pci_ids = ['{:04x}:{:04x}']\nsource = {}\n[memory]\nkind = 'gddr6'\n\
             capacity = '{capacity} B'\nbandwidth = '{bandwidth} B/s'\nsource = 's'\n\
             [copy_engines]\ncount = {count}\ndirections = 1\nsource = 's'\n[caches]\n\
             units = {units}\nl2 = '{l2} B'\nsource = 's'\n",
            id.0, id.1, toml::Value::String(words.clone()),
        );
        if let Some(l1) = l1 {
            text += &format!("l1 = '{l1} B'\n");
        }
        text += "[links]\nkind = 'xgmi'\ncount = 3\nwiring = 'bridge'\n";
        if let Some(own) = own {
            text += &format!("bandwidth = '{own} B/s'\n");
        }
        text += &format!("[chip]\nclock = {clock}\ndies = 2\nsource = 's'\n");
        text += "[peer_access]\npcie = false\nsource = 's'\n";
        text += "[peak]\nsource = 's'\n";
        for (head, rates) in [("vector", &vector), ("matrix", &matrix)] {
            text += &format!("[peak.{head}]\n");
            for (number, rate) in rates {
                text += &format!("{} = '{rate} FLOP/s'\n", NumberType::ALL[*number].name());
            }
        }
        let model = read("x.toml", &text).unwrap();
        prop_assert_eq!(model.memory().unwrap().capacity, Bytes(capacity));
        prop_assert_eq!(model.matrix_rate(NumberType::Fp16).ok().map(|rate| rate.0),
            matrix.iter().find(|(number, _)| *number == 3).map(|(_, rate)| *rate));
        prop_assert_eq!(model.links.unwrap().bandwidth().0, own.unwrap_or(50_000_000_000));
        prop_assert_eq!(&model.source, &words);
        prop_assert_eq!(read("again", &write(&model)).unwrap(), model);
    }

    #[test]
    fn damaged_files_never_panic(at in 0..V100.len(), with in "\\PC{0,3}") {
        if V100.is_char_boundary(at) {
            let _ = read("damaged", &format!("{}{with}{}", &V100[..at], &V100[at + 1..]));
        }
    }
}
