//! Lists errors of allocation, days and comparisons.

use linkwright::allocation::links::LinkCounts;
use linkwright::allocation::{AllocationError, PatternShape, policy};
use linkwright::collectives::plan::PlanError;
use linkwright::diagnostic::{Diagnosis, Named as _};
use linkwright::program::CollectiveKind;
use linkwright::program::skeletons::SkeletonError;
use linkwright::scenario::comparison::ComparisonError;
use linkwright::simulation::SimulationError;
use linkwright::simulation::cluster::{
    ClusterError, CollectiveMethodError, Fidelity, PlacedProgramError, PlacementError,
    PlanningError, PlanningProblem, TrafficError,
};
use linkwright::simulation::played::PlanningFault;
use linkwright::system::gpus::NumberType;
use linkwright::training::{TrainingError, UnknownWorkload};
use linkwright::units::{Bandwidth, Bytes};

use super::told;

pub fn all() -> String {
    [allocation_error(), cluster_error(), comparison_error(), placement_error(), simulation_error()]
        .concat()
}

fn allocation_error() -> String {
    told(&[
        &AllocationError::UnknownPattern(PatternShape::unknown("x")),
        &AllocationError::UnknownPolicy(policy("x").err().unwrap()),
        &AllocationError::PatternSize { size: 3, most: 128 },
        &AllocationError::PatternEdge { a: 3, b: 3, size: 3 },
        &AllocationError::EdgeText { word: "x".to_owned() },
        &AllocationError::TooManyEdges,
        &AllocationError::Share { a: 3, b: 3, share: "x".to_owned() },
        &AllocationError::TooManyGpus { gpus: 3 },
        &AllocationError::NoSamples,
        &AllocationError::Sample { links: LinkCounts::default(), bandwidth: "x".to_owned() },
        &AllocationError::UnknownGpu { gpu: 3, gpus: 3 },
        &AllocationError::NotFree { gpu: 3 },
        &AllocationError::PlacementSize { given: 3, size: 3 },
        &AllocationError::JobTooLarge { job: "x".to_owned(), size: 3, gpus: 3 },
        &AllocationError::AlreadyAllocated { job: "x".to_owned(), held: "x".to_owned() },
        &AllocationError::NotAllocated { job: "x".to_owned() },
        &AllocationError::Interrupted { job: "x".to_owned() },
        &AllocationError::State { problem: "x".to_owned() },
        &AllocationError::NoSuchServers {
            job: "x".to_owned(),
            size: 16,
            wanted: 1,
            servers: 4,
            most: 8,
        },
    ])
}

fn cluster_error() -> String {
    let planning = |problem: PlanningProblem| PlanningError {
        job: "x".to_owned(),
        communicator: 1,
        ranks: 3,
        kind: CollectiveKind::Broadcast,
        problem,
    };
    told(&[
        &ClusterError::KernelsAsPackets,
        &ClusterError::NotFluid,
        &ClusterError::KernelNotPackets { job: "x".to_owned(), fidelity: Fidelity::Flow },
        &ClusterError::KernelOverBus { job: "x".to_owned() },
        &ClusterError::Kernel { job: "x".to_owned(), told: Diagnosis::of("y").remedy("z") },
        &planning(PlanningProblem::TooManyGpus { most: 3 }),
        &planning(PlanningProblem::Plan(PlanError::NoSize)),
        &CollectiveMethodError { kind: CollectiveKind::Barrier, name: "x".to_owned() },
        &TrafficError::Unfit(Diagnosis::of("y").remedy("z")),
        &PlacedProgramError::NoNetwork,
        &PlacedProgramError::Skeleton(SkeletonError::Message { application: "y", size: Bytes(64) }),
    ])
}

fn comparison_error() -> String {
    told(&[
        &ComparisonError::NoJobs,
        &ComparisonError::OfPrograms,
        &ComparisonError::Reference { wanted: "x".to_owned(), known: vec!["y".to_owned()] },
    ])
}

fn placement_error() -> String {
    told(&[
        &PlacementError::TooManyRanks { ranks: 3, gpus: 3 },
        &PlacementError::Length { job: 3, name: "x".to_owned(), ranks: 3, given: 3 },
        &PlacementError::UnknownGpu { job: 3, name: "x".to_owned(), rank: 3, gpu: 3, gpus: 3 },
        &PlacementError::SharedGpu { job: 3, name: "x".to_owned(), rank: 3, gpu: 3, other_rank: 3 },
        &PlacementError::NothingToShuffle { job: 3, rule: "y", what: "z" },
    ])
}

fn simulation_error() -> String {
    told(&[
        &SimulationError::JobTooLarge { job: "x".to_owned(), size: 3, gpus: 3 },
        &SimulationError::TooManyToProfile { gpus: 17 },
        &SimulationError::JobOfServers { job: "x".to_owned(), size: 3, gpus: 3 },
        &SimulationError::UnknownSpeed {
            server: "x".to_owned(),
            gpu: "x".to_owned(),
            number: NumberType::Fp32,
        },
        &SimulationError::UnknownSpeed {
            server: "x".to_owned(),
            gpu: "x".to_owned(),
            number: NumberType::Bf16,
        },
        &SimulationError::NoHost { job: "x".to_owned() },
        &SimulationError::SmallBucket { bucket: Bytes(3) },
        &SimulationError::DuplicateJob { job: "x".to_owned() },
        &SimulationError::RunTooLong {
            job: "x".to_owned(),
            bandwidth: Bandwidth(1_000_000_000),
            iterations: 3,
        },
        &SimulationError::Interrupted { done: 3, total: 3 },
        &SimulationError::TooManyIterations { job: "x".to_owned(), iterations: 3 },
        &SimulationError::UnknownWorkload(UnknownWorkload {
            name: "x".to_owned(),
            known: "x".to_owned(),
        }),
        &SimulationError::TooManyJobs { count: 3 },
        &SimulationError::NoWorkloads { known: "x".to_owned() },
        &SimulationError::NoGpus,
        &SimulationError::TimeTooLong { what: "x".to_owned(), remedy: "y" },
        &SimulationError::TrainingOf {
            job: "x".to_owned(),
            network: "y".to_owned(),
            error: Box::new(TrainingError::NoSplit { network: "y".to_owned() }),
        },
        &SimulationError::NoFormula { job: "x".to_owned() },
        &SimulationError::UnhealthyGpu { job: "x".to_owned(), gpu: 3 },
        &SimulationError::TimedFailures { played: "y" },
        &SimulationError::TimedDragonfly,
        &SimulationError::NeverStarts { job: "x".to_owned(), size: 3 },
        &SimulationError::Planning {
            job: "x".to_owned(),
            fault: Box::new(PlanningFault::Plan(PlanError::TooFine)),
        },
        &SimulationError::NotFluid { job: "x".to_owned() },
        &SimulationError::NoFluid,
        &SimulationError::NoPlan,
    ])
}
