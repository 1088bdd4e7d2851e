//! Names the format string of each line that the fixtures have: tag, file, line.
//!
//! NCCL's are of v2.18.5-1, v2.23.4-1, v2.27.7-1 and v2.30.7-1, all under `src/`. The forms of
//! nccl-tests are of v2.13.9 (with 2.18 and 2.23). With 2.27 and 2.30 they are of v2.19.6.
//! A release that prints no such line has `-`.

/// A line of a log, and the form that it was written by.
#[derive(Debug, Clone)]
pub struct Written {
    pub form: &'static str,
    pub text: String,
}

/// The releases, in the order of the columns.
pub const RELEASES: [&str; 4] = ["2.18.5", "2.23.4", "2.27.7", "2.30.7"];

/// Each form and its places in the four releases.
pub const FORMS: [(&str, [&str; 4]); 37] = [
    ("prefix", ["debug.cc:175", "debug.cc:204", "debug.cc:366", "debug.cc:354"]),
    ("version", ["init.cc:452", "init.cc:530", "init.cc:541", "init.cc:700"]),
    (
        "parameter",
        ["misc/param.cc:75", "misc/param.cc:86", "misc/param.cc:87", "misc/param.cc:100"],
    ),
    ("p2p-disable", ["-", "graph/paths.cc:218", "graph/paths.cc:225", "graph/paths.cc:252"]),
    (
        "level",
        ["graph/paths.cc:242", "graph/paths.cc:240", "graph/paths.cc:247", "graph/paths.cc:274"],
    ),
    (
        "protocol",
        [
            "graph/tuning.cc:251",
            "graph/tuning.cc:294",
            "graph/tuning.cc:398",
            "graph/tuning.cc:455",
        ],
    ),
    (
        "algorithm",
        [
            "graph/tuning.cc:256",
            "graph/tuning.cc:299",
            "graph/tuning.cc:403",
            "graph/tuning.cc:460",
        ],
    ),
    (
        "hca-list",
        [
            "transport/net_ib.cc:180",
            "transport/net_ib.cc:524",
            "transport/net_ib.cc:636",
            "transport/net_ib/init.cc:318",
        ],
    ),
    (
        "no-device",
        [
            "transport/net_ib.cc:252",
            "transport/net_ib.cc:642",
            "transport/net_ib.cc:749",
            "transport/net_ib/init.cc:470",
        ],
    ),
    (
        "ib-using",
        [
            "transport/net_ib.cc:264",
            "transport/net_ib.cc:669",
            "transport/net_ib.cc:762",
            "transport/net_ib/init.cc:513",
        ],
    ),
    (
        "socket-using",
        [
            "transport/net_socket.cc:62",
            "transport/net_socket.cc:62",
            "transport/net_socket.cc:67",
            "transport/net_socket.cc:77",
        ],
    ),
    ("network", ["init.cc:310", "init.cc:342", "init.cc:346", "init.cc:486"]),
    ("start", ["init.cc:1356", "init.cc:1454", "init.cc:1446", "init.cc:1912"]),
    ("complete", ["init.cc:1375", "init.cc:1482", "init.cc:1469", "init.cc:1945"]),
    (
        "gdr-of-hca",
        ["graph/topo.cc:664", "graph/topo.cc:802", "graph/topo.cc:1259", "graph/topo.cc:1653"],
    ),
    ("gdr-refused", ["graph/paths.cc:393", "graph/paths.cc:407", "graph/paths.cc:450", "-"]),
    (
        "p2p-refused",
        ["graph/paths.cc:327", "graph/paths.cc:321", "graph/paths.cc:353", "graph/paths.cc:402"],
    ),
    (
        "p2p-not-enabled",
        [
            "transport/p2p.cc:174",
            "transport/p2p.cc:197",
            "transport/p2p.cc:194",
            "transport/p2p.cc:204",
        ],
    ),
    (
        "multicast",
        [
            "transport/nvls.cc:256",
            "transport/nvls.cc:171",
            "transport/nvls.cc:200",
            "transport/nvls.cc:279",
        ],
    ),
    (
        "system",
        ["graph/topo.cc:283", "graph/topo.cc:311", "graph/topo.cc:314", "graph/topo.cc:337"],
    ),
    ("node", ["graph/topo.cc:250", "graph/topo.cc:276", "graph/topo.cc:279", "graph/topo.cc:289"]),
    ("link", ["graph/topo.cc:265", "graph/topo.cc:293", "graph/topo.cc:296", "graph/topo.cc:315"]),
    ("rule", ["graph/topo.cc:286", "graph/topo.cc:314", "graph/topo.cc:317", "graph/topo.cc:340"]),
    (
        "pattern",
        [
            "graph/search.cc:1001",
            "graph/search.cc:1129",
            "graph/search.cc:1177",
            "graph/search.cc:1319",
        ],
    ),
    ("ring", ["graph/rings.cc:35", "graph/rings.cc:41", "graph/rings.cc:41", "graph/rings.cc:48"]),
    ("trees", ["init.cc:1045", "init.cc:1099", "init.cc:1054", "init.cc:1497"]),
    (
        "via-p2p",
        [
            "transport/p2p.cc:366",
            "transport/p2p.cc:397",
            "transport/p2p.cc:393",
            "transport/p2p.cc:423",
        ],
    ),
    (
        "via-p2p-pointer",
        [
            "transport/p2p.cc:355",
            "transport/p2p.cc:390",
            "transport/p2p.cc:386",
            "transport/p2p.cc:416",
        ],
    ),
    (
        "via-shm",
        [
            "transport/shm.cc:95",
            "transport/shm.cc:126",
            "transport/shm.cc:128",
            "transport/shm.cc:116",
        ],
    ),
    (
        "via-net-send",
        [
            "transport/net.cc:186",
            "transport/net.cc:194",
            "transport/net.cc:218",
            "transport/net.cc:324",
        ],
    ),
    (
        "via-net-send-by",
        [
            "transport/net.cc:189",
            "transport/net.cc:197",
            "transport/net.cc:222",
            "transport/net.cc:328",
        ],
    ),
    (
        "via-net-receive",
        [
            "transport/net.cc:227",
            "transport/net.cc:233",
            "transport/net.cc:264",
            "transport/net.cc:377",
        ],
    ),
    ("channels", ["init.cc:1113", "init.cc:1274", "init.cc:1232", "init.cc:1646"]),
    ("choice", ["-", "enqueue.cc:1855", "enqueue.cc:745", "enqueue.cc:822"]),
    ("symmetric", ["-", "-", "enqueue.cc:1429", "scheduler/symmetric_sched.cc:356"]),
    (
        "tuner",
        ["-", "misc/tuner.cc:216", "plugin/tuner/tuner_v4.cc:17", "plugin/tuner/tuner_v5.cc:44"],
    ),
    (
        "via-collnet",
        [
            "transport/coll_net.cc:165",
            "transport/coll_net.cc:169",
            "transport/coll_net.cc:182",
            "transport/coll_net.cc:187",
        ],
    ),
];

/// Where a form stands in a release.
pub fn place(form: &str, release: &str) -> &'static str {
    let column = RELEASES.iter().position(|it| *it == release).expect("the release is one of four");
    let (_, places) = FORMS.iter().find(|(name, _)| *name == form).expect("the form is named");
    places[column]
}
