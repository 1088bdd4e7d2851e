//! Describes the work of a job, and computes how long it takes.
//!
//! **The model.** A job is a given number of equal iterations. In each, every GPU computes, and
//! then all GPUs of the job all-reduce a buffer:
//!
//! ```text
//! run time = iterations x (compute + 2 (k - 1) / k x bytes / effective bandwidth)
//! ```
//!
//! for *k* GPUs; one GPU only computes. In a pattern that stands for no all-reduce, such as a
//! star, every edge carries its share of the buffer both ways instead. That takes bytes / bandwidth
//! of the pattern. The factor is what each GPU sends in a ring all-reduce. By this convention
//! nccl-tests turn a time into a bus bandwidth. So an effective bandwidth as MAPA measures and
//! predicts it is the right divisor. A net's compute time is 3 x 2 x multiply-adds x images / 7.85
//! Tera-operations per second. The backward pass costs twice the forward pass, and a multiply-add
//! is two operations. The rate is half of a V100's 15.7 TFLOP/s in 32-bit numbers, as its file in
//! `system::gpus` says. The images of a GPU and iteration are fixed (weak scaling).
//!
//! **What it leaves out.** The overlap of communication with the backward pass, the start-up
//! of each collective call, and reading of images. The bandwidth alone stands for the links.
//!
//! The numbers and their sources are in `workloads.toml` beside this file; the batch sizes
//! there are calibrated to MAPA's published execution times, not predicted.

use std::sync::LazyLock;

use serde::Deserialize;
use thiserror::Error;

use super::network::Network;
use super::prepare::{Training, Turns};
use super::shape::Shape;
use crate::diagnostic::{Diagnose, Diagnosis, Registered, Registry, shown};
use crate::system::gpus::{self, NumberType};
use crate::units::{Bandwidth, Bytes, OperationRate, Picoseconds};

/// Gives the operations per second that a GPU sustains in training: half of a V100's peak.
static SUSTAINED_OPERATIONS_PER_SECOND: LazyLock<u128> =
    LazyLock::new(|| u128::from(reference_rate().0) / 2);

/// The peak of the GPU that all workloads are timed on, in 32-bit numbers.
///
/// # Panics
/// Never: the GPU's file, which is compiled in, gives its speed.
#[must_use]
pub fn reference_rate() -> OperationRate {
    let peak = gpus::find(GPU).and_then(|model| model.vector_rate(NumberType::Fp32));
    peak.expect("the GPU's file gives its speed")
}

/// The GPU that all workloads are timed on, that of MAPA's DGX-1V.
const GPU: &str = "v100-sxm2-16gb";

/// Iterations of a run of a net, as the published ones have.
const ITERATIONS: u64 = 10_000;

/// Gives the bytes of one gradient, a 32-bit number.
const BYTES_PER_PARAMETER: u64 = 4;

/// Gives the bytes of a point of an image: three colours, a 32-bit number each.
const BYTES_PER_POINT: u64 = 12;

/// Describes the work of one iteration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// It is one step of training a net.
    Training {
        /// Counts the trained numbers of the net.
        parameters: u64,
        /// Counts the multiply-adds of the forward pass of one image.
        multiply_adds_per_image: u64,
        /// Images that each GPU sees in an iteration.
        images_per_gpu: u32,
        /// Points of an image, each three 32-bit numbers.
        points_per_image: u64,
    },
    /// It is one step of training a network layer by layer, as users train who choose nothing
    /// ([`Training::usual`]).
    Layers {
        /// Names the network.
        network: &'static Network,
        /// Samples that each GPU sees in an iteration.
        samples_per_gpu: u32,
    },
    /// It is anything else, by its time and its bytes.
    Fixed {
        /// Gives the time of one iteration without communication.
        compute_per_iteration: Picoseconds,
        /// Gives the bytes of the buffer that the GPUs reduce.
        bytes_per_iteration: Bytes,
    },
}

/// A program that a job runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workload {
    /// Names the workload in job files.
    pub name: String,
    /// Whether MAPA holds it to be bandwidth sensitive (figure 5b and section 4).
    pub sensitive: bool,
    /// Counts the iterations of one run.
    pub iterations: u64,
    /// Counts the collective calls of each GPU in an iteration.
    pub collective_calls_per_iteration: u32,
    /// Describes the work of an iteration.
    pub work: Work,
}

/// A workload that a scenario chooses by its name.
pub trait NamedWorkload: Registered {
    /// Gives the workload, which has the name of this entry.
    fn workload(&self) -> Workload;
}

/// Gives a row of the table as an entry.
struct Published(&'static Workload);

impl Registered for Published {
    fn name(&self) -> &'static str {
        &self.0.name
    }
}

impl NamedWorkload for Published {
    fn workload(&self) -> Workload {
        self.0.clone()
    }
}

