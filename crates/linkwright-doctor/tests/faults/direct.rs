//! What a reader should find in the lines of a run: the facts by themselves.

use std::collections::BTreeMap;

use linkwright_doctor::doctor::evidence::{
    Channels, Connection, DebugLog, DirectRefusal, Interfaces, Line, Place, TopologyLine, Transport,
};

use super::debug_lines::{BUSES, host, place};
use super::forms::Written;
use super::run::Run;
use super::said::{Hop, Said};

/// The facts that the lines of a run state.
pub fn debug_log(run: &Run, said: &Said, written: &[Written]) -> DebugLog {
    let line = |form: &str| {
        let at = written.iter().position(|it| it.form == form)?;
        Some(Line::new("log", at as u64 + 1, &written[at].text))
    };
    let mut log = DebugLog { ranks: Some(run.gpus.len() as u32), ..DebugLog::default() };
    log.version = line("version").map(|line| (run.release(), line));
    for (rank, gpu) in run.gpus.iter().enumerate() {
        let (server, device) = place(run, *gpu);
        let bus = format!("{:x}", BUSES[device % BUSES.len()] << 12);
        let line = line("complete").unwrap();
        let place = Place { host: host(server), device: device as u32, bus, line };
        log.places.insert(rank as u32, place);
    }
    for (name, value) in &run.variables {
        let of = |it: &&Written| it.text.contains(name);
        if let Some(it) = written.iter().find(of) {
            log.variables
                .insert((*name).to_owned(), (value.clone(), Line::new("log", 1, &it.text)));
        }
    }
    log.no_interface = line("no-device");
    let network = if log.no_interface.is_some() { "Socket" } else { "IB" };
    log.network = line("network").map(|line| (network.to_owned(), line));
    for (server, names) in said.interfaces.iter().enumerate() {
        let Some(line) = line("ib-using").or_else(|| line("socket-using")) else { continue };
        let names = names.clone();
        let speeds = vec![None; names.len()];
        let of = Interfaces { network: network.to_owned(), names, speeds, line };
        log.interfaces.insert(host(server), of);
    }
    if let Some(line) = line("gdr-of-hca") {
        for name in &said.interfaces[0] {
            log.gpudirect.insert(name.clone(), (run.has_peermem, line.clone()));
        }
    }
    let refused = [("gdr-refused", true), ("p2p-refused", false)];
    for (form, of_interface) in refused {
        if let Some(line) = line(form) {
            let between = ("7000".to_owned(), "0".to_owned());
            log.refusals.push(DirectRefusal { of_interface, between, line });
        }
    }
    for it in &said.connections {
        let (rank, sends) = match it.hop {
            Hop::Receives { .. } => (it.to, false),
            _ => (it.from, true),
        };
        let network = network.to_owned();
        let (transport, form) = match it.hop.clone() {
            Hop::Peer => (Transport::Peer, "via-p2p"),
            Hop::Memory => (Transport::SharedMemory, "via-shm"),
            Hop::Sends { interface, through, gpudirect } => {
                (Transport::Network { network, interface, through, gpudirect }, "via-net-send")
            }
            Hop::Receives { interface, gpudirect } => {
                let through = None;
                (Transport::Network { network, interface, through, gpudirect }, "via-net-receive")
            }
        };
        let line = line(form).or_else(|| line("via-net-send-by")).unwrap();
        let key = Connection { rank: rank as u32, sends, transport };
        log.connections.entry(key).or_insert((0, line)).0 += 1;
    }
    let [collective, nvls] = said.channels;
    let channels = |line| Channels { collective, nvls, pairs: collective, line };
    log.channels = line("channels").map(channels);
    log.nvls = line("multicast").map(|line| (said.has_multicast, line));
    log.topology = topology(written);
    let rings = said.rings.iter().enumerate();
    let rings = rings.map(|(at, ring)| {
        (at as u32, (ring.iter().map(|it| *it as u32).collect(), line("ring").unwrap()))
    });
    log.rings = rings.collect::<BTreeMap<u32, (Vec<u32>, Line)>>();
    log
}

fn topology(written: &[Written]) -> Vec<TopologyLine> {
    let from_rule = written.iter().take_while(|it| it.form != "rule");
    let links = from_rule.filter(|it| it.form == "link");
    let of = |it: &Written| {
        let (_, link) = it.text.split_once("+ ")?;
        let (name, rest) = link.split_once('[')?;
        let (bandwidth, device) = rest.split_once("] - ")?;
        Some(TopologyLine {
            link: name.to_owned(),
            bandwidth: bandwidth.parse().ok()?,
            device: device.split(' ').next()?.to_owned(),
            depth: 0,
            line: Line::new("log", 1, &it.text),
        })
    };
    links.filter_map(of).collect()
}
