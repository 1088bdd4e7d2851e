//! Holds every rule of network interfaces to its contract. Whoever writes one can ask for it.

use std::cmp::Reverse;

use super::{NicPolicy, NicRule, QueuedMessage};
use crate::diagnostic::Registry;
use crate::engine::Random;
use crate::network::transport::{Message, MessageIndex};
use crate::units::{Bytes, Picoseconds};

/// A packet carries that many bytes.
const PACKET: u64 = 4096;

/// How many times each rule is tried.
const TRIALS: u64 = 100;

/// A message comes once that many packets have been made, or when there is nothing else to send.
#[derive(Debug, Clone, Copy)]
pub struct Arriving {
    /// How many packets go before it comes.
    pub behind: usize,
    /// How many packets it has, at least one.
    pub packets: u32,
}

/// Tries a rule whether it keeps a promise; the error says what it did, in words.
type Check = fn(NicPolicy) -> Result<(), String>;

/// Lists what every rule promises, with the check of each.
pub const PROMISES: [(&str, Check); 3] = [
    ("every packet of every message is made once", all_packets_are_made_once),
    ("the same messages leave in the same order", orders_repeat),
    ("at least one message is sent at once", something_is_sent),
];

/// Asks every rule of a registry for all that this module asks, those of numbers with a few.
///
/// # Errors
/// Fails with the first fault of a rule, in words.
pub fn hold(rules: &Registry<dyn NicRule>) -> Result<(), String> {
    let mut policies = rules.iter().flat_map(NicPolicy::samples);
    policies.try_for_each(|policy| PROMISES.iter().try_for_each(|(_, check)| check(policy)))
}

/// Draws messages by chance.
fn trials() -> impl Iterator<Item = Vec<Arriving>> {
    (0..TRIALS).map(|seed| {
        let mut random = Random::new(seed);
        let mut below = |bound: u64| bound.try_into().map_or(0, |bound| random.below(bound));
        let arriving = |_| Arriving { behind: below(20) as usize, packets: 1 + below(5) as u32 };
        (0..seed % 12).map(arriving).collect()
    })
}

/// Checks that every packet is made once, of messages that are drawn by chance.
///
/// # Errors
/// A message that lacks a packet, or has one too many.
pub fn all_packets_are_made_once(policy: NicPolicy) -> Result<(), String> {
    trials().try_for_each(|messages| every_packet_is_made_once(policy, &messages).map(drop))
}

/// Checks that the order of packets is the same each time.
///
/// # Errors
/// Sends messages in two orders.
pub fn orders_repeat(policy: NicPolicy) -> Result<(), String> {
    for messages in trials() {
        let [first, second] = [0, 1].map(|_| every_packet_is_made_once(policy, &messages));
        let (first, second) = (first?, second?);
        if first != second {
            let name = policy.name();
            return Err(format!("`{name}` takes packets of messages {first:?}, then {second:?}"));
        }
    }
    Ok(())
}

/// Checks that an interface sends something as flows.
///
/// # Errors
/// A rule that sends nothing at once.
pub fn something_is_sent(policy: NicPolicy) -> Result<(), String> {
    match policy.at_once() {
        0 => Err(format!("`{}` sends 0 messages at once", policy.name())),
        _ => Ok(()),
    }
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
