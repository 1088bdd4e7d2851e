//! The state of all jobs, and how it is set up.

use crate::network::Transport;
use crate::program::lowering::Lowering;

use super::communicators::Communicators;
use super::copies::{Copies, check_gpus};
use super::error::RuntimeError;
use super::frames::Frames;
use super::gpu_kernel::PreparedGpuKernel;
use super::gpu_kernels::GpuKernels;
use super::job::ProgramJob;
use super::jobs::Jobs;
use super::lanes::Lanes;
use super::messages::Messages;
use super::observer::Observer;
use super::protocols::{self, MpiProtocol, ProtocolState};
use super::ranks::Ranks;
use super::shared::Shared;
use super::slab::Slab;
use super::validate::validate;

/// Runs jobs over a network.
///
/// The transport stays the caller's, who may ask it afterwards how busy its links were.
/// Without an observer nothing is spent on watching.
#[derive(Debug)]
pub struct Runtime<'a, T, L, O = ()> {
    pub(super) shared: Shared<'a, T, L, O>,
    pub(super) protocols: Vec<Box<dyn ProtocolState>>,
    pub(super) kernels: GpuKernels<'a>,
}

impl<'a, T: Transport, L: Lowering> Runtime<'a, T, L> {
    /// Jobs on a network of that many GPUs, which is at time zero. More may come while they run
    /// ([`Runtime::admit`]).
    ///
    /// # Errors
    /// Refuses a mapping that does not fit the program or the network, or puts two of its ranks on
    /// one GPU. Refuses a negative or infinite scale, and iterations without a loop. Refuses a
    /// program whose communicators or operations name things that are not there.
    pub fn new(
        transport: &'a mut T,
        gpus: u32,
        jobs: &[ProgramJob],
        protocol: MpiProtocol,
        lowering: L,
    ) -> Result<Self, RuntimeError> {
        Self::observed(transport, gpus, jobs, protocol, lowering, ())
    }
}

impl<'a, T: Transport, L: Lowering, O: Observer> Runtime<'a, T, L, O> {
    /// Makes a runtime as [`Runtime::new`] does, watched.
    ///
    /// # Errors
    /// Fails as [`Runtime::new`] does.
    pub fn observed(
        transport: &'a mut T,
        gpus: u32,
        jobs: &[ProgramJob],
        protocol: MpiProtocol,
        lowering: L,
        observer: O,
    ) -> Result<Self, RuntimeError> {
        for job in jobs {
            validate(job, gpus)?;
            check_gpus(transport, job)?;
        }
        let shared = Shared {
            transport,
            lowering,
            observer,
            jobs: Jobs::new(gpus),
            ranks: Ranks::new(),
            lanes: Lanes::new(),
            communicators: Communicators::new(),
            frames: Frames::new(),
            messages: Messages::new(protocol),
            copies: Copies::new(),
            delays: Slab::new(),
            kept: 0,
            now: 0,
        };
        let (protocols, kernels) = (protocols::all(), GpuKernels::default());
        let mut runtime = Self { shared, protocols, kernels };
        for job in jobs {
            runtime.shared.add(job, job.start);
        }
        Ok(runtime)
    }

    /// The same with one protocol more, to which calls of collectives are offered first. Before anything runs.
    #[must_use]
    pub fn with_protocol(mut self, protocol: Box<dyn ProtocolState>) -> Self {
        self.protocols.insert(0, protocol);
        self
    }

    /// The same with the kernels of its jobs, each at the place of its job and prepared for that job's GPUs. Before
    /// anything runs.
    #[must_use]
    pub fn with_kernels(mut self, prepared: Vec<Option<&'a dyn PreparedGpuKernel>>) -> Self {
        self.kernels = GpuKernels::new(prepared);
        self
    }

    /// How collectives become messages; whoever admits jobs may plan for them first.
    pub fn lowering_mut(&mut self) -> &mut L {
        &mut self.shared.lowering
    }

    /// Returns the network, and the lowering beside it, for plans that open connections.
    pub fn planning(&mut self) -> (&mut T, &mut L) {
        (self.shared.transport, &mut self.shared.lowering)
    }
}
