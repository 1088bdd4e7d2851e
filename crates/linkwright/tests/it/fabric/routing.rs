//! Tests routing tables from a file.

use linkwright::system::fabric::{Fabric, RoutingTables, read_graph, read_routing};
use proptest::prelude::*;

/// Builds a ring of four switches with a node each.
fn ring() -> Fabric {
    let text = "[defaults]\nbandwidth = \"1 GB/s\"\nlatency = \"5 ns\"\n\
                [[switch]]\nnames = [\"a\", \"b\", \"c\", \"d\"]\nnodes = 2\n\
                [[link]]\nbetween = [[\"a\", \"b\"], [\"b\", \"c\"], [\"c\", \"d\"], [\"d\", \"a\"]]\n\
                [[link]]\nbetween = [[\"a\", \"b\"]]\n";
    read_graph("ring.toml", text).unwrap()
}

fn route(at: &str, to: &str, next: &str) -> String {
    let list = |names: &str| {
        names.split(' ').map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    };
    let (at, to, next) = (list(at), list(to), list(next));
    format!("[[route]]\nat = [{at}]\nto = [{to}]\nnext = [{next}]\n")
}

/// All ways that are shortest, as a file.
fn shortest_routes() -> String {
    [
        route("b d", "a", "a"),
        route("c", "a", "b d"),
        route("a c", "b", "b"),
        route("d", "b", "a c"),
        route("b d", "c", "c"),
        route("a", "c", "b d"),
        route("a c", "d", "d"),
        route("b", "d", "a c"),
    ]
    .concat()
}

#[test]
fn a_file_of_shortest_ways_equals_the_computed_tables() {
    let tables = read_routing("r.toml", &shortest_routes(), &ring()).unwrap();
    assert_eq!(tables, RoutingTables::shortest(&ring()).unwrap());
    assert_eq!(tables.next(0, 2).len(), 2, "two parallel links");
    assert_eq!((tables.next(0, 4).len(), tables.longest()), (3, 2));
}

#[test]
fn single_nodes_may_go_another_way() {
    let text = shortest_routes()
        + "[[route]]\nat = [\"a\"]\nto-nodes = [3]\nnext = [\"d\"]\n\
        [[route]]\nat = [\"d\"]\nto-nodes = [3]\nnext = [\"c\"]\n";
    let (ring, tables) = (ring(), read_routing("r.toml", &text, &ring()).unwrap());
    assert_eq!(tables.longest(), 3);
    let heads = |at, node| {
        let next = tables.next(at, node).iter();
        next.map(|id| ring.channels()[*id as usize].to).collect::<Vec<_>>()
    };
    assert_ne!(heads(0, 2), heads(0, 3));
    assert_eq!(heads(1, 2), heads(1, 3));
}

#[test]
fn what_does_not_arrive_is_refused_by_name() {
    let good = shortest_routes();
    let cases = [
        (
            good.replace("at = [\"c\"]\nto = [\"a\"]\nnext = [\"b\", \"d\"]", "")
                .replace("[[route]]\n\n", ""),
            "1:1",
            "no route leads from c on to a",
        ),
        (
            good.replace(
                "at = [\"b\", \"d\"]\nto = [\"a\"]\nnext = [\"a\"]",
                "at = [\"b\", \"d\"]\nto = [\"a\"]\nnext = [\"c\"]",
            ),
            "6:7",
            "routes to a run in a circle, b → c → b",
        ),
        (good.replacen("next = [\"a\"]", "next = []", 1), "1:1", "no route leads from b on to a"),
        (good.replacen("next = [\"a\"]", "next = [\"e\"]", 1), "4:9", "no such switch"),
        (good.replacen("to = [\"a\"]", "to-nodes = [8]", 1), "3:13", "nodes are 0 to 7"),
        (good.replacen("at = [\"b\", \"d\"]", "at = [\"c\", \"d\"]", 1), "4:9", "no link leads"),
        (good.replacen("at", "from", 1), "2:1", "from"),
    ];
    for (text, place, says) in cases {
        let error = read_routing("r.toml", &text, &ring()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("r.toml:{place}: ")), "{error}");
        assert!(error.contains(says) && error.contains("; "), "{error}");
    }
}

proptest! {
    #[test]
    fn any_routes_arrive_or_are_refused(steps in prop::collection::vec(
        (0_usize..4, 0_usize..4, any::<bool>()),
        0..40,
    )) {
        const NAMES: [&str; 4] = ["a", "b", "c", "d"];
        let text: String = steps
            .iter()
            .map(|(at, to, is_next)| {
                let next = (at + if *is_next { 1 } else { 3 }) % 4;
                route(NAMES[*at], NAMES[*to], NAMES[next])
            })
            .collect();
        let ring = ring();
        if let Ok(tables) = read_routing("r.toml", &text, &ring) {
            // Every way from every switch ends, within as many steps as there are switches.
            for node in 0..ring.nodes() {
                let mut at: Vec<u32> = (0..4).collect();
                for _ in 0..4 {
                    at = at.iter().flat_map(|at| tables.next(*at, node)).map(|id| {
                        super::support::switch_at(ring.channels()[*id as usize].to)
                    }).collect();
                }
                prop_assert!(at.is_empty());
                for from in (0..4).filter(|from| *from != ring.switch_of(node)) {
                    prop_assert!(!tables.next(from, node).is_empty());
                }
            }
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = read_routing("any", &text, &ring());
    }
}
