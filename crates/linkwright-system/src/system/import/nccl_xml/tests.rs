use proptest::prelude::*;

use super::*;
use crate::system::import::host_tree::Relation;
use crate::system::test_support::{
    assert_cuts_are_safe, assert_is_helpful, assert_nothing_vanishes, assert_rectangles_are_safe,
    census, damaged, example, quirk, relation,
};
use crate::system::{BandwidthProfile, GpuGraph, Identity};
use crate::units::Bandwidth;

/// Describes two sockets, two GPUs under one switch and one elsewhere, NVLink in a chain.
const WIRES: &str = r#"<system version="1">
  <cpu numaid="1" affinity="f0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79">
    <pci busid="0000:85:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="8">
      <gpu dev="2" sm="70" rank="2" gdr="1">
        <nvlink target="0000:07:00.0" count="1" tclass="0x030200"/>
      </gpu>
    </pci>
    <nic>
      <net name="eth0" dev="1" speed="10000" port="0"/>
    </nic>
  </cpu>
  <cpu numaid="0" affinity="0f" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79">
    <pci busid="0000:04:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
      <pci busid="0000:06:00.0" class="0x030200" link_speed="Unknown" link_width="16">
        <gpu dev="0" sm="70" rank="0" gdr="1">
          <nvlink target="0000:07:00.0" count="2" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:07:00.0" class="0x030200" link_speed="8.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="70" rank="1" gdr="1">
          <nvlink target="0000:06:00.0" count="2" tclass="0x030200"/>
          <nvlink target="0000:85:00.0" count="1" tclass="0x030200"/>
        </gpu>
      </pci>
    </pci>
    <pci busid="0000:0C:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
      <nic>
        <net name="mlx5_0" dev="0" speed="100000" port="1" guid="0x1" maxconn="131072" gdr="1"/>
      </nic>
    </pci>
  </cpu>
</system>
"#;

/// Describes two GPUs at two switches.
const SWITCHED: &str = r#"<?xml version="1.0"?>
<system version="1">
  <cpu numaid="-1" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="1">
    <pci busid="0000:0f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="90" rank="0">
        <nvlink target="0000:05:00.0" count="9" tclass="0x068000"/>
        <nvlink target="0000:06:00.0" count="9" tclass="0x068000"/>
        <c2c bw="43125" count="8"/>
      </gpu>
    </pci>
    <pci busid="0000:1f:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="90" rank="1">
        <nvlink target="0000:06:00.0" count="9" tclass="0x068000"/>
        <nvlink target="0000:05:00.0" count="9" tclass="0x068000"/>
      </gpu>
    </pci>
  </cpu>
</system>
"#;

/// Holds a hand-written file: classes only.
const PLAIN: &str = r#"<system version="1">
  <cpu numaid="0">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
      <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    </pci>
  </cpu>
</system>
"#;

const MI300X: &str = example!("mi300x-8.nccl-topo.xml");
const CLOUD: &str = quirk!("no-nvlinks.nccl-topo.xml");
const SELF_LINKS: &str = quirk!("self-link.nccl-topo.xml");
const SLOW_UPLINK: &str = quirk!("slow-uplink.nccl-topo.xml");
const TRAYS: &str = quirk!("two-trays.nccl-topo.xml");
const ZERO_IDS: &str = quirk!("zero-ids.nccl-topo.xml");

fn plain(text: &str) -> Result<Server, SystemError> {
    read("topo.xml", text, &NcclXmlOptions::default())
}

fn link<'m>(machine: &'m Server, a: &str, b: &str) -> Vec<&'m Link> {
    let (a, b) = (machine.device(a).unwrap(), machine.device(b).unwrap());
    let joins = |link: &&Link| (link.a, link.b) == (a, b) || (link.a, link.b) == (b, a);
    machine.links().iter().filter(joins).collect()
}

