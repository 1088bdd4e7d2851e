#![no_main]
use linkwright::system::fabric::{RoutingTables, read_dot};

// A fabric that is read has ways between all nodes.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(built) = read_dot("fuzz", text) else { return };
    if built.switches() <= 100 && built.channels().len() <= 10_000 {
        RoutingTables::shortest(&built).expect("the reader accepts connected, small fabrics only");
    }
});
