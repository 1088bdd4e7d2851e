//! Every setting counts somewhere, and where it cannot, somebody says so.
//!
//! `cases/` has a file for each table of settings, in which each of its keys has a case:
//!
//! ```toml
//! [nic]                                          # the key
//! values = ["fcfs", "rr"]                        # one value is compared with its absence
//! counts = "fabric"                              # a scenario of `scenarios.toml`, ...
//! nothing = { in = "fabric", with = 'fidelity = "flow"' }     # ... with settings over it
//! ```
//!
//! `counts` is a scenario in which a table of results differs between the values. A setting that decides what can run at all has
//! `decides` instead: the first value is played there, and the second refused. Beside it stands one of
//!
//! - `nothing`: no table differs there, and a note says that the setting counts for nothing;
//! - `refused`: the scenario is refused there, at the setting's place, with what `says` has;
//! - `always`: why it counts wherever it may stand.
//!
//! The setting is put over the scenario by its path; that of a `[[job]]` goes into the job `a`. Where a text has `@`,
//! the value takes its place. `calls` gives every job a program whose ranks call that collective once.

mod archive;
mod play;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use linkwright::scenario::{Kind, Registries, Setting, settings};
use serde::Deserialize;
use toml::Value;

use play::{Files, Played, played};

/// Holds how a setting is tried.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    values: Vec<Value>,
    counts: Option<At>,
    decides: Option<At>,
    nothing: Option<At>,
    refused: Option<At>,
    #[serde(default)]
    says: String,
    #[serde(default)]
    always: String,
}