/// Holds the published workloads as entries.
static ENTRIES: LazyLock<Vec<Published>> = LazyLock::new(|| TABLE.iter().map(Published).collect());

/// Gives Linkwright's own workloads by name.
///
/// ```
/// use linkwright_training::training::workloads;
///
/// assert_eq!(workloads().get("gmm").unwrap().workload().name, "gmm");
/// ```
#[must_use]
pub fn workloads() -> Registry<dyn NamedWorkload> {
    let entries: Vec<&'static dyn NamedWorkload> =
        ENTRIES.iter().map(|entry| entry as &dyn NamedWorkload).collect();
    Registry::new("workload", &entries)
}

/// Finds a workload in a registry by its name.
///
/// # Errors
/// Refuses a name that the registry does not hold.
pub fn workload_of(
    registry: &Registry<dyn NamedWorkload>,
    name: &str,
) -> Result<Workload, UnknownWorkload> {
    let found = registry.get(name).map(NamedWorkload::workload);
    let known = || registry.names().join(", ");
    found.map_err(|_| UnknownWorkload { name: name.to_owned(), known: known() })
}

/// A name that no workload has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct UnknownWorkload {
    /// Gives the name asked for.
    pub name: String,
    /// The names that exist.
    pub known: String,
}

impl Diagnose for UnknownWorkload {
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::of(format!("there is no workload `{}`", shown(&self.name)))
            .remedy(format!("use one of {}", self.known))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    workload: Vec<Row>,
}

/// A workload as the table has it: a net by the name of its layers, or a time and bytes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    sensitive: bool,
    iterations: u64,
    collective_calls_per_iteration: u32,
    network: Option<String>,
    images_per_gpu: Option<u32>,
    compute_per_iteration: Option<Picoseconds>,
    bytes_per_iteration: Option<Bytes>,
}

impl Row {
    /// The workload, with what its network's layers say; `None` where the row lacks something.
    fn workload(self) -> Option<Workload> {
        let work = match self.network {
            Some(name) => {
                let network = Network::find(&name).ok()?;
                let Shape::Image { height, width, .. } = network.input else { return None };
                Work::Training {
                    parameters: network.parameters(),
                    multiply_adds_per_image: network.multiply_adds(),
                    images_per_gpu: self.images_per_gpu?,
                    points_per_image: height * width,
                }
            }
            None => Work::Fixed {
                compute_per_iteration: self.compute_per_iteration?,
                bytes_per_iteration: self.bytes_per_iteration?,
            },
        };
        Some(Workload {
            name: self.name,
            sensitive: self.sensitive,
            iterations: self.iterations,
            collective_calls_per_iteration: self.collective_calls_per_iteration,
            work,
        })
    }
}

/// The table as compiled in; the tests read it, so that it cannot fail for a user.
static TABLE: LazyLock<Vec<Workload>> = LazyLock::new(|| {
    let table: Result<Table, _> = toml::from_str(include_str!("workloads.toml"));
    let rows = table.expect("the compiled-in workload table is valid").workload;
    let workloads: Option<Vec<_>> = rows.into_iter().map(Row::workload).collect();
    workloads.expect("every row of it is whole")
});