#[test]
fn wires_and_switches_are_all_there() {
    let machine = plain(WIRES).unwrap();
    let census = census(&machine);
    assert_eq!((census["gpu"], census["cpu"], census["pcie-switch"], census["nic"]), (3, 2, 1, 2));
    let names: Vec<&str> =
        machine.gpus().iter().map(|id| machine.devices()[*id].name.as_str()).collect();
    assert_eq!(names, ["GPU0", "GPU1", "GPU2"]);
    let nvlink = link(&machine, "GPU0", "GPU1");
    assert_eq!((nvlink.len(), nvlink[0].kind, nvlink[0].count), (1, LinkKind::Nvlink2, 2));
    let half = LinkKind::Pcie3.data_sheet().bandwidth.0 / 2;
    assert_eq!(link(&machine, "GPU2", "CPU1")[0].bandwidth, Bandwidth(half));
    assert_eq!(link(&machine, "mlx5_0", "CPU0")[0].kind, LinkKind::Pcie4);
    assert_eq!(link(&machine, "eth0", "CPU1")[0].kind, LinkKind::OnDie);
    assert_eq!(link(&machine, "CPU0", "CPU1")[0].kind, LinkKind::Qpi);
    let id = |name| machine.device(name).unwrap();
    assert_eq!(relation(&machine, id("GPU0"), id("GPU1")), Relation::Switch);
    assert_eq!(relation(&machine, id("GPU0"), id("GPU2")), Relation::System);
    let said = machine.assumptions().join("\n");
    for word in ["eth0 has no PCI address", "PCIe link above GPU0;", "qpi"] {
        assert!(said.contains(word), "{word} in {said}");
    }
}

