//! A job whose program is a kernel: wavefronts, caches and memory of GPUs, on the clock and over the network of
//! the cluster.
//!
//! Represented: [`memory`] plays the inside of the GPUs. Messages between GPUs, and between them and the host, are
//! those of the packet network, each of a [`MemoryClass`](crate::network::MemoryClass). [`KernelPairs`] keeps their
//! order. Left out: the copies of a kernel take no copy engine, and a kernel has no real data.

use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::inside::model_of;
use super::kernel_pairs::KernelPairs;
use crate::diagnostic::{Diagnosis, Named};
use crate::memory::kernel::KernelWorkload;
use crate::memory::kernel::benchmarks::Benchmark;
use crate::memory::kernel::recorded::{self, RecordedKernel};
use crate::memory::protocol::Leases;
use crate::memory::{
    self, Distribution, DramTiming, GpuOptions, Leaving, SteppedRun, memory_system,
};
use crate::network::wires::{self, WiredEnds};
use crate::program::{Operation, Program, RankBuilder};
use crate::runtime::{GpuKernel, GpuKernelMessage, GpuKernelRun, PreparedGpuKernel};
use crate::system::System;
use crate::system::gpus::{GpuModel, Hierarchy};
use crate::units::{Bytes, Picoseconds};

/// Holds a kernel, the inside of the GPUs that run it, and how they share memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterKernel {
    /// Runs on the GPUs.
    pub source: KernelSource,
    /// Says what lies inside each GPU: a model with a `[hierarchy]`.
    pub model: GpuModel,
    /// Says how they share memory.
    pub choices: KernelChoices,
}

/// Where a kernel comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum KernelSource {
    /// It is a benchmark at a size.
    Benchmark {
        /// Gives its name.
        name: String,
        /// How large it is.
        size: u64,
    },
    /// It is a kernel of one's own.
    Recorded(#[serde(with = "as_text")] Arc<RecordedKernel>),
}

/// How GPUs that run a kernel share memory, as `linkwright gpu run` has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelChoices {
    /// Names a memory system.
    pub memory: String,
    /// Says which GPU's memory holds what.
    pub distribution: String,
    /// Names the buffers that the second GPU's memory holds.
    pub remote: Vec<String>,
    /// Says how memory is timed.
    pub dram: String,
    /// Says how long copies that were read, and copies that were written, are valid, and the bits of a timestamp.
    pub leases: [u32; 3],
    /// Tells whether wavefronts read the code of benchmarks.
    pub code: bool,
}

impl Default for KernelChoices {
    fn default() -> Self {
        Self {
            memory: "rdma".to_owned(),
            distribution: Distribution::default().name().to_owned(),
            remote: Vec::new(),
            dram: DramTiming::default().name().to_owned(),
            leases: [10, 5, 16],
            code: true,
        }
    }
}

impl KernelChoices {
    /// Makes the options of a run of GPUs.
    ///
    /// # Errors
    /// Names of nothing, and leases that no timestamp holds.
    pub fn options(&self, gpus: u32) -> Result<GpuOptions<'static>, Diagnosis> {
        let [read, write, bits] = self.leases.map(i128::from);
        Ok(GpuOptions {
            gpus,
            memory: memory_system(&self.memory)?,
            distribution: Distribution::from_name(&self.distribution)?,
            dram: DramTiming::from_name(&self.dram)?,
            leases: Leases::new(read, write, bits)?,
            with_data: false,
            with_code: self.code,
            ..GpuOptions::default()
        })
    }
}

