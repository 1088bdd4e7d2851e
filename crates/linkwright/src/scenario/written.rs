//! Tells which settings a scenario has, whatever they say.

use std::collections::BTreeSet;

use super::settings::Setting;
use super::tree::{Item, Tree};

/// Holds the paths of a scenario, and the keys of each `[[job]]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Written {
    paths: BTreeSet<String>,
    of_jobs: Vec<BTreeSet<String>>,
}

impl Written {
    /// Walks over a tree whose keys are settled.
    pub fn of(tree: &Tree) -> Self {
        let mut written = Self::default();
        collect(tree, "", &mut written.paths);
        if let Some(Item::List(jobs)) = tree.get("job").map(|entry| &entry.node.item) {
            let trees = jobs.iter().filter_map(|job| job.as_tree());
            written.of_jobs = trees.map(|job| job.keys().cloned().collect()).collect();
        }
        written
    }

    /// Whether a setting is there; that of a `[[job]]` in any of them.
    pub fn has(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Names a setting that is there by its path, or by each job that has it; `names` are the jobs'.
    pub fn called(&self, setting: &Setting, names: &[String]) -> Vec<String> {
        if setting.table != "job" {
            let path = setting.path();
            return if self.has(&path) { vec![format!("`{path}`")] } else { Vec::new() };
        }
        let jobs =
            self.of_jobs.iter().zip(names).filter(|(keys, _)| keys.contains(setting.key.as_ref()));
        jobs.map(|(_, name)| format!("`{}` of job `{name}`", setting.key)).collect()
    }
}

fn collect(tree: &Tree, table: &str, paths: &mut BTreeSet<String>) {
    for (key, entry) in tree {
        let path = if table.is_empty() { key.clone() } else { format!("{table}.{key}") };
        match &entry.node.item {
            Item::Plain(_) => {}
            Item::Table(inner) => collect(inner, &path, paths),
            Item::List(nodes) => {
                for inner in nodes.iter().filter_map(|node| node.as_tree()) {
                    collect(inner, &path, paths);
                }
            }
        }
        paths.insert(path);
    }
}
