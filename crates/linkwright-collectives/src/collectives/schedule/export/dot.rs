//! Pictures of what a schedule moves, and of trees, as Graphviz graphs.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::collectives::schedule::{ChannelTransport, Schedule, StepOperation};
use crate::system::views::dot::quote;

/// Lists colours that differ also for most colour-blind readers (Okabe and Ito), used in turn.
const COLOURS: [&str; 7] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b"];

const STYLE: &str = "  graph [labelloc=t, pad=0.3, fontname=\"Helvetica\", fontsize=14]\n  \
     node [shape=box, style=\"filled,rounded\", fillcolor=\"#e3f1c8\", color=\"#5b8c00\", \
     fontname=\"Helvetica\", fontsize=12]\n  edge [fontname=\"Helvetica\", fontsize=10]\n";

fn colour(index: usize) -> &'static str {
    COLOURS[index % COLOURS.len()]
}

/// Returns the line width in points: the most chunks get five, and none less than one.
fn pen_width(chunks: u64, most: u64) -> f64 {
    1.0 + 4.0 * chunks as f64 / most.max(1) as f64
}

/// Draws the traffic of a schedule, for `dot -Tsvg`. Each connection of each channel has an arrow
/// in the channel's colour. The more chunks pass, the wider it is, and their number stands beside
/// it. Through a switch the arrows are dashed: they lead to the rank that reads the reduction of
/// all, and from it to all.
#[must_use]
pub fn to_dot(schedule: &Schedule) -> String {
    let mut moved: BTreeMap<(usize, usize, usize), u64> = BTreeMap::new();
    for (rank, program) in schedule.programs.iter().enumerate() {
        for block in &program.blocks {
            let chunks = |does: fn(StepOperation) -> bool| -> u64 {
                let steps = block.steps.iter().filter(|step| does(step.operation));
                steps.map(|step| u64::from(step.count)).sum()
            };
            if let Some(to) = block.send {
                let sent = chunks(StepOperation::sends);
                *moved.entry((block.channel, rank, to)).or_default() += sent;
            }
            let copied = chunks(StepOperation::multicasts);
            let channel = schedule.channels.get(block.channel);
            for to in channel.into_iter().flat_map(|channel| channel.others(rank)) {
                *moved.entry((block.channel, rank, to)).or_default() += copied;
            }
        }
    }
    let most = moved.values().copied().max().unwrap_or(0);
    let title = format!("{}: {}", schedule.name, schedule.collective);
    let mut text = format!("digraph {} {{\n{STYLE}", quote(&schedule.name));
    let _ = writeln!(text, "  label={}", quote(&title));
    for (rank, gpu) in schedule.gpus.iter().enumerate() {
        let root = if schedule.collective.root() == Some(rank) { ", penwidth=3" } else { "" };
        let _ = writeln!(text, "  r{rank} [label=\"rank {rank}\\nGPU {gpu}\"{root}]");
    }
    for ((channel, from, to), chunks) in moved.into_iter().filter(|(_, chunks)| *chunks > 0) {
        let colour = colour(channel);
        let plural = if chunks == 1 { "" } else { "s" };
        let tooltip = format!("channel {channel}, rank {from} to {to}: {chunks} chunk{plural}");
        let through = schedule.channels.get(channel).map(|channel| channel.transport);
        let style = if through == Some(ChannelTransport::Switch) { "style=dashed, " } else { "" };
        let _ = writeln!(
            text,
            "  r{from} -> r{to} [{style}color=\"{colour}\", fontcolor=\"{colour}\", \
             penwidth={:.2}, label=\"{chunks}\", tooltip={}]",
            pen_width(chunks, most),
            quote(&tooltip)
        );
    }
    text.push_str("}\n");
    text
}

