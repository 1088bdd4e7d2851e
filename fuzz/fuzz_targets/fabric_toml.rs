#![no_main]
use linkwright::system::fabric::{RoutingTables, fabric_dot, read_dot, read_graph, read_routing};

// A fabric that is read has ways between all nodes, is drawn, and is the same when read back. The
// text is tried as routes of a small network too.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let small = "[defaults]\nbandwidth = \"1 GB/s\"\nlatency = \"1 ns\"\n[[switch]]\n\
                 names = [\"a\", \"b\", \"c\"]\nnodes = 1\n[[link]]\n\
                 between = [[\"a\", \"b\"], [\"b\", \"c\"], [\"c\", \"a\"]]";
    let small = read_graph("small", small).expect("a triangle is a graph");
    let _ = read_routing("fuzz", text, &small);
    let Ok(built) = read_graph("fuzz", text) else { return };
    if built.channels().len() > 10_000 || built.switches() > 100 {
        return;
    }
    RoutingTables::shortest(&built).expect("the reader accepts connected, small fabrics only");
    let again = read_dot("again", &fabric_dot(&built)).expect("a drawing is DOT");
    assert_eq!(again.channels(), built.channels());
});
