//! Reads one line of each form that NCCL prints, of each release whose form differs.

use linkwright_doctor::doctor::evidence::{DebugLog, Evidence, LoggedTransport};
use linkwright_doctor::doctor::read::read_file;

const FORMS: &str = include_str!("forms.tsv");

fn log(message: &str, form: &str) -> DebugLog {
    let before: &[&str] = match form {
        "device" => &["=== System : maxBw 24.0 totalBw 48.0 ==="],
        "path" => {
            &["Pattern 4, crossNic 0, nChannels 1, bw 20.0/20.0, type NVL/PIX, sameChannels 1"]
        }
        "speed" => &["NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.0.0.1<0>"],
        _ => &[],
    };
    let lines = before.iter().chain([&message]);
    let text: String = lines.map(|line| format!("node-1:77:78 [0] NCCL INFO {line}\n")).collect();
    let mut evidence = Evidence::default();
    read_file("a.log", text.as_bytes(), &mut evidence).unwrap();
    assert_eq!(evidence.files[0].skipped, 0, "{message}");
    let run = evidence.runs.pop().unwrap();
    assert_eq!(run.debug.read, 1 + before.len() as u64, "{message}");
    run.debug
}

/// Says what a log states of a form, in short words.
fn fact(form: &str, log: &DebugLog) -> String {
    match form {
        "version" => log.version.as_ref().unwrap().0.clone(),
        "network" => log.network.as_ref().unwrap().0.clone(),
        "interfaces" => {
            let found = &log.interfaces["node-1"];
            format!("{} {}", found.network, found.names.join(" "))
        }
        "speed" => log.interfaces["node-1"].speeds[0].unwrap().to_string(),
        "no interface" => log.no_interface.is_some().to_string(),
        "gpudirect" => {
            let (name, (works, _)) = log.gpudirect.first_key_value().unwrap();
            format!("{name} {works}")
        }
        "refusal" => {
            let found = &log.refusals[0];
            format!("{} {} {}", found.of_interface, found.between.0, found.between.1)
        }
        "connection" => connection(log),
        "ring" => {
            let (channel, (ranks, _)) = log.rings.first_key_value().unwrap();
            format!("{channel} {ranks:?}")
        }
        "trees" => log.trees.is_some().to_string(),
        "channels" => {
            let found = log.channels.as_ref().unwrap();
            format!("{} {} {}", found.collective, found.nvls, found.pairs)
        }
        "place" => {
            let (rank, place) = log.places.first_key_value().unwrap();
            format!("{rank} {} {} {}", log.ranks.unwrap(), place.device, place.bus)
        }
        "graph" => {
            let it = &log.graphs[0];
            let paths = format!("{} {}", it.path_inside, it.path_between);
            format!("{} {} {} {} {paths}", it.pattern, it.channels, it.inside, it.between)
        }
        "path" => log.graphs[0].paths[0].join(" "),
        "topology" => "open".to_owned(),
        "device" => {
            let it = &log.topology[0];
            format!("{} {} {} {}", it.link, it.bandwidth, it.device, it.depth)
        }
        "nvls" => log.nvls.as_ref().unwrap().0.to_string(),
        "variable" => {
            let (name, (value, _)) = log.variables.first_key_value().unwrap();
            format!("{name}={value}")
        }
        "choice" => {
            let ((collective, bytes), it) = log.choices.first_key_value().unwrap();
            let channels = it.channels.map_or("none".to_owned(), |it| it.to_string());
            format!("{collective} {bytes} {} {} {channels}", it.algorithm, it.protocol)
        }
        "unmodelled" => format!("{:?}", log.unmodelled.first_key_value().unwrap().0),
        "plugin" => match log.plugins.first_key_value() {
            Some((kind, (name, _))) => format!("{kind} {name}"),
            None => "none".to_owned(),
        },
        other => panic!("no fact of {other}"),
    }
}

fn connection(log: &DebugLog) -> String {
    let (it, (channels, _)) = log.connections.first_key_value().unwrap();
    assert_eq!(*channels, 1);
    let way = match &it.transport {
        LoggedTransport::Peer => "P2P".to_owned(),
        LoggedTransport::Indirect => "indirect".to_owned(),
        LoggedTransport::SharedMemory => "SHM".to_owned(),
        LoggedTransport::CollNet => "COLLNET".to_owned(),
        LoggedTransport::Network { network, interface, through, gpudirect } => {
            let through = through.map_or("none".to_owned(), |it| it.to_string());
            let direct = if *gpudirect { "direct" } else { "host" };
            format!("NET {network} {interface} {through} {direct}")
        }
    };
    format!("{} {} {way}", it.rank, it.sends)
}

#[test]
fn each_form_of_each_release_states_its_fact() {
    let mut forms = 0;
    for line in FORMS.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [form, tag, place, expected, message] = columns[..] else { panic!("{line}") };
        assert_eq!(fact(form, &log(message, form)), expected, "{form} of {tag} at {place}");
        forms += 1;
    }
    assert!(forms > 130, "{forms} forms");
}
