use super::*;
use crate::collectives::schedule::{Slice, StepId};

const TREE: &str = include_str!("../../../../../../../examples/collectives/tree-all-reduce-4.xml");
const GATHER: &str =
    include_str!("../../../../../../../examples/collectives/in-place-all-gather-3.xml");

/// Holds a schedule of two ranks. The first sends its data to the second.
const SMALL: &str = r#"<algo name="a b" proto="LL" nchannels="1" nchunksperloop="2" ngpus="2" coll="broadcast" inplace="1">
  <!-- The root. -->
  <gpu id="0" i_chunks="2" o_chunks="2" s_chunks="1">
    <tb id="0" send="1" recv="-1" chan="0">
      <step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="1"/>
    </tb>
    <tb id="1" send="-1" recv="-1" chan="0">
      <step s="0" type="nop" srcbuf="i" srcoff="-1" dstbuf="o" dstoff="-1" cnt="0" depid="0" deps="0" hasdep="0"/>
      <step s="1" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="0" deps="0" hasdep="0"/>
    </tb>
  </gpu>
  <gpu id="1" i_chunks="2" o_chunks="2" s_chunks="1">
    <tb id="0" send="-1" recv="0" chan="0">
      <step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="2" depid="-1" deps="-1" hasdep="0"/>
    </tb>
  </gpu>
</algo>
"#;

fn refused(text: &str) -> String {
    read_msccl_xml("a.xml", text).unwrap_err().to_string()
}

#[test]
fn texts_of_other_formats_are_named_with_what_to_give() {
    for (text, what, remedy) in [
        (
            "\n{\"name\": \"a\", \"collective\": \"allreduce\", \"gpus\": []}",
            "MSCCL++",
            "MSCCL XML",
        ),
        ("{\"name\": \"a\", \"colltype\": \"allreduce\", \"gpus\": []}", "MSCCL++", "MSCCL XML"),
        ("{\"rows\": 1}", "JSON", "MSCCL XML"),
        ("digraph plan { a -> b }", "Graphviz", "no steps"),
        ("from msccl.language import *\nwith MSCCLProgram('a', t, c, 1):", "MSCCLang", "prints"),
    ] {
        let told = refused(text);
        assert!(told.contains("this looks like") && told.contains(what), "{told}");
        assert!(told.contains(remedy), "{told}");
    }
    assert!(!refused("what is this").contains("looks like"));
}

#[test]
fn the_examples_are_read() {
    let tree = read_msccl_xml("tree", TREE).unwrap();
    assert_eq!(tree.collective, Collective::AllReduce);
    assert_eq!((tree.ranks(), tree.chunks, tree.channels.len()), (4, 2, 2));
    assert!(tree.in_place && tree.out_of_place);
    let gather = read_msccl_xml("gather", GATHER).unwrap();
    assert_eq!(gather.collective, Collective::AllGather);
    assert_eq!((gather.ranks(), gather.chunks), (3, 1));
    assert!(gather.in_place && !gather.out_of_place);
    for schedule in [tree, gather] {
        let export = super::super::to_msccl_xml(&schedule, &Default::default()).unwrap();
        assert_eq!(read_msccl_xml("again", &export.text).unwrap(), schedule);
    }
}

#[test]
fn older_files_are_read_as_executors_run_them() {
    let schedule = read_msccl_xml("a.xml", SMALL).unwrap();
    assert_eq!(schedule.name, "a_b");
    assert_eq!(schedule.collective, Collective::Broadcast { root: 0 });
    assert_eq!(schedule.protocol, Protocol::LL);
    assert!(schedule.in_place && !schedule.out_of_place);
    let copies = &schedule.programs[0].blocks[1].steps;
    assert_eq!(copies.len(), 1);
    assert_eq!(copies[0].after, [StepId { block: 0, step: 0 }]);
    assert_eq!(copies[0].source, Some(Slice::input(0)));
    for (word, name) in [
        ("reduce_scatter", "reduce-scatter"),
        ("reducescatter", "reduce-scatter"),
        ("allgather", "all-gather"),
    ] {
        let text = SMALL
            .replace("\"broadcast\"", &format!("\"{word}\""))
            .replace("cnt=\"2\"", "cnt=\"1\"");
        assert_eq!(read_msccl_xml("a.xml", &text).unwrap().collective.name(), name);
    }
}

