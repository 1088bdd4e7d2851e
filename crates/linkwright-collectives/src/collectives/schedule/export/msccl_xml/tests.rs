use proptest::prelude::*;

use super::*;
use crate::collectives::schedule::export::read_msccl_xml;
use crate::collectives::schedule::export::test_support::{
    any_schedule, chain_broadcast, gathered_reduce_scatter, ring_all_reduce, tree_all_reduce,
};
use crate::collectives::{Channel, ChannelTransport, RankSchedule, Relay, StepId, ThreadBlock};

fn written(schedule: &Schedule) -> Export {
    to_msccl_xml(schedule, &MscclOptions::default()).unwrap()
}

fn refused(schedule: &Schedule) -> String {
    to_msccl_xml(schedule, &MscclOptions::default()).unwrap_err().to_string()
}

/// As the file has it: ranks for GPUs, no transports.
fn as_read(schedule: &Schedule) -> Schedule {
    let mut normal = normalise(schedule).unwrap();
    normal.gpus = (0..normal.gpus.len()).collect();
    normal.channels.fill(Channel::default());
    normal
}

/// A rank that copies `count` chunks to each other rank's output in one step.
fn pair(collective: Collective, chunks: u32, counts: &[u32]) -> Schedule {
    let mut builder =
        crate::collectives::ScheduleBuilder::new("pair", collective, vec![0, 1], chunks);
    let channel = builder.channel(Channel::default());
    let mut offset = 0;
    for count in counts {
        builder.send(0, channel, 1, Slice::input(offset), *count, &[]);
        builder.receive(1, channel, 0, None, Slice::output(offset), *count, &[]);
        offset += count;
    }
    builder.finish()
}

#[test]
fn a_small_ring_reads_as_msccl_wants_it() {
    let export = written(&ring_all_reduce(2, 1));
    let expected = r#"<algo name="ring" proto="Simple" nchannels="1" nchunksperloop="2" ngpus="2" coll="allreduce" inplace="1" outofplace="1" minBytes="0" maxBytes="0">
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="1" recv="1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="o" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="0">
    <tb id="0" send="0" recv="0" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="1" type="rrcs" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1" depid="-1" deps="-1" hasdep="0"/>
      <step s="2" type="r" srcbuf="o" srcoff="1" dstbuf="o" dstoff="1" cnt="1" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"#;
    assert_eq!(export.text, expected);
    assert!(export.notes.is_empty(), "{:?}", export.notes);
}

#[test]
fn several_dependencies_become_nops_and_those_waited_for_tell() {
    let mut schedule = tree_all_reduce(&[None, Some(0), Some(0), Some(0)], 1);
    // The root's sends wait for the last receive alone; let them wait for all three.
    let receives: Vec<StepId> = (0..3).map(|block| StepId { block, step: 0 }).collect();
    let blocks = &mut schedule.programs[0].blocks;
    for block in blocks.iter_mut().filter(|block| block.send.is_some()) {
        block.steps[0].after.clone_from(&receives);
    }
    let export = written(&schedule);
    let rank = &export.text[..export.text.find("<gpu id=\"1\"").unwrap()];
    assert_eq!(rank.matches("type=\"nop\"").count(), 6, "{rank}");
    assert_eq!(rank.matches("hasdep=\"1\"").count(), 3, "{rank}");
    assert!(rank.contains("type=\"s\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\" depid=\"2\" deps=\"0\""), "{rank}");
    assert_eq!(read_msccl_xml("x", &export.text).unwrap(), as_read(&schedule));
}

