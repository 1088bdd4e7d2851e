use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::network::packet::{NicPolicy, PacketSettings, Switching};
use crate::network::routing::Nowhere;
use crate::network::{FlowTransport, Traffic};
use crate::system::{System, presets};

fn routes(name: &str) -> Routes<'static> {
    let system = System::of_server(Arc::new(presets::preset(name).unwrap()));
    Routes::new(&system, |_| 1.0).unwrap()
}

/// Lists all that occurs, with its time.
fn occurrences(traffic: &mut Traffic<'_, Connections<'_>>) -> Vec<(u64, Occurrence)> {
    std::iter::from_fn(|| {
        let next = traffic.next_occurrence().unwrap();
        next.map(|next| (traffic.now().0, next))
    })
    .collect()
}

#[test]
fn transfers_share_what_their_connections_have_in_common() {
    let routes = routes("dgx1-v100");
    let capacity = |resource: usize| routes.capacities()[resource].0 as f64;
    let [a, b] = [0, 2].map(|wire| (2 * wire, 1.0));
    let mut network = Connections::over(&routes, &[0, 1]);
    let alone = network.open(&[a], Picoseconds(1_000));
    let split = network.open(&[(a.0, 0.5), (b.0, 0.5)], Picoseconds(0));
    let mut traffic = Traffic::new(&mut network);
    let bytes = 1 << 20;
    traffic.transfer(split, Bytes(bytes), 1).unwrap();
    traffic.transfer(alone, Bytes(bytes), 2).unwrap();
    let found = occurrences(&mut traffic);
    // Both go at one rate. The first resource carries one and a half of it.
    let end = bytes as f64 * 1.5 / capacity(a.0) * 1e12;
    assert!((found[0].0 as f64 - end).abs() <= 2.0, "{found:?}, {end}");
    let of = |token| {
        let times = found.iter().filter(move |(_, what)| match what {
            Occurrence::Sent { token: of } | Occurrence::Delivered { token: of } => *of == token,
        });
        times.map(|(time, _)| *time).collect::<Vec<_>>()
    };
    assert_eq!(of(1)[1] - of(1)[0], 0);
    assert_eq!(of(2)[1] - of(2)[0], 1_000);
    assert_eq!([alone, split].map(|at| network.carried(at)), [Bytes(bytes); 2]);
    assert_eq!(network.last_arrival().0, of(2)[1]);
}

#[test]
fn a_sender_is_no_faster_than_its_limit_and_leaves_the_rest_to_others() {
    let routes = routes("dgx1-v100");
    let capacity = routes.capacities()[0].0;
    let mut network = Connections::over(&routes, &[0, 1]);
    let slow = Some(Bandwidth(capacity / 4));
    let limited = network.open_limited(&[(0, 1.0)], Picoseconds(0), slow);
    let free = network.open(&[(0, 1.0)], Picoseconds(0));
    let mut traffic = Traffic::new(&mut network);
    for (token, connection) in [(1, limited), (2, free)] {
        traffic.transfer(connection, Bytes(capacity / 1_000), token).unwrap();
    }
    let found = occurrences(&mut traffic);
    let sent = |token| found.iter().find(|(_, what)| *what == Occurrence::Sent { token });
    let [of_limited, of_free] = [1, 2].map(|token| sent(token).unwrap().0 as f64 / 1e9);
    assert!((of_limited - 4.0).abs() < 1e-3 && (of_free - 4.0 / 3.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_message_takes_the_ways_of_its_class() {
    let routes = routes("dgx1-v100");
    let mut network = Connections::over(&routes, &[0, 1]);
    let [from, to] = [0, 1].map(|gpu| network.gpu_device(gpu));
    for class in [RouteClass::Fabric, RouteClass::Host, RouteClass::Any] {
        let route = routes.route(from as usize, to as usize, class).unwrap();
        let mut network = Connections::over(&routes, &[0, 1]);
        let mut traffic = Traffic::new(&mut network);
        let message = Message { route: class, ..Message::new(from, to, Bytes(1 << 20), 3) };
        traffic.send(message);
        traffic.send(message);
        let found = occurrences(&mut traffic);
        let alone = (1_u64 << 20) as f64 / route.bandwidth.0 as f64 * 1e12;
        let time = found.last().unwrap().0 - route.latency.0;
        assert!((time as f64 - 2.0 * alone).abs() <= 4.0, "{class:?}: {time}, {alone}");
    }
    // GPUs 0 and 5 of a DGX-1V have no NVLink between them.
    let mut traffic = Traffic::new(&mut network);
    let apart = Message::new(from, routes.wiring().gpu(5) as u32, Bytes(1), 4);
    traffic.send(Message { route: RouteClass::Fabric, ..apart });
    let error = traffic.next_occurrence().unwrap_err().to_string();
    assert!(error.contains("NVLink") && error.contains("GPU5"), "{error}");
}

#[test]
fn a_connection_that_was_not_opened_is_an_error() {
    let routes = routes("dgx1-v100");
    let mut network = Connections::over(&routes, &[0, 1]);
    let error = Traffic::new(&mut network).transfer(0, Bytes(1), 0).unwrap_err();
    assert_eq!(error, TransportError::NoConnection { connection: 0 });
    let system = System::of_server(Arc::new(presets::preset("dgx1-v100").unwrap()));
    let settings = PacketSettings {
        packet_size: Bytes(4096),
        buffer_packets: Some(8),
        router_delay: Picoseconds(0),
        nic_delay: Picoseconds(0),
        switching: Switching::CutThrough,
        seed: 0,
        pcie: None,
    };
    let mut network = FlowTransport::new(&system, settings, Nowhere, NicPolicy::FCFS).unwrap();
    let error = Traffic::new(&mut network).transfer(0, Bytes(1), 0).unwrap_err().to_string();
    assert!(error.contains("there is no connection 0"), "{error}");
}

proptest! {
    /// Whatever is transferred is told sent and then delivered, a latency later, once each.
    #[test]
    fn every_transfer_is_told_twice(sizes in prop::collection::vec((0_u64..1 << 30, 0_usize..4), 1..30)) {
        let routes = routes("dgx-a100");
        let mut network = Connections::over(&routes, &[0, 1]);
        let latency = |at: usize| 1_000 * at as u64;
        let opened: Vec<u32> = (0..4)
            .map(|at| network.open(&[(at, 1.0), (at + 4, 0.25)], Picoseconds(latency(at))))
            .collect();
        let mut traffic = Traffic::new(&mut network);
        for (token, (size, at)) in (0..).zip(&sizes) {
            traffic.transfer(opened[*at], Bytes(*size), token).unwrap();
        }
        let found = occurrences(&mut traffic);
        prop_assert_eq!(found.len(), 2 * sizes.len());
        for (token, (_, at)) in (0..).zip(&sizes) {
            let time = |what| found.iter().find(|(_, other)| *other == what).map(|found| found.0);
            let sent = time(Occurrence::Sent { token }).unwrap();
            let delivered = time(Occurrence::Delivered { token });
            prop_assert_eq!(delivered, Some(sent + latency(*at)));
        }
    }
}
