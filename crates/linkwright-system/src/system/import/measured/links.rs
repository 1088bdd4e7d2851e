//! Says what the measurements of pairs tell of a machine's links.
//!
//! - A link between two GPUs has what its pair reaches, in the slower direction. Where only both directions at once
//!   were measured, it has half of that.
//! - A GPU's links to NVSwitches have together what the fastest of its pairs reaches: its port holds up all of them
//!   alike. One slow pair of a switch slows no port; [`super::far_below`] names it.
//! - A GPU's PCIe link has the fastest of several rates. These are what its copies from and to the
//!   host reach, and those with GPUs that are at most one switch away. Rates of kernels over PCIe
//!   are left out, since they keep fewer requests on it than copy engines do.
//!
//! Links that several GPUs share, between switches and sockets, keep what they have: one pair alone
//! does not fill them. So do links without any measurement.

use std::collections::BTreeMap;

use super::matching::{between, gpus_of};
use super::titles::{Copier, Quantity};
use super::{MeasuredEnd, Measurements};
use crate::system::error::SystemError;
use crate::system::kinds::DeviceKind;
use crate::system::server::{DeviceId, Link, Server};
use crate::system::views::gpu_graph::{BandwidthProfile, GpuGraph, PairLink};
use crate::system::views::proximity::{Proximity, proximity};
use crate::units::Bandwidth;

/// More than this share of what a link has was not measured over it, and tells of another kind of link.
const MORE_THAN_PEAK: f64 = 1.05;

/// A link with what was measured of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenLink {
    /// The names of its ends.
    pub between: [String; 2],
    /// Is the measured bandwidth, in one direction of the whole bundle.
    pub measured: Bandwidth,
    /// Is what its data sheet says.
    pub nominal: Bandwidth,
}

/// A server with what was measured of its links.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredServer {
    /// Is the server.
    pub server: Server,
    /// The links that have measured bandwidths now, in the server's order.
    pub taken: Vec<TakenLink>,
    /// Says what could not be taken, in sentences.
    pub notes: Vec<String>,
}

/// The fastest that was measured from one end to another, GB/s.
#[derive(Default)]
struct Rates {
    one_way: BTreeMap<(MeasuredEnd, MeasuredEnd), f64>,
    half_of_both: BTreeMap<(MeasuredEnd, MeasuredEnd), f64>,
}

impl Rates {
    fn of(measurements: &Measurements, gpus: &[usize], takes: impl Fn(Copier) -> bool) -> Self {
        let mut rates = Self::default();
        let matrices = measurements.matrices.iter();
        for matrix in matrices.filter(|it| it.what.peer_access && takes(it.what.by)) {
            let is_both = match matrix.what.quantity {
                Quantity::OneWay => false,
                Quantity::BothWays => true,
                Quantity::Latency => continue,
            };
            for cell in between(measurements, matrix, gpus) {
                let rate = if is_both { cell.value / 2.0 } else { cell.value };
                let into = if is_both { &mut rates.half_of_both } else { &mut rates.one_way };
                let known = into.entry((cell.from, cell.to)).or_default();
                *known = known.max(rate);
            }
        }
        rates
    }

    /// Gives what goes from one end to another. Where only both directions were measured, it gives
    /// half of that.
    fn get(&self, from: MeasuredEnd, to: MeasuredEnd) -> Option<f64> {
        let both = || {
            let one = self.half_of_both.get(&(from, to)).copied();
            one.into_iter().chain(self.half_of_both.get(&(to, from)).copied()).reduce(f64::max)
        };
        let one_way = self.one_way.get(&(from, to)).copied();
        one_way.or_else(|| if self.one_way.contains_key(&(to, from)) { None } else { both() })
    }

    /// Gives the slower direction of a pair.
    fn slower(&self, a: MeasuredEnd, b: MeasuredEnd) -> Option<f64> {
        least(self.get(a, b), self.get(b, a))
    }

    /// Gives the slower direction of one end, each with the fastest of its pairs.
    fn fastest(&self, gpu: usize, others: &[MeasuredEnd]) -> Option<f64> {
        let own = MeasuredEnd::Gpu(gpu);
        let out = others.iter().filter_map(|other| self.get(own, *other)).reduce(f64::max);
        let back = others.iter().filter_map(|other| self.get(*other, own)).reduce(f64::max);
        least(out, back)
    }

    fn hosts(&self) -> Vec<MeasuredEnd> {
        let ends = self.one_way.keys().chain(self.half_of_both.keys());
        let ends = ends.flat_map(|(from, to)| [*from, *to]);
        let mut hosts: Vec<MeasuredEnd> =
            ends.filter(|end| matches!(end, MeasuredEnd::Host(_))).collect();
        hosts.sort_unstable();
        hosts.dedup();
        hosts
    }
}

fn least(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::min)
}