#[test]
fn large_steps_are_merged_or_split_alike_on_both_sides() {
    let merged = written(&chain_broadcast(&[0, 1, 2], 2, 100));
    assert!(merged.text.contains("nchunksperloop=\"2\"") && merged.text.contains("cnt=\"1\""));
    assert!(merged.notes.iter().any(|note| note.contains("multiples of 100")));
    let split = written(&pair(Collective::AllGather, 150, &[143, 7]));
    for word in ["s", "r"] {
        let lines = split.text.lines().filter(|l| l.contains(&format!("type=\"{word}\"")));
        let counts: Vec<&str> =
            lines.map(|l| l.split("cnt=\"").nth(1).unwrap().split('"').next().unwrap()).collect();
        assert_eq!(counts, ["71", "71", "1", "7"], "{}", split.text);
    }
    assert!(split.notes.iter().any(|note| note.contains("2 steps move more than 71")));
    assert!(read_msccl_xml("x", &split.text).is_ok());
}

#[test]
fn a_step_waits_for_the_last_part_of_a_split_one() {
    let mut builder =
        crate::collectives::ScheduleBuilder::new("wait", Collective::AllGather, vec![0, 1], 75);
    let channel = builder.channel(Channel::default());
    let copied = builder.copy(0, channel, Slice::input(0), Slice::output(0), 73, &[]);
    builder.send(0, channel, 1, Slice::output(0), 1, &[copied]);
    builder.receive(1, channel, 0, None, Slice::output(0), 1, &[]);
    let text = written(&builder.finish()).text;
    assert!(text.contains("cnt=\"2\" depid=\"-1\" deps=\"-1\" hasdep=\"1\""), "{text}");
    assert!(text.contains("cnt=\"1\" depid=\"0\" deps=\"1\" hasdep=\"0\""), "{text}");
}

#[test]
fn reductions_of_other_counts_are_not_fused() {
    let mut schedule = gathered_reduce_scatter(3, 2);
    let steps = &mut schedule.programs[0].blocks[0].steps;
    for step in &mut steps[1..] {
        step.after.clear();
    }
    assert!(!written(&schedule).text.contains("hasdep=\"1\"/>\n      <step s=\"2\" type=\"re\""));
    schedule.programs[0].blocks[0].steps[2].count = 1;
    assert!(written(&schedule).text.contains("hasdep=\"1\"/>\n      <step s=\"2\" type=\"re\""));
}

#[test]
fn every_limit_is_named_with_its_remedy() {
    let ring = ring_all_reduce(2, 1);
    let with = |change: &dyn Fn(&mut Schedule)| {
        let mut schedule = ring.clone();
        change(&mut schedule);
        refused(&schedule)
    };
    let channels = with(&|s| s.channels = vec![Channel::default(); 33]);
    assert_eq!(
        channels,
        "the schedule has 33 channels, but MSCCL XML allows at most 32; plan with fewer trees or \
         rings"
    );
    let name = with(&|s| s.name = "n".repeat(255));
    assert!(name.contains("255 characters") && name.contains("at most 254"), "{name}");
    assert!(with(&|s| s.name = "a\"b".to_owned()).contains("a name of other than"));
    assert!(with(&|s| s.name.clear()).contains("a name of other than"));
    let scratch = with(&|s| s.programs[1].scratch_chunks = 40_000);
    assert!(scratch.contains("rank 1 has 40000 chunks in a buffer"), "{scratch}");
    let chunks = with(&|s| s.chunks = 40_001);
    assert!(chunks.contains("40001 chunks in a loop") && chunks.contains("32768"), "{chunks}");

    let steps = refused(&pair(Collective::AllGather, 65, &[1; 65]));
    assert!(steps.contains("rank 0, block 0 has 65 steps"), "{steps}");
    assert!(steps.contains("at most 64") && steps.contains("more channels"), "{steps}");
    let more = MscclOptions { step_limit: 65, ..MscclOptions::default() };
    assert!(to_msccl_xml(&pair(Collective::AllGather, 65, &[1; 65]), &more).is_ok());
    let split = refused(&pair(Collective::AllGather, 4700, &[4615, 1]));
    assert!(split.contains("rank 0, block 0 has 66 steps"), "{split}");
    let huge = refused(&pair(Collective::AllGather, 2_000_000_000, &[1_999_999_999]));
    assert!(huge.contains("at most"), "{huge}");

    let elements = with(&|s| {
        s.chunks = 64;
        let copies = pair(Collective::AllGather, 64, &[1; 64]).programs[0].blocks[0].steps.clone();
        let copies = copies.into_iter().map(|step| ScheduleStep {
            operation: StepOperation::Copy,
            destination: step.source.map(|slice| Slice::output(slice.offset)),
            ..step
        });
        let steps: Vec<ScheduleStep> = copies.collect();
        let block = ThreadBlock { send: None, receive: None, channel: 0, steps };
        s.programs[0].blocks.extend(vec![block; 63]);
    });
    assert!(elements.contains("the part of rank 0 has 4102 XML elements"), "{elements}");
    assert!(elements.contains("at most 4095"), "{elements}");
    let blocks = with(&|s| {
        let block = ThreadBlock { send: None, receive: None, channel: 0, steps: Vec::new() };
        s.programs[0].blocks.extend(vec![block; 1024]);
    });
    assert!(blocks.contains("rank 0 has 1025 thread blocks"), "{blocks}");
    let peers = with(&|s| {
        s.gpus = (0..40).collect();
        s.programs = vec![RankSchedule::default(); 40];
        // No other channel has the links of the first, and there is no room for a further one.
        let host = Channel::over(ChannelTransport::Host);
        s.channels.truncate(1);
        s.channels.resize(32, host);
        for peer in 1..34 {
            let (send, steps) = (Some(peer), Vec::new());
            s.programs[0].blocks.push(ThreadBlock { send, receive: None, channel: 0, steps });
        }
    });
    assert!(peers.contains("rank 0, channel 0 has 33 peers"), "{peers}");
    let ranks = with(&|s| {
        s.gpus = (0..1025).collect();
        s.programs = vec![RankSchedule::default(); 1025];
    });
    assert!(ranks.contains("1025 ranks"), "{ranks}");
}

