//! Checks certificates by sums over the system's links.
//!
//! It shares nothing with planners, their graphs or the code that finds certificates. It reads from
//! the system anew which links can carry data.

use std::collections::{BTreeMap, BTreeSet};

use super::{Certificate, CutLink, Need, Proof, Refusal, quotient};
use crate::collectives::planners::link_graph::LinkClass;
use crate::collectives::schedule::collective::Collective;
use crate::system::{DeviceId, DeviceKind, System, Wiring};
use crate::units::Bandwidth;

/// Limits how far a bound may be from an optimum, as a part of it. Planners round what they share
/// out of interfaces, and linear programmes round.
pub const TOLERANCE: f64 = 1e-5;

/// Holds what is to be proved: a plan's words and numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// Names the collective; a root is a rank.
    pub collective: Collective,
    /// Lists the job's GPUs by their ids, rank by rank.
    pub gpus: Vec<usize>,
    /// Lists GPUs beside the job's that forward.
    pub helpers: Vec<usize>,
    /// The links that schedules may take.
    pub links: LinkClass,
    /// Whether switches may reduce and copy.
    pub is_in_switch: bool,
    /// Is the rate that no schedule passes, B/s of the size.
    pub optimum: Bandwidth,
    /// Is the rate that the plan reaches, B/s of the size.
    pub rate: Bandwidth,
}

/// Checks that a certificate proves a claim of a system.
///
/// # Errors
/// The first thing in it that is wrong.
pub fn verify(system: &System, certificate: &Certificate, claim: &Claim) -> Result<(), Refusal> {
    let Certificate { collective, gpus, helpers, links, .. } = certificate;
    if *collective != claim.collective {
        return Err(Refusal::Other("collective"));
    }
    if *gpus != claim.gpus || *helpers != claim.helpers {
        return Err(Refusal::Other("set of GPUs"));
    }
    if *links != claim.links {
        return Err(Refusal::Other("class of links"));
    }
    let ground = Ground::of(system, certificate)?;
    let need = match &certificate.proof {
        Proof::Cut { side } => ground.cut(certificate, side)?,
        Proof::Parts { parts } if !claim.is_in_switch => ground.parts(certificate, parts)?,
        Proof::InSwitch if claim.is_in_switch => ground.in_switch(certificate)?,
        Proof::Weights { distances } => ground.weights(certificate, distances)?,
        other => return Err(Refusal::Kind(other.name())),
    };
    let mut each = certificate.crossing.iter();
    let sum = each.try_fold(0_u128, |sum, link| {
        sum.checked_add(u128::from(link.bandwidth) * u128::from(link.weight))
    });
    let sum = sum.filter(|sum| *sum == certificate.capacity).ok_or(Refusal::Capacity)?;
    if need.bytes == 0 || certificate.need != need {
        return Err(Refusal::Need);
    }
    if quotient(sum, need) != Some(certificate.bound) {
        return Err(Refusal::Bound);
    }
    let (bound, optimum) = (certificate.bound.0, claim.optimum.0);
    let apart = (bound as f64 - optimum as f64).abs();
    if apart > TOLERANCE * optimum as f64 {
        return Err(Refusal::Optimum { bound, optimum });
    }
    if claim.rate.0 as f64 > bound as f64 * (1.0 + TOLERANCE) {
        return Err(Refusal::Rate);
    }
    Ok(())
}

/// Holds what can carry the job's data.
struct Ground {
    /// Holds each rank's device.
    ranks: Vec<DeviceId>,
    kinds: BTreeMap<DeviceId, DeviceKind>,
    /// Links between devices in each direction, B/s.
    links: BTreeMap<(DeviceId, DeviceId), u64>,
}

