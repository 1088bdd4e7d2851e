use proptest::prelude::*;

use super::*;
use crate::system::gpus::PciId;
use crate::system::server::{Device, MAX_BANDWIDTH};
use crate::system::{
    Affinity, Calibration, Deviation, DeviceKind, Identity, LaunchProcesses, Locality,
    MeasuredLaunch, PeakShare, Residual,
};
use crate::units::{Bandwidth, Bytes};

const PAIR: &str = "name = \"pair\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n\
    [[link]]\nkind = \"nvlink2\"\ncount = 2\nbetween = [[\"A\", \"B\"]]\n";

#[test]
fn a_pair_reads_and_survives_writing() {
    let text = format!("warnings = [\"no \\\"NVLinks\\\"\"]\n{PAIR}");
    let machine = read("pair.toml", &text).unwrap();
    assert_eq!(machine.gpus().len(), 2);
    assert_eq!(machine.warnings(), ["no \"NVLinks\""]);
    assert_eq!(read("again", &write(&machine)).unwrap(), machine);
}

const PLACES: &str = "names = [\"A\", \"B\"]\ncpu_affinity = \"0-11,24\"\nnuma_affinity = \"1\"\n\
    pci_addresses = [\"0000:07:00.0\", \"0000:0a:00.0\"]\n[[link";

fn placed() -> String {
    PAIR.replace("names = [\"A\", \"B\"]\n[[link", PLACES)
}

#[test]
fn places_survive_writing() {
    let machine = read("pair.toml", &placed()).unwrap();
    let place = |gpu: usize| &machine.devices()[gpu].locality;
    assert_eq!(place(1).pci_address.as_deref(), Some("0000:0a:00.0"));
    assert_eq!(place(0).cpu_affinity, Affinity::parse("0-11,24"));
    assert_eq!(place(0).numa_affinity, Affinity::parse("1"));
    let written = write(&machine);
    assert!(written.contains(PLACES.trim_end_matches("[[link")), "{written}");
    assert_eq!(read("again", &written).unwrap(), machine);
}