/// Draws trees side by side, for `dot -Tsvg`. Each tree is given by the parent of every vertex,
/// `None` for its root. The names of the vertices are given, and for each tree the text that stands
/// above it.
///
/// Vertices without a name get their number; a parent that is no vertex is left out.
#[must_use]
pub fn trees_to_dot(
    name: &str,
    vertices: &[String],
    trees: &[(String, &[Option<usize>])],
) -> String {
    let mut text = format!("digraph {} {{\n{STYLE}  label={}\n", quote(name), quote(name));
    for (number, (title, parents)) in trees.iter().enumerate() {
        let colour = colour(number);
        let title = quote(title);
        let _ =
            writeln!(text, "  subgraph cluster_{number} {{\n    label={title}, color=\"#d0d5da\"");
        for (vertex, parent) in parents.iter().enumerate() {
            let label = vertices.get(vertex).cloned().unwrap_or_else(|| vertex.to_string());
            let root = if parent.is_none() { ", penwidth=3" } else { "" };
            let _ = writeln!(text, "    t{number}v{vertex} [label={}{root}]", quote(&label));
        }
        for (vertex, parent) in parents.iter().enumerate() {
            let Some(parent) = parent.filter(|parent| *parent < parents.len()) else { continue };
            let _ = writeln!(
                text,
                "    t{number}v{parent} -> t{number}v{vertex} [color=\"{colour}\", penwidth=2]"
            );
        }
        text.push_str("  }\n");
    }
    text.push_str("}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collectives::schedule::export::test_support::{chain_broadcast, tree_all_reduce};

    #[test]
    fn every_connection_is_drawn_once_with_its_chunks() {
        let text = to_dot(&chain_broadcast(&[2, 0, 1], 3, 2));
        assert_eq!(text.matches(" -> ").count(), 2, "{text}");
        assert!(text.contains("r2 -> r0 [color=\"#0072b2\""), "{text}");
        assert!(text.contains("label=\"6\", tooltip=\"channel 0, rank 2 to 0: 6 chunks\""));
        assert!(text.contains("r2 [label=\"rank 2\\nGPU 5\", penwidth=3]"), "{text}");
        let tree = to_dot(&tree_all_reduce(&[None, Some(0), Some(0)], 1));
        assert_eq!(tree.matches("#0072b2").count() + tree.matches("#d55e00").count(), 8, "{tree}");
    }

    #[test]
    fn a_switch_s_arrows_lead_to_the_head_and_from_it_to_all() {
        use crate::collectives::{Channel, Collective, ScheduleBuilder, Slice};
        let ranks = vec![0, 1, 2];
        let mut builder = ScheduleBuilder::new("switch", Collective::AllReduce, ranks, 2);
        let channel = builder.channel(Channel::through_switch(0..3));
        let (from, to) = (Slice::input(0), Slice::output(0));
        let both = StepOperation::SwitchReduceMulticast;
        builder.in_switch(1, channel, both, from, to, 2, &[]);
        for other in [0, 2] {
            builder.send(other, channel, 1, from, 2, &[]);
            builder.receive(other, channel, 1, None, to, 2, &[]);
        }
        let text = to_dot(&builder.finish());
        assert_eq!(text.matches("style=dashed").count(), 4, "{text}");
        for arrow in ["r0 -> r1", "r2 -> r1", "r1 -> r0", "r1 -> r2"] {
            assert_eq!(text.matches(arrow).count(), 1, "{text}");
        }
        assert_eq!(text.matches("label=\"2\"").count(), 4, "{text}");
    }

    #[test]
    fn wider_lines_carry_more() {
        assert!(pen_width(4, 8) < pen_width(8, 8) && pen_width(0, 0) >= 1.0);
    }

    #[test]
    fn hostile_names_stay_inside_their_quotes() {
        let parents: &[Option<usize>] = &[None, Some(0), Some(9)];
        let names = ["a\"];".to_owned(), "b\\\n".to_owned()];
        let text = trees_to_dot("x\" }", &names, &[("t\"".to_owned(), parents)]);
        assert!(text.starts_with("digraph \"x\\\" }\" {\n"), "{text}");
        assert!(text.contains("t0v0 [label=\"a\\\"];\", penwidth=3]"), "{text}");
        assert!(text.contains("t0v1 [label=\"b\\\\ \"]"), "{text}");
        assert!(text.contains("t0v2 [label=\"2\"]") && text.contains("t0v0 -> t0v1"), "{text}");
        assert_eq!(text.matches(" -> ").count(), 1, "{text}");
        let mut schedule = chain_broadcast(&[0, 1], 1, 1);
        schedule.name = "a\"b".to_owned();
        assert!(to_dot(&schedule).starts_with("digraph \"a\\\"b\" {"));
    }
}
