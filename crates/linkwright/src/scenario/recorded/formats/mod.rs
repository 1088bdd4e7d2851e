//! Each file reads one format of accounting.

mod helios;
mod pai_pods;
mod pai_tasks;
mod philly;
mod swf;
mod table;
#[cfg(test)]
mod tests;

pub(super) use helios::Helios;
pub(super) use pai_pods::PaiPods;
pub(super) use pai_tasks::PaiTasks;
pub(super) use philly::Philly;
pub(super) use swf::Swf;
pub(super) use table::{Table, entries_of};
