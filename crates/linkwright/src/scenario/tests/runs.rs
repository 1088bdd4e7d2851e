//! Tests the meaning of scenarios, and the results of their runs.

use super::*;
use crate::collectives::mpi::MpiAlgorithm;
use crate::network::packet::{NicPolicy, Switching};
use crate::program::CollectiveKind;
use crate::simulation::cluster::CollectiveMethod;
use crate::simulation::cluster::{links, tables};
use crate::table::{Column, Table};
use crate::units::{Bandwidth, Bytes, Picoseconds};

#[test]
fn a_scenario_reads_with_the_studys_defaults() {
    let (cluster, jobs) = build(SMALL, &Files::new());
    assert_eq!(cluster.gpus(), 64);
    assert_eq!(cluster.settings.packet_size, Bytes(4096));
    assert_eq!(cluster.settings.buffer_packets, None);
    assert_eq!(cluster.settings.router_delay, Picoseconds(60_000));
    assert_eq!(cluster.settings.nic_delay, Picoseconds(400_000));
    assert_eq!(cluster.settings.switching, Switching::StoreAndForward);
    assert_eq!(cluster.settings.seed, 3);
    assert_eq!(cluster.nic, NicPolicy::round_robin_of(4));
    assert_eq!(cluster.routing.name(), "adaptive");
    assert_eq!(cluster.system.fabric().unwrap().channels()[0].bandwidth, Bandwidth(23_800_000_000));
    let links = cluster.system.kinds()[0].server().links();
    assert_eq!(links[0].bandwidth, Bandwidth(47_600_000_000));
    assert_eq!(cluster.protocol.eager_limit, Bytes(16 << 10));
    assert_eq!(jobs[0].name, "a");
    assert_eq!(jobs[0].iterations.get(), 2);
    assert!((jobs[0].computation_scale - 1.0 / 15.0).abs() < 1e-12);
    assert_eq!(jobs[0].mapping, Some(Mapping::Gpus((0..16).collect())));
    assert_eq!(jobs[1].name, "kripke");
    assert_eq!(jobs[1].start, Picoseconds(1_000_000_000));
    let Some(Mapping::Gpus(gpus)) = &jobs[1].mapping else { panic!("placed") };
    assert!(gpus.len() == 8 && gpus.iter().all(|gpu| (16..64).contains(gpu)));
}

#[test]
fn keys_may_be_written_with_hyphens() {
    let keys = ["bandwidth_scale", "gpus_per_node", "eager_limit"];
    let hyphens =
        keys.iter().fold(SMALL.to_owned(), |text, key| text.replace(key, &key.replace('_', "-")));
    assert_ne!(hyphens, SMALL);
    assert_eq!(read(&hyphens).unwrap(), read(SMALL).unwrap());
    let both = SMALL.replace("gpus_per_node = 4", "gpus_per_node = 4\ngpus-per-node = 4");
    let message = refused(&both, &Files::new());
    assert!(message.contains("is given twice: `4`; write it once"), "{message}");
}

#[test]
fn jobs_without_a_name_get_one_each_and_share_their_program() {
    let job = "[[job]]\nprogram = \"laghos\"\nranks = 8\n";
    let text = format!("{job}{job}[[job]]\nname = \"laghos-2\"\nprogram = \"laghos\"\nranks = 8\n");
    let (_, jobs) = build(&text, &Files::new());
    let names: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["laghos", "laghos-3", "laghos-2"]);
    assert!(std::sync::Arc::ptr_eq(&jobs[0].program, &jobs[2].program));
}

/// A line of three switches whose file names it, with a program and a mapping from files.
fn of_files() -> (String, Files) {
    let text = "mapping = \"all.map\"\n[network]\nfile = \"line.toml\"\n\
        routing_table = \"ways.toml\"\n[[job]]\ngoal = \"dir/pair.goal\"\n";
    let files = [
        (
            "line.toml",
            "[defaults]\nbandwidth = \"1 GB/s\"\nlatency = \"10 ns\"\n[[switch]]\n\
             names = [\"a\", \"b\", \"c\"]\nnodes = 1\n[[link]]\nbetween = [[\"a\", \"b\"], \
             [\"b\", \"c\"], [\"a\", \"c\"]]\n",
        ),
        // From a to c it goes round by b, although a link joins them.
        (
            "ways.toml",
            "[[route]]\nat = [\"a\", \"c\"]\nto = [\"b\"]\nnext = [\"b\"]\n\
             [[route]]\nat = [\"a\"]\nto = [\"c\"]\nnext = [\"b\"]\n\
             [[route]]\nat = [\"b\"]\nto = [\"c\"]\nnext = [\"c\"]\n\
             [[route]]\nat = [\"b\", \"c\"]\nto = [\"a\"]\nnext = [\"a\"]\n",
        ),
        ("all.map", "0\n2\n"),
        (
            "dir/pair.goal",
            "num_ranks 2\nrank 0 {\nsend 4096b to 1\n}\nrank 1 {\nrecv 4096b from 0\n}\n",
        ),
    ];
    let files = files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
    (text.to_owned(), Files::from(files))
}