impl Ground {
    fn of(system: &System, certificate: &Certificate) -> Result<Self, Refusal> {
        let Certificate { gpus, helpers, links: class, .. } = certificate;
        let named: Vec<usize> = [gpus.as_slice(), helpers].concat();
        let once: BTreeSet<usize> = named.iter().copied().collect();
        let is_known = |gpu: &usize| *gpu < system.gpus() as usize;
        if gpus.len() < 2 || once.len() < named.len() || !named.iter().all(is_known) {
            return Err(Refusal::Gpus);
        }
        let device = |gpu: &usize| system.gpu_device(*gpu as u32);
        let own: BTreeSet<DeviceId> = named.iter().map(device).collect();
        let wiring = Wiring::of_gpus(system, gpus);
        let may_use = |kind: DeviceKind, id| match kind {
            DeviceKind::Gpu => own.contains(&id),
            DeviceKind::Nic => !certificate.left_out.contains(&id),
            _ => true,
        };
        let devices = wiring.devices().iter().filter(|device| may_use(device.kind, device.id));
        let kinds: BTreeMap<DeviceId, DeviceKind> =
            devices.map(|device| (device.id, device.kind)).collect();
        let is_interface = |id: &&DeviceId| {
            wiring.find(**id).is_some_and(|at| wiring.devices()[at].kind == DeviceKind::Nic)
        };
        let mut left_out = certificate.left_out.iter();
        if let Some(id) = left_out.find(|id| *class != LinkClass::Network || !is_interface(id)) {
            return Err(Refusal::Device(*id));
        }
        let mut links = BTreeMap::new();
        for wire in wiring.wires() {
            let ends = [wire.a, wire.b].map(|end| wiring.devices()[end]);
            let to_cpu = ends.iter().any(|end| end.kind == DeviceKind::Cpu);
            let is_fabric = wire.is_gpu_fabric() && !to_cpu;
            let counts = match class {
                LinkClass::Fabric => is_fabric,
                LinkClass::Host => !is_fabric && !wire.is_network(),
                LinkClass::Network => true,
            };
            let [a, b] = ends.map(|end| end.id);
            if counts && a != b && kinds.contains_key(&a) && kinds.contains_key(&b) {
                for ends in [(a, b), (b, a)] {
                    let sum: &mut u64 = links.entry(ends).or_default();
                    *sum = sum.saturating_add(wire.bandwidth.0);
                }
            }
        }
        Ok(Self { ranks: gpus.iter().map(device).collect(), kinds, links })
    }

    /// Checks that a list of links is just what crosses.
    fn crosses(
        &self,
        listed: &[CutLink],
        is_crossing: impl Fn(DeviceId, DeviceId) -> bool,
    ) -> Result<(), Refusal> {
        let mut seen = BTreeSet::new();
        for CutLink { from, to, bandwidth, .. } in listed.iter().copied() {
            let is = self.links.get(&(from, to)).copied();
            let is = is.filter(|_| is_crossing(from, to) && seen.insert((from, to)));
            let is = is.ok_or(Refusal::Extra(from, to))?;
            if is != bandwidth {
                return Err(Refusal::Bandwidth { from, to, is, listed: bandwidth });
            }
        }
        let missing = self
            .links
            .keys()
            .find(|(from, to)| is_crossing(*from, *to) && !seen.contains(&(*from, *to)));
        missing.map_or(Ok(()), |(from, to)| Err(Refusal::Missing(*from, *to)))
    }

    fn count_once(listed: &[CutLink]) -> Result<(), Refusal> {
        let other = listed.iter().find(|link| link.weight != 1);
        other.map_or(Ok(()), |link| Err(Refusal::Weight(link.from, link.to)))
    }

    fn cut(&self, certificate: &Certificate, side: &[DeviceId]) -> Result<Need, Refusal> {
        let place = self.places(&[side.to_vec()])?;
        let is_near = |id: &DeviceId| place.contains_key(id);
        self.crosses(&certificate.crossing, |from, to| is_near(&from) && !is_near(&to))?;
        Self::count_once(&certificate.crossing)?;
        let near = self.ranks.iter().filter(|id| is_near(id)).count() as u64;
        let all = self.ranks.len() as u64;
        let far = all - near;
        if near == 0 || far == 0 {
            return Err(Refusal::Improper);
        }
        let is_near_rank = |rank: usize| self.ranks.get(rank).is_some_and(is_near);
        // Who has the data must stand on this side, and who wants it on the other.
        let proper = match certificate.collective {
            Collective::Broadcast { root } | Collective::Scatter { root } => is_near_rank(root),
            Collective::Reduce { root } | Collective::Gather { root } => !is_near_rank(root),
            _ => true,
        };
        if !proper {
            return Err(Refusal::Improper);
        }
        let shards = |bytes| Need { bytes, of: all };
        match certificate.collective {
            Collective::Broadcast { .. } | Collective::Reduce { .. } | Collective::AllReduce => {
                Ok(Need { bytes: 1, of: 1 })
            }
            Collective::Scatter { .. } | Collective::ReduceScatter => Ok(shards(far)),
            Collective::Gather { .. } | Collective::AllGather => Ok(shards(near)),
            Collective::AllToAll => Ok(shards(near * far)),
            Collective::Barrier | Collective::Scan => Err(Refusal::Kind("a cut")),
        }
    }

