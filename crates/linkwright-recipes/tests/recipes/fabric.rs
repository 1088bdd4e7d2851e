//! Chooses a kind of fabric by its name.

use linkwright::scenario::{Files, Given, PlayedScenario, Scenario, settings};
use linkwright::system::test_support::check_fabrics;
use linkwright_recipes::registries;

use crate::{played, scenario, stands_in_one_file_and_one_line};

/// Ranks of two dimensions that exchange what their edges hold, over a network.
fn exchange(network: &str) -> String {
    format!(
        "[system.network]\n{network}\nbandwidth = \"10 GB/s\"\nlatency = \"20 ns\"\n\
         routing = \"shortest-path\"\n\
         [[job]]\nprogram = \"stencil4d\"\nranks = 16\nmapping = \"linear\"\n"
    )
}

fn duration(network: &str) -> u64 {
    let PlayedScenario::Programs(played) = played(&exchange(network)) else {
        panic!("no programs")
    };
    played.outcome.jobs.jobs[0].end.0
}

#[test]
fn it_is_chosen_by_name_with_its_key() {
    let built = scenario(&exchange("kind = \"hypercube\"\norder = 4")).build(&Files::new());
    let cluster = built.unwrap().cluster;
    assert_eq!(cluster.system.fabric().unwrap().name(), "hypercube-16");
    // Of four dimensions it is a torus of two switches along each.
    let cube = duration("kind = \"hypercube\"\norder = 4");
    assert_eq!(cube, duration("kind = \"torus\"\ndimensions = [2, 2, 2, 2]"));
    assert_ne!(cube, duration("kind = \"torus\"\ndimensions = [16]"));
    stands_in_one_file_and_one_line("hypercube");
}

#[test]
fn what_is_left_out_comes_from_its_own_list() {
    let sized = "[system]\nserver = \"dgx-a100\"\nservers = 3\nnetwork = \"hypercube\"\n\
                 [[job]]\nprogram = \"stencil4d\"\nranks = 16\n";
    let cluster = scenario(sized).build(&Files::new()).unwrap().cluster;
    assert_eq!(cluster.system.fabric().unwrap().nodes(), 32);
    let all = settings(&registries());
    let order = all.iter().find(|it| it.path() == "system.network.order").unwrap();
    assert_eq!(order.help, "of a hypercube: its dimensions");
}

#[test]
fn it_keeps_the_contract_of_all_fabrics() {
    check_fabrics(&registries().fabrics);
}

#[test]
fn errors_name_its_keys() {
    for (network, told) in [
        ("kind = \"hypercube\"\nordr = 4", "did you mean `order`?"),
        ("kind = \"hypercube\"\npods = 4", "its keys are order, highest-first, bandwidth, latency"),
        ("kind = \"hypercube\"\norder = 20", "use a network that needs at most 2097152"),
        ("kind = \"hypercub\"", "did you mean `hypercube`?"),
    ] {
        let text = exchange(network);
        let given = Given { text, registries: registries(), ..Given::default() };
        let built = Scenario::read(&given).and_then(|scenario| scenario.build(&Files::new()));
        let error = built.unwrap_err().to_string();
        assert!(error.contains(told), "{error}");
    }
    let error = Scenario::read(&Given { text: exchange("order = 4"), ..Given::default() });
    assert!(error.unwrap_err().to_string().contains("unknown key: `order`"));
}
