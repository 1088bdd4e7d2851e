//! Shows Linkwright to Python: it has one file per exposed class, and no model of its own.
//!
//! Values are handed out as frozen classes, columns through the Arrow C stream, and errors as the
//! exceptions of `linkwright.errors`.

mod allocator;
mod archive_folder;
mod argument;
mod bandwidth_fit;
mod calibration;
mod cells;
mod certificate;
mod choice_names;
mod choices;
mod cluster_job;
mod cluster_run;
mod comparison;
mod decision;
mod doctor;
mod errors;
mod execution;
mod expectation;
mod fabric;
mod gpu_kernel;
mod gpu_litmus;
mod gpu_machine;
mod gpu_model;
mod gpu_place;
mod gpu_run;
mod gpu_workload;
mod job;
mod kernel_times;
mod kernel_trace;
mod layout_search;
mod layout_step;
mod mapping;
mod model;
mod model_training;
mod nccl_graph;
mod nccl_ranges;
mod nccl_tests;
mod number;
mod owner;
mod pattern;
mod pickle;
mod placed_skeleton;
mod plan;
mod plug_in;
mod plugins;
mod power;
mod program;
mod program_builder;
mod raised;
mod scenario;
mod schedule;
mod schedule_source;
mod setting;
mod shared_memory;
mod simulation;
mod system;
mod system_listed;
mod system_origin;
mod table;
mod text_source;
mod thermal;
mod time_sweep;
mod timing;
mod traffic;
mod training;
mod tree;
mod tried;
mod uneven_exchange;
mod values;
mod watts;
mod worker;

/// Holds the compiled half of the package `linkwright`; use the package, not this module.
#[pyo3::pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::allocator::{Allocator, policy_names, published_effective_bandwidth, tie_names};
    #[pymodule_export]
    use crate::bandwidth_fit::BandwidthFit;
    #[pymodule_export]
    use crate::calibration::{calibrate, error_likeness, time_errors};
    #[pymodule_export]
    use crate::certificate::Certificate;
    #[pymodule_export]
    use crate::choice_names::choice_names;
    #[pymodule_export]
    use crate::cluster_job::ClusterJob;
    #[pymodule_export]
    use crate::cluster_run::ClusterRun;
    #[pymodule_export]
    use crate::comparison::{
        comparison_gains, comparison_measures, five_number_summary, mean_over_seeds,
        policy_speedups, program_speedups, share_saved,
    };
    #[pymodule_export]
    use crate::decision::{Explanation, Match};
    #[pymodule_export]
    use crate::doctor::Evidence;
    #[pymodule_export]
    use crate::execution::reduction_names;
    #[pymodule_export]
    use crate::expectation::{
        choice_doubts, expect, kernel_terms, nccl_choices, nccl_explanation, nccl_interfaces,
        nccl_release,
    };
    #[pymodule_export]
    use crate::fabric::{Fabric, fabric_names};
    #[pymodule_export]
    use crate::gpu_kernel::GpuKernel;
    #[pymodule_export]
    use crate::gpu_litmus::{gpu_litmus, gpu_litmus_tests};
    #[pymodule_export]
    use crate::gpu_model::{GpuModel, gpu_models};
    #[pymodule_export]
    use crate::gpu_place::GpuPlace;
    #[pymodule_export]
    use crate::gpu_run::{GpuRun, GpuSystem};
    #[pymodule_export]
    use crate::gpu_workload::gpu_benchmarks;
    #[pymodule_export]
    use crate::job::{
        Job, generate_jobs, jobs_from_text, profile_sensitivity, workload_names, workloads,
        write_jobs,
    };
    #[pymodule_export]
    use crate::kernel_times::{kernel_fields, kernel_time_terms, kernel_times};
    #[pymodule_export]
    use crate::kernel_trace::{KernelRatios, KernelTrace};
    #[pymodule_export]
    use crate::layout_search::LayoutSearch;
    #[pymodule_export]
    use crate::layout_step::LayoutStep;
    #[pymodule_export]
    use crate::mapping::mapping_from_text;
    #[pymodule_export]
    use crate::model::{Model, models};
    #[pymodule_export]
    use crate::model_training::ModelTraining;
    #[pymodule_export]
    use crate::nccl_graph::{nccl_graph_file, nccl_graph_from_text};
    #[pymodule_export]
    use crate::nccl_ranges::nccl_choice_ranges;
    #[pymodule_export]
    use crate::nccl_tests::{NcclTestsLog, explain_difference, explain_log};
    #[pymodule_export]
    use crate::owner::Owner;
    #[pymodule_export]
    use crate::pattern::{Pattern, pattern_names};
    #[pymodule_export]
    use crate::plan::{
        algorithm_descriptions, algorithm_names, algorithm_protocols, bus_factor, collective_names,
        packing_rate, plan, plan_for_sizes, planning_seconds,
    };
    #[pymodule_export]
    use crate::plug_in::{plug_in_name, plug_in_named};
    #[pymodule_export]
    use crate::plugins::contract::broken_promises;
    #[pymodule_export]
    use crate::plugins::{Machine, Packet, QueuedMessage, Request, Selection};
    #[pymodule_export]
    use crate::power::{gpu_energy, observed_heat};
    #[pymodule_export]
    use crate::program::{Program, applications, random_mixes, read_otf2};
    #[pymodule_export]
    use crate::program_builder::{ProgramBuilder, ProgramOperation};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::schedule::{CheckReport, Export, Schedule};
    #[pymodule_export]
    use crate::setting::{Setting, settings};
    #[pymodule_export]
    use crate::simulation::{SimulationResult, planner_names, play_jobs};
    #[pymodule_export]
    use crate::system::System;
    #[pymodule_export]
    use crate::system_listed::{
        export_format_names, import_format_names, preset_names, system_files,
    };
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::thermal::{Floorplan, ThermalMap};
    #[pymodule_export]
    use crate::time_sweep::time_sweep;
    #[pymodule_export]
    use crate::timing::Timing;
    #[pymodule_export]
    use crate::training::{NeuralNetwork, TrainingStep, neural_networks, training_terms};
    #[pymodule_export]
    use crate::tree::Tree;
    #[pymodule_export]
    use crate::tried::Tried;
    #[pymodule_export]
    use crate::uneven_exchange::expect_all_to_allv;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::silence_panics();
        module.add("MOST_JOBS", linkwright::simulation::MOST_JOBS)?;
        module.add("MOST_PAIRED_GPUS", linkwright::system::views::gpu_graph::MOST_PAIRED)?;
        module.add("MOST_PLANNED_GPUS", linkwright::simulation::cluster::MOST_PLANNED_GPUS)?;
        module.add("MOST_PROFILED_GPUS", linkwright::simulation::sensitivity::MOST_PROFILED)?;
        module.add("SENSITIVE_ABOVE", linkwright::simulation::sensitivity::SENSITIVE_ABOVE)?;
        crate::pickle::register(module)?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}

/// Leaves it to Python's exception to tell of a panic: a command says one line, and a panic is a
/// mistake of ours. `RUST_BACKTRACE` in the environment shows where it arose, as ever.
fn silence_panics() {
    if std::env::var_os("RUST_BACKTRACE").is_none() {
        std::panic::set_hook(Box::new(|_| {}));
    }
}
