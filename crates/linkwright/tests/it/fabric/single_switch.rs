//! Tests one switch between all nodes, and the properties of its links.

use linkwright::network::routing::{AnyRouting, Routing, SHORTEST_PATH, routing_for};
use linkwright::system::fabric::{
    Fabric, FabricShape, FabricSpecification, fabric_dot, read_fabric, read_specification,
};
use linkwright::system::{LinkKind, NetworkKind};
use linkwright::units::{Bandwidth, Picoseconds};

fn read(text: &str) -> Fabric {
    read_specification("a.toml", text).unwrap()
}

#[test]
fn every_node_has_one_link_to_the_one_switch() {
    let built = read("kind = \"single-switch\"\nports = 5\nbandwidth = \"25 GB/s\"");
    assert_eq!((built.nodes(), built.switches(), built.channels().len()), (5, 1, 10));
    assert_eq!(built.shape(), &FabricShape::SingleSwitch);
    assert_eq!(built.outgoing(0), [1, 3, 5, 7, 9]);
    assert_eq!((built.name(), built.switch_name(0).as_str()), ("single-switch-5", "switch0"));
    assert!(built.channels().iter().all(|c| c.bandwidth == Bandwidth::gigabytes_per_second(25)));
}

#[test]
fn links_are_as_fast_as_the_data_sheet_of_their_kind_says() {
    for (written, kind, nanoseconds) in [
        ("", NetworkKind::Infiniband, 600),
        ("links = \"infiniband\"", NetworkKind::Infiniband, 600),
        ("links = \"ethernet\"", NetworkKind::Ethernet, 1000),
        ("links = \"ethernet\"\nlatency = \"5 ns\"", NetworkKind::Ethernet, 5),
        ("links = \"ethernet\"\nnode-latency = \"6 ns\"", NetworkKind::Ethernet, 6),
    ] {
        let built = read(&format!("kind = \"single-switch\"\n{written}"));
        assert_eq!(built.link_kind(), kind.link_kind(), "{written}");
        let channel = built.channels()[0];
        assert_eq!(channel.bandwidth, kind.link_kind().data_sheet().bandwidth);
        assert_eq!(channel.latency, Picoseconds(nanoseconds * 1000), "{written}");
    }
}

#[test]
fn any_kind_of_fabric_says_what_its_links_are() {
    for name in ["fat-tree", "dragonfly", "torus", "quartz", "single-switch"] {
        let silent = read(&format!("kind = \"{name}\""));
        assert_eq!(silent.link_kind(), LinkKind::Infiniband);
        let said = read(&format!("kind = \"{name}\"\nlinks = \"ethernet\""));
        assert_eq!(said.link_kind(), LinkKind::Ethernet);
        let scaled = said.with_bandwidth_times(1, 2).unwrap();
        assert_eq!(scaled.link_kind(), LinkKind::Ethernet);
    }
    for text in [
        "links = \"ethernet\"\n[defaults]\nbandwidth = \"1 GB/s\"\nlatency = \"1 ns\"\n[[switch]]\nnames = [\"a\"]\nnodes = 2",
        "graph { graph [links=ethernet] edge [bandwidth=\"1 GB/s\", latency=\"1 ns\"] a [nodes=2] }",
        "graph { links=ethernet; edge [bandwidth=\"1 GB/s\", latency=\"1 ns\"] a [nodes=2] }",
    ] {
        let built = read_fabric("a", text).unwrap();
        assert_eq!(built.link_kind(), LinkKind::Ethernet, "{text}");
        assert_eq!(read_fabric("b", &fabric_dot(&built)).unwrap().link_kind(), LinkKind::Ethernet);
        let error = read_fabric("a", &text.replace("ethernet", "string")).unwrap_err().to_string();
        assert!(error.contains("ethernet") && error.starts_with("a:1:"), "{error}");
    }
    let error = read_fabric("a.toml", "kind = \"torus\"\nlinks = \"token-ring\"").unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("a.toml:2:9: ") && error.contains("ethernet"), "{error}");
}

#[test]
fn packets_go_straight_and_in_order() {
    let built = FabricSpecification::preset("single-switch").unwrap().build().unwrap();
    let kind = routing_for(built.shape());
    assert_eq!(kind, SHORTEST_PATH);
    let routing = AnyRouting::new(kind, &built, 1).unwrap();
    assert!(routing.in_order());
    assert_eq!(routing.virtual_channels(), 1);
}

#[test]
fn a_switch_without_ports_or_with_other_keys_is_refused() {
    for (text, place) in [
        ("kind = \"single-switch\"\nports = 0", "2:9"),
        ("kind = \"single-switch\"\nports = 16777217", "1:1"),
        ("kind = \"single-switch\"\npods = 2", "2:8"),
        ("kind = \"torus\"\nports = 2", "2:9"),
        ("kind = \"single-switch\"\nbandwidth = \"0 GB/s\"", "1:1"),
    ] {
        let error = read_specification("a.toml", text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("a.toml:{place}: ")), "{error}");
    }
}
