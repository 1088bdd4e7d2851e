//! Every setting walks from a file to the reference.

use super::{Kind, Registries, Setting, read, settings};

const PAGE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/formats.md"));

fn all() -> Vec<Setting> {
    settings(&Registries::default())
}

/// Tests a scenario that has a setting, and its errors.
fn text_of(setting: &Setting, value: &str) -> String {
    let path = setting.path();
    let line = match setting.table {
        "job" => format!("{} = {value}\n", setting.key),
        _ => String::new(),
    };
    if setting.table == "jobs.named" {
        let name = if setting.key == "name" { "" } else { "name = \"a\"\n" };
        let ran = match setting.key.as_ref() {
            "workload" | "train" => "",
            _ => "train = \"lenet\"\n",
        };
        let own = format!("{} = {value}\n", setting.key);
        let head = "system.server = \"dgx2\"\njobs.file = \"a.csv\"\n[[jobs.named]]\n";
        return format!("{head}{name}{ran}{own}");
    }
    let top = if line.is_empty() { format!("{path} = {value}\n") } else { String::new() };
    let is_mix = ["jobs", "jobs.columns", "jobs.generate", "allocation", "queue"]
        .contains(&setting.table)
        || ["system.unhealthy", "fidelity"].contains(&path.as_str());
    let asks_policy = [
        "job.gpus",
        "job.policy",
        "job.pattern",
        "job.edges",
        "job.servers_wanted",
        "job.exclusive",
    ]
    .contains(&path.as_str());
    let jobs = match (is_mix, setting.key.as_ref()) {
        (true, _) if setting.table == "jobs.generate" => "system.server = \"dgx2\"\n".to_owned(),
        (true, "workload" | "days") if setting.table == "jobs" => {
            "system.server = \"dgx2\"\njobs.file = \"a.csv\"\n".to_owned()
        }
        (true, "generate" | "file") => "system.server = \"dgx2\"\n".to_owned(),
        (true, _) => "system.server = \"dgx2\"\njobs.generate = {}\n".to_owned(),
        (false, _) => {
            let program = match setting.key.as_ref() {
                "program" | "workload" | "kernel" => "",
                "host_copies" | "gpu_speed" | "precision" | "bucket" => "workload = \"alexnet\"\n",
                _ => "program = \"stencil4d\"\n",
            };
            let ranks = match path.as_str() {
                "job.ranks" | "job.gpus" => "",
                "job.policy" | "job.pattern" | "job.edges" | "job.servers_wanted"
                | "job.exclusive" => "gpus = 16\n",
                _ => "ranks = 16\n",
            };
            format!("[[job]]\n{program}{ranks}{line}")
        }
    };
    // Abstract nodes have one interface each, and no policy chooses among them.
    let top = match setting.key.as_ref() {
        _ if asks_policy => format!("system.server = \"dgx2\"\n{top}"),
        "port_order" | "interfaces" => format!("system.server = \"dgx2\"\n{top}"),
        // Without its table there is no bus.
        "arbitration" if setting.table == "pcie" => format!("pcie.first = \"small\"\n{top}"),
        _ if setting.table == "pcie" => format!("pcie.arbitration = \"round-robin\"\n{top}"),
        // Kernels go over flows.
        "protocol" | "planner" => format!("fidelity = \"flow\"\n{top}"),
        _ => top,
    };
    if is_mix { format!("{jobs}{top}") } else { format!("{top}{jobs}") }
}

#[test]
fn every_name_is_read_and_any_other_is_told_them() {
    for setting in &all() {
        let names = setting.names();
        let listed = matches!(setting.kind, Kind::Names(_));
        // A file takes any name of its own.
        if names.is_empty() || setting.path() == "system.server.kind" {
            continue;
        }
        let quoted =
            |name: &str| if listed { format!("[\"{name}\"]") } else { format!("\"{name}\"") };
        for name in &names {
            if let Err(error) = read(&text_of(setting, &quoted(name))) {
                // A fabric of a kind may want sizes, or a routing another fabric.
                panic!("{}: {error}", setting.path());
            }
        }
        let wrong = read(&text_of(setting, &quoted("nothing-of-this-name"))).map(drop);
        let is_file = matches!(setting.path().as_str(), "mapping" | "job.mapping");
        match wrong {
            Ok(()) => assert!(is_file, "{} takes any name", setting.path()),
            Err(error) => {
                let told = names.iter().filter(|name| error.to_string().contains(*name)).count();
                assert!(told == names.len() || told >= 3, "{}: {error}", setting.path());
            }
        }
    }
}

