use proptest::prelude::*;

use super::*;
use crate::system::fabric::{FabricShape, LinkRate, single_switch};
use crate::system::presets::preset;
use crate::system::toml_format::{read, write};
use crate::system::views::listed::listed;
use crate::units::{Bandwidth, Picoseconds};

const RATE: LinkRate =
    LinkRate { bandwidth: Bandwidth(25_000_000_000), latency: Picoseconds(600_000) };

/// A machine as its file has it, split.
fn split_text(text: &str) -> Result<System, String> {
    let machine = read("m.toml", text).map_err(|error| error.to_string())?;
    System::of_machine(machine).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn servers_that_a_file_lists_are_the_system_that_wrote_it(
        rows in prop::collection::vec(
            (
                prop::sample::select(vec!["dgx1-v100", "pcie-tree-4", "dgx-a100", "summit-node"]),
                1..3_u32,
            ),
            1..3,
        ),
        ethernet in any::<bool>(),
    ) {
        let rows: Vec<_> =
            rows.iter().map(|(name, count)| (Arc::new(preset(name).unwrap()), *count)).collect();
        let kind = if ethernet { LinkKind::Ethernet } else { LinkKind::Infiniband };
        let ports = System::ports_for(&rows).unwrap();
        let fabric = single_switch(ports, RATE).unwrap().with_links(kind);
        let system = System::new(&rows, fabric, PortOrder::Plain).unwrap();
        let all: Vec<u32> = (0..system.servers()).collect();
        let file = listed(&system, &all).unwrap();
        let again = System::of_machine(read("m.toml", &write(&file)).unwrap()).unwrap();
        prop_assert_eq!(again.name(), file.name());
        prop_assert_eq!(again.servers(), system.servers());
        prop_assert_eq!(again.kinds().len(), system.kinds().len(), "equal ones are one template");
        for server in all {
            let [now, before] = [&again, &system].map(|it| it.kind_of(server).server());
            prop_assert_eq!(now.devices(), before.devices());
            prop_assert_eq!(now.links(), before.links());
        }
        for gpu in 0..system.gpus() {
            let names = [&again, &system].map(|it| it.device_name(it.gpu_device(gpu)));
            prop_assert_eq!(&names[0], &names[1]);
        }
        let [now, before] = [&again, &system].map(|it| it.fabric().unwrap());
        prop_assert_eq!(now.shape(), &FabricShape::SingleSwitch);
        prop_assert_eq!(now.channels(), before.channels());
        prop_assert_eq!(now.link_kind(), before.link_kind());
        prop_assert_eq!((0..ports).map(|nic| again.port_of(nic)).collect::<Vec<_>>(),
            (0..ports).collect::<Vec<_>>());
    }
}

#[test]
fn a_machine_without_a_network_is_a_lone_server() {
    let server = preset("dgx2").unwrap();
    let system = System::of_machine(server.clone()).unwrap();
    assert_eq!(system, System::of_server(Arc::new(server)));
}

/// Describes two servers of a GPU, a CPU and an interface each, on two switches.
const TWO: &str = r#"
name = "two"
[[device]]
kind = "gpu"
names = ["b-GPU", "a-GPU"]
[[device]]
kind = "cpu"
names = ["a-CPU", "b-CPU"]
[[device]]
kind = "nic"
names = ["a-NIC", "b-NIC"]
[[device]]
kind = "network-switch"
names = ["left", "right"]
[[link]]
kind = "pcie4"
between = [["a-GPU", "a-CPU"], ["a-NIC", "a-CPU"], ["b-GPU", "b-CPU"], ["b-NIC", "b-CPU"]]
[[link]]
kind = "ethernet"
between = [["a-NIC", "left"], ["right", "b-NIC"]]
[[link]]
kind = "ethernet"
count = 3
bandwidth = "5 GB/s"
between = [["left", "right"]]
"#;

#[test]
fn switches_and_cables_are_a_graph_with_their_names() {
    let system = split_text(TWO).unwrap();
    assert_eq!((system.servers(), system.kinds().len()), (2, 1));
    let server = system.kind_of(0).server();
    assert_eq!(server.name(), "b", "its first server");
    let fabric = system.fabric().unwrap();
    assert_eq!((fabric.shape(), fabric.link_kind()), (&FabricShape::Graph, LinkKind::Ethernet));
    assert_eq!([0, 1].map(|switch| fabric.switch_name(switch)), ["left", "right"]);
    assert_eq!(fabric.channels().len(), 2 * (2 + 3), "each link of a bundle is one");
    // Servers are in the order of their GPUs, and so are their interfaces.
    let at = |nic| fabric.switch_name(fabric.switch_of(system.port_of(nic)));
    assert_eq!([0, 1].map(at), ["right", "left"]);
    assert_eq!(system.device_name(system.gpu_device(1)), "node1/GPU");
}

#[test]
fn servers_without_a_common_name_keep_theirs() {
    let text = TWO.replace("a-", "x").replace("b-", "y");
    let system = split_text(&text).unwrap();
    assert_eq!(system.kinds().len(), 2, "names tell them apart");
    assert_eq!(system.kind_of(0).server().devices()[0].name, "yGPU");
    assert_eq!(system.kind_of(1).server().name(), "server1");
}

#[test]
fn what_no_system_can_have_is_refused_with_the_device() {
    let cable = "between = [[\"a-NIC\", \"left\"], [\"right\", \"b-NIC\"]]";
    let with = |links: &str| TWO.replace(cable, &format!("between = [{links}]"));
    let both = "[\"a-NIC\", \"left\"], [\"right\", \"b-NIC\"]";
    let trunk = "[[link]]\nkind = \"ethernet\"\ncount = 3\nbandwidth = \"5 GB/s\"\n\
        between = [[\"left\", \"right\"]]\n";
    let pcie_of_b = ", [\"b-NIC\", \"b-CPU\"]";
    for (text, device, words) in [
        (with("[\"a-NIC\", \"left\"]"), "b-NIC", "no link to a switch"),
        (with(&format!("{both}, [\"a-NIC\", \"right\"]")), "a-NIC", "two links of the network"),
        (with(&format!("{both}, [\"a-GPU\", \"right\"]")), "a-GPU", "is no interface"),
        (with(&format!("{both}, [\"right\", \"b-CPU\"]")), "b-CPU", "is no interface"),
        (with("[\"a-NIC\", \"b-NIC\"]"), "a-NIC", "leads to no switch"),
        (TWO.replace(pcie_of_b, ""), "b-NIC", "joined to no GPU"),
        (TWO.replace(pcie_of_b, ", [\"left\", \"b-CPU\"]"), "left", "has a link of another kind"),
        (
            TWO.replacen("kind = \"ethernet\"", "kind = \"infiniband\"", 1),
            "left",
            "another kind than the network's first",
        ),
        (
            TWO.replace("names = [\"a-NIC\", \"b-NIC\"]", "names = [\"a-NIC\"]")
                .replace(pcie_of_b, "")
                .replace(", [\"right\", \"b-NIC\"]", ""),
            "b-GPU",
            "without a network interface",
        ),
    ] {
        let error = split_text(&text).unwrap_err();
        assert!(error.contains(&format!("`{device}` of `two`")), "{error}\n{text}");
        assert!(error.contains(words) && error.contains("; "), "{error}");
    }
    let error = split_text(&TWO.replace(trunk, "")).unwrap_err();
    assert!(error.contains("left") && error.contains("right"), "{error}");
    let many = TWO.replace("5 GB/s", "1 B/s").replace("count = 3", "count = 4000000000");
    assert!(split_text(&many).unwrap_err().contains("too many"));
}