#[test]
fn every_fault_has_its_place() {
    let cases = [
        ("<algo name", "<algo nom", "1:1: <algo> has no attribute `name`"),
        ("<algo ", "<plan ", "this is not XML"),
        (
            "proto=\"LL\"",
            "proto=\"ll\"",
            "1:25: MSCCL has no such protocol: `ll`; write Simple, LL",
        ),
        ("nchannels=\"1\"", "nchannels=\"33\"", "`nchannels` is out of range: `33`; write 1 to 32"),
        ("loop=\"2\"", "loop=\"1000000000\"", "`nchunksperloop` is out of range"),
        ("loop=\"2\"", "loop=\"0\"", "`nchunksperloop` is out of range"),
        ("ngpus=\"2\"", "ngpus=\"1000000000\"", "`ngpus` is out of range"),
        ("ngpus=\"2\"", "ngpus=\"3\"", "the file has 2 <gpu> elements: `3`"),
        ("ngpus=\"2\"", "ngpus=\"two\"", "`ngpus` is no whole number: `two`"),
        ("\"broadcast\"", "\"custom\"", "does not say what its ranks must end with"),
        ("\"broadcast\"", "\"sum\"", "no collective has this name: `sum`; write one of broadcast"),
        ("\"broadcast\"", "\"alltoall\"", "all-to-all has no in-place form"),
        ("inplace=\"1\"", "inplace=\"2\"", "`inplace` is out of range: `2`; write 0 to 1"),
        ("inplace=\"1\"", "inplace=\"0\" outofplace=\"0\"", "neither in place nor out of place"),
        ("inplace=\"1\"", "inplace=\"1\" minBytes=\"-4\"", "`minBytes` is out of range"),
        ("<gpu id=\"1\"", "<gpu id=\"0\"", "12:12: another <gpu> has this id, too"),
        ("<gpu id=\"1\"", "<gpu id=\"2\"", "`id` is out of range: `2`; write 0 to 1"),
        ("s_chunks=\"1\"", "s_chunks=\"1000000000\"", "`s_chunks` is out of range"),
        ("<tb id=\"1\"", "<tb id=\"0\"", "7:13: another <tb> of the rank has this id, too"),
        ("<tb id=\"1\"", "<tb id=\"7\"", "`id` is out of range: `7`; write 0 to 1"),
        ("send=\"1\"", "send=\"0\"", "a rank is its own peer"),
        ("send=\"1\"", "send=\"-1\"", "its <tb> has send=\"-1\""),
        ("recv=\"0\"", "recv=\"-1\"", "its <tb> has recv=\"-1\""),
        ("send=\"-1\" recv=\"-1\"", "send=\"1\" recv=\"-1\"", "has this peer on this channel, too"),
        ("chan=\"0\"", "chan=\"1\"", "`chan` is out of range"),
        ("s=\"1\" type", "s=\"2\" type", "write 1: steps count from 0"),
        ("type=\"cpy\"", "type=\"copy\"", "9:25: no step has this type: `copy`; write one of s, r"),
        ("srcbuf=\"i\" srcoff=\"0\"", "srcbuf=\"x\" srcoff=\"0\"", "no buffer has this letter"),
        ("srcoff=\"0\"", "srcoff=\"1\"", "chunks end outside of the buffer, which has 2"),
        ("srcoff=\"0\"", "srcoff=\"-1\"", "`srcoff` is out of range"),
        (
            "dstoff=\"0\" cnt=\"2\" depid=\"0\"",
            "dstoff=\"9\" cnt=\"2\" depid=\"0\"",
            "9:71: the step's 2",
        ),
        ("cnt=\"2\"", "cnt=\"72\"", "`cnt` is out of range: `72`; write 1 to 71"),
        ("cnt=\"2\"", "cnt=\"0\"", "`cnt` is out of range: `0`"),
        ("depid=\"0\"", "depid=\"5\"", "the rank has no <tb> of this id"),
        ("depid=\"0\"", "depid=\"1\"", "the step waits for itself or a later one"),
        ("deps=\"0\"", "deps=\"4\"", "the block has no step of this number"),
        ("deps=\"0\"", "deps=\"-1\"", "`depid` names a block"),
        ("hasdep=\"1\"", "hasdep=\"0\"", "would wait forever"),
        ("hasdep=\"1\"", "hasdep=\"yes\"", "`hasdep` is no whole number"),
        ("<!-- The root. -->", "<rank/>", "2:3: <algo> may hold <gpu> elements only: `<rank/>`"),
        ("<!-- The root. -->", "hello", "<algo> may hold <gpu> elements only"),
        ("    </tb>\n", "", "this is not XML"),
        ("cnt=\"2\"", "cnt=\"2\" cnt=\"2\"", "this is not XML"),
    ];
    for (from, to, expected) in cases {
        let text = SMALL.replacen(from, to, 1);
        // Where the sender of the message tells no longer, the first to wait for it is at fault.
        let text = if from == "depid=\"0\"" && to == "depid=\"1\"" {
            text.replace(
                "deps=\"0\" hasdep=\"0\"/>\n    </tb>",
                "deps=\"0\" hasdep=\"1\"/>\n    </tb>",
            )
        } else {
            text
        };
        assert_ne!(text, SMALL, "{from}");
        let found = refused(&text);
        assert!(found.starts_with("a.xml:") && found.contains(expected), "{found}\n{expected}");
    }
    let odd = SMALL.replace("\"broadcast\"", "\"allgather\"").replace("loop=\"2\"", "loop=\"3\"");
    assert!(refused(&odd).contains("the 2 ranks' shards do not divide these chunks equally"));
}

