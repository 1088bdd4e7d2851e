//! Tests one network in four formats, and the texts that each refuses.

use crate::system::fabric::{Fabric, read_fabric};

const DOT: &str = r#"graph ring {
    edge [bandwidth="12.5 GB/s", latency="50 ns"]
    node [nodes=4, node_latency="10 ns"]
    north -- east [count=2]
    east -- south -- west -- north
}"#;

const EDGES: &str =
    "# bandwidth=\"12.5 GB/s\" latency=\"50 ns\" nodes=4 node_latency='10 ns' name=ring
north east count=2
# a comment
east south {}
south west {'bandwidth': '12.5 GB/s', 'weight': 3}
west north
";

const JSON: &str = r#"{"directed": false, "multigraph": false,
 "graph": {"name": "ring", "bandwidth": "12.5 GB/s", "latency": "50 ns", "node_latency": "10 ns"},
 "nodes": [{"id": "north", "nodes": 4}, {"id": "east", "nodes": 4}, {"id": "south", "nodes": 4},
   {"id": "west", "nodes": 4}],
 "links": [{"source": "north", "target": "east", "count": 2}, {"source": "east", "target": "south"},
   {"source": "south", "target": "west"}, {"source": "west", "target": "north"}]}"#;

const GRAPHML: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="nodes" attr.type="int"><default>4</default></key>
  <key id="d1" for="edge" attr.name="bandwidth" attr.type="string"><default>12.5 GB/s</default></key>
  <key id="d2" for="edge" attr.name="latency" attr.type="string"/>
  <key id="d3" for="node" attr.name="node_latency" attr.type="string"><default>10 ns</default></key>
  <key id="d4" for="edge" attr.name="count" attr.type="int"/>
  <graph id="ring" edgedefault="undirected">
    <data key="d2">50 ns</data>
    <node id="north"/><node id="east"/><node id="south"/><node id="west"/>
    <edge source="north" target="east"><data key="d4">2</data></edge>
    <edge source="east" target="south"/>
    <edge source="south" target="west"/>
    <edge source="west" target="north"/>
  </graph>
</graphml>"#;

fn read(text: &str) -> Fabric {
    read_fabric("ring", text).unwrap()
}

#[test]
fn every_format_says_the_same_network() {
    let dot = read(DOT);
    assert_eq!((dot.nodes(), dot.switches(), dot.channels().len()), (16, 4, 42));
    for text in [EDGES, JSON, GRAPHML] {
        assert_eq!(read(text), dot, "{text}");
    }
}

#[test]
fn vertices_may_be_nodes() {
    let star = "# bandwidth='1 GB/s' latency='1 us'\nhub a\nhub b\nhub c\n";
    let star = read(star);
    assert_eq!((star.nodes(), star.switches()), (3, 1));
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, place, problem) in [
        ("# bandwidth='1 GB/s'\na b\nb c\n", "ring:2:1", "no latency for"),
        ("# bandwidth='1 GB/s' latency='1 us'\na b\nc\n", "ring:3:1", "one vertex is no edge"),
        ("# bandwidth='1 GB/s' latency='1 us'\na b 3\n", "ring:2:5", "no attribute"),
        (
            "{\"nodes\": [{\"id\": 1}], \"links\": [{\"source\": 1, \"target\": 7}]}",
            "ring:1:",
            "no vertex",
        ),
        ("{\"nodes\": 3, \"links\": []}", "ring:1:1", "`nodes` is no list of objects"),
        ("{\"nodes\": [], \"links\": [", "ring:1:", "this is not JSON"),
        ("<graphml></graphml>", "ring:1:1", "there is no <graph>"),
        ("<graphml><graph><node/></graph></graphml>", "ring:1:17", "there is no `id`"),
    ] {
        let error = read_fabric("ring", text).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(problem), "{text}: {error}");
        assert_eq!(error.lines().count(), 1);
    }
}