impl ClusterKernel {
    /// Gives what people call the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.source {
            KernelSource::Benchmark { name, .. } => name,
            KernelSource::Recorded(kernel) => kernel.name(),
        }
    }

    /// Makes the program of its ranks, whose main loop is one run of it.
    #[must_use]
    pub fn program(&self, ranks: u32) -> Program {
        let mut rank = RankBuilder::default();
        rank.begin_body();
        rank.run(Operation::Kernel);
        rank.end_body();
        let rank = rank.finish();
        Program {
            name: self.name().to_owned(),
            communicators: vec![(0..ranks).collect()],
            regions: Vec::new(),
            ranks: vec![rank; ranks as usize],
        }
    }

    /// Makes the workload for the GPUs that run it, by their number, with pages of a size.
    ///
    /// # Errors
    /// A benchmark or a size that is not possible, and remote buffers that it does not have.
    pub fn workload(&self, page: Bytes, gpus: u32) -> Result<KernelWorkload, Diagnosis> {
        let mut workload = match &self.source {
            KernelSource::Benchmark { name, size } => {
                Benchmark::from_name(name)?.workload(page, *size, gpus)?
            }
            KernelSource::Recorded(kernel) => kernel.workload(page).0,
        };
        workload.put_remote(&self.choices.remote)?;
        Ok(workload)
    }

    /// Says that what lies inside the GPUs is not what the machine has there; None where it is.
    ///
    /// # Panics
    /// If there is no GPU, or one does not exist.
    #[must_use]
    pub fn note(&self, job: &str, system: &System, gpus: &[u32]) -> Option<String> {
        let other =
            gpus.iter().map(|gpu| model_of(system, *gpu)).find(|it| *it != Some(&self.model))?;
        let inside = &self.model.name;
        Some(match other {
            Some(own) => {
                format!("{job}: inside each GPU `{inside}`, not the machine's `{}`", own.name)
            }
            None => format!(
                "{job}: inside each GPU `{inside}`; no file says which GPUs the machine has"
            ),
        })
    }

    /// Makes what runs on GPUs of a system.
    fn on(&self, system: &System, gpus: &[u32]) -> Result<Prepared, Diagnosis> {
        let hierarchy = self.model.hierarchy()?.clone();
        let options = self.choices.options(gpus.len() as u32)?;
        let ends = wires::between(system, gpus)?;
        let computing = options.distribution.computing(options.gpus);
        let workload = self.workload(hierarchy.page, computing)?;
        let prepared = Prepared { hierarchy, workload, options, ends };
        prepared.start().map(|_| ())?;
        Ok(prepared)
    }
}

impl GpuKernel for ClusterKernel {
    fn prepare(
        &self,
        system: &System,
        gpus: &[u32],
    ) -> Result<Box<dyn PreparedGpuKernel>, Diagnosis> {
        Ok(Box::new(self.on(system, gpus)?))
    }
}

/// Holds a kernel on its GPUs.
struct Prepared {
    hierarchy: Hierarchy,
    workload: KernelWorkload,
    options: GpuOptions<'static>,
    ends: WiredEnds,
}

impl Prepared {
    fn start(&self) -> Result<Run<'_>, Diagnosis> {
        let run = memory::step(&self.hierarchy, &self.workload, &self.options)?;
        let pairs = KernelPairs::new(self.options.gpus + 1);
        Ok(Run { run, ends: &self.ends, pairs, left: Vec::new() })
    }
}

impl PreparedGpuKernel for Prepared {
    fn begin(&self) -> Result<Box<dyn GpuKernelRun + '_>, Diagnosis> {
        Ok(Box::new(self.start()?))
    }
}

/// Plays a kernel over the cluster's network.
struct Run<'a> {
    run: Box<dyn SteppedRun + 'a>,
    ends: &'a WiredEnds,
    pairs: KernelPairs,
    left: Vec<Leaving>,
}

impl GpuKernelRun for Run<'_> {
    fn next(&self) -> Option<Picoseconds> {
        self.run.next()
    }

    fn advance(
        &mut self,
        now: Picoseconds,
        sends: &mut Vec<GpuKernelMessage>,
    ) -> Result<(), Diagnosis> {
        self.run.advance(now, &mut self.left)?;
        let gpus = &self.ends.gpu_devices;
        for Leaving { from, to, class, bytes, what } in self.left.drain(..) {
            self.pairs.leave((from, to), what);
            // The host is that of the GPU at the other end.
            let device = |end: u32, other: u32| {
                let host = || self.ends.host_devices[other as usize];
                gpus.get(end as usize).copied().unwrap_or_else(host)
            };
            let rank = Some(from).filter(|from| (*from as usize) < gpus.len());
            let ends = [device(from, to), device(to, from)];
            sends.push(GpuKernelMessage { ends, rank, class, size: Bytes(bytes.into()), what });
        }
        Ok(())
    }

    fn arrive(&mut self, what: u32, now: Picoseconds) {
        self.pairs.arrive(what);
        while let Some(what) = self.pairs.next_in_order() {
            self.run.arrive(what, now);
        }
    }

    fn is_over(&self) -> bool {
        self.run.is_over()
    }

    fn at_rest(&self) -> Result<(), Diagnosis> {
        Ok(self.run.at_rest()?)
    }
}

/// A kernel of one's own is written as its text.
mod as_text {
    use super::{Arc, RecordedKernel, recorded};
    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        kernel: &Arc<RecordedKernel>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        recorded::write(kernel).serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Arc<RecordedKernel>, D::Error> {
        let text = String::deserialize(deserializer)?;
        recorded::read_unfinished("<pickle>", &text).map(Arc::new).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
