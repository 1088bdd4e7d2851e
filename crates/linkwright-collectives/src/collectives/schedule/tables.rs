//! Gives schedules and their timings as columns.

use crate::system::System;
use crate::table::Table;
use crate::units::Picoseconds;

use crate::collectives::nccl::baselines::{
    ChannelEnd, ChannelInterfaces, Choice, ChoiceRange, ExchangeBound, Expectation, FoundGraph,
    ModelCost, UnevenTime,
};
use crate::collectives::nccl::graph_file::{ChannelGraph, GraphChannel, GraphFile};
use crate::collectives::schedule::time::Timing;
use crate::collectives::schedule::{Buffer, Schedule, Slice};

/// One row per direction of a link that carried something: its ends, bytes and utilisation.
#[must_use]
pub fn link_loads(system: &System, timing: &Timing) -> Table {
    let name = |device: usize| system.device_name(device);
    let ends = timing.links.iter().map(|load| {
        let channel = system.channel(load.channel);
        (name(channel.from), (name(channel.to), channel.kind.name().to_owned()))
    });
    let (from, (to, kind)): (Vec<String>, (Vec<String>, Vec<String>)) = ends.unzip();
    Table::new()
        .with("from", "", from)
        .with("to", "", to)
        .with("kind", "", kind)
        .with("bytes", "B", timing.links.iter().map(|load| load.bytes).collect::<Vec<_>>())
        .with(
            "utilisation",
            "",
            timing.links.iter().map(|load| load.utilisation).collect::<Vec<_>>(),
        )
}

/// Makes one row per timing, with the columns of nccl-tests.
#[must_use]
pub fn sweep(timings: &[Timing]) -> Table {
    let real = |of: fn(&Timing) -> f64| timings.iter().map(of).collect::<Vec<f64>>();
    Table::new()
        .with("size", "B", timings.iter().map(|timing| timing.size.0).collect::<Vec<_>>())
        .with("time", "s", real(|timing| timing.time.as_seconds()))
        .with("algorithm_bandwidth", "GB/s", real(|timing| timing.algorithm_bandwidth))
        .with("bus_bandwidth", "GB/s", real(|timing| timing.bus_bandwidth))
        .with("chunk", "B", timings.iter().map(|timing| timing.chunk.0).collect::<Vec<_>>())
}

/// One row per size, with the columns of nccl-tests and what the library runs.
#[must_use]
pub fn expectations(rows: &[Expectation]) -> Table {
    let real = |of: fn(&Expectation) -> f64| rows.iter().map(of).collect::<Vec<f64>>();
    let times = Table::new()
        .with("size", "B", rows.iter().map(|row| row.size.0).collect::<Vec<_>>())
        .with("time", "s", real(|row| row.time.as_seconds()))
        .with("algorithm_bandwidth", "GB/s", real(|row| row.algorithm_bandwidth))
        .with("bus_bandwidth", "GB/s", real(|row| row.bus_bandwidth));
    with_choices(times, &rows.iter().map(|row| row.choice).collect::<Vec<_>>())
}

/// One row per choice, with the time that the library's cost model gives it; empty where it has
/// no model.
#[must_use]
pub fn choices(rows: &[Choice]) -> Table {
    let time = |row: &Choice| row.model_time.map_or(f64::NAN, Picoseconds::as_seconds);
    let table = Table::new().with("model_time", "s", rows.iter().map(time).collect::<Vec<_>>());
    with_choices(table, rows)
        .with("threads", "", rows.iter().map(|row| u64::from(row.threads)).collect::<Vec<_>>())
        .with(
            "slices",
            "",
            rows.iter().map(|row| u64::from(row.chunking.slices)).collect::<Vec<_>>(),
        )
        .with("loops", "", rows.iter().map(|row| row.chunking.loops).collect::<Vec<_>>())
        .with("last_chunk", "B", rows.iter().map(|row| row.chunking.last.0).collect::<Vec<_>>())
}

