//! Tells generations of GPUs apart as NCCL's cost model does.

use crate::system::{Device, LinkKind, Wiring};

/// A GPU generation as the cost model tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::collectives) enum Generation {
    /// Counts Pascal and older, which NCCL times as Volta, without LL128.
    Pascal,
    Volta,
    Ampere,
    Hopper,
    Blackwell,
}

impl Generation {
    /// That of the job's GPUs: by the name of the product, else by its processor, as NCCL has it. Where neither is
    /// known, its NVLinks tell, else PCIe.
    pub(in crate::collectives) fn of(wiring: &Wiring, gpus: &[usize]) -> Self {
        gpus.iter().map(|gpu| Self::of_one(wiring, *gpu)).min().unwrap_or(Self::Volta)
    }

    fn of_one(wiring: &Wiring, gpu: usize) -> Self {
        let device = wiring.gpu(gpu);
        let described = wiring.described(device);
        let model = described.and_then(|it| it.model.as_deref()).unwrap_or_default();
        let products = [
            ("P100", Self::Pascal),
            ("V100", Self::Volta),
            ("A100", Self::Ampere),
            ("H100", Self::Hopper),
            ("H200", Self::Hopper),
            ("B200", Self::Blackwell),
        ];
        if let Some((_, known)) = products.iter().find(|(product, _)| model.contains(product)) {
            return *known;
        }
        let processor = described.and_then(Device::gpu_model).and_then(|it| it.processors.first());
        if let Some(capability) = processor.and_then(|it| it.strip_prefix("sm_")?.parse().ok()) {
            return Self::of_capability(capability);
        }
        let own = wiring.adjacency()[device].iter().filter_map(|at| wiring.wires()[*at].kind);
        let by_link = own.map(|kind| match kind {
            LinkKind::Nvlink2 => Self::Volta,
            LinkKind::Nvlink3 | LinkKind::Pcie4 => Self::Ampere,
            LinkKind::Nvlink4 | LinkKind::Pcie5 => Self::Hopper,
            LinkKind::Nvlink5 | LinkKind::Pcie6 => Self::Blackwell,
            _ => Self::Pascal,
        });
        by_link.max().unwrap_or(Self::Pascal)
    }

    /// Finds the generation of a compute capability in tenths (`compCapIndex` of `src/graph/tuning.cc`).
    const fn of_capability(capability: u32) -> Self {
        match capability {
            0..=69 => Self::Pascal,
            70..=79 => Self::Volta,
            80..=89 => Self::Ampere,
            90..=99 => Self::Hopper,
            _ => Self::Blackwell,
        }
    }

    /// Gives its row in tables of limits.
    pub(super) const fn row(self) -> usize {
        match self {
            Self::Pascal | Self::Volta => 0,
            Self::Ampere => 1,
            Self::Hopper => 2,
            Self::Blackwell => 3,
        }
    }
}
