//! Follows the recipes of CONTRIBUTING, each as a crate of somebody else would.
//!
//! An example is one file here, its module, and one line of [`registries`] or [`memory_systems`]. Nothing of
//! Linkwright itself knows it. The tests beside it choose each by its name, and count its places.

pub mod barrier_wire;
pub mod bench_server;
pub mod busy_times;
pub mod chain;
pub mod e_cube;
pub mod fast_gpu;
pub mod gpu_list;
pub mod halo;
pub mod heaviest_first;
pub mod hypercube;
pub mod last_gpus;
pub mod neighbours;
pub mod ordered_hmg;
pub mod sentences;
pub mod shortest_first;
pub mod spray;
pub mod uncached;

use linkwright::diagnostic::Registry;
use linkwright::memory::{self, MemorySystem};
use linkwright::scenario::Registries;

/// Gives what Linkwright has, and an example of each recipe.
#[must_use]
pub fn registries() -> Registries {
    let mut all = Registries::default();
    all.applications.add(&neighbours::Neighbours);
    all.policies.add(&last_gpus::LastGpus);
    all.fabrics.add(&hypercube::Hypercube);
    all.nic_policies.add(&shortest_first::ShortestFirst);
    all.arbitration_policies.add(&heaviest_first::HeaviestFirst);
    all.routings.add(&e_cube::ECube);
    all.routings.add(&spray::Spray);
    all.workloads.add(&halo::Halo);
    all.accounting.add(&sentences::Sentences);
    all.planners.add(&chain::Chain);
    all.importers.add(&gpu_list::GpuList);
    all.servers.add(&bench_server::BENCH_SERVER);
    all.gpus.add(&fast_gpu::FAST_GPU);
    all.protocols.add(&barrier_wire::BarrierWire);
    all.traces.add(&busy_times::BusyTimes);
    all
}

/// Gives the memory systems that Linkwright has, and the examples of both recipes.
#[must_use]
pub fn memory_systems() -> Registry<dyn MemorySystem> {
    let mut all = memory::memory_systems();
    all.add(&ordered_hmg::OrderedHmg);
    all.add(&uncached::Uncached);
    all
}