/// Gives one row per choice of each range of sizes.
#[must_use]
pub fn choice_ranges(ranges: &[ChoiceRange]) -> Table {
    let each = |of: fn(&ChoiceRange) -> u64| {
        let repeated = ranges.iter().flat_map(|it| std::iter::repeat_n(of(it), it.choices.len()));
        repeated.collect::<Vec<u64>>()
    };
    let time = |row: &Choice| row.model_time.map_or(f64::NAN, Picoseconds::as_seconds);
    let rows: Vec<Choice> = ranges.iter().flat_map(|it| it.choices.iter().copied()).collect();
    let table = Table::new()
        .with("first", "B", each(|it| it.first))
        .with("last", "B", each(|it| it.last))
        .with("model_time", "s", rows.iter().map(time).collect::<Vec<_>>());
    with_choices(table, &rows)
}

/// One row for each end of a channel on a server: by what GPU and interface it sends, or receives.
#[must_use]
pub fn channel_interfaces(rows: &[ChannelInterfaces]) -> Table {
    let of_row = |row: &ChannelInterfaces| {
        let sends = row.sends.iter().map(|end| (true, end));
        let all = sends.chain(row.receives.iter().map(|end| (false, end)));
        let (channel, server) = (row.channel as u64, row.server as u64);
        all.map(|(sends, end)| (channel, server, sends, end.clone())).collect::<Vec<_>>()
    };
    let ends: Vec<(u64, u64, bool, ChannelEnd)> = rows.iter().flat_map(of_row).collect();
    let through = |end: &ChannelEnd| end.through.map(|gpu| gpu as u64);
    Table::new()
        .with("channel", "", ends.iter().map(|row| row.0).collect::<Vec<_>>())
        .with("server", "", ends.iter().map(|row| row.1).collect::<Vec<_>>())
        .with("sends", "", ends.iter().map(|row| row.2).collect::<Vec<_>>())
        .with("gpu", "", ends.iter().map(|row| row.3.gpu as u64).collect::<Vec<_>>())
        .with("through", "", ends.iter().map(|row| through(&row.3)).collect::<Vec<_>>())
        .with("rail", "", ends.iter().map(|row| row.3.rail as u64).collect::<Vec<_>>())
        .with("interface", "", ends.iter().map(|row| row.3.interface.clone()).collect::<Vec<_>>())
        .with("by_memory", "", ends.iter().map(|row| row.3.by_memory).collect::<Vec<_>>())
}

/// Gives one row of an exchange: its time, what it moves, what the library runs, and its bound, 0 without one.
#[must_use]
pub fn uneven_time(found: &UnevenTime) -> Table {
    let (bound, choice) = (found.bound.as_ref(), found.choice.as_ref());
    let bytes = |bytes: u128| vec![u64::try_from(bytes).unwrap_or(u64::MAX)];
    let seconds = bound.map_or(0.0, |bound| bound.time.as_seconds());
    let bandwidth = bound.map_or(0.0, |bound| bound.bandwidth.as_gigabytes_per_second());
    Table::new()
        .with("time", "s", vec![found.time.as_seconds()])
        .with("moved", "B", bytes(found.moved))
        .with("longest", "B", vec![found.longest.0])
        .with("protocol", "", vec![choice.map_or("", |it| it.protocol.name()).to_owned()])
        .with("channels", "", vec![choice.map_or(0, |it| u64::from(it.channels))])
        .with("nccl", "", vec![found.library.clone()])
        .with("bound_time", "s", vec![seconds])
        .with("bound_bytes", "B", bytes(bound.map_or(0, |bound| bound.bytes)))
        .with("bound_bandwidth", "GB/s", vec![bandwidth])
        .with("bound_leaves", "", vec![bound.is_some_and(|bound| bound.leaves)])
}

/// Gives one row for each link of an exchange's bound, by its ends in the direction of the bytes.
#[must_use]
pub fn bound_links(bound: Option<&ExchangeBound>) -> Table {
    let links = bound.into_iter().flat_map(|bound| bound.links.iter().cloned());
    let (from, to): (Vec<String>, Vec<String>) = links.unzip();
    Table::new().with("from", "", from).with("to", "", to)
}