#[test]
fn ports_are_as_fast_as_the_file_says() {
    let speed = |text: &str, nic: &str| {
        let machine = plain(text).unwrap();
        machine.devices()[machine.device(nic).unwrap()].speed.map(Bandwidth::in_bits)
    };
    assert_eq!(speed(WIRES, "mlx5_0").as_deref(), Some("100 Gb/s"));
    assert_eq!(speed(WIRES, "eth0").as_deref(), Some("10 Gb/s"));
    // One device stands for all of its ports.
    assert_eq!(speed(ZERO_IDS, "mlx5_0").as_deref(), Some("800 Gb/s"));
    for unknown in [r#"speed="0""#, r#"speed="-1""#, r#"speed="""#, ""] {
        let text = WIRES.replace(r#"speed="100000""#, unknown);
        assert_eq!(speed(&text, "mlx5_0"), None, "{unknown}");
    }
    for wrong in ["fast", "1e5", "99999999999999999999", "400000000"] {
        let text = WIRES.replace(r#"speed="100000""#, &format!("speed=\"{wrong}\""));
        let error = plain(&text).unwrap_err().to_string();
        assert!(error.contains("no network interface has this speed"), "{error}");
        assert!(error.contains(wrong) && error.contains("such as 400000"), "{error}");
    }
}

#[test]
fn every_nvswitch_is_a_device() {
    let machine = plain(SWITCHED).unwrap();
    for (gpu, switch) in [("GPU0", "NVSwitch0"), ("GPU1", "NVSwitch0"), ("GPU1", "NVSwitch1")] {
        let links = link(&machine, gpu, switch);
        assert_eq!((links[0].kind, links[0].count), (LinkKind::Nvlink4, 9));
    }
    assert_eq!(census(&machine)["nvswitch"], 2);
}

#[test]
fn a_link_between_chips_is_one_to_the_cpu_above() {
    let machine = plain(SWITCHED).unwrap();
    let c2c = link(&machine, "GPU0", "CPU0");
    let c2c = c2c.iter().find(|link| link.kind == LinkKind::NvlinkC2c).unwrap();
    assert_eq!((c2c.count, c2c.bandwidth), (8, Bandwidth(43_125_000_000)));
    assert_eq!(link(&machine, "GPU1", "CPU0").len(), 1);
    let pcie = "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"";
    let alone = plain(&SWITCHED.replace(pcie, "link_speed=\"\" link_width=\"0\"")).unwrap();
    assert_eq!(link(&alone, "GPU0", "CPU0").len(), 1, "nothing says that it has PCIe");
    assert_eq!(link(&alone, "GPU1", "CPU0")[0].kind, LinkKind::Pcie3);
    for wrong in ["bw=\"0\"", "bw=\"4000000000\"", "bw=\"-1\"", ""] {
        assert_is_helpful(&plain(&SWITCHED.replace("bw=\"43125\"", wrong)).unwrap_err());
    }
    let twice = "<c2c bw=\"1\" count=\"1\"/><c2c bw=\"43125\" count=\"8\"/>";
    let twice = SWITCHED.replace("<c2c bw=\"43125\" count=\"8\"/>", twice);
    assert_is_helpful(&plain(&twice).unwrap_err());
}

#[test]
fn hand_written_files_are_numbered() {
    let machine = plain(PLAIN).unwrap();
    assert!(machine.device("GPU0").is_some() && machine.device("NIC0").is_some());
    assert!(machine.assumptions().join("").contains("does not number GPU0"));
}

#[test]
fn other_systems_read_too() {
    let amd = WIRES.replace("nvlink", "xgmi").replace("version=\"1\"", "version=\"2\"");
    assert_eq!(link(&plain(&amd).unwrap(), "GPU0", "GPU1")[0].kind, LinkKind::Xgmi);
    let power = SWITCHED.replace("0x068000", "0x068001").replace("x86_64", "ppc64le");
    let power = plain(&power).unwrap();
    let links = link(&power, "GPU0", "CPU0");
    assert_eq!(links.iter().find(|link| link.kind.is_nvlink()).unwrap().count, 18);
    let partial = WIRES.replace("target=\"0000:85:00.0\"", "target=\"0000:86:00.0\"");
    assert_is_helpful(&plain(&partial).unwrap_err());
    let trimmed = SWITCHED.replace("0x068000", "0x030200");
    assert!(plain(&trimmed).unwrap().assumptions().join("").contains("left out"));
    let ports = WIRES.replace("<nic>\n      <net", "<nic>\n<net name=\"eth1\"/>\n      <net");
    assert_eq!(census(&plain(&ports).unwrap())["nic"], 3);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        (String::new(), "1:1", "not XML"),
        ("<system>".to_owned(), "1:9", "not XML"),
        ("<!DOCTYPE x [<!ENTITY a \"b\">]><system/>".to_owned(), "1:1", "not XML"),
        ("<topology/>".to_owned(), "1:1", "<system>"),
        ("<system version=\"1\"/>".to_owned(), "1:1", "no GPU"),
        (PLAIN.replace("version=\"1\"", "version=\"9\""), "1:18", "version"),
        (PLAIN.replace("numaid=\"0\"", ""), "2:3", "numaid"),
        (PLAIN.replace("numaid=\"0\"", "numaid=\"x\""), "2:16", "numaid"),
        (PLAIN.replace("busid=\"0001:00:00.0\"", ""), "4:7", "busid"),
        (PLAIN.replace("0001:00:00.0", "0001:00"), "4:19", "PCI address"),
        (PLAIN.replace("0101:00:00.0", "0001:00:00.0"), "5:7", "this PCI address"),
        (PLAIN.replace("0x020700", "0x0207"), "5:40", "PCI class"),
        (PLAIN.replace("0x020700", "0x010802"), "5:7", "neither"),
        (PLAIN.replace("16 GT/s", "17 GT/s"), "3:60", "speed"),
        (PLAIN.replace("width=\"16\"", "width=\"17\""), "3:81", "width"),
        (PLAIN.replace("<system version=\"1\">", "<system>pci "), "1:9", "text"),
        (PLAIN.replace("pci", "pcx"), "3:5", "inside <cpu>"),
        (WIRES.replace("dev=\"1\" sm", "dev=\"0\" sm"), "20:9", "this number"),
        (WIRES.replace("numaid=\"0\"", "numaid=\"1\""), "12:16", "NUMA node"),
        (WIRES.replace("dev=\"0\" sm=\"70\"", "dev=\"0\""), "15:9", "`sm`"),
        (WIRES.replace("06:00.0\" count=\"2\"", "06:00.0\" count=\"1\""), "16:11", "list the same"),
        (WIRES.replace("count=\"2\"", "count=\"0\""), "16:11", "out of range"),
        (WIRES.replace("target=\"0000:85", "target=\"0000:06"), "22:11", "twice"),
        (WIRES.replace("target=\"0000:85", "target=\"0000:0c"), "5:9", "back"),
        (WIRES.replace("eth0", "mlx5_0"), "26:5", "named mlx5_0"),
        (SWITCHED.replace("0x068000", "0x069000"), "6:9", "no NVSwitch"),
    ];
    for (text, place, words) in cases {
        let error = plain(&text).unwrap_err();
        assert_is_helpful(&error);
        let error = error.to_string();
        assert!(error.starts_with(&format!("topo.xml:{place}: ")), "{place} {error}\n{text}");
        assert!(error.contains(words), "{words} in {error}\n{text}");
    }
}

#[test]
fn a_cut_file_is_never_a_smaller_machine() {
    for text in [WIRES, SWITCHED, PLAIN, TRAYS] {
        assert_cuts_are_safe(text, plain);
        assert_rectangles_are_safe(text, usize::MAX, plain);
    }
}

#[test]
fn deep_files_do_not_exhaust_the_stack() {
    let open = "<pci busid=\"0000:00:00.0\">".repeat(15_000);
    assert!(plain(&format!("<system><cpu numaid=\"0\">{open}")).is_err());
    let all: String = (0..15_000).map(|n| format!("<pci busid=\"{n:04x}:00:00.0\">")).collect();
    let close = "</pci>".repeat(15_000);
    assert!(plain(&format!("<system><cpu numaid=\"0\">{all}{close}</cpu></system>")).is_err());
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        let _ = plain(&text);
        let _ = plain(&format!("<system>{text}</system>"));
    }

    #[test]
    fn one_wrong_character_loses_no_device(
        (text, damaged) in prop::sample::select(vec![
            WIRES, SWITCHED, PLAIN, CLOUD, SELF_LINKS, ZERO_IDS, SLOW_UPLINK, TRAYS,
        ])
            .prop_flat_map(|text| (Just(text), damaged(text))),
    ) {
        assert_nothing_vanishes(text, &damaged, plain);
    }
}

