//! Plays a routing of any network, and one that reads what its fabric's kind made it of.

use linkwright::network::routing::{AnyRouting, contract};
use linkwright::scenario::{Files, PlayedScenario};
use linkwright::system::Fabric;
use linkwright_recipes::registries;

use crate::{played_with, scenario, stands_in_one_file_and_one_line};

/// Sends from two neighbours at once, to nodes whose numbers leave the same remainder by the links up.
const PROGRAM: &str = "num_ranks 9\nrank 0 {\nsend 1000000b to 4 tag 0\n}\nrank 1 {\nsend 1000000b to 8 tag 0\n}\n\
                       rank 2 {\n}\nrank 3 {\n}\nrank 4 {\nrecv 1000000b from 0 tag 0\n}\nrank 5 {\n}\nrank 6 {\n}\n\
                       rank 7 {\n}\nrank 8 {\nrecv 1000000b from 1 tag 0\n}\n";

/// Sends from two neighbours at once. Both messages cross from 1 to 3 where low bits are corrected first.
const ON_A_CUBE: &str = "num_ranks 8\nrank 0 {\nsend 1000000b to 3 tag 0\n}\nrank 1 {\nsend 1000000b to 7 tag 0\n}\n\
                         rank 2 {\n}\nrank 3 {\nrecv 1000000b from 0 tag 0\n}\nrank 4 {\n}\nrank 5 {\n}\nrank 6 {\n}\n\
                         rank 7 {\nrecv 1000000b from 1 tag 0\n}\n";

/// Returns how long both messages take on a fat-tree, in picoseconds.
fn time(routing: &str) -> u64 {
    let tree = "kind = \"fat-tree\", levels = 2, radix = 8, leaves = 4, tapering = 1";
    time_of(&format!("{tree}, routing = \"{routing}\""), PROGRAM)
}

fn time_of(network: &str, program: &str) -> u64 {
    let text = format!(
        "[system]\nnetwork = {{ {network} }}\n[protocol]\neager_limit = \"2 MB\"\n[[job]]\ngoal = \"two.goal\"\n"
    );
    let files = Files::from([("two.goal".to_owned(), program.as_bytes().to_vec())]);
    let PlayedScenario::Programs(played) = played_with(&text, &files) else { panic!("a day") };
    played.outcome.jobs.jobs[0].end.0
}

/// Makes a network of a kind and sizes.
fn fabric(network: &str) -> Fabric {
    let text = format!(
        "[system]\nnetwork = {{ {network} }}\n[[job]]\nprogram = \"stencil4d\"\nranks = 16\n"
    );
    let built = scenario(&text).build(&Files::new()).unwrap_or_else(|error| panic!("{error}"));
    built.cluster.system.fabric().unwrap().clone()
}

#[test]
fn what_meets_on_one_link_goes_by_all() {
    let [one_way, adaptive, sprayed] = ["static", "adaptive", "spray"].map(time);
    // Destination-mod-k leads both up by one link; all four links up carry them as fast as they come.
    assert!(sprayed * 100 < one_way * 65, "{one_way} {sprayed}");
    assert!(sprayed.abs_diff(adaptive) * 20 < adaptive, "{adaptive} {sprayed}");
    stands_in_one_file_and_one_line("spray");
}

#[test]
fn what_a_kind_of_fabric_was_made_of_leads_its_packets() {
    let cube = "kind = \"hypercube\", order = 3, routing = \"e-cube\"";
    let [low, said, high] = ["", ", highest_first = false", ", highest_first = true"]
        .map(|key| time_of(&format!("{cube}{key}"), ON_A_CUBE));
    assert_eq!(low, said);
    assert!(high * 100 < low * 65, "{high} {low}");
    // A torus of the same links has none of these keys.
    let torus = fabric("kind = \"torus\", dimensions = [2, 2, 2, 2]");
    let refused = AnyRouting::new(registries().routings.get("e-cube").unwrap(), &torus, 1).err();
    assert!(refused.unwrap().to_string().starts_with("routing `e-cube` needs binary n-cubes"));
    stands_in_one_file_and_one_line("e_cube");
}

#[test]
fn every_routing_holds_the_contract() {
    let routings = registries().routings;
    assert_eq!(routings.names().last(), Some(&"spray"));
    let fabrics = [
        "kind = \"fat-tree\", levels = 2, radix = 8, leaves = 4, tapering = 1",
        "kind = \"dragonfly\", nodes_per_switch = 1, switches_per_group = 4, \
         global_links_per_switch = 2, groups = 4",
        "kind = \"torus\", dimensions = [4, 3], nodes_per_switch = 2",
        "kind = \"hypercube\", order = 4",
        "kind = \"hypercube\", order = 4, highest_first = true",
    ];
    contract::hold(&routings, &fabrics.map(fabric)).unwrap();
}