/// Gives one row per shape of channels that the library's search found.
#[must_use]
pub fn found_graphs(rows: &[FoundGraph]) -> Table {
    let text = |of: fn(&FoundGraph) -> &'static str| {
        rows.iter().map(|row| of(row).to_owned()).collect::<Vec<String>>()
    };
    let whole =
        |of: fn(&FoundGraph) -> u32| rows.iter().map(|row| u64::from(of(row))).collect::<Vec<_>>();
    Table::new()
        .with("algorithm", "", text(|row| row.algorithm.name()))
        .with("pattern", "", whole(|row| row.pattern))
        .with("channels", "", whole(|row| row.channels))
        .with("intra", "GB/s", rows.iter().map(|row| row.intra).collect::<Vec<_>>())
        .with("inter", "GB/s", rows.iter().map(|row| row.inter).collect::<Vec<_>>())
        .with("type_intra", "", text(|row| row.type_intra))
        .with("type_inter", "", text(|row| row.type_inter))
        .with("same_channels", "", whole(|row| u32::from(row.same_channels)))
}

/// Gives one row per shape of a graph file.
#[must_use]
pub fn file_graphs(file: &GraphFile) -> Table {
    let rows = &file.graphs;
    let whole = |of: fn(&ChannelGraph) -> u32| {
        rows.iter().map(|row| u64::from(of(row))).collect::<Vec<u64>>()
    };
    let real = |of: fn(&ChannelGraph) -> f32| {
        rows.iter().map(|row| f64::from(of(row))).collect::<Vec<_>>()
    };
    let text = |of: fn(&ChannelGraph) -> &'static str| {
        rows.iter().map(|row| of(row).to_owned()).collect::<Vec<String>>()
    };
    Table::new()
        .with("id", "", whole(|row| row.id))
        .with("pattern", "", whole(|row| row.pattern))
        .with("cross_nic", "", whole(|row| row.cross_nic))
        .with("channels", "", whole(|row| row.channels.len() as u32))
        .with("intra", "GB/s", real(|row| row.speed_intra))
        .with("inter", "GB/s", real(|row| row.speed_inter))
        .with("latency", "us", real(|row| row.latency_inter))
        .with("type_intra", "", text(|row| row.type_intra))
        .with("type_inter", "", text(|row| row.type_inter))
        .with("same_channels", "", rows.iter().map(|row| row.same_channels).collect::<Vec<_>>())
}

/// Gives one row per GPU and interface of each channel of a graph file, in its order.
#[must_use]
pub fn file_channels(file: &GraphFile) -> Table {
    /// Holds the id of the shape, the channel, the kind, the number and the rank.
    type Member = (u64, u64, &'static str, u64, Option<u64>);
    let of_channel = |id: u64, (at, channel): (usize, &GraphChannel)| -> Vec<Member> {
        let net = |device: u64| (id, at as u64, "net", device, None);
        let gpus = channel.gpus.iter();
        let gpus = gpus.map(|gpu| (id, at as u64, "gpu", gpu.device, gpu.rank.map(u64::from)));
        let [enters, leaves] = channel.nets.map_or([None; 2], |nets| nets.map(Some));
        enters.map(net).into_iter().chain(gpus).chain(leaves.map(net)).collect()
    };
    let of_graph = |graph: &ChannelGraph| -> Vec<Member> {
        let channels = graph.channels.iter().enumerate();
        channels.flat_map(|channel| of_channel(u64::from(graph.id), channel)).collect()
    };
    let rows: Vec<Member> = file.graphs.iter().flat_map(of_graph).collect();
    Table::new()
        .with("graph", "", rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .with("channel", "", rows.iter().map(|row| row.1).collect::<Vec<_>>())
        .with("kind", "", rows.iter().map(|row| row.2.to_owned()).collect::<Vec<_>>())
        .with("device", "", rows.iter().map(|row| row.3).collect::<Vec<_>>())
        .with("rank", "", rows.iter().map(|row| row.4).collect::<Vec<_>>())
}

/// Gives one row per collective, algorithm and protocol of the library's cost model.
#[must_use]
pub fn model_costs(rows: &[ModelCost]) -> Table {
    let text = |of: fn(&ModelCost) -> &'static str| {
        rows.iter().map(|row| of(row).to_owned()).collect::<Vec<String>>()
    };
    Table::new()
        .with("collective", "", text(|row| row.collective.name()))
        .with("algorithm", "", text(|row| row.algorithm.name()))
        .with("protocol", "", text(|row| row.protocol.name()))
        .with("latency", "us", rows.iter().map(|row| row.latency).collect::<Vec<_>>())
        .with("bandwidth", "GB/s", rows.iter().map(|row| row.bandwidth).collect::<Vec<_>>())
}

fn with_choices(table: Table, rows: &[Choice]) -> Table {
    let text = |of: fn(&Choice) -> &'static str| {
        rows.iter().map(|row| of(row).to_owned()).collect::<Vec<String>>()
    };
    table
        .with("algorithm", "", text(|row| row.algorithm.name()))
        .with("protocol", "", text(|row| row.protocol.name()))
        .with("channels", "", rows.iter().map(|row| u64::from(row.channels)).collect::<Vec<_>>())
        .with("chunk", "B", rows.iter().map(|row| row.chunking.chunk.0).collect::<Vec<_>>())
}