#[test]
fn errors_name_line_and_column() {
    let place = placed();
    let cases = [
        (place.replace("0-11,24", "11-0"), "5:16"),
        (place.replace("0000:0a:00.0", "slot 4"), "7:34"),
        (place.replace(", \"0000:0a:00.0\"", ""), "7:17"),
        (PAIR.replace("count", "cuont"), "7:1"),
        (PAIR.replace("[\"A\", \"B\"]]", "[\"A\", \"C\"]]"), "8:12"),
        (PAIR.replace("[\"A\", \"B\"]\n[[link", "[\"A\", \"A\"]\n[[link"), "4:15"),
        (PAIR.replace("nvlink2", "nvlonk"), "6:8"),
    ];
    for (text, place) in cases {
        let error = read("pair.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("pair.toml:{place}: ")), "{error}");
    }
}

/// Holds a GPU and a CPU with all their known facts, to test what the reader says of each key.
const KNOWN: &str = "name = \"known\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\"]\n\
    vendor_id = \"10DE\"\ndevice_id = \"1db1\"\nsubsystem_id = \"10de:1212\"\n\
    [[device]]\nkind = \"cpu\"\nnames = [\"C\"]\nvendor_id = \"GenuineIntel\"\n\
    device_id = \"6:143\"\nmemory = \"512 GiB\"\n";

#[test]
fn what_is_known_of_a_device_is_read_and_written() {
    let machine = read("known.toml", KNOWN).unwrap();
    let [gpu, cpu] = machine.devices() else { panic!("two devices") };
    assert_eq!(gpu.vendor_id(), Some("10de"), "in lower case");
    assert_eq!(gpu.identity.subsystem_id.unwrap().to_string(), "10de:1212");
    assert_eq!((cpu.vendor_id(), cpu.memory()), (Some("GenuineIntel"), Some(Bytes(512 << 30))));
    assert_eq!(gpu.memory(), None, "it names no model");
    assert_eq!(read("again", &write(&machine)).unwrap(), machine);
}

#[test]
fn wrong_facts_are_refused_where_they_stand_with_what_would_work() {
    let cases = [
        ("10DE", "0x10de", "5:13", "four hexadecimal digits"),
        ("1db1", "1db", "6:13", "four hexadecimal digits"),
        ("10de:1212", "10de", "7:16", "such as 10de:1db1"),
        ("GenuineIntel", "GenuineIntelInc", "11:13", "at most 12 characters"),
        ("6:143", "8086", "12:13", "family and model"),
        ("512 GiB", "0 B", "13:10", "at most 1000 TB"),
        ("512 GiB", "1001 TB", "13:10", "at most 1000 TB"),
        ("512 GiB", "much", "13:10", "64 MiB"),
        ("names = [\"C\"]", "names = [\"C\"]\nsubsystem_id = \"10de:1212\"", "10:10", "leave"),
    ];
    for (right, wrong, place, remedy) in cases {
        let text = KNOWN.replace(right, wrong);
        let error = read("known.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("known.toml:{place}: ")), "{wrong}: {error}");
        assert!(error.contains(remedy), "{error}");
    }
    let of_gpu = KNOWN.replace("names = [\"A\"]", "names = [\"A\"]\nmemory = \"16 GiB\"");
    let error = read("known.toml", &of_gpu).unwrap_err().to_string();
    assert!(error.starts_with("known.toml:5:10: ") && error.contains("`model`"), "{error}");
    let of_nic = of_gpu.replacen("gpu", "nic", 1);
    assert!(read("known.toml", &of_nic).unwrap_err().to_string().contains("only a CPU"));
    let fast = of_gpu.replace("memory = \"16 GiB\"", "speed = \"400 Gb/s\"");
    let error = read("known.toml", &fast).unwrap_err().to_string();
    assert!(error.contains("5:9: only a network interface has a speed"), "{error}");
    let rate = |kind, value| {
        let text = of_gpu.replacen("gpu", kind, 1).replace("memory = \"16 GiB\"", value);
        read("known.toml", &text).unwrap_err().to_string()
    };
    for (kind, words) in
        [("gpu", "5:20: how fast a GPU's memory is"), ("nic", "5:20: only a CPU has memory")]
    {
        let error = rate(kind, "memory_bandwidth = \"900 GB/s\"");
        assert!(error.contains(words), "{error}");
    }
    for (value, words) in [
        ("0 B/s", "13:20: no CPU's memory is so fast"),
        ("51 TB/s", "such as \"204.8 GB/s\""),
        ("fast", "13:20: "),
    ] {
        let key = format!("memory_bandwidth = \"{value}\"");
        let text = KNOWN.replace("memory = \"512 GiB\"", &key);
        let error = read("known.toml", &text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let none = fast.replacen("gpu", "nic", 1).replace("400", "0");
    let error = read("known.toml", &none).unwrap_err().to_string();
    assert!(error.contains("no network interface is so fast"), "{error}");
}

/// Makes a machine of GPUs, a CPU, NVSwitches and a PCIe switch with links of some lines.
fn joined(links: &[&str]) -> String {
    let devices = [("gpu", "[\"A\", \"B\"]"), ("cpu", "[\"C\"]"), ("nvswitch", "[\"S\", \"T\"]")];
    let devices =
        devices.map(|(kind, names)| format!("[[device]]\nkind = \"{kind}\"\nnames = {names}\n"));
    let links: Vec<String> = links.iter().map(|link| format!("[[link]]\n{link}\n")).collect();
    format!("name = \"m\"\n{}{}", devices.concat(), links.concat())
}

fn joins(kind: &str, between: [&str; 2], discipline: &str) -> String {
    let discipline = match discipline {
        "" => String::new(),
        given => format!("discipline = \"{given}\"\n"),
    };
    format!("kind = \"{kind}\"\n{discipline}between = [[\"{}\", \"{}\"]]", between[0], between[1])
}

#[test]
fn a_link_s_discipline_is_its_kind_s_or_its_own() {
    let disciplines = |links: &[&str]| -> Vec<Discipline> {
        let machine = read("m.toml", &joined(links)).unwrap();
        let text = write(&machine);
        assert_eq!(read("again", &text).unwrap(), machine, "{text}");
        let given = links.iter().filter(|link| link.contains("discipline")).count();
        assert!(text.matches("discipline").count() <= given, "the kind's is not written: {text}");
        machine.links().iter().map(|link| machine.discipline(link)).collect()
    };
    use Discipline::{Packets, Pipe};
    let (nvlink, pcie) = (joins("nvlink4", ["A", "B"], ""), joins("pcie5", ["A", "C"], ""));
    assert_eq!(disciplines(&[&nvlink, &pcie]), [Pipe, Packets]);
    let (nvlink, pcie) =
        (joins("nvlink4", ["A", "B"], "packets"), joins("pcie5", ["A", "C"], "packets"));
    assert_eq!(disciplines(&[&nvlink, &pcie]), [Packets, Packets]);
    let host = joins("nvlink2", ["A", "C"], "");
    assert_eq!(disciplines(&[&host]), [Packets], "an NVLink to a processor is the host's");
    let [one, two] = ["A", "B"].map(|gpu| joins("nvlink4", [gpu, "S"], "packets"));
    assert_eq!(disciplines(&[&one, &two]), [Packets, Packets]);
    let [one, two] = ["S", "T"].map(|switch| joins("nvlink4", ["A", switch], "pipe"));
    assert_eq!(disciplines(&[&one, &two]), [Pipe, Pipe]);
}

#[test]
fn a_discipline_that_a_link_cannot_have_is_refused_where_it_stands() {
    let refused = |links: &[String]| {
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        read("m.toml", &joined(&links)).unwrap_err().to_string()
    };
    let one = |kind, between, discipline| refused(&[joins(kind, between, discipline)]);
    for (kind, between) in [("pcie5", ["A", "C"]), ("nvlink2", ["A", "C"]), ("upi", ["A", "C"])] {
        let error = one(kind, between, "pipe");
        assert!(error.starts_with("m.toml:13:14: "), "{error}");
        assert!(error.contains("`packets`") && error.contains(kind), "{error}");
    }
    let error = one("nvlink2", ["A", "B"], "pip");
    assert!(
        error.starts_with("m.toml:13:14: ") && error.contains("use one of pipe, packets"),
        "{error}"
    );
    let planes = ["S", "T"].map(|switch| joins("nvlink4", ["A", switch], "packets"));
    let two_kinds = [joins("nvlink4", ["A", "B"], ""), joins("nvlink3", ["B", "A"], "packets")];
    let trunk = [joins("nvlink4", ["S", "T"], "packets")];
    let plane_of_each = [joins("nvlink4", ["A", "T"], ""), joins("nvlink4", ["A", "S"], "packets")];
    for (links, place) in [
        (&planes[..], "14:12"),
        (&two_kinds, "17:12"),
        (&trunk, "14:12"),
        (&plane_of_each, "17:12"),
    ] {
        let error = refused(links);
        assert!(error.starts_with(&format!("m.toml:{place}: ")), "{error}");
        assert!(error.contains("parallel") && error.contains("pipes"), "{error}");
    }
    let mixed = [joins("nvlink4", ["A", "S"], "packets"), joins("nvlink4", ["B", "S"], "pipe")];
    let error = refused(&mixed);
    assert!(
        error.starts_with("m.toml:14:12: ") && error.contains("all links of an NVSwitch"),
        "{error}"
    );
}

const CALIBRATED: &str = "name = \"h\"\n[calibration]\nsource = \"a.log\"\nreached = { nvlink4 = 0.8 }\n\
    in_switch = { nvlink4 = 0.7 }\nlaunch = { each = \"5.2 us\" }\n\
    residual = [\n{ from = \"0 B\", rows = 3, median = 0.01, ninetieth = 0.02 },\n\
    { from = \"64 KiB\", rows = 4, median = 0.01, ninetieth = 0.02 }]\n\
    [[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n[[device]]\nkind = \"nvswitch\"\n\
    names = [\"S\"]\n[[link]]\nkind = \"nvlink4\"\nbetween = [[\"A\", \"S\"], [\"B\", \"S\"]]\n";

#[test]
fn a_calibration_is_read_and_what_the_machine_cannot_have_is_refused_where_it_stands() {
    let machine = read("h.toml", CALIBRATED).unwrap();
    let found = machine.calibration().unwrap();
    assert_eq!(found.reached[&LinkKind::Nvlink4].value(), 0.8);
    assert_eq!(found.launch.each, Some(Picoseconds(5_200_000)));
    assert_eq!(found.residuals[1].from, Bytes(64 << 10));
    for (right, wrong, place, words) in [
        ("nvlink4 = 0.8", "nvlink4 = 1.2", "4:23", "at most 1"),
        ("nvlink4 = 0.8", "nvlink4 = 0.0", "4:23", "above 0"),
        ("nvlink4 = 0.8", "nvlink9 = 0.8", "4:13", "nvlink4"),
        ("nvlink4 = 0.8", "nvlink2 = 0.8", "4:13", "no nvlink2 link"),
        ("nvlink4 = 0.7", "nvlink3 = 0.7", "5:15", "no switch"),
        ("5.2 us", "5.2", "6:19", "not a time"),
        ("5.2 us", "2 s", "6:19", "a second"),
        ("{ each", "{ eech", "6:12", "eech"),
        ("64 KiB", "0 B", "9:1", "ascend"),
        ("median = 0.01", "median = 0.03", "8:1", "nine of ten"),
        ("median = 0.01", "median = -1.0", "8:36", "from 0"),
    ] {
        let text = CALIBRATED.replacen(right, wrong, 1);
        let error = read("h.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("h.toml:{place}: ")), "{wrong}: {error}");
        assert!(error.contains(words), "{error}");
    }
}

fn calibration() -> impl Strategy<Value = Calibration> {
    let share = || (1_u32..=1_000_000).prop_map(|it| PeakShare::of(f64::from(it) / 1e6).unwrap());
    let kinds = [LinkKind::Nvlink4, LinkKind::Infiniband];
    let reached = prop::collection::btree_map(prop::sample::select(kinds.to_vec()), share(), 0..3);
    let in_switch = prop::collection::btree_map(Just(LinkKind::Nvlink4), share(), 0..2);
    let time = || prop::option::of((0..=Picoseconds::SECOND.0).prop_map(Picoseconds));
    let off = (0_u32..5_000_000).prop_map(|it| Deviation::of(f64::from(it) / 1e6));
    let off = off.prop_filter_map("from 0 to 4294", |it| it);
    let residual =
        (any::<u32>(), off.clone(), off).prop_map(|(rows, a, b)| (rows, a.min(b), a.max(b)));
    let processes = [None, Some(LaunchProcesses::Each), Some(LaunchProcesses::One)];
    let processes = prop::sample::select(processes.to_vec());
    let residuals = prop::collection::btree_map(any::<u64>(), residual, 0..4);
    ("[ -~]{0,9}", reached, in_switch, (processes, time(), time(), time()), residuals).prop_map(
        |(source, reached, in_switch, (processes, alone, each, group), residuals)| Calibration {
            source,
            reached,
            in_switch,
            launch: MeasuredLaunch { processes, alone, each, group },
            residuals: residuals
                .into_iter()
                .map(|(from, (rows, median, ninetieth))| Residual {
                    from: Bytes(from),
                    rows,
                    median,
                    ninetieth,
                })
                .collect(),
        },
    )
}

fn device(index: usize) -> impl Strategy<Value = Device> {
    let id = || prop::option::of(any::<u16>().prop_map(|id| format!("{id:04x}")));
    let board = prop::option::of(any::<(u16, u16)>());
    let board = board.prop_map(|ids| ids.map(|(vendor, device)| PciId { vendor, device }));
    let affinity = || {
        let numbers = prop::collection::btree_set(0_u32..100, 1..5);
        let all = numbers.prop_map(|all| all.into_iter().map(Affinity::one).collect::<Vec<_>>());
        prop::option::of(all.prop_map(|all| Affinity::union(&all).unwrap()))
    };
    let of_cpu = (
        prop::option::of("[!-~]([ -~]{0,10}[!-~])?"),
        prop::option::of(any::<(u16, u16)>()),
        prop::option::of(1_u64..=1_000_000_000_000_000),
        prop::option::of(1..=MAX_BANDWIDTH.0),
    );
    let speed = prop::option::of(1..=MAX_BANDWIDTH.0);
    let address = prop::option::of(0_u32..0x100);
    let kind = prop::sample::select(DeviceKind::ALL.to_vec());
    let model = prop::option::of("[ -~]{1,12}");
    let place = (affinity(), affinity(), address);
    (kind, model, id(), id(), board, place, of_cpu, speed).prop_map(
        move |(kind, model, vendor, number, board, place, (name, make, memory, rate), speed)| {
            let (cores, nodes, bus) = place;
            let is_cpu = kind == DeviceKind::Cpu;
            let make = make.map(|(family, model)| format!("{family}:{model}"));
            Device {
                identity: Identity {
                    vendor_id: if is_cpu { name } else { vendor },
                    device_id: if is_cpu { make } else { number },
                    subsystem_id: board.filter(|_| !is_cpu),
                },
                locality: Locality {
                    cpu_affinity: cores,
                    numa_affinity: nodes,
                    pci_address: bus.map(|bus| format!("0000:{bus:02x}:00.0")),
                },
                host_memory: memory.map(Bytes).filter(|_| is_cpu),
                host_memory_bandwidth: rate.map(Bandwidth).filter(|_| is_cpu),
                speed: speed.map(Bandwidth).filter(|_| kind == DeviceKind::Nic),
                ..Device::new(&format!("{index}"), kind, model.as_deref())
            }
        },
    )
}

proptest! {
    #[test]
    fn all_that_can_be_known_survives_writing(
        devices in prop::collection::vec(any::<u8>(), 0..6)
            .prop_flat_map(|each| (1..=each.len()).map(device).collect::<Vec<_>>()),
    ) {
        let mut builder = ServerBuilder::new("any", "test");
        builder.add(Device::new("0", DeviceKind::Gpu, None)).unwrap();
        for device in devices {
            builder.add(device).unwrap();
        }
        let machine = builder.build().unwrap();
        let text = write(&machine);
        prop_assert_eq!(read("again", &text).unwrap(), machine, "{}", text);
    }

    #[test]
    fn a_calibration_survives_writing(calibration in calibration()) {
        let machine = read("h.toml", CALIBRATED).unwrap().calibrated(calibration);
        let text = write(&machine);
        prop_assert_eq!(read("again", &text).unwrap(), machine, "{}", text);
    }
}
