//! Times of a network's layers by a trace: the model's, as many times as long as kernels of their family were.

use std::collections::BTreeMap;

use super::error::TrainingError;
use super::family::LayerFamily;
use super::kernel_ratios::{KernelRatios, MeasuredRatio, Modelled, PassTimes, matched, scaled};
use super::prepare::Training;
use super::roofline::LayerTime;
use super::step::Way;
use super::trace::{KernelKind, KernelTrace};
use crate::system::gpus::GpuModel;
use crate::units::Picoseconds;

/// The layers of a network as a trace has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracedLayers {
    /// Holds the ratios of measured to modelled times.
    pub ratios: KernelRatios,
    /// Has a row for each kind and pass.
    pub rows: Vec<MeasuredRatio>,
    /// Gives times by the layer's place in the network.
    pub layers: BTreeMap<usize, LayerTime>,
}

impl Training<'_> {
    /// Gives the times of layers by a trace, in which a GPU computed `samples` at once.
    ///
    /// # Errors
    /// Fails as [`Self::layers`] does, and for a trace without a backward pass.
    pub fn traced(
        &self,
        trace: &KernelTrace,
        samples: u64,
        gpu: &GpuModel,
        gpus: usize,
    ) -> Result<TracedLayers, TrainingError> {
        let families = self.network.layers.iter().map(|layer| LayerFamily::of(&layer.kind));
        let families: Vec<LayerFamily> = families.collect();
        let nothing = BTreeMap::new();
        let own = Training { measured: &nothing, ..*self };
        let of_trace = Training { batch: samples, way: Way::AllReduce, ..own };
        let mut kinds = [PassTimes::default(); KernelKind::OF_LAYERS];
        let mut update = 0;
        for (family, time) in families.iter().zip(of_trace.layers(gpu, 1)?) {
            let kind = &mut kinds[KernelKind::of_family(*family) as usize];
            kind[0] += time.forward.0;
            kind[1] += time.backward.0;
            update += time.update.0;
        }
        let modelled = Modelled { kinds, products: Vec::new(), update };
        let (ratios, rows) = matched(trace, &modelled)?;
        let times = families.iter().zip(own.layers(gpu, gpus)?).map(|(family, time)| {
            let [forward, backward] = ratios.of("", *family);
            LayerTime {
                forward: Picoseconds(scaled(time.forward.0, forward)),
                backward: Picoseconds(scaled(time.backward.0, backward)),
                update: ratios.update(time.update),
            }
        });
        Ok(TracedLayers { ratios, rows, layers: times.enumerate().collect() })
    }
}
