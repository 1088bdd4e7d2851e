//! The names of all closed choices, gathered from where each is declared.

use std::collections::BTreeMap;

use linkwright::allocation::BandwidthModel;
use linkwright::collectives::Protocol;
use linkwright::collectives::baselines::{ElementType, ExpectedAlgorithm, ReduceOperation};
use linkwright::collectives::time::Processes;
use linkwright::diagnostic::Named as _;
use linkwright::memory::kernel::benchmarks::Benchmark;
use linkwright::memory::litmus::Litmus;
use linkwright::memory::{Distribution, DramTiming, memory_systems};
use linkwright::network::packet::arbiters;
use linkwright::network::routing::routing_kinds;
use linkwright::network::synthetic::TrafficPattern;
use linkwright::program::skeletons::ALL;
use linkwright::simulation::cluster::{Fidelity, MappingRule};
use linkwright::simulation::played::GpuSpeed;
use linkwright::simulation::{QueueDiscipline, RunTime, ServerChoice};
use linkwright::system::BandwidthProfile;
use linkwright::training::{
    AskedKernel, ContextExchange, FlagsOf, KernelNumbers, Kernels, ModelPrecision, Optimizer,
    Precision, Targets, Way,
};
use pyo3::prelude::*;

use crate::allocator::{policy_names, tie_names};
use crate::choices::WantedLinks;
use crate::execution::reduction_names;
use crate::fabric::fabric_names;
use crate::job::workload_names;
use crate::model_training::order_names;
use crate::pattern::pattern_names;
use crate::plan::{algorithm_names, collective_names};
use crate::simulation::planner_names;
use crate::system_listed::{export_format_names, import_format_names};
use crate::training::framework_names;

/// The names of every closed choice, by what they choose: a list for each, as the core has it.
///
/// The kinds of allocation and servers are bandwidth_model, bandwidth_profile, gpu_speed, pattern,
/// policy, run_time, server_choice and tie. The kinds of collectives are algorithm, collective,
/// export_format, import_format, links, nccl_algorithm, nccl_operation, planner, protocol and
/// reduction. The kinds of networks are arbitration, discipline, fidelity, mapping, network, order,
/// routing and traffic. The kinds of GPUs and kernels are benchmark, distribution, dram, flags,
/// kernel, kernel_precision, kernels, litmus_test, memory_system and number_type. The kinds of
/// programs and training are application, context_exchange, framework, lora_target,
/// model_precision, optimizer, precision, processes, training_way and workload.
#[pyfunction]
pub fn choice_names() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("algorithm", algorithm_names()),
        ("application", ALL.iter().map(|application| application.name).collect()),
        ("arbitration", arbiters().names()),
        ("bandwidth_model", BandwidthModel::names()),
        ("bandwidth_profile", BandwidthProfile::names()),
        ("benchmark", Benchmark::names()),
        ("collective", collective_names()),
        ("context_exchange", ContextExchange::names()),
        ("discipline", QueueDiscipline::names()),
        ("distribution", Distribution::names()),
        ("dram", DramTiming::names()),
        ("export_format", export_format_names()),
        ("fidelity", Fidelity::names()),
        ("flags", FlagsOf::names()),
        ("framework", framework_names()),
        ("gpu_speed", GpuSpeed::names()),
        ("import_format", import_format_names()),
        ("kernel", AskedKernel::names()),
        ("kernel_precision", KernelNumbers::names()),
        ("kernels", Kernels::names()),
        ("links", WantedLinks::names()),
        ("litmus_test", Litmus::names()),
        ("lora_target", Targets::names()),
        ("memory_system", memory_systems().names()),
        ("mapping", MappingRule::names()),
        ("model_precision", ModelPrecision::names()),
        ("nccl_algorithm", ExpectedAlgorithm::names()),
        ("nccl_operation", ReduceOperation::names()),
        ("network", fabric_names()),
        ("number_type", ElementType::names()),
        ("optimizer", Optimizer::names()),
        ("order", order_names()),
        ("pattern", pattern_names()),
        ("planner", planner_names()),
        ("precision", Precision::names()),
        ("processes", Processes::names()),
        ("policy", policy_names()),
        ("protocol", Protocol::names()),
        ("reduction", reduction_names()),
        ("routing", routing_kinds().names()),
        ("run_time", RunTime::names()),
        ("server_choice", ServerChoice::names()),
        ("tie", tie_names()),
        ("traffic", TrafficPattern::names()),
        ("training_way", Way::names()),
        ("workload", workload_names()),
    ])
}