/// Names a scenario, and settings that are put over it.
#[derive(Deserialize)]
#[serde(untagged)]
enum At {
    Named(String),
    With(With),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct With {
    #[serde(rename = "in")]
    scenario: String,
    #[serde(default)]
    with: String,
    calls: Option<String>,
}

/// Holds what cases share: scenarios by their names, and the files that they name.
struct Shared {
    scenarios: BTreeMap<String, String>,
    files: Files,
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/settings/cases")
}

fn text(name: &str) -> String {
    let path = cases().join(name);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Shared {
    fn read() -> Self {
        let texts = |name: &str| -> BTreeMap<String, String> {
            toml::from_str(&text(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        let files = texts("files.toml").into_iter().map(|(name, text)| (name, text.into_bytes()));
        let mut files: Files = files.collect();
        files.extend(archive::files("loop", 2));
        files.extend(archive::files("longer", 3));
        Self { scenarios: texts("scenarios.toml"), files }
    }

    /// Gives the text of a scenario, the settings over it, and the collective that jobs call.
    fn texts<'a>(&'a self, at: &'a At) -> (&'a str, &'a str, Option<&'a str>) {
        let (name, with, calls) = match at {
            At::Named(name) => (name, "", None),
            At::With(With { scenario, with, calls }) => (scenario, &**with, calls.as_deref()),
        };
        let text = self.scenarios.get(name).unwrap_or_else(|| panic!("no scenario `{name}`"));
        (text, with, calls)
    }

    /// Whether the value has a place in the text.
    fn has_place(&self, at: &At) -> bool {
        let (text, with, _) = self.texts(at);
        text.contains('@') || with.contains('@')
    }

    /// Plays a scenario with a value of a setting, or without the setting.
    fn play(&self, setting: &Setting, at: &At, value: Option<&Value>) -> Result<Played, String> {
        let (text, with, calls) = self.texts(at);
        let path = match setting.table {
            "job" => format!("job.a.{}", setting.key),
            _ => setting.path(),
        };
        let (text, with) = match value {
            _ if self.has_place(at) => {
                let written = value.map_or_else(String::new, Value::to_string);
                (text.replace('@', &written), with.replace('@', &written))
            }
            None => (text.to_owned(), with.to_owned()),
            Some(value) => (text.to_owned(), format!("{with}\n{path} = {value}\n")),
        };
        played(&text, &with, calls, &self.files)
    }
}

/// Says where a case does not hold.
fn faults(setting: &Setting, case: &Case, shared: &Shared) -> Vec<String> {
    let mut faults = Vec::new();
    let path = setting.path();
    let play = |at: &At, value: Option<&Value>| shared.play(setting, at, value);
    let (first, second) = (case.values.first(), case.values.get(1));
    match &case.counts {
        None if path == TITLE => {}
        None if case.decides.is_some() => {}
        None => faults.push("no scenario where it counts".to_owned()),
        Some(at) => match (play(at, first), play(at, second)) {
            (Ok(one), Ok(other)) if one.tables == other.tables => {
                faults.push(format!("no table differs where it counts; notes {:?}", one.notes));
            }
            (Ok(one), Ok(_)) if says_so(&one, setting) => {
                faults.push(format!("it counts, but {:?}", one.notes));
            }
            (Ok(_), Ok(_)) => {}
            (Err(error), _) | (_, Err(error)) => faults.push(format!("where it counts: {error}")),
        },
    }
    if let Some(at) = &case.decides {
        if let Err(error) = play(at, first) {
            faults.push(format!("refused with the first: {error}"));
        }
        if play(at, second).is_ok() {
            faults.push("played with the second".to_owned());
        }
    }
    if let Some(at) = &case.nothing {
        match (play(at, first), play(at, None)) {
            (Ok(one), Ok(other)) => {
                if one.tables != other.tables {
                    faults.push("a table differs where it cannot count".to_owned());
                }
                if !says_so(&one, setting) {
                    faults
                        .push(format!("no note says that it counts for nothing: {:?}", one.notes));
                }
            }
            (Err(error), _) | (_, Err(error)) => faults.push(format!("where it cannot: {error}")),
        }
    }
    if let Some(at) = &case.refused {
        // Something else may be refused; where the value is put into a text, nothing is there without it.
        if let (false, Err(error)) = (shared.has_place(at), play(at, None)) {
            faults.push(format!("refused without it: {error}"));
        }
        match play(at, first) {
            Ok(_) => faults.push("it is not refused".to_owned()),
            Err(error)
                if says_where(&error) && !case.says.is_empty() && error.contains(&case.says) => {}
            Err(error) => faults.push(format!("refused otherwise: {error}")),
        }
    }
    if case.nothing.is_none() && case.refused.is_none() && case.always.is_empty() {
        faults
            .push("no scenario where it cannot count, and no reason why it always does".to_owned());
    }
    faults.into_iter().map(|fault| format!("{path}: {fault}")).collect()
}

/// No result has this setting, the scenario's title.
const TITLE: &str = "name";

/// Whether a note says that a setting counts for nothing.
fn says_so(played: &Played, setting: &Setting) -> bool {
    let named = match setting.table {
        "job" => format!("`{}` of job `a`", setting.key),
        _ => format!("`{}`", setting.path()),
    };
    let says = |note: &&String| {
        let told = note.split_once(" for nothing: ").map(|(told, _)| told);
        told.is_some_and(|told| told.contains(&named) && told.contains(" count"))
    };
    played.notes.iter().any(|note| says(&note))
}

/// Whether an error begins with a file, a line and a column.
fn says_where(error: &str) -> bool {
    let mut parts = error.split(':').skip(1).map(|part| part.parse::<u32>().is_ok());
    (parts.next(), parts.next()) == (Some(true), Some(true))
}

#[test]
fn every_setting_counts_or_a_note_or_a_refusal_says_that_it_does_not() {
    let shared = Shared::read();
    let all = settings(&Registries::default());
    let settings = all.iter().filter(|it| !matches!(it.kind, Kind::Table | Kind::Tables));
    let tables: BTreeSet<&str> = settings.clone().map(|it| it.table).collect();
    let file_of = |table: &str| format!("{}.toml", if table.is_empty() { "top" } else { table });
    let beside = ["files.toml", "scenarios.toml"].map(str::to_owned);
    let known: BTreeSet<String> = tables.iter().map(|it| file_of(it)).chain(beside).collect();
    let listed = fs::read_dir(cases())
        .expect("the cases lie here")
        .map(|file| file.expect("a file").file_name().into_string().expect("a name of ours"));
    let unknown = listed.filter(|file| !known.contains(file));
    let mut faults: Vec<String> = unknown.map(|file| format!("{file}: no such table")).collect();
    for table in tables {
        let file = file_of(table);
        let cases: BTreeMap<String, Case> =
            toml::from_str(&text(&file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let of_table = settings.clone().filter(|it| it.table == table);
        let known: Vec<&str> = of_table.clone().map(|it| &*it.key).collect();
        let unknown = cases.keys().filter(|key| !known.contains(&key.as_str()));
        faults.extend(unknown.map(|key| format!("{table}.{key}: no such setting")));
        for setting in of_table {
            match cases.get(&*setting.key) {
                Some(case) => faults.extend(self::faults(setting, case, &shared)),
                None => faults.push(format!("{}: no case", setting.path())),
            }
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}
