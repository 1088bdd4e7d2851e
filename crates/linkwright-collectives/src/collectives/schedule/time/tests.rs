use std::num::NonZeroU64;

use proptest::prelude::*;

use super::*;
use crate::collectives::Collective;
use crate::collectives::schedule::{
    Channel, ChannelTransport, Pacing, Protocol, RankSchedule, ScheduleStep, Slice, StepId,
    StepOperation, ThreadBlock,
};
use crate::engine::Random;
use crate::network::Routes;
use crate::system::test_support::alone;
use crate::units::{Bytes, Picoseconds};

fn below(random: &mut Random, most: usize) -> usize {
    random.below(NonZeroU64::new(most as u64).unwrap()) as usize
}

/// A schedule by chance, whose transfers are in an order in which they can happen.
fn by_chance(random: &mut Random) -> Schedule {
    let ranks = 2 + below(random, 5);
    let (chunks, channels) = (4, 1 + below(random, 3));
    let mut programs = vec![RankSchedule::default(); ranks];
    let kinds = [ChannelTransport::Best, ChannelTransport::Host, ChannelTransport::Memory];
    let transport = |at: usize| kinds[at];
    let channels: Vec<Channel> =
        (0..channels).map(|_| Channel::over(transport(below(random, 3)))).collect();
    for _ in 0..1 + below(random, 30) {
        let from = below(random, ranks);
        let to = (from + 1 + below(random, ranks - 1)) % ranks;
        let channel = below(random, channels.len());
        let offset = below(random, 4) as u32;
        let count = 1 + below(random, 3) as u32;
        for (rank, peer, sends) in [(from, to, true), (to, from, false)] {
            let blocks = &mut programs[rank].blocks;
            let side = |block: &ThreadBlock| if sends { block.send } else { block.receive };
            let known = blocks
                .iter()
                .position(|block| block.channel == channel && side(block) == Some(peer));
            let shared =
                blocks.iter().position(|block| block.channel == channel && side(block).is_none());
            let at = match (known, shared.filter(|_| below(random, 2) == 0)) {
                (Some(known), _) => known,
                (None, Some(shared)) => shared,
                (None, None) => {
                    blocks.push(ThreadBlock {
                        send: None,
                        receive: None,
                        channel,
                        steps: Vec::new(),
                    });
                    blocks.len() - 1
                }
            };
            let mut after = Vec::new();
            for (other, block) in blocks.iter().enumerate() {
                if other != at && !block.steps.is_empty() && below(random, 6) == 0 {
                    let step = below(random, block.steps.len()) as u32;
                    after.push(StepId { block: other as u32, step });
                }
            }
            let block = &mut blocks[at];
            if sends {
                block.send = Some(peer)
            } else {
                block.receive = Some(peer)
            };
            let slice = Some(Slice::input(offset));
            let operation = if sends { StepOperation::Send } else { StepOperation::Receive };
            match block.steps.last_mut() {
                Some(last)
                    if sends
                        && last.operation == StepOperation::Receive
                        && below(random, 2) == 0 =>
                {
                    last.operation = StepOperation::ReceiveCopySend;
                }
                _ => block.steps.push(ScheduleStep {
                    operation,
                    source: slice,
                    destination: slice,
                    count,
                    after,
                }),
            }
            if below(random, 8) == 0 {
                let step = ScheduleStep {
                    operation: StepOperation::Copy,
                    source: slice,
                    destination: slice,
                    count,
                    after: Vec::new(),
                };
                blocks[at].steps.push(step);
            }
        }
    }
    Schedule {
        name: "by chance".to_owned(),
        collective: Collective::AllReduce,
        protocol: Protocol::Simple,
        pacing: Pacing::InTurns,
        gpus: (0..ranks).collect(),
        chunks,
        in_place: true,
        out_of_place: true,
        channels,
        routes: Vec::new(),
        programs,
    }
}

proptest! {
    /// Whatever is played begins with its launch, fits the links, and moves what its steps say; or
    /// it waits for ever, whatever a launch takes.
    #[test]
    fn schedules_by_chance_keep_to_the_links(
        seed in any::<u64>(), slots in 1_u32..4, stream_reuse in any::<bool>(),
        pieces in 1_u64..9, late in prop_oneof![Just(0_u64), 1_u64..1 << 40],
    ) {
        let schedule = by_chance(&mut Random::new(seed));
        let system = alone("dgx1-v100");
        let size = Bytes(4 << 16);
        let peer_access_switch = Picoseconds(late);
        let protocol = NcclProtocol {
            slots, stream_reuse, peer_access_switch, ..protocol_of(&schedule, &system).unwrap()
        };
        let chunk = Bytes(size.0 / pieces);
        let played = |launch| {
            let protocol = NcclProtocol { launch: Picoseconds(launch), ..protocol };
            time(&schedule, &system, size, chunk, &protocol)
        };
        let (at_once, later) = (played(0), played(7_654_321));
        prop_assert_eq!(&played(0), &at_once);
        let (Ok(at_once), Ok(later)) = (&at_once, &later) else {
            prop_assert!(matches!(at_once, Err(TimeError::Stuck { .. })), "{at_once:?}");
            prop_assert_eq!(at_once, later);
            return Ok(());
        };
        prop_assert_eq!(later.time.0, at_once.time.0 + 7_654_321);
        prop_assert!(at_once.links.iter().all(|load| load.utilisation <= 1.0 + 1e-9));
        let wiring = play::wiring_of(&schedule, &system).unwrap();
        let routes = Routes::on(&wiring, |_| 1.0).unwrap();
        let expected = link_bytes(&schedule, &routes).unwrap();
        // The memory of a host is no link that has a channel.
        let is_link = |at: usize| routes.wire(at).0.channel.is_some();
        let used = expected.iter().enumerate().filter(|(at, bytes)| **bytes > 0.0 && is_link(*at));
        let used = used.map(|(_, bytes)| bytes);
        prop_assert_eq!(used.clone().count(), at_once.links.len());
        for (load, expected) in at_once.links.iter().zip(used) {
            let expected = expected * size.0 as f64;
            prop_assert!((load.bytes - expected).abs() <= expected * 1e-3 + 64.0, "{load:?}");
        }
    }
}
