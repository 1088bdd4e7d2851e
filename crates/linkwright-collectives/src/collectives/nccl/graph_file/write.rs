//! Writes NCCL's file of rings and trees.

use std::fmt::Write as _;

use super::{ChannelGraph, GraphChannel, GraphFile};

/// Writes the file as NCCL itself does.
#[must_use]
pub fn write(file: &GraphFile) -> String {
    let mut text = String::from("<graphs version=\"1\">\n");
    file.graphs.iter().for_each(|graph| write_graph(&mut text, graph));
    text.push_str("</graphs>\n");
    text
}

fn write_graph(text: &mut String, graph: &ChannelGraph) {
    let ChannelGraph { id, pattern, cross_nic, type_intra, type_inter, channels, .. } = graph;
    let ChannelGraph { speed_intra, speed_inter, latency_inter, same_channels, .. } = graph;
    // Writing into a text does not fail.
    let _ = write!(
        text,
        "  <graph id=\"{id}\" pattern=\"{pattern}\" crossnic=\"{cross_nic}\" nchannels=\"{}\" \
         speedintra=\"{speed_intra}\" speedinter=\"{speed_inter}\" latencyinter=\"{latency_inter}\" \
         typeintra=\"{type_intra}\" typeinter=\"{type_inter}\" samechannels=\"{}\"",
        channels.len(),
        u32::from(*same_channels)
    );
    if channels.is_empty() {
        text.push_str("/>\n");
        return;
    }
    text.push_str(">\n");
    channels.iter().for_each(|channel| write_channel(text, channel));
    text.push_str("  </graph>\n");
}

fn write_channel(text: &mut String, channel: &GraphChannel) {
    text.push_str("    <channel>\n");
    let net = |text: &mut String, at: usize| {
        if let Some(nets) = channel.nets {
            let _ = writeln!(text, "      <net dev=\"{}\"/>", hexadecimal(nets[at]));
        }
    };
    net(text, 0);
    for gpu in &channel.gpus {
        let rank = gpu.rank.map_or_else(String::new, |rank| format!(" rank=\"{rank}\""));
        let _ = writeln!(text, "      <gpu dev=\"{}\"{rank}/>", hexadecimal(gpu.device));
    }
    net(text, 1);
    text.push_str("    </channel>\n");
}

/// A number as C's `%#x` prints it.
fn hexadecimal(number: u64) -> String {
    if number == 0 { "0".to_owned() } else { format!("{number:#x}") }
}