#[test]
fn places_come_from_the_address_and_the_cpu_above() {
    let machine = read("wires.xml", WIRES, &NcclXmlOptions::default()).unwrap();
    let place = |name: &str| {
        let id = machine.device(name).unwrap();
        serde_json::to_string(&machine.devices()[id].locality).unwrap()
    };
    let shown = |cores, node, address: &str| {
        format!("{{\"cpu_affinity\":\"{cores}\",\"numa_affinity\":\"{node}\"{address}}}")
    };
    let at = |address: &str| format!(",\"pci_address\":\"{address}\"");
    assert_eq!(place("GPU1"), shown("0-3", 0, &at("0000:07:00.0")), "below a switch");
    assert_eq!(place("GPU2"), shown("4-7", 1, &at("0000:85:00.0")));
    assert_eq!(place("mlx5_0"), shown("0-3", 0, &at("0000:0c:00.0")));
    assert_eq!(place("eth0"), shown("4-7", 1, ""), "it has no address");
}

#[test]
fn mi300x_is_joined_by_its_own_generation() {
    let machine = plain(MI300X).unwrap();
    let mesh = machine.links().iter().filter(|link| link.kind == LinkKind::XgmiMi300);
    assert_eq!((mesh.count(), machine.warnings().len()), (28, 0));
    let graph = GpuGraph::new(&machine, BandwidthProfile::DataSheet).unwrap();
    let pair = graph.pair(0, 7).unwrap();
    assert_eq!((pair.link.label().as_str(), pair.bandwidth.0), ("XGMI1", 64_000_000_000));
    for (gcn, kind) in
        [("910", LinkKind::Xgmi), ("gfx908", LinkKind::XgmiMi100), ("gfx950", LinkKind::XgmiMi350)]
    {
        let other = plain(&MI300X.replace("gfx942", gcn)).unwrap();
        assert!(other.links().iter().any(|link| link.kind == kind), "{gcn}");
    }
}

