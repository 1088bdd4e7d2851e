//! Tests the arbitrary graph model in Graphviz' DOT language.

use linkwright::system::fabric::{read_dot, read_fabric, read_graph};
use linkwright::units::{Bandwidth, Picoseconds};
use proptest::prelude::*;

use super::graph::PAIR;

const SAME_PAIR: &str = "// a comment
graph \"pair\" {
  node [shape=box]; edge [bandwidth=\"10 GB/s\", latency=\"50 ns\"]
  left [nodes=2, node_latency=\"10 ns\"]
  right [nodes=2 node_latency=\"10 \" + \"ns\"];
  rankdir = LR /* another
  comment */
  left:p1:n -- right [count=3]
  edge [bandwidth=\"1 GB/s\" latency=\"1 us\"]
  left -- spare -- right
  edge [bandwidth=\"10 GB/s\"]
}
";

#[test]
fn both_formats_make_the_same_graph() {
    let drawn = read_dot("pair.dot", SAME_PAIR).unwrap();
    let listed = read_graph("pair.toml", PAIR).unwrap();
    assert_eq!(drawn, listed);
    assert_eq!(read_fabric("pair.dot", SAME_PAIR).unwrap(), listed);
}

#[test]
fn leaves_of_a_plain_drawing_are_nodes() {
    let text = "digraph { edge [bandwidth=\"1 GB/s\", latency=\"5 ns\"]
        subgraph cluster_a { a0 -> s; a1 -> s } s -> t; t -> s; {b0 b1} -> t }";
    let built = read_dot("plain.dot", text).unwrap();
    assert_eq!((built.nodes(), built.switches()), (4, 2));
    assert_eq!(built.channels().len(), 2 * 5);
    assert_eq!((built.switch_of(1), built.switch_of(3)), (0, 1));
    assert_eq!(built.channels()[0].bandwidth, Bandwidth::gigabytes_per_second(1));
    assert_eq!(built.channels()[9].latency, Picoseconds(5000));
}

#[test]
fn strict_graphs_keep_one_edge_and_others_all() {
    let text = "graph { edge [bandwidth=\"1 GB/s\", latency=\"5 ns\"] a [nodes=1] b [nodes=1] \
                a -- b; b -- a }";
    assert_eq!(read_dot("g", text).unwrap().channels().len(), 8);
    assert_eq!(read_dot("g", &format!("strict {text}")).unwrap().channels().len(), 6);
}

#[test]
fn errors_name_line_and_column() {
    let cases = [
        (SAME_PAIR.replace("graph \"pair\"", "graf"), "2:1", "graph or digraph"),
        (SAME_PAIR.replace("left -- spare", "left -> spare"), "10:8", "write --"),
        (SAME_PAIR.replace("count=3", "count=x"), "8:29", "whole number"),
        (SAME_PAIR.replace("\"1 us\"", "\"1 u\""), "9:36", "50 ns"),
        (SAME_PAIR.replace("*/", ""), "6:16", "add */"),
        (SAME_PAIR.replace("}\n", "\"x}\n"), "12:1", "close it"),
        (SAME_PAIR.replace("}\n", ""), "12:1", "}"),
        (SAME_PAIR.replace("nodes=2,", "kind=swtich,"), "4:14", "kind=switch"),
        (SAME_PAIR.replace("spare", "left"), "10:3", "itself"),
        (SAME_PAIR.replace("rankdir", "@"), "6:3", "quote"),
        ("graph { a -- b }".to_owned(), "1:9", "edge [bandwidth"),
        ("graph { a [kind=node] }".to_owned(), "1:9", "join it"),
    ];
    for (text, place, says) in cases {
        let error = read_dot("pair.dot", &text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("pair.dot:{place}: ")), "{error}");
        assert!(error.contains(says) && error.contains("; "), "{error}");
    }
}

#[test]
fn two_halves_name_two_nodes() {
    let text = "graph { edge [bandwidth=\"1 GB/s\", latency=\"5 ns\"]\n node [nodes=1]\n a -- b\n \
                c -- d }";
    let error = read_dot("g.dot", text).unwrap_err().to_string();
    assert!(error.starts_with("g.dot:4:2: no path of links joins node 0 at switch a"), "{error}");
    assert!(error.contains("node 2 at switch c"), "{error}");
}

#[test]
fn hostile_texts_are_refused_in_time() {
    let deep = format!("graph {}{}", "{".repeat(10_000), "}".repeat(10_000));
    assert!(read_dot("g", &deep).unwrap_err().to_string().contains("deeply"));
    let set = |prefix: &str| (0..4000).map(|i| format!("{prefix}{i} ")).collect::<String>();
    let wide = format!("graph {{ {{ {} }} -- {{ {} }} }}", set("a"), set("b"));
    assert!(read_dot("g", &wide).unwrap_err().to_string().contains("edges"));
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = read_dot("any", &text);
    }

    #[test]
    fn no_string_of_tokens_panics(words in prop::collection::vec(
        prop::sample::select(vec![
            "graph", "{", "}", "[", "]", "--", "->", ";", "=", "a", "b", "c", "kind", "node",
            "edge", "subgraph", "\"", "+", ":", "nodes", "2", "<", ">", "count", "\\", "é",
        ]),
        0..40,
    )) {
        let _ = read_dot("any", &format!("graph {{ {} }}", words.join(" ")));
    }

    #[test]
    fn no_change_of_a_good_text_panics(
        at in 0..SAME_PAIR.len(),
        length in 0_usize..20,
        new in "\\PC{0,4}",
    ) {
        let end = (at + length).min(SAME_PAIR.len());
        let _ = read_dot("any", &format!("{}{new}{}", &SAME_PAIR[..at], &SAME_PAIR[end..]));
    }
}
