//! A planner of collectives is registered and chosen.

use std::sync::Arc;

use linkwright::collectives::execute::{ExecuteOptions, Reduction, execute, reference};
use linkwright::collectives::plan::{Plan, PlanError, Question, plan};
use linkwright::collectives::{Collective, check};
use linkwright::scenario::{Given, PlayedScenario, Scenario};
use linkwright::system::System;
use linkwright::system::presets::preset;
use linkwright_recipes::registries;

use crate::{played, stands_in_one_file_and_one_line};

fn of_jobs(planner: &str) -> String {
    format!(
        "fidelity = \"fluid\"\n[system]\nserver = \"dgx1-v100\"\n\
         [jobs]\ngenerate = {{ count = 10, max_gpus = 5 }}\n\
         [allocation]\npolicies = [\"preserve\"]\n[collectives]\nplanner = \"{planner}\"\n"
    )
}

#[test]
fn it_is_chosen_by_name_and_jobs_take_longer_along_one_chain() {
    let makespan = |planner| {
        let PlayedScenario::Day(day) = played(&of_jobs(planner)) else { panic!("no day") };
        day.records.iter().map(|record| record.finish).max().unwrap()
    };
    assert!(makespan("chain") > makespan("packing"));
    stands_in_one_file_and_one_line("chain");
}

#[test]
fn where_it_is_not_registered_its_name_is_unknown() {
    let given = Given { text: of_jobs("chain"), ..Given::default() };
    let error = Scenario::read(&given).unwrap_err().to_string();
    assert!(error.contains("there is no planner `chain`"), "{error}");
    assert!(error.contains("packing") && error.contains("mpi"), "{error}");
}

/// The contract of all planners: whatever the timing, every rank ends with the data that the
/// collective promises, on real buffers too.
fn holds(plan: &Plan) {
    let schedule = &plan.schedule;
    let name = format!("{} on {:?}", schedule.name, schedule.gpus);
    check(schedule).unwrap_or_else(|fault| panic!("{name}: {fault}"));
    let (collective, ranks) = (schedule.collective, schedule.ranks());
    let input = |rank: usize| -> Vec<i64> {
        let count = collective.input_shards(ranks, rank) as i64 * 109;
        (0..count).map(|at| rank as i64 * 1_000_003 + at * 7 + 1).collect()
    };
    let inputs: Vec<_> = (0..ranks).map(input).collect();
    let expected = reference(collective, &inputs, Reduction::Sum).unwrap();
    let found = execute(schedule, inputs, Reduction::Sum, &ExecuteOptions::default()).unwrap();
    assert!(found == expected, "{name}: executed to something else");
}

#[test]
fn every_plan_of_every_planner_holds() {
    let planners = registries().planners;
    let system = System::of_server(Arc::new(preset("dgx1-v100").unwrap()));
    for gpus in [&[0, 3][..], &[1, 4, 5, 6], &[7, 2, 0, 5, 1]] {
        let named = |name: &str| Collective::named(name, gpus.len() / 2);
        for collective in Collective::NAMES.into_iter().filter_map(named) {
            for planner in planners.iter() {
                match plan(planner, &Question::new(&system, gpus, collective)) {
                    Ok(plan) => holds(&plan),
                    Err(
                        PlanError::Unsupported { .. }
                        | PlanError::OneServer
                        | PlanError::OtherServers { .. }
                        | PlanError::NoReducingSwitch(_),
                    ) => {}
                    Err(error) => panic!("{} {collective}: {error}", planner.name()),
                }
            }
        }
    }
}
