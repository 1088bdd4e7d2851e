//! The paper's shares of communication, which the skeletons' parameters were chosen for, under the
//! model without contention.

use linkwright::program::Program;
use linkwright::program::skeletons::{APPLICATIONS, Application, application, applications};
use linkwright::units::Bandwidth;

use super::{LogGp, estimate};

fn program(application: &dyn Application, ranks: u32) -> Program {
    application.program(ranks, &toml::Table::new()).expect("a count that it takes")
}

/// Returns the share of communication before and after scaling for GPUs.
fn shares(application: &dyn Application, ranks: u32) -> (f64, f64) {
    let program = program(application, ranks);
    let share = |speedup| {
        estimate(&program, LogGp::default(), speedup).expect("sound").communication_share()
    };
    (share(1.0), share(application.gpu_speedup()))
}

#[test]
fn shares_on_32_processes_are_those_of_figure_4() {
    for application in &APPLICATIONS {
        let (before, after) = shares(application, 32);
        let (as_before, as_after) = match application.name {
            "stencil4d" | "subcomm3d" => (0.6..0.95, 0.9..1.0),
            "kripke" | "laghos" => (0.0..0.05, 0.25..0.65),
            _ => (0.15..0.25, 0.25..0.65),
        };
        let name = application.name;
        assert!(as_before.contains(&before), "{name}: {before:.3} before scaling");
        assert!(as_after.contains(&after), "{name}: {after:.3} after scaling");
    }
}

/// How much longer a scaled program takes on a network of this bandwidth.
fn slowdown(name: &str, ranks: u32, bandwidth: Bandwidth) -> f64 {
    let application = application(name, &applications()).expect("a known name");
    let program = program(application, ranks);
    let time = |bandwidth| {
        let network = LogGp { bandwidth, ..LogGp::default() };
        let estimate = estimate(&program, network, application.gpu_speedup()).expect("sound");
        estimate.makespan.as_seconds()
    };
    time(bandwidth) / time(LogGp::default().bandwidth)
}

#[test]
fn bandwidth_matters_to_those_to_whom_it_does_in_table_2() {
    let sixteenth = Bandwidth(LogGp::default().bandwidth.0 / 16);
    let half = Bandwidth(LogGp::default().bandwidth.0 / 2);
    // The table asks for 90 % of the performance.
    let enough = 1.0 / 0.9;
    for ranks in [32, 512] {
        assert!(slowdown("kripke", ranks, sixteenth) < enough, "{ranks}");
        assert!(slowdown("laghos", ranks, half) < enough, "{ranks}");
        for name in ["stencil4d", "subcomm3d", "amg", "sw4lite"] {
            assert!(slowdown(name, ranks, half) > enough, "{name} on {ranks}");
        }
    }
}

#[test]
fn any_count_that_is_taken_runs_to_its_end() {
    for application in &APPLICATIONS {
        for ranks in (1..=40).chain([100, 256]) {
            let Ok(program) = application.program(ranks, &toml::Table::new()) else { continue };
            let found = estimate(&program, LogGp::default(), application.gpu_speedup);
            assert!(found.is_ok(), "{} on {ranks}: {found:?}", application.name);
        }
    }
}

#[test]
fn weak_scaling_keeps_each_ranks_computing() {
    for application in &APPLICATIONS {
        let most = |ranks| {
            let program = program(application, ranks);
            let estimate = estimate(&program, LogGp::default(), 1.0).expect("sound");
            estimate.computing.into_iter().max()
        };
        assert_eq!(most(32), most(256), "{}", application.name);
    }
}
