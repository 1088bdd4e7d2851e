//! Tests the arbitrary graph model in TOML.

use linkwright::system::fabric::{fabric_dot, read_dot, read_fabric, read_graph};
use linkwright::units::{Bandwidth, Picoseconds};
use proptest::prelude::*;

pub const PAIR: &str = "name = \"pair\"
[defaults]
bandwidth = \"10 GB/s\"
latency = \"50 ns\"
node-latency = \"10 ns\"
[[switch]]
names = [\"left\", \"right\"]
nodes = 2
[[switch]]
names = [\"spare\"]
[[link]]
count = 3
between = [[\"left\", \"right\"]]
[[link]]
bandwidth = \"1 GB/s\"
latency = \"1 us\"
between = [[\"left\", \"spare\"], [\"spare\", \"right\"]]
";

#[test]
fn a_graph_reads_as_written() {
    let built = read_graph("pair.toml", PAIR).unwrap();
    assert_eq!((built.name(), built.nodes(), built.switches()), ("pair", 4, 3));
    assert_eq!(built.channels().len(), 2 * (4 + 3 + 2));
    assert_eq!(built.switch_of(2), 1);
    assert_eq!(built.switch_name(2), "spare");
    assert_eq!(built.channels()[0].latency, Picoseconds(10_000));
    assert_eq!(built.channels()[8].latency, Picoseconds(50_000));
    assert_eq!(built.channels()[14].bandwidth, Bandwidth::gigabytes_per_second(1));
    assert_eq!(read_fabric("pair.toml", PAIR).unwrap(), built);
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        (PAIR.replace("count", "cuont"), "12:1", "cuont"),
        (PAIR.replace("\"spare\", \"right\"", "\"spare\", \"rihgt\""), "17:31", "`right`?"),
        (PAIR.replace("[\"spare\"]", "[\"left\"]"), "10:10", "already"),
        (PAIR.replace("\"left\", \"spare\"", "\"left\", \"left\""), "17:12", "itself"),
        (PAIR.replace("bandwidth = \"10 GB/s\"\n", ""), "6:10", "node-bandwidth"),
        (PAIR.replace("1 us", "1 u"), "16:11", "700 ns"),
        (PAIR.replace("count = 3", "count = 4294967295"), "13:12", "smaller"),
        (PAIR.replace("nodes = 2", "nodes = 0"), "1:1", "at least one node"),
        (PAIR.replace("1 GB/s", "0 GB/s"), "1:1", "a bandwidth of 0"),
        (PAIR.replace("spare", "sp\\tare"), "10:10", "line breaks"),
    ];
    for (text, place, says) in cases {
        let error = read_graph("pair.toml", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("pair.toml:{place}: ")), "{error}");
        assert!(error.contains(says) && error.contains("; "), "{error}");
    }
}

#[test]
fn what_is_not_joined_names_two_nodes() {
    let text = PAIR.split("[[link]]").next().unwrap();
    let error = read_graph("pair.toml", text).unwrap_err().to_string();
    let expected = "pair.toml:7:18: no path of links joins node 0 at switch left and node 2 at \
                    switch right: `\"right\"`; add the missing link";
    assert_eq!(error, expected);
}

proptest! {
    #[test]
    fn any_graph_survives_drawing(
        names in prop::collection::btree_set("[ -~é]{0,6}", 2..6),
        links in prop::collection::vec((0_usize..6, 0_usize..6, 1_u32..4), 0..12),
        nodes in 1_u32..4,
    ) {
        let names: Vec<String> = names.into_iter().collect();
        let quote = |at: usize| toml::Value::String(names[at % names.len()].clone()).to_string();
        let mut text = "[defaults]\nbandwidth = \"3 GB/s\"\nlatency = \"7 ns\"\n".to_owned();
        for at in 0..names.len() {
            text += &format!("[[switch]]\nnames = [{}]\nnodes = {nodes}\n", quote(at));
        }
        let chain = (1..names.len()).map(|at| (at - 1, at, 1));
        for (a, b, count) in chain.chain(links) {
            if a % names.len() != b % names.len() {
                let (a, b) = (quote(a), quote(b));
                text += &format!("[[link]]\ncount = {count}\nbetween = [[{a}, {b}]]\n");
            }
        }
        let built = read_graph("g.toml", &text).unwrap();
        let again = read_dot("g.dot", &fabric_dot(&built)).unwrap();
        prop_assert_eq!(again.channels(), built.channels());
        for switch in 0..built.switches() {
            prop_assert_eq!(again.switch_name(switch), built.switch_name(switch));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = read_fabric("any", &text);
    }

    #[test]
    fn no_change_of_a_good_text_panics(at in 0..PAIR.len(), length in 0_usize..20, new in "\\PC{0,4}") {
        let end = (at + length).min(PAIR.len());
        let _ = read_graph("any", &format!("{}{new}{}", &PAIR[..at], &PAIR[end..]));
    }
}