#[test]
fn options_out_of_range_are_refused() {
    let ring = ring_all_reduce(2, 1);
    let refused = |options: MscclOptions| to_msccl_xml(&ring, &options).unwrap_err().to_string();
    let default = MscclOptions::default();
    let most = MscclOptions { min_bytes: Bytes(9), max_bytes: Some(Bytes(8)), ..default };
    assert!(refused(most).contains("`max_bytes` is 8; choose at least min_bytes"));
    assert!(refused(MscclOptions { max_bytes: Some(Bytes(0)), ..default }).contains("max_bytes"));
    assert!(refused(MscclOptions { min_bytes: Bytes(u64::MAX), ..default }).contains("min_bytes"));
    for step_limit in [0, 1025] {
        assert!(refused(MscclOptions { step_limit, ..default }).contains("choose 1 to 1024"));
    }
    let sizes = MscclOptions { min_bytes: Bytes(8), max_bytes: Some(Bytes(1 << 30)), ..default };
    let text = to_msccl_xml(&ring, &sizes).unwrap().text;
    assert!(text.contains("minBytes=\"8\" maxBytes=\"1073741824\""), "{text}");
}

#[test]
fn what_xml_cannot_say_is_noted() {
    let mut schedule = chain_broadcast(&[1, 0], 1, 1);
    schedule.channels[0].transport = ChannelTransport::Host;
    schedule.channels[0].relays.push(Relay { from: 1, to: 0, through: 6 });
    let notes = written(&schedule).notes.join("\n");
    for said in ["CUDA_VISIBLE_DEVICES=1,3", "PCIe", "1 to 0 by GPU 6", "root 1 only"] {
        assert!(notes.contains(said), "{said}: {notes}");
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(schedule in any_schedule()) {
        let options = MscclOptions { step_limit: 256, ..MscclOptions::default() };
        let export = to_msccl_xml(&schedule, &options).unwrap();
        prop_assert_eq!(&export, &to_msccl_xml(&schedule, &options).unwrap());
        let read = read_msccl_xml("x.xml", &export.text).unwrap();
        prop_assert_eq!(&read, &as_read(&schedule));
        let again = to_msccl_xml(&read, &options).unwrap();
        prop_assert_eq!(again.text, export.text);
    }
}