impl Workload {
    /// Lists the published workloads, in the order of the paper: six nets, then three others.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &TABLE
    }

    /// Finds the published workload of a name.
    ///
    /// # Errors
    /// Refuses a name that the table does not hold.
    pub fn find(name: &str) -> Result<&'static Self, UnknownWorkload> {
        Self::all()
            .iter()
            .find(|workload| workload.name == name)
            .ok_or_else(|| UnknownWorkload { name: name.to_owned(), known: Self::known() })
    }

    /// Returns the training of a network, layer by layer, with as many iterations as the published
    /// nets.
    #[must_use]
    pub fn of_network(network: &'static Network, samples_per_gpu: u32) -> Self {
        let trained = network.layers.iter().filter(|layer| layer.parameters > 0);
        Self {
            name: network.full_name(),
            sensitive: true,
            iterations: ITERATIONS,
            collective_calls_per_iteration: trained.count() as u32,
            work: Work::Layers { network, samples_per_gpu },
        }
    }

    /// The names of the published workloads, for messages: `alexnet, vgg-16, ...`.
    #[must_use]
    pub fn known() -> String {
        let names: Vec<&str> = Self::all().iter().map(|workload| workload.name.as_str()).collect();
        names.join(", ")
    }

    /// Returns the bytes of the buffer that the GPUs reduce in an iteration; a net's gradients.
    #[must_use]
    pub fn bytes_per_iteration(&self) -> Bytes {
        match self.work {
            Work::Training { parameters, .. } => {
                Bytes(parameters.saturating_mul(BYTES_PER_PARAMETER))
            }
            Work::Layers { network, .. } => {
                Bytes(network.parameters().saturating_mul(BYTES_PER_PARAMETER))
            }
            Work::Fixed { bytes_per_iteration, .. } => bytes_per_iteration,
        }
    }

    /// Says whether it trains a net, whose gradients become known one layer after another.
    #[must_use]
    pub const fn is_training(&self) -> bool {
        matches!(self.work, Work::Training { .. } | Work::Layers { .. })
    }

    /// Bytes of the images that each GPU gets from its host in an iteration; none where no net is trained.
    #[must_use]
    pub fn copied_per_iteration(&self) -> Bytes {
        match self.work {
            Work::Training { images_per_gpu, points_per_image, .. } => {
                Bytes(points_per_image.saturating_mul(BYTES_PER_POINT * u64::from(images_per_gpu)))
            }
            Work::Layers { .. } => self.turns().map_or(Bytes(0), |turns| turns.copied),
            Work::Fixed { .. } => Bytes(0),
        }
    }

    /// Returns the time of one iteration without communication, the same on any number of GPUs.
    #[must_use]
    pub fn compute_per_iteration(&self) -> Picoseconds {
        match self.work {
            Work::Training { multiply_adds_per_image, images_per_gpu, .. } => {
                let operations =
                    6 * u128::from(multiply_adds_per_image) * u128::from(images_per_gpu);
                let picoseconds = operations.saturating_mul(u128::from(Picoseconds::SECOND.0))
                    / *SUSTAINED_OPERATIONS_PER_SECOND;
                Picoseconds(u64::try_from(picoseconds).unwrap_or(u64::MAX))
            }
            Work::Layers { .. } => {
                self.turns().map_or(Picoseconds(u64::MAX), |turns| turns.computed())
            }
            Work::Fixed { compute_per_iteration, .. } => compute_per_iteration,
        }
    }

    /// The step of a network on the GPU that all workloads are timed on.
    fn turns(&self) -> Option<Turns> {
        let Work::Layers { network, samples_per_gpu } = self.work else { return None };
        Training::usual(network, samples_per_gpu.into()).turns(gpus::find(GPU).ok()?, 1).ok()
    }

    /// Returns the time of a run of `iterations` iterations on `gpus` GPUs, by the module's model.
    ///
    /// The effective bandwidth is that of the job's GPUs together, in nccl-tests' sense of
    /// bus bandwidth. One GPU (or none) does not communicate and ignores it. The result is
    /// exact to the picosecond of an iteration. It is `None` for a run that does not end
    /// within 64 bits of picoseconds, 213 days. Such a run is too long, or it should communicate
    /// over a bandwidth of zero.
    ///
    /// ```
    /// use linkwright_training::training::Workload;
    /// use linkwright_ground::units::Bandwidth;
    ///
    /// let vgg = Workload::find("vgg-16")?;
    /// let seconds = |bandwidth| {
    ///     vgg.run_time(3, vgg.iterations, Bandwidth(bandwidth)).map(|time| time.as_seconds().round())
    /// };
    /// assert_eq!(seconds(57_857_000_000), Some(364.0));
    /// assert_eq!(seconds(12_330_000_000), Some(835.0));
    /// assert_eq!(seconds(0), None);
    /// # Ok::<(), linkwright_training::training::UnknownWorkload>(())
    /// ```
    #[must_use]
    pub fn run_time(
        &self,
        gpus: u32,
        iterations: u64,
        effective_bandwidth: Bandwidth,
    ) -> Option<Picoseconds> {
        let gpus = u128::from(gpus);
        if gpus < 2 {
            return self.repeated(iterations, 0);
        }
        let sent_times_gpus = 2 * (gpus - 1) * u128::from(self.bytes_per_iteration().0);
        let communication = sent_times_gpus
            .saturating_mul(u128::from(Picoseconds::SECOND.0))
            .checked_div(gpus * u128::from(effective_bandwidth.0))?;
        self.repeated(iterations, communication)
    }

    /// Gives the time of a run in which edges carry the buffer both ways in place of an all-reduce.
    /// The bandwidth is the one of their pattern. The time is `None` as [`Self::run_time`] says.
    #[must_use]
    pub fn run_time_by_edges(&self, iterations: u64, bandwidth: Bandwidth) -> Option<Picoseconds> {
        let bytes = u128::from(self.bytes_per_iteration().0);
        let communication = bytes
            .saturating_mul(u128::from(Picoseconds::SECOND.0))
            .checked_div(u128::from(bandwidth.0))?;
        self.repeated(iterations, communication)
    }

    /// Gives the time of a number of iterations, each with its picoseconds of communication.
    fn repeated(&self, iterations: u64, communication: u128) -> Option<Picoseconds> {
        let iteration = u128::from(self.compute_per_iteration().0).saturating_add(communication);
        let run = iteration.saturating_mul(u128::from(iterations));
        u64::try_from(run).ok().map(Picoseconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MEDIAN: Bandwidth = Bandwidth(57_857_000_000);

    #[test]
    fn the_table_holds_the_nine_workloads_of_the_paper() {
        assert_eq!(
            Workload::known(),
            "alexnet, vgg-16, resnet-50, inception-v3, caffenet, googlenet, cusimann, gmm, jacobi"
        );
        let sensitive = Workload::all().iter().filter(|workload| workload.sensitive).count();
        assert_eq!(sensitive, 4);
        let error = Workload::find("vgg").unwrap_err().to_string();
        assert!(error.starts_with("there is no workload `vgg`; use one of alexnet,"));
    }

    /// These numbers were typed in before layers were counted, from Caffe's and torchvision's own
    /// counts.
    #[test]
    fn layers_give_what_was_counted_by_hand() {
        for (name, parameters, multiply_adds, points) in [
            ("alexnet", 60_965_224, 724_406_816, 51_529),
            ("vgg-16", 138_357_544, 15_470_264_320, 50_176),
            ("resnet-50", 25_557_032, 3_857_973_248, 50_176),
            ("inception-v3", 23_834_568, 5_713_216_096, 89_401),
            ("caffenet", 60_965_224, 724_406_816, 51_529),
            ("googlenet", 13_378_280, 1_591_044_096, 50_176),
        ] {
            let Work::Training {
                parameters: ours, multiply_adds_per_image, points_per_image, ..
            } = Workload::find(name).unwrap().work
            else {
                panic!("{name} is a net")
            };
            let found = (ours, multiply_adds_per_image, points_per_image);
            assert_eq!(found, (parameters, multiply_adds, points), "{name}");
        }
    }

    /// Figure 5b is read as the calls of a run: one per layer and iteration, and a broadcast.
    #[test]
    fn calls_times_iterations_are_the_papers_counts() {
        let published = [
            ("alexnet", 80_001),
            ("inception-v3", 2_830_001),
            ("vgg-16", 160_001),
            ("resnet-50", 1_600_001),
            ("googlenet", 640_001),
        ];
        for (name, calls) in published {
            let workload = Workload::find(name).unwrap();
            let per_iteration = u64::from(workload.collective_calls_per_iteration);
            assert_eq!(workload.iterations * per_iteration + 1, calls, "{name}");
        }
    }

    /// There are three GPUs at the paper's median effective bandwidth. This is the calibration, not
    /// a prediction.
    #[test]
    fn run_times_lie_near_the_papers() {
        let seconds = |name: &str| {
            let workload = Workload::find(name).unwrap();
            let time = workload.run_time(3, workload.iterations, MEDIAN).unwrap();
            time.as_seconds().round() as u64
        };
        let published = [("alexnet", 374), ("vgg-16", 378), ("resnet-50", 498)];
        for (name, published) in published {
            assert!(seconds(name).abs_diff(published) * 25 < published, "{name}");
        }
        let modelled: Vec<u64> = Workload::all().iter().map(|all| seconds(&all.name)).collect();
        assert_eq!(modelled, [372, 364, 495, 371, 372, 207, 300, 300, 270]);
    }

    /// Section 4 says so: Jacobi gains less than 3 % from PCIe to double NVLink, the others
    /// nothing.
    #[test]
    fn programs_that_train_no_net_hardly_feel_the_links() {
        for (name, limit) in [("jacobi", 0.03), ("gmm", 0.001), ("cusimann", 0.001)] {
            let workload = Workload::find(name).unwrap();
            let seconds = |rate| {
                let bandwidth = Bandwidth::gigabytes_per_second(rate);
                workload.run_time(2, 1, bandwidth).unwrap().as_seconds()
            };
            let gain = seconds(10) / seconds(50) - 1.0;
            assert!((0.0..limit).contains(&gain), "{name} {gain}");
        }
    }

    #[test]
    fn one_gpu_only_computes_and_no_bandwidth_never_ends() {
        let workload = Workload::find("alexnet").unwrap();
        let compute = workload.compute_per_iteration();
        assert_eq!(workload.run_time(1, 1, Bandwidth(0)), Some(compute));
        assert_eq!(workload.run_time(2, 1, Bandwidth(0)), None);
        assert_eq!(workload.run_time(1, u64::MAX, MEDIAN), None);
    }

    proptest! {
        #[test]
        fn more_bandwidth_is_never_slower(
            index in 0_usize..9, gpus: u32, iterations: u64, slow: u64, fast: u64,
        ) {
            let workload = &Workload::all()[index];
            let time = |rate| {
                let time = workload.run_time(gpus, iterations, Bandwidth(rate));
                time.map_or(u128::MAX, |time| time.0.into())
            };
            prop_assert!(time(slow.max(fast)) <= time(slow.min(fast)));
        }
    }
}