    fn parts(&self, certificate: &Certificate, parts: &[Vec<DeviceId>]) -> Result<Need, Refusal> {
        if certificate.collective != Collective::AllReduce {
            return Err(Refusal::Kind("parts"));
        }
        let place = self.places(parts)?;
        let held: BTreeSet<Option<&usize>> = self.ranks.iter().map(|id| place.get(id)).collect();
        if parts.len() < 2 || held.len() != parts.len() || held.contains(&None) {
            return Err(Refusal::Improper);
        }
        let arrives = |from, to| place.contains_key(&to) && place.get(&from) != place.get(&to);
        self.crosses(&certificate.crossing, arrives)?;
        Self::count_once(&certificate.crossing)?;
        Ok(Need { bytes: 2 * (parts.len() as u64 - 1), of: 1 })
    }

    /// The part of each device that is in one.
    fn places(&self, parts: &[Vec<DeviceId>]) -> Result<BTreeMap<DeviceId, usize>, Refusal> {
        let mut place = BTreeMap::new();
        for (part, devices) in parts.iter().enumerate() {
            for id in devices {
                if !self.kinds.contains_key(id) {
                    return Err(Refusal::Device(*id));
                }
                if place.insert(*id, part).is_some() {
                    return Err(Refusal::Twice(*id));
                }
            }
        }
        Ok(place)
    }

    /// All GPUs together merge n values and spread one. By messages that takes 2 (n - 1) links to
    /// the switch and from it. In the switch it takes n + 1 links each.
    fn in_switch(&self, certificate: &Certificate) -> Result<Need, Refusal> {
        if certificate.collective != Collective::AllReduce || !certificate.helpers.is_empty() {
            return Err(Refusal::Kind("the switch"));
        }
        let is_rank = |id: &DeviceId| self.ranks.contains(id);
        let is_direct = |(from, to): &(DeviceId, DeviceId)| {
            [from, to].iter().any(|id| is_rank(id))
                && [from, to]
                    .iter()
                    .any(|id| !is_rank(id) && self.kinds[*id] != DeviceKind::NvSwitch)
                || is_rank(from) && is_rank(to)
        };
        if self.links.keys().any(is_direct) {
            return Err(Refusal::Improper);
        }
        self.crosses(&certificate.crossing, |from, to| is_rank(&from) || is_rank(&to))?;
        Self::count_once(&certificate.crossing)?;
        let ranks = self.ranks.len() as u64;
        Ok(Need { bytes: 2 * (ranks + 1).min(2 * (ranks - 1)), of: 1 })
    }

    /// No distance grows by more than a link's length along it, so that none is too long.
    fn weights(
        &self,
        certificate: &Certificate,
        distances: &[Vec<(DeviceId, u64)>],
    ) -> Result<Need, Refusal> {
        if certificate.collective != Collective::AllToAll {
            return Err(Refusal::Kind("weights"));
        }
        if distances.len() != self.ranks.len() {
            return Err(Refusal::Improper);
        }
        let listed = &certificate.crossing;
        let length: BTreeMap<(DeviceId, DeviceId), u64> =
            listed.iter().map(|link| ((link.from, link.to), link.weight)).collect();
        self.crosses(listed, |from, to| length.contains_key(&(from, to)))?;
        let mut sum = 0_u64;
        for (source, own) in self.ranks.iter().zip(distances) {
            let own: BTreeMap<DeviceId, u64> = own.iter().copied().collect();
            let at = |id: &DeviceId| own.get(id).copied().ok_or(Refusal::Distance(*source, *id));
            if at(source)? != 0 {
                return Err(Refusal::Distance(*source, *source));
            }
            for (from, to) in self.links.keys() {
                let most =
                    at(from)?.saturating_add(length.get(&(*from, *to)).copied().unwrap_or(0));
                if at(to)? > most {
                    return Err(Refusal::Distance(*source, *to));
                }
            }
            for to in &self.ranks {
                sum = sum.checked_add(at(to)?).ok_or(Refusal::Distance(*source, *to))?;
            }
        }
        Ok(Need { bytes: sum, of: self.ranks.len() as u64 })
    }
}