#[test]
fn routing_tables_are_followed() {
    let (text, files) = of_files();
    let scenario = read(&text).unwrap();
    let wanted: Vec<&str> = scenario.files().iter().map(|file| file.name.as_str()).collect();
    assert_eq!(wanted, ["line.toml", "ways.toml", "all.map", "dir/pair.goal"]);
    for fidelity in ["packet", "flow"] {
        let text = text.replace("[[job]]", &format!("fidelity = \"{fidelity}\"\n[[job]]"));
        let (cluster, outcome, _) = run(&text, &files, 0);
        let used: Vec<String> = cluster
            .system
            .fabric()
            .unwrap()
            .channels()
            .iter()
            .zip(&outcome.channels)
            .filter(|(_, carried)| carried.data.0 > 0)
            .map(|(channel, _)| format!("{:?}", channel.to))
            .collect();
        assert_eq!(used, ["Switch(0)", "Node(2)", "Switch(1)", "Switch(2)"], "{fidelity}");
    }
}

fn floats(table: &Table, name: &str) -> Vec<f64> {
    match &table.column(name).unwrap().values {
        Column::Float64(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

fn counts(table: &Table, name: &str) -> Vec<u64> {
    match &table.column(name).unwrap().values {
        Column::UInt64(values) => values.clone(),
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn one_message_takes_what_the_settings_say() {
    let (text, files) = of_files();
    let (cluster, outcome, watch) = run(&text, &files, 10);
    // The message crosses four channels, each 4,096 ns at 1 GB/s and 10 ns of latency. It is stored
    // at three routers of 60 ns, behind the interface's 400 ns.
    let network = 4 * (4_096_000 + 10_000) + 3 * 60_000 + 400_000;
    let table = tables::messages(&watch);
    let (sent, delivered) = (floats(&table, "sent")[0], floats(&table, "delivered")[0]);
    assert!(((delivered - sent) * 1e12 - f64::from(network)).abs() < 1.0, "{}", delivered - sent);
    assert_eq!((counts(&table, "source"), counts(&table, "destination")), (vec![0], vec![1]));
    let latencies = watch.latencies.table();
    assert_eq!(
        (counts(&latencies, "smallest"), counts(&latencies, "largest")),
        (vec![2049], vec![4096])
    );
    assert_eq!(floats(&latencies, "p99"), vec![delivered - sent]);
    let links = links::links(&cluster, &outcome);
    assert_eq!(links.row_count(), 2 * (3 + 3));
    assert_eq!(counts(&links, "packets").iter().sum::<u64>(), outcome.packet_hops);
    let busy = 4096.0 / 1e9 / tables::makespan(&outcome).as_seconds();
    assert!((floats(&links, "utilisation")[0] - busy).abs() < 1e-12);
}

#[test]
fn tables_agree_with_one_another() {
    let (cluster, outcome, watch) = run(SMALL, &Files::new(), usize::MAX);
    let (_, jobs) = build(SMALL, &Files::new());
    let jobs: Vec<_> = jobs
        .iter()
        .map(|job| {
            job.on(match &job.mapping {
                Some(Mapping::Gpus(g)) => g.clone(),
                _ => vec![],
            })
        })
        .collect();
    let by_job = tables::jobs(&jobs, &outcome);
    let by_rank = tables::ranks(&cluster, &jobs, &outcome);
    assert_eq!((by_job.row_count(), by_rank.row_count()), (2, 24));
    let all = counts(&by_job, "messages").iter().sum::<u64>();
    assert_eq!(counts(&by_rank, "messages").iter().sum::<u64>(), all);
    assert_eq!(counts(&watch.latencies.table(), "messages").iter().sum::<u64>(), all);
    assert_eq!((watch.message_count, watch.messages.len() as u64), (all, all));
    let data = counts(&by_job, "data").iter().sum::<u64>();
    assert_eq!(watch.messages.iter().map(|it| it.message.size.0).sum::<u64>(), data);
    // The computing time of ranks is the sum of the spans of computation.
    let computed: f64 = floats(&by_rank, "computing").iter().sum();
    let spans = tables::computation(&watch);
    let lengths =
        floats(&spans, "end").iter().sum::<f64>() - floats(&spans, "start").iter().sum::<f64>();
    assert!((computed - lengths).abs() < 1e-9, "{computed} {lengths}");
    let ends = floats(&by_job, "end");
    assert_eq!(ends.iter().copied().fold(0.0, f64::max), tables::makespan(&outcome).as_seconds());
}

#[test]
fn runs_are_equal_to_the_last_bit_however_much_is_watched() {
    for fidelity in ["packet", "flow"] {
        let text = SMALL.replace("nic = ", &format!("fidelity = \"{fidelity}\"\nnic = "));
        let (_, first, watched) = run(&text, &Files::new(), 100);
        let (_, second, unwatched) = run(&text, &Files::new(), 0);
        assert_eq!(first, second);
        assert_eq!(watched.latencies, unwatched.latencies);
        assert_eq!(watched.messages.len(), 100);
        assert!(watched.message_count > 100 && unwatched.messages.is_empty());
        assert_eq!(watched.message_count, unwatched.message_count);
    }
}

#[test]
fn another_seed_is_another_random_mapping() {
    let gpus = |seed: u64| {
        let text = SMALL.replace("seed = 3", &format!("seed = {seed}"));
        build(&text, &Files::new()).1[1].mapping.clone()
    };
    assert_eq!(gpus(3), gpus(3));
    assert_ne!(gpus(3), gpus(4));
}

#[test]
fn scenarios_choose_by_collective() {
    let (cluster, _) = build(
        "[[job]]\nprogram = \"laghos\"\nranks = 8\n[collectives]\nall_reduce = \"planned\"\nbroadcast = \"binomial-tree\"\n\
        planned-message-size = \"64 KiB\"\n",
        &Files::new(),
    );
    let expected = [
        (CollectiveKind::Broadcast, CollectiveMethod::Algorithm(MpiAlgorithm::BinomialTree)),
        (CollectiveKind::AllReduce, CollectiveMethod::Planned),
    ];
    assert_eq!(cluster.collectives.chosen, expected.into());
    assert_eq!(cluster.collectives.planned_message_size, Bytes(64 << 10));
    let refused = |text: &str| read_network("s", text).unwrap_err().to_string();
    assert_eq!(
        refused("[collectives]\nscan = \"planned\"\n"),
        "s:2:8: scan has no algorithm `planned`; use one of \
         recursive-doubling, linear"
    );
    assert_eq!(
        refused("[collectives]\nall_reduce = \"planed\"\n"),
        "s:2:14: all-reduce has no algorithm `planed`; did you mean `planned`? \
         use one of binary-tree, binomial-tree, recursive-doubling, recursive-halving, ring, \
         planned"
    );
    assert_eq!(
        refused("[collectives]\nplanned_message_size = \"0 B\"\n"),
        "s:2:24: messages of no bytes: `\"0 B\"`; write at least 1 B, such as \"1 MiB\""
    );
    assert!(
        refused("[collectives]\nallreduce = \"ring\"\n").contains("did you mean `all_reduce`?")
    );
}

#[test]
fn a_job_trains_a_network_on_the_gpus_that_it_got() {
    let text = "\
        fidelity = \"flow\"\n\
        [system]\nserver = \"dgx1-v100\"\n\
        [collectives]\nprotocol = \"nccl\"\n\
        [[job]]\ntrain = \"lenet\"\nranks = 4\nparameters = { batch = 256 }\n\
        [[job]]\ntrain = \"mlp\"\nranks = 2\nmapping = [6, 7]\n\
        parameters = { communication = \"p2p\", framework = \"mxnet-0-11\" }\n";
    let scenario = read(text).unwrap();
    let built = scenario.build(&Files::default()).unwrap();
    let ReadyJobs::Programs(jobs) = &built.work else { panic!("a mix") };
    assert_eq!([jobs[0].name.as_str(), &jobs[1].name], ["lenet", "mlp"]);
    assert_eq!(jobs[0].program.ranks.len(), 4);
    let refused = |old: &str, new: &str| {
        let scenario = read(&text.replace(old, new));
        let built = scenario.and_then(|scenario| scenario.build(&Files::default()).map(|_| ()));
        built.unwrap_err().to_string()
    };
    let said = refused("batch = 256", "batch = 255");
    assert!(said.contains("a batch of 255 samples does not divide evenly among 4 GPUs"), "{said}");
    let said = refused("batch = 256", "bath = 256");
    assert!(said.contains("unknown parameter") && said.contains("did you mean `batch`"), "{said}");
    let said = refused("batch = 256", "size = 9_000_000_000");
    assert!(said.contains("cannot take samples of 9000000000 points"), "{said}");
    let said = refused("batch = 256", "batch = 9_000_000_000");
    assert!(said.contains("more samples than a step has"), "{said}");
    let said = refused("batch = 256", "batch = 8192, micro_batch = 1");
    assert!(said.contains("too many parts of a batch"), "{said}");
    let said = refused("batch = 256", "batch = 256, micro_batch = 3");
    assert!(said.contains("micro-batches of 3 do not divide a batch of 256"), "{said}");
    let said = refused("batch = 256", "tokens = 8");
    assert!(said.contains("takes samples of 1 x 28 x 28"), "{said}");
    let said = refused("\"lenet\"", "\"lenett\"");
    assert!(said.contains("there is no network `lenett`") && said.contains("lenet"), "{said}");
    let said = refused("ranks = 4\n", "");
    assert!(said.contains("a network without `ranks`"), "{said}");
    let said = refused("train = \"lenet\"", "train = \"lenet\"\nprogram = \"amg\"");
    assert!(said.contains("`program` beside a network that is trained"), "{said}");
    let said = refused("p2p", "p2q");
    assert!(said.contains("way to communicate") && said.contains("p2p"), "{said}");
}
