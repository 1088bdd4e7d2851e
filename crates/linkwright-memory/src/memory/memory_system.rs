//! The memory systems by their names, and the protocol and consistency of each.

use super::address::Pages;
use super::consistency::{Consistency, Relaxed, Sequential};
use super::protocol::{
    CoherenceProtocol, GTsc, Hmg, HostPages, Leases, Mesi, Mgcc, MgccPrinted, NonCoherent,
};
use crate::diagnostic::Named;

/// How GPUs share memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MemorySystem {
    /// A memory for each GPU; remote lines come over PCIe by RDMA, and no caches agree.
    #[default]
    Rdma,
    /// Truly shared memory; second levels write back, no caches agree.
    TsmWriteBack,
    /// The same, second levels write through.
    TsmWriteThrough,
    /// Truly shared memory with MGCC, mended; relaxed consistency.
    TsmCoherent,
    /// The same, sequentially consistent.
    TsmCoherentSequential,
    /// Truly shared memory with MGCC as the dissertation prints it; relaxed consistency.
    TsmPrinted,
    /// The same, each wavefront's accesses in order.
    TsmPrintedSequential,
    /// A memory for each GPU; second levels cache remote lines, kept coherent by HMG.
    Hmg,
    /// Truly shared memory; second levels write back, kept coherent by directory MESI.
    Mesi,
    /// A memory for each GPU; second levels cache remote lines, kept coherent by G-TSC.
    GTsc,
    /// The host's memory, over PCIe at each access.
    ZeroCopy,
    /// The host's memory first; pages go to the GPU that touches them.
    Unified,
}

impl Named for MemorySystem {
    const WHAT: &'static str = "memory system";
    const NAMED: &'static [(&'static str, Self)] = &[
        ("rdma", Self::Rdma),
        ("tsm-wb-nc-rc", Self::TsmWriteBack),
        ("tsm-wt-nc-rc", Self::TsmWriteThrough),
        ("tsm-wt-c-rc", Self::TsmCoherent),
        ("tsm-wt-c-sc", Self::TsmCoherentSequential),
        ("tsm-wt-c-rc-printed", Self::TsmPrinted),
        ("tsm-wt-c-sc-printed", Self::TsmPrintedSequential),
        ("hmg", Self::Hmg),
        ("mesi", Self::Mesi),
        ("g-tsc", Self::GTsc),
        ("zero-copy", Self::ZeroCopy),
        ("unified", Self::Unified),
    ];
}

impl MemorySystem {
    /// Whose memory pages lie in.
    pub(super) const fn pages(self) -> Pages {
        match self {
            Self::Rdma | Self::Hmg | Self::GTsc => Pages::Own,
            Self::ZeroCopy => Pages::Pinned,
            Self::Unified => Pages::Migrating,
            Self::TsmWriteBack
            | Self::TsmWriteThrough
            | Self::TsmCoherent
            | Self::TsmCoherentSequential
            | Self::TsmPrinted
            | Self::TsmPrintedSequential
            | Self::Mesi => Pages::Shared,
        }
    }

    /// Whether what one wavefront wrote is what another reads, once a fence and a flag or an
    /// atomic have told it, within a kernel.
    #[must_use]
    pub const fn is_coherent(self) -> bool {
        match self {
            Self::TsmCoherent
            | Self::TsmCoherentSequential
            | Self::Hmg
            | Self::Mesi
            | Self::GTsc
            | Self::ZeroCopy
            | Self::Unified => true,
            Self::Rdma
            | Self::TsmWriteBack
            | Self::TsmWriteThrough
            | Self::TsmPrinted
            | Self::TsmPrintedSequential => false,
        }
    }

    /// The settings that change something under it, of those that only some memory systems heed.
    #[must_use]
    pub const fn heeds(self) -> &'static [&'static str] {
        match self {
            Self::TsmWriteBack | Self::TsmWriteThrough | Self::Mesi => &["shared_bandwidth"],
            Self::TsmCoherent
            | Self::TsmCoherentSequential
            | Self::TsmPrinted
            | Self::TsmPrintedSequential => {
                &["shared_bandwidth", "read_lease", "write_lease", "timestamp_bits"]
            }
            // Its writes have the lease of reads.
            Self::GTsc => &["read_lease", "timestamp_bits"],
            Self::Rdma | Self::Hmg | Self::ZeroCopy | Self::Unified => &[],
        }
    }

    /// Whether it is sequentially consistent: programs need no fences.
    #[must_use]
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::TsmCoherentSequential | Self::TsmPrintedSequential)
    }
}

/// What is done with a memory system's protocol and consistency, whichever they are.
pub(super) trait WithProtocol {
    /// What comes of it.
    type Output;

    /// Does it.
    fn with<P: CoherenceProtocol, C: Consistency>(self, protocol: P) -> Self::Output;
}

impl MemorySystem {
    /// Does something with its protocol and consistency.
    pub(super) fn with<W: WithProtocol>(self, leases: Leases, what: W) -> W::Output {
        let mended = Mgcc { leases, ..Mgcc::default() };
        let printed = MgccPrinted { leases, ..MgccPrinted::default() };
        match self {
            Self::Rdma => what.with::<_, Relaxed>(NonCoherent::RDMA),
            Self::TsmWriteBack => what.with::<_, Relaxed>(NonCoherent::TSM_WRITE_BACK),
            Self::TsmWriteThrough => what.with::<_, Relaxed>(NonCoherent::TSM_WRITE_THROUGH),
            Self::TsmCoherent => what.with::<_, Relaxed>(mended),
            Self::TsmCoherentSequential => what.with::<_, Sequential>(mended),
            Self::TsmPrinted => what.with::<_, Relaxed>(printed),
            Self::TsmPrintedSequential => what.with::<_, Sequential>(printed),
            Self::Hmg => what.with::<_, Relaxed>(Hmg::default()),
            Self::Mesi => what.with::<_, Relaxed>(Mesi::default()),
            Self::GTsc => what.with::<_, Relaxed>(GTsc::of(leases)),
            Self::ZeroCopy => what.with::<_, Relaxed>(HostPages { pinned: true }),
            Self::Unified => what.with::<_, Relaxed>(HostPages { pinned: false }),
        }
    }
}