#[test]
fn nvlinks_that_a_file_leaves_out_are_missed_and_added() {
    let nvlink = Some(LinkKind::Nvlink3);
    for (text, gpus, words) in [(CLOUD, 2, "no NVLink between them"), (SELF_LINKS, 2, "to itself")]
    {
        let machine = plain(text).unwrap();
        assert_eq!(machine.gpus().len(), gpus);
        assert!(machine.links().iter().all(|link| !link.kind.is_gpu_fabric()));
        let said = machine.warnings().join("\n");
        assert!(said.contains(words) && said.contains("`nvlink3`"), "{said}");
        let options = NcclXmlOptions { nvlink, ..NcclXmlOptions::default() };
        let switched = read("topo.xml", text, &options).unwrap();
        assert!(switched.warnings().is_empty());
        let graph = GpuGraph::new(&switched, BandwidthProfile::DataSheet).unwrap();
        let pair = graph.pair(0, gpus - 1).unwrap();
        assert_eq!((pair.link.label().as_str(), pair.bandwidth.0), ("NV12", 300_000_000_000));
    }
    // L40S are sold without NVLink.
    assert!(plain(&CLOUD.replace("0x20b0", "0x26b9")).unwrap().warnings().is_empty());
    let wrong = NcclXmlOptions { nvlink: Some(LinkKind::Pcie4), ..NcclXmlOptions::default() };
    assert_is_helpful(&read("topo.xml", CLOUD, &wrong).unwrap_err());
}

#[test]
fn a_device_without_class_is_what_its_vendor_makes() {
    let bare = PLAIN.replace(" class=\"0x020700\"", "");
    let machine = plain(&bare).unwrap();
    assert_eq!(census(&machine)["nic"], 1);
    assert!(machine.warnings().join("").contains("0101:00:00.0"), "{:?}", machine.warnings());
    let known = PLAIN.replace(" class=\"0x030200\"", " vendor=\"0x10de\"");
    assert_eq!(census(&plain(&known).unwrap())["gpu"], 1);
    let mistyped = PLAIN.replace("class=\"0x020700\"", "clss=\"0x020700\"");
    assert_is_helpful(&plain(&mistyped).unwrap_err());
}

#[test]
fn makes_come_from_the_ids_of_the_file() {
    let machine = plain(MI300X).unwrap();
    let of = |name: &str| &machine.devices()[machine.device(name).unwrap()];
    let shown = |name: &str| serde_json::to_string(&of(name).identity).unwrap();
    let ids = |vendor, device, board| {
        format!("{{\"vendor_id\":\"{vendor}\",\"device_id\":\"{device}\"{board}}}")
    };
    let board = |id: &str| format!(",\"subsystem_id\":\"{id}\"");
    assert_eq!(shown("GPU0"), ids("1002", "74a1", board("1002:74a1")));
    assert_eq!(shown("mlx5_0"), ids("15b3", "1021", board("15b3:0101")));
    assert_eq!(shown("PCIeSwitch0"), ids("15b3", "1979", String::new()));
    assert_eq!(shown("CPU0"), ids("GenuineIntel", "6:143", String::new()));
    assert_eq!((of("CPU0").cores(), of("CPU1").cores()), (Some(112), Some(112)));
    let memory = of("GPU0").memory().map(|size| size.to_string());
    assert_eq!(memory.as_deref(), Some("192 GiB"), "by its model, which its PCI id tells");

    let zeros = plain(ZERO_IDS).unwrap();
    let board = |name| zeros.devices()[zeros.device(name).unwrap()].identity.subsystem_id;
    assert_eq!(board("PCIeSwitch0"), None, "zeros are no board");
    assert!(board("mlx5_0").is_some());
    assert!(zeros.assumptions().join("").contains("mlx5_0 stands for all ports"));

    let cloud = plain(CLOUD).unwrap();
    let of = |name: &str| &cloud.devices()[cloud.device(name).unwrap()];
    assert_eq!(of("PCIeSwitch0").identity, Identity::default(), "ones are no ids");
    assert_eq!(of("GPU0").vendor_id(), Some("10de"));
    let strange = plain(&CLOUD.replace("\"GenuineIntel\"", "\"made by nobody at all\"")).unwrap();
    assert_eq!(strange.devices()[strange.device("CPU0").unwrap()].vendor_id(), None);
}

