//! Programs as tables.

use super::{CopyDirection, Dependency, Operation, RankProgram};
use crate::table::Table;

/// Makes a table with one row per operation of a rank, in its order.
///
/// Columns are kind, collective (its name; empty for other operations) and direction (of a copy:
/// `host-to-device`, `device-to-host`, `peer`; empty for others). Kinds are `compute`, `delay`,
/// `reduce`, `copy`, `send`, `receive`, `collective`, `join`, `enter` and `leave`. Then come
/// duration (in picoseconds), rate (of a reduction, where it is stated) and peer. A peer is the
/// other rank, or the root of a collective; it is absent where any sender will do. Then come tag
/// (absent where any will do), size (in bytes) and route (of a copy and a send: `any`, `fabric`,
/// `host`, `network`). Then come communicator and region (indices in the program) and in_loop
/// (whether the main loop repeats it). The last are the operations that it waits for: completed and
/// started. A cell that an operation does not have is absent.
///
/// ```
/// use linkwright_runtime::program::{Operation, RankBuilder, tables};
/// use linkwright_ground::units::Picoseconds;
///
/// let mut rank = RankBuilder::default();
/// rank.run(Operation::Compute { duration: Picoseconds(7) });
/// let table = tables::operations(&rank.finish());
/// assert_eq!(table.column("duration").map(|column| column.unit), Some("ps"));
/// ```
#[must_use]
pub fn operations(rank: &RankProgram) -> Table {
    let rows: Vec<Row> = rank.operations().iter().map(Row::of).collect();
    let optional = |field: fn(&Row) -> Option<u64>| rows.iter().map(field).collect::<Vec<_>>();
    let texts = |field: fn(&Row) -> &'static str| {
        rows.iter().map(|row| field(row).to_owned()).collect::<Vec<_>>()
    };
    let dependencies = |which: fn(&Dependency) -> Option<u32>| {
        let of = |index| rank.dependencies(index).iter().filter_map(which).collect::<Vec<_>>();
        (0..rows.len()).map(of).collect::<Vec<_>>()
    };
    let (first, end) = rank.body().unwrap_or((0, 0));
    let in_loop: Vec<bool> = (0..rows.len() as u32).map(|at| (first..end).contains(&at)).collect();
    Table::new()
        .with("kind", "", texts(|row| row.kind))
        .with("collective", "", texts(|row| row.collective))
        .with("direction", "", texts(|row| row.direction))
        .with("duration", "ps", optional(|row| row.duration))
        .with("rate", "B/s", optional(|row| row.rate))
        .with("peer", "", optional(|row| row.peer))
        .with("tag", "", optional(|row| row.tag))
        .with("size", "B", optional(|row| row.size))
        .with("route", "", texts(|row| row.route))
        .with("communicator", "", optional(|row| row.communicator))
        .with("region", "", optional(|row| row.region))
        .with("in_loop", "", in_loop)
        .with(
            "completed",
            "",
            dependencies(|dependency| match *dependency {
                Dependency::Completed(on) => Some(on),
                Dependency::Started(_) => None,
            }),
        )
        .with(
            "started",
            "",
            dependencies(|dependency| match *dependency {
                Dependency::Started(on) => Some(on),
                Dependency::Completed(_) => None,
            }),
        )
}

/// Holds an operation's cells.
#[derive(Default)]
struct Row {
    kind: &'static str,
    collective: &'static str,
    direction: &'static str,
    route: &'static str,
    duration: Option<u64>,
    rate: Option<u64>,
    peer: Option<u64>,
    tag: Option<u64>,
    size: Option<u64>,
    communicator: Option<u64>,
    region: Option<u64>,
}

impl Row {
    fn of(operation: &Operation) -> Self {
        match *operation {
            Operation::Compute { duration } => {
                Self { kind: "compute", duration: Some(duration.0), ..Self::default() }
            }
            Operation::Delay { duration } => {
                Self { kind: "delay", duration: Some(duration.0), ..Self::default() }
            }
            Operation::Reduce { size, rate } => Self {
                kind: "reduce",
                size: Some(size.0),
                rate: rate.map(|rate| rate.0),
                ..Self::default()
            },
            Operation::Copy { direction, size, route } => Self {
                kind: "copy",
                direction: direction.name(),
                peer: match direction {
                    CopyDirection::Peer(peer) => Some(peer.into()),
                    CopyDirection::HostToDevice | CopyDirection::DeviceToHost => None,
                },
                size: Some(size.0),
                route: route.name(),
                ..Self::default()
            },
            Operation::Send { to, tag, communicator, size, route } => Self {
                kind: "send",
                route: route.name(),
                peer: Some(to.into()),
                tag: Some(tag.into()),
                communicator: Some(communicator.into()),
                size: Some(size.0),
                ..Self::default()
            },
            Operation::Receive { from, tag, communicator, size } => Self {
                kind: "receive",
                peer: from.map(u64::from),
                tag: tag.map(u64::from),
                communicator: Some(communicator.into()),
                size: Some(size.0),
                ..Self::default()
            },
            Operation::Collective { kind, root, communicator, size } => Self {
                kind: "collective",
                collective: kind.name(),
                peer: kind.has_root().then_some(root.into()),
                communicator: Some(communicator.into()),
                size: Some(size.0),
                ..Self::default()
            },
            Operation::Timed { kind, communicator, size, duration } => Self {
                kind: "timed",
                collective: kind.name(),
                duration: Some(duration.0),
                communicator: Some(communicator.into()),
                size: Some(size.0),
                ..Self::default()
            },
            Operation::Kernel => Self { kind: "kernel", ..Self::default() },
            Operation::Join => Self { kind: "join", ..Self::default() },
            Operation::Enter { region } => {
                Self { kind: "enter", region: Some(region.into()), ..Self::default() }
            }
            Operation::Leave { region } => {
                Self { kind: "leave", region: Some(region.into()), ..Self::default() }
            }
        }
    }
}
