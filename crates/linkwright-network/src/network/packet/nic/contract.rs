//! Holds every rule of network interfaces to its contract. Whoever writes one can ask for it.

use std::cmp::Reverse;

use super::{NicPolicy, NicRule, QueuedMessage};
use crate::diagnostic::Registry;
use crate::engine::Random;
use crate::network::transport::{Message, MessageIndex};
use crate::units::{Bytes, Picoseconds};

/// A packet carries that many bytes.
const PACKET: u64 = 4096;

/// How many times each policy is tried.
const TRIALS: u64 = 100;

/// A message comes once that many packets have been made, or when there is nothing else to send.
#[derive(Debug, Clone, Copy)]
pub struct Arriving {
    /// How many packets go before it comes.
    pub behind: usize,
    /// How many packets it has, at least one.
    pub packets: u32,
}

/// Tries every rule of a registry, those of numbers with a few, on messages that are drawn by chance.
///
/// # Errors
/// Fails with the first fault of a rule, in words.
pub fn hold(rules: &Registry<dyn NicRule>) -> Result<(), String> {
    for policy in rules.iter().flat_map(NicPolicy::samples) {
        for seed in 0..TRIALS {
            let mut random = Random::new(seed);
            let mut below = |bound: u64| bound.try_into().map_or(0, |bound| random.below(bound));
            let messages: Vec<_> = (0..seed % 12)
                .map(|_| Arriving { behind: below(20) as usize, packets: 1 + below(5) as u32 })
                .collect();
            every_packet_is_made_once(policy, &messages)?;
        }
    }
    Ok(())
}

/// Makes all packets of some messages; returns the message of each packet.
///
/// # Errors
/// A message that lacks a packet, or has one too many.
pub fn every_packet_is_made_once(
    policy: NicPolicy,
    messages: &[Arriving],
) -> Result<Vec<MessageIndex>, String> {
    let mut scheduler = policy.scheduler();
    let mut coming: Vec<_> = (0..).zip(messages).collect();
    coming.sort_by_key(|(index, arriving)| Reverse((arriving.behind, *index)));
    let mut left = vec![0; messages.len()];
    let mut order = Vec::new();
    loop {
        let next = scheduler.next();
        let due = |(_, it): &(MessageIndex, &Arriving)| next.is_none() || it.behind <= order.len();
        if let Some((index, arriving)) = coming.pop_if(|it| due(it)) {
            left[index as usize] = arriving.packets;
            let size = Bytes(u64::from(arriving.packets) * PACKET);
            let message = Message::new(0, 1 + index % 2, size, index.into());
            scheduler.push(QueuedMessage {
                index,
                message,
                arrived: Picoseconds(order.len() as u64),
            });
            continue;
        }
        let Some(index) = next else { break };
        let of_message = left.get_mut(index as usize).filter(|left| **left > 0);
        let of_message = of_message.ok_or_else(|| {
            format!("`{}` makes a packet of message {index} too many", policy.name())
        })?;
        *of_message -= 1;
        order.push(index);
        scheduler.packetised(Bytes(u64::from(*of_message) * PACKET));
    }
    match left.iter().position(|left| *left > 0) {
        Some(kept) => Err(format!("`{}` keeps packets of message {kept}", policy.name())),
        None => Ok(order),
    }
}