#[test]
fn an_uplink_slower_than_its_lanes_explain_is_told_and_stated() {
    let uplink = |machine: &Server| link(machine, "PCIeSwitch0", "CPU0")[0].bandwidth;
    let of = |kind: LinkKind, lanes: u64| Bandwidth(kind.data_sheet().bandwidth.0 / 16 * lanes);
    let idle = plain(SLOW_UPLINK).unwrap();
    assert_eq!(uplink(&idle), of(LinkKind::Pcie2, 16), "the file is believed until told");
    let said = idle.warnings().join("\n");
    for word in ["PCIeSwitch0, PCIeSwitch1, PCIeSwitch2, PCIeSwitch3", "pcie2", "pcie5", "`pcie`"] {
        assert!(said.contains(word), "{word} in {said}");
    }
    let options = NcclXmlOptions { pcie: Some(LinkKind::Pcie5), ..Default::default() };
    let stated = read("topo.xml", SLOW_UPLINK, &options).unwrap();
    assert!(stated.warnings().is_empty());
    assert_eq!(uplink(&stated), of(LinkKind::Pcie5, 16));
    assert!(stated.assumptions().join("").contains("not what the file says"));
    // A virtual bridge has one lane of the oldest generation.
    let slow = "link_speed=\"5.0 GT/s PCIe\" link_width=\"16\"";
    let with = |link: &str| SLOW_UPLINK.replace(slow, link);
    let made_up = with("link_speed=\"2.5 GT/s PCIe\" link_width=\"1\"");
    assert!(plain(&made_up).unwrap().warnings()[0].contains("pcie1 with 1 lanes"));
    assert_eq!(uplink(&read("topo.xml", &made_up, &options).unwrap()), of(LinkKind::Pcie5, 16));
    for sound in [
        "link_speed=\"32.0 GT/s PCIe\" link_width=\"16\"",
        "link_speed=\"32.0 GT/s PCIe\" link_width=\"8\"",
        "link_speed=\"64.0 GT/s PCIe\" link_width=\"8\"",
        "link_speed=\"\" link_width=\"\"",
    ] {
        let machine = plain(&with(sound)).unwrap();
        assert!(machine.warnings().is_empty(), "{sound}: {:?}", machine.warnings());
    }
    // A chain of bridges is as doubtful as one, whatever stands between.
    let bridge = "<pci busid=\"0000:12:00.0\"";
    let chain = SLOW_UPLINK.replacen(
        bridge,
        &format!("<pci busid=\"0000:11:00.0\" class=\"0x060400\" {slow}>{bridge}"),
        1,
    );
    let chain = chain.replacen("</gpu>\n      </pci>", "</gpu>\n      </pci></pci>", 1);
    let chain = plain(&chain).unwrap();
    assert_eq!(chain.warnings()[0].matches("PCIeSwitch").count(), 5, "{:?}", chain.warnings());
}

