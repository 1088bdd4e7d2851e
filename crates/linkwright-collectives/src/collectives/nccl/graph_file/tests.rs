use proptest::prelude::*;

use super::{ChannelGraph, GraphChannel, GraphFile, GraphGpu, PATHS, read, write};
use crate::collectives::baselines::{ChoiceError, Settings, channel_graphs};
use crate::system::test_support::{alone, on_one_switch};

/// This is how NCCL dumps a ring of two GPUs on one server.
const DUMP: &str = "<graphs version=\"1\">
  <graph id=\"0\" pattern=\"4\" crossnic=\"0\" nchannels=\"1\" speedintra=\"20\" speedinter=\"17.5\" \
latencyinter=\"0\" typeintra=\"NVL\" typeinter=\"PIX\" samechannels=\"1\">
    <channel>
      <gpu dev=\"0x1\" rank=\"1\"/>
      <gpu dev=\"0\" rank=\"0\"/>
    </channel>
  </graph>
  <graph id=\"2\" pattern=\"3\" crossnic=\"0\" nchannels=\"0\" speedintra=\"0\" speedinter=\"0\" \
latencyinter=\"0\" typeintra=\"LOC\" typeinter=\"LOC\" samechannels=\"0\"/>
</graphs>
";

fn problem(text: &str) -> String {
    read("graph.xml", text).unwrap_err().to_string()
}

#[test]
fn what_nccl_dumps_is_read_and_written_back_to_the_letter() {
    let file = read("graph.xml", DUMP).unwrap();
    let ranks: Vec<_> = file.graphs[0].channels[0].gpus.iter().map(|gpu| gpu.rank).collect();
    assert_eq!(ranks, [Some(1), Some(0)]);
    assert_eq!(file.graphs[1].channels.len(), 0);
    assert_eq!(write(&file), DUMP);
}

#[test]
fn what_nccl_refuses_or_misreads_is_refused_with_its_place() {
    for (from, to, expected) in [
        (
            "<graphs",
            "<?xml version=\"1.0\"?><graphs",
            "1:1: NCCL's reader knows no XML declaration",
        ),
        ("version=\"1\"", "version=\"2\"", "1:18: `version` is no number that NCCL takes here"),
        ("nchannels=\"1\"", "nchannels=\"2\"", "2:53: the graph has 1 channels, and says"),
        ("pattern=\"4\"", "pattern=\"7\"", "2:26: `pattern` is no number that NCCL takes here"),
        ("\"NVL\"", "\"C2C\"", "`typeintra` is no path that NCCL reads"),
        ("dev=\"0\"", "dev=\"0xg\"", "5:17: `dev` is no hexadecimal number"),
        ("dev=\"0\" rank=\"0\"", "dev=\"1\" rank=\"1\"", "5:7: the channel has this GPU twice"),
        ("<gpu dev=\"0x1\" rank=\"1\"/>", "<net dev=\"0\"/>", "3:5: the channel has 1 interfaces"),
        ("speedintra=\"20\"", "speedintra=\"inf\"", "`speedintra` is no number of zero or more"),
        (" samechannels=\"1\"", "", "<graph> has no attribute `samechannels`"),
        ("graphs", "system", "does not begin with <graphs"),
    ] {
        let text = DUMP.replace(from, to);
        assert!(problem(&text).contains(expected), "{}", problem(&text));
    }
}

#[test]
fn a_shape_without_its_latency_has_none() {
    let text = DUMP.replace(" latencyinter=\"0\"", "");
    assert_eq!(read("graph.xml", &text), read("graph.xml", DUMP));
}

#[test]
fn a_machine_s_rings_and_trees_hold_each_gpu_once_and_no_rank() {
    let system = alone("dgx1-v100");
    let gpus: Vec<usize> = (0..8).collect();
    let file = channel_graphs(&system, &gpus, &Settings::default()).unwrap();
    assert_eq!(file.graphs.iter().map(|graph| graph.id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(read("graph.xml", &write(&file)), Ok(file.clone()));
    for channel in file.graphs.iter().flat_map(|graph| &graph.channels) {
        let mut devices: Vec<u64> = channel.gpus.iter().map(|gpu| gpu.device).collect();
        devices.sort_unstable();
        assert_eq!(devices, (0..8).collect::<Vec<u64>>());
        assert!(channel.gpus.iter().all(|gpu| gpu.rank.is_none()) && channel.nets.is_none());
    }
}

#[test]
fn between_servers_each_channel_names_the_interfaces_of_its_rail() {
    let system = on_one_switch("hgx-h100", 2, 400);
    let gpus: Vec<usize> = (0..16).collect();
    let file = channel_graphs(&system, &gpus, &Settings::default()).unwrap();
    let mut nets: Vec<u64> =
        file.graphs[0].channels.iter().map(|channel| channel.nets.unwrap()[0]).collect();
    nets.sort_unstable();
    nets.dedup();
    assert_eq!(nets, (0..8).collect::<Vec<u64>>());
    // The second server's file is the first's.
    let first = channel_graphs(&system, &gpus[..8], &Settings::default()).unwrap();
    assert!(first.graphs[0].channels.iter().all(|channel| channel.nets.is_none()));
}

#[test]
fn servers_with_different_channels_have_no_common_file() {
    let system = on_one_switch("dgx1-v100", 2, 100);
    let error = channel_graphs(&system, &[0, 1, 2, 3, 9, 11, 14], &Settings::default());
    assert!(matches!(error, Err(ChoiceError::Unavailable { .. })), "{error:?}");
}

fn any_graph() -> impl Strategy<Value = ChannelGraph> {
    let channels = (1_u64..6, any::<bool>(), any::<bool>(), 0_usize..5, any::<u64>());
    let head = (0_u32..=4, 1_u32..=6, 0_u32..=1, any::<bool>());
    let speeds = (0.0_f32..1e6, 0.0_f32..1e6, 0.0_f32..1e3, 0_usize..9, 0_usize..9);
    (head, speeds, channels).prop_map(|(head, speeds, channels)| {
        let ((id, pattern, cross_nic, same_channels), (gpus, nets, ranks, count, device)) =
            (head, channels);
        let (speed_intra, speed_inter, latency_inter, intra, inter) = speeds;
        let gpus = if id == super::SWITCHES { 1 } else { gpus };
        let gpu = |at: u64| GraphGpu {
            device: device.wrapping_add(at),
            rank: ranks.then_some(at as u32),
        };
        let channel = GraphChannel {
            nets: nets.then_some([device, device.rotate_left(7)]),
            gpus: (0..gpus).map(gpu).collect(),
        };
        ChannelGraph {
            id,
            pattern,
            cross_nic,
            speed_intra,
            speed_inter,
            latency_inter,
            type_intra: PATHS[intra],
            type_inter: PATHS[inter],
            same_channels,
            channels: vec![channel; count],
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(graphs in prop::collection::vec(any_graph(), 0..4)) {
        let file = GraphFile { graphs };
        prop_assert_eq!(read("graph.xml", &write(&file)), Ok(file));
    }

    /// The reader ends on any text near a sound one.
    #[test]
    fn any_text_is_read_or_refused(at in 0_usize..600, cut in 0_usize..40, put in "[<>/\"=a0x \n]{0,6}") {
        let mut text = DUMP.to_owned();
        let (start, end) = (at.min(text.len()), (at + cut).min(text.len()));
        text.replace_range(start..end, &put);
        let _ = read("graph.xml", &text);
    }
}
