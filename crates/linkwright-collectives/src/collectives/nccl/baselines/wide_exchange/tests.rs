use super::*;
use crate::collectives::nccl::baselines::Settings;
use crate::collectives::schedule::time::{protocol_on, resources};
use crate::system::System;
use crate::system::test_support::on_one_switch;

const MESSAGES: [u64; 3] = [16, 4 << 10, 1 << 20];

/// Times an exchange by two smaller ones, and in whole, for each length of messages.
fn times(machine: &System, gpus: &[usize], servers: [usize; 2]) -> Vec<[f64; 2]> {
    let wiring = Wiring::of_gpus(machine, gpus);
    let collective = Collective::AllToAll;
    let chooser = Chooser::new(&wiring, gpus, collective, &Settings::default()).unwrap();
    let routes = resources(&wiring);
    let of_length = |message: &u64| {
        let size = Bytes(message * gpus.len() as u64);
        let choice = chooser.choose(size.0);
        let chunk = choice.longest_run(collective);
        let whole = plan_choice(&wiring, gpus, collective, &chooser, &choice).unwrap().schedule;
        let costs = protocol_on(&whole, &wiring);
        let of = |schedule| Player::on(schedule, &routes, &costs);
        let wide = WideExchange::over(servers, &wiring, gpus, collective, &chooser, &choice);
        let wide = wide.unwrap().unwrap();
        let by_line = wide.players(of).unwrap().time(size, chunk).unwrap();
        let played = of(&whole).unwrap().time(size, chunk).unwrap();
        assert_eq!(by_line.size, played.size);
        let buses = [&by_line, &played].map(|it| it.bus_bandwidth * it.time.as_seconds());
        assert!((buses[0] / buses[1] - 1.0).abs() < 1e-9);
        [by_line.time.as_seconds(), played.time.as_seconds()]
    };
    MESSAGES.iter().map(of_length).collect()
}

#[test]
fn a_wide_exchange_takes_what_it_takes_in_whole() {
    for (name, per_server) in [("hgx-h100", 8), ("mi300x-8", 8), ("dgx1-v100", 8), ("hgx-h100", 3)]
    {
        let machine = on_one_switch(name, 7, 400);
        let all = 0..machine.gpus() as usize;
        let gpus: Vec<usize> = all.filter(|gpu| gpu % 8 < per_server).collect();
        for [by_line, whole] in times(&machine, &gpus, [5, 3]) {
            let ratio = by_line / whole;
            assert!((ratio - 1.0).abs() < 1e-6, "{name} of {per_server}: {ratio}, {whole}");
        }
    }
}

/// Few servers, servers that differ, and other collectives are played in whole.
#[test]
fn what_is_played_in_whole_has_none() {
    let machine = on_one_switch("hgx-h100", 5, 400);
    let all: Vec<usize> = (0..machine.gpus() as usize).collect();
    let wide = |gpus: &[usize], servers, collective| {
        let wiring = Wiring::of_gpus(&machine, gpus);
        let chooser = Chooser::new(&wiring, gpus, collective, &Settings::default()).unwrap();
        let choice = chooser.choose(1 << 20);
        let found = WideExchange::over(servers, &wiring, gpus, collective, &chooser, &choice);
        found.unwrap().is_some()
    };
    assert!(wide(&all, [4, 2], Collective::AllToAll));
    assert!(!wide(&all, [5, 2], Collective::AllToAll));
    assert!(!wide(&all[1..], [4, 2], Collective::AllToAll));
    assert!(!wide(&all, [4, 2], Collective::AllGather));
}