#[test]
fn hosts_of_one_nvlink_domain_are_one_machine() {
    let machine = plain(TRAYS).unwrap();
    assert!(machine.warnings().is_empty(), "{:?}", machine.warnings());
    let census = census(&machine);
    assert_eq!((census["gpu"], census["cpu"], census["nvswitch"], census["nic"]), (4, 4, 1, 2));
    let graph = GpuGraph::new(&machine, BandwidthProfile::DataSheet).unwrap();
    let pair = graph.pair(0, 3).unwrap();
    assert_eq!((pair.link.label().as_str(), pair.bandwidth.0), ("NV18", 900_000_000_000));
    for (gpu, cpu) in [("GPU0", "CPU0"), ("GPU1", "CPU1"), ("GPU2", "CPU2"), ("GPU3", "CPU3")] {
        let c2c = link(&machine, gpu, cpu);
        let c2c = c2c.iter().find(|link| link.kind == LinkKind::NvlinkC2c).unwrap();
        assert_eq!((c2c.count, c2c.bandwidth), (5, Bandwidth(44_712_000_000)), "{gpu}");
    }
    let sockets = link(&machine, "CPU0", "CPU1");
    assert_eq!(sockets[0].kind, LinkKind::NvlinkC2c);
    assert!(link(&machine, "CPU1", "CPU2").is_empty(), "they are of two hosts");
    assert!(machine.device("host0-mlx5_0").is_some() && machine.device("host1-mlx5_0").is_some());
    assert!(machine.assumptions().join("").contains("describes 2 hosts"));
    let ranks = |machine: &Server| {
        let address = |gpu: &usize| machine.devices()[*gpu].locality.pci_address.clone().unwrap();
        machine.gpus().iter().map(address).collect::<Vec<_>>()
    };
    let expected = ["0008:06:00.0", "0009:06:00.0", "0008:06:00.0", "0009:06:00.0"];
    assert_eq!(ranks(&machine), expected);
    let unranked = TRAYS.replace("rank=\"3\"", "rank=\"2\"");
    assert!(plain(&unranked).unwrap().assumptions().join("").contains("from host to host"));
    // The driver's older address of a switch that it cannot see.
    let older = TRAYS.replace("fffffff:ff:ff.0", "fffffff:ffff:ff");
    assert_eq!(plain(&older).unwrap().links(), machine.links());
    let one = SWITCHED.replace("0000:05:00.0", "fffffff:ffff:ff");
    assert_eq!(self::census(&plain(&one).unwrap())["nvswitch"], 2);
}

#[test]
fn hosts_that_no_nvlink_joins_are_refused_and_a_dead_link_is_told() {
    let wire = "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>";
    let alone = plain(&TRAYS.replace(wire, "")).unwrap_err();
    assert_is_helpful(&alone);
    assert!(alone.to_string().contains("no NVSwitch joins this one"), "{alone}");
    let nvlink = Some(LinkKind::Nvlink5);
    let options = NcclXmlOptions { nvlink, ..NcclXmlOptions::default() };
    let stated = read("topo.xml", &TRAYS.replace(wire, ""), &options).unwrap();
    assert_eq!(stated.links().iter().filter(|link| link.kind.is_nvlink()).count(), 4);
    let (first, last) = TRAYS.rsplit_once(wire).unwrap();
    let dead = plain(&format!("{first}{last}")).unwrap();
    assert!(dead.warnings()[0].contains("lists no NVLink of GPU3"), "{:?}", dead.warnings());
    let same = TRAYS.replace("0xb2", "0xa1");
    assert!(plain(&same).unwrap_err().to_string().contains("NUMA node"), "one host has them twice");
}

#[test]
fn ways_between_broadcom_switches_are_passed_over() {
    let bridge = "link_speed=\"8 GT/s\" link_width=\"16\">";
    let linked = WIRES.replace(bridge, &format!("{bridge}<pcilink target=\"0000:05:00.0\"/>"));
    assert_eq!(plain(&linked).unwrap().links(), plain(WIRES).unwrap().links());
}