#[test]
fn a_root_is_found_or_asked_for() {
    let twice = SMALL.replace("type=\"r\"", "type=\"nop\"");
    let found = refused(&twice);
    assert!(found.contains("several ranks may be the root"), "{found}");
    let clear = twice.replacen("i_chunks=\"2\"", "i_chunks=\"0\"", 1);
    let found = refused(&clear);
    assert!(found.contains("outside of the buffer, which has 0"), "{found}");
    let reduce = SMALL.replace("\"broadcast\"", "\"reduce\"");
    assert!(refused(&reduce).contains("buffer, which has 0"), "the root is rank 1");
}

#[test]
fn hostile_texts_are_refused_soon() {
    let bomb =
        "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\"><!ENTITY c \"&b;&b;&b;&b;\">]><algo>&c;</algo>";
    assert!(refused(bomb).contains("this is not XML"));
    let attributes: String = (0..2_000).map(|number| format!(" a{number}='>'")).collect();
    assert!(refused(&format!("<algo{attributes}/>")).contains("an element has"));
    assert!(refused(&format!("<algo name=\"{}\"/>", "n".repeat(2_000))).contains("an element has"));
    assert!(refused(&" ".repeat(MOST_BYTES + 1)).contains("bytes"));
    assert!(refused(&"<a>".repeat(100_000)).contains("elements within one"));
    let many = format!("<algo>{}</algo>", "<gpu/>".repeat(1_000_001));
    assert!(refused(&many).contains("this is not XML"));
    let deep = format!("{}{}", "<algo>".repeat(50_000), "</algo>".repeat(50_000));
    assert!(refused(&deep).contains("elements within one"));
    for text in ["", "<", "<!--", "<algo", "\u{0}", "<algo name='é"] {
        assert!(refused(text).starts_with("a.xml:"), "{text:?}");
    }
}