/// Gives one row per step, rank by rank and block by block.
///
/// A peer is a rank, or empty where the step does not send or receive. A place reads
/// `input 3`, its buffer and its first chunk. `after` names the steps that must have ended
/// first as `block.step`.
#[must_use]
pub fn steps(schedule: &Schedule) -> Table {
    let mut numbers: [Vec<u64>; 5] = Default::default();
    let mut texts: [Vec<String>; 6] = Default::default();
    for (rank, program) in schedule.programs.iter().enumerate() {
        for (index, block) in program.blocks.iter().enumerate() {
            for (position, step) in block.steps.iter().enumerate() {
                let row = [rank, index, position, block.channel, step.count as usize];
                for (column, value) in numbers.iter_mut().zip(row) {
                    column.push(value as u64);
                }
                let peer = |uses: bool, peer: Option<usize>| {
                    peer.filter(|_| uses).map_or_else(String::new, |peer| peer.to_string())
                };
                let after = step.after.iter().map(|id| format!("{}.{}", id.block, id.step));
                let row = [
                    step.operation.name().to_owned(),
                    peer(step.operation.sends(), block.send),
                    peer(step.operation.receives(), block.receive),
                    step.source.map_or_else(String::new, place),
                    step.destination.map_or_else(String::new, place),
                    after.collect::<Vec<_>>().join(" "),
                ];
                for (column, value) in texts.iter_mut().zip(row) {
                    column.push(value);
                }
            }
        }
    }
    let [rank, block, step, channel, count] = numbers;
    let [operation, send, receive, source, destination, after] = texts;
    Table::new()
        .with("rank", "", rank)
        .with("block", "", block)
        .with("step", "", step)
        .with("channel", "", channel)
        .with("operation", "", operation)
        .with("send_to", "", send)
        .with("receive_from", "", receive)
        .with("source", "", source)
        .with("destination", "", destination)
        .with("count", "", count)
        .with("after", "", after)
}

fn place(slice: Slice) -> String {
    let buffer = match slice.buffer {
        Buffer::Input => "input",
        Buffer::Output => "output",
        Buffer::Scratch => "scratch",
    };
    format!("{buffer} {}", slice.offset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::Collective;
    use crate::collectives::planners::plan::{Packing, Question, plan};
    use crate::collectives::schedule::time::{protocol_of, time};
    use crate::system::test_support::alone;
    use crate::table::Column;
    use crate::units::Bytes;

    #[test]
    fn a_pair_s_tables_say_who_sends_what_over_which_link() {
        let machine = alone("dgx1-v100");
        let broadcast = Collective::Broadcast { root: 0 };
        let plan = plan(&Packing, &Question::new(&machine, &[3, 0], broadcast)).unwrap();
        let steps = steps(&plan.schedule);
        assert_eq!(steps.row_count(), plan.schedule.step_count());
        let Some(Column::Utf8(peers)) = steps.column("send_to").map(|column| &column.values) else {
            panic!("peers are text")
        };
        assert!(peers.iter().any(|peer| peer == "1"), "{peers:?}");

        let costs = protocol_of(&plan.schedule, &machine).unwrap();
        let size = Bytes(1 << 20);
        let timing = time(&plan.schedule, &machine, size, Bytes(1 << 18), &costs).unwrap();
        let loads = link_loads(&machine, &timing);
        let text = |name| loads.column(name).map(|column| column.values.clone());
        assert_eq!(text("from"), Some(Column::Utf8(vec!["GPU3".to_owned()])));
        assert_eq!(text("to"), Some(Column::Utf8(vec!["GPU0".to_owned()])));
        assert_eq!(sweep(&[timing]).row_count(), 1);
    }
}