/// Gives a server's links the bandwidths that were measured of its pairs. Links without any
/// measurement keep what they have.
///
/// # Errors
/// GPUs that the server has not got; a machine of several servers, or with too many GPUs.
pub fn with_measured(
    server: &Server,
    measurements: &Measurements,
) -> Result<MeasuredServer, SystemError> {
    let gpus = gpus_of(measurements, server)?;
    let graph = GpuGraph::new(&server.unmeasured(), BandwidthProfile::DataSheet)?;
    let any = Rates::of(measurements, &gpus, |_| true);
    let copies = Rates::of(measurements, &gpus, |by| by == Copier::Engine);
    let near = proximity(server);
    let count = server.gpus().len();
    let mut bundles: Vec<(Vec<usize>, f64)> = Vec::new();
    for gpu in 0..count {
        let device = server.gpus()[gpu];
        let peers = |is: &dyn Fn(usize) -> bool| -> Vec<MeasuredEnd> {
            (0..count).filter(|peer| *peer != gpu && is(*peer)).map(MeasuredEnd::Gpu).collect()
        };
        let is = |peer: usize, of: fn(&PairLink) -> bool| {
            graph.pair(gpu, peer).is_some_and(|pair| of(&pair.link))
        };
        for peer in
            (gpu + 1..count).filter(|peer| is(*peer, |it| matches!(it, PairLink::Direct { .. })))
        {
            let own = links_of(server, device, |link, end| {
                end == server.gpus()[peer] && link.kind.is_gpu_fabric()
            });
            bundles.extend(
                any.slower(MeasuredEnd::Gpu(gpu), MeasuredEnd::Gpu(peer)).map(|rate| (own, rate)),
            );
        }
        let switched = peers(&|peer| is(peer, |it| matches!(it, PairLink::Switched { .. })));
        let to_switches = links_of(server, device, |link, end| {
            link.kind.is_gpu_fabric() && server.devices()[end].kind == DeviceKind::NvSwitch
        });
        bundles.extend(any.fastest(gpu, &switched).map(|rate| (to_switches, rate)));
        let mut near = peers(&|peer| {
            is(peer, |it| matches!(it, PairLink::Host { .. }))
                && near[gpu][peer] == Some(Proximity::Pix)
        });
        near.extend(copies.hosts());
        let pcie = links_of(server, device, |link, _| link.kind.is_pcie());
        if pcie.len() == 1 {
            bundles.extend(copies.fastest(gpu, &near).map(|rate| (pcie, rate)));
        }
    }
    let by = format!("{} ({})", measurements.tool.name(), measurements.file);
    Ok(taken(server, bundles, &by))
}

/// The indices of the links of a device that are so, by their other ends.
fn links_of(server: &Server, device: DeviceId, is: impl Fn(&Link, DeviceId) -> bool) -> Vec<usize> {
    let links = server.links().iter().enumerate();
    let own = links.filter(|(_, link)| link.joins(device) && is(link, link.other_end(device)));
    own.map(|(at, _)| at).collect()
}

/// Divides what some links reach together among them, as their data sheets do.
fn taken(server: &Server, bundles: Vec<(Vec<usize>, f64)>, by: &str) -> MeasuredServer {
    let mut measured = vec![None; server.links().len()];
    let mut notes = Vec::new();
    for (links, rate) in bundles {
        let nominal = |at: &usize| server.links()[*at].nominal_bandwidth().0;
        let all: u64 = links.iter().map(nominal).sum();
        let rate = rate * 1e9;
        if rate > MORE_THAN_PEAK * all as f64
            && let Some(first) = links.first()
        {
            let Link { a, b, kind, .. } = &server.links()[*first];
            let [a, b] = [a, b].map(|end| &server.devices()[*end].name);
            notes.push(format!(
                "{a} and {b} reached {}, and their {} has {}: name its generation.",
                Bandwidth(rate as u64),
                kind.name(),
                Bandwidth(all)
            ));
        }
        for at in links {
            let own = nominal(&at);
            // Whole megabytes per second are what the programs print.
            let share = rate.min(all as f64) * (own as f64 / all as f64) / 1e6;
            measured[at] =
                Some(Bandwidth((share.round() as u64).max(1) * 1_000_000).min(Bandwidth(own)));
        }
    }
    let with = server.links().iter().zip(&measured).filter_map(|(link, measured)| {
        let between = [link.a, link.b].map(|end| server.devices()[end].name.clone());
        Some(TakenLink { between, measured: (*measured)?, nominal: link.nominal_bandwidth() })
    });
    let taken: Vec<TakenLink> = with.collect();
    if taken.is_empty() {
        notes.push(
            "No matrix is of copies over the machine's links; they keep what they have.".to_owned(),
        );
    }
    let server = match taken.is_empty() {
        true => server.clone(),
        false => server.with_measured_links(&measured, by),
    };
    MeasuredServer { server, taken, notes }
}