#[test]
fn every_range_is_that_of_the_reader() {
    for setting in &all() {
        let Some((least, most)) = setting.range() else { continue };
        // Which sizes a fabric can have depends on all of them; a list of servers has a count.
        if setting.table == "system.network" && setting.key != "buffer_packets"
            || setting.path() == "system.server.count"
            || setting.path() == "system.servers"
        {
            continue;
        }
        let reads = |value: u64| read(&text_of(setting, &value.to_string()));
        // A node has no more interfaces than GPUs.
        let most = if setting.path() == "system.server.nics" { 1 } else { most };
        // Skeletons want grids of ranks.
        if !["job.ranks", "job.gpus"].contains(&setting.path().as_str()) {
            assert!(reads(least).is_ok(), "{}: {:?}", setting.path(), reads(least));
        }
        if least > 0 {
            assert!(reads(least - 1).is_err(), "{} below", setting.path());
        }
        if most < u64::from(u32::MAX) {
            assert!(reads(most).is_ok(), "{}: {:?}", setting.path(), reads(most).map(drop));
            assert!(reads(most + 1).is_err(), "{} above", setting.path());
        }
    }
}

#[test]
fn every_value_that_stands_for_absence_is_what_absence_means() {
    let mut compared = 0;
    for setting in &all() {
        let value = match setting.kind {
            Kind::Table | Kind::Tables | Kind::Free | Kind::File | Kind::Wholes => continue,
            Kind::Whole { .. } | Kind::Number | Kind::Truth => setting.absent.to_owned(),
            _ => format!("\"{}\"", setting.absent),
        };
        let is_value = !setting.absent.is_empty()
            && match setting.kind {
                Kind::Name(names) => names().contains(&setting.absent),
                Kind::NameOr(_) => ["fcfs", "linear"].contains(&setting.absent),
                Kind::Text | Kind::Names(_) => false,
                _ => {
                    setting.absent.starts_with(|it: char| it.is_ascii_digit())
                        || setting.absent == "true"
                        || setting.absent == "false"
                }
            };
        // These two are of what is named beside them.
        if !is_value || ["system.server.count", "system.servers"].contains(&setting.path().as_str())
        {
            continue;
        }
        let written = read(&text_of(setting, &value)).unwrap_or_else(|error| panic!("{error}"));
        let absent =
            text_of(setting, &value).replacen(&format!("{} = {value}\n", setting.path()), "", 1);
        let absent = absent.replacen(&format!("{} = {value}\n", setting.key), "", 1);
        let absent = if setting.table == "jobs.generate" {
            format!("{absent}jobs.generate = {{}}\n")
        } else {
            absent
        };
        let absent = read(&absent).unwrap_or_else(|error| panic!("{}: {error}", setting.path()));
        assert_eq!(written.asked, absent.asked, "{}", setting.path());
        let mut network = written.network.clone();
        // The written text is kept for errors.
        network.parameters.clone_from(&absent.network.parameters);
        network.fabric_key.clone_from(&absent.network.fabric_key);
        network.fabric.clone_from(&absent.network.fabric);
        network.has_fabric = absent.network.has_fabric;
        assert_eq!(network, absent.network, "{}", setting.path());
        compared += 1;
    }
    assert!(compared > 30, "{compared}");
}

/// Writes the row of a setting on the page of file formats.
fn row(setting: &Setting) -> String {
    let names: Vec<String> = setting.names().iter().map(|name| format!("`{name}`")).collect();
    let names = match setting.kind {
        Kind::Names(_) | Kind::Name(_) | Kind::NameOr(_) => format!("{}: ", names.join(", ")),
        _ => String::new(),
    };
    let range = match setting.range() {
        Some((least, most)) if most < u64::from(u32::MAX) => format!(", {least} to {most}"),
        Some((1, _)) => ", from 1".to_owned(),
        _ => String::new(),
    };
    format!("| `{}` | {names}{}{range} | {} |", setting.path(), setting.help, setting.absent)
}

/// The page shows what the code says, word by word; a failure prints the rows that it should have.
#[test]
fn every_setting_is_on_the_reference() {
    let all = all();
    let settings = all.iter().filter(|it| !matches!(it.kind, Kind::Table | Kind::Tables));
    let missing: Vec<String> = settings.map(row).filter(|row| !PAGE.contains(row)).collect();
    assert!(missing.is_empty(), "docs/reference/formats.md should have\n{}", missing.join("\n"));
}
