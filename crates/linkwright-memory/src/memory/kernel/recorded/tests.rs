//! Tests kernels of one's own: texts, their runs on GPUs, and errors.

use std::ops::ControlFlow;
use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::engine::{Hook, Progress};
use crate::memory::{GpuOptions, GpuRun, memory_system, run};
use crate::system::gpus;
use crate::units::Picoseconds;

/// Sends a message by a flag: each of two groups is on a GPU of its own.
const MESSAGE: &str = "\
kernel message
buffer data 256 in
buffer flag 64 in
buffer got 256 out
launch pass
0 store data 256 = 1:2      # element n is 1 + 2 n
0 fence
0 exchange flag 4 = 1
1 load data 256 as before
1 wait
1 spin flag 4 = 1
1 fence
1 load data 256 as after
1 add flag+[4,-,12,8] 4 = [5,6,7] as sums
expect flag 16 = [1,5,7,6]
";

fn play(text: &str, memory: &str, gpus: u32, with_data: bool) -> (GpuRun, Vec<LoadedWords>) {
    let kernel = Arc::new(read("own", text).unwrap());
    let hierarchy = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let (workload, kept) = kernel.workload(hierarchy.page);
    let memory = memory_system(memory).unwrap();
    let options = GpuOptions { gpus, memory, with_data, ..GpuOptions::default() };
    let run = run(hierarchy, &workload, &options, None).unwrap();
    if let Some(image) = &run.image {
        assert_eq!((workload.check)(image), Ok(()));
    }
    let kept = kept.take();
    (run, kept)
}

#[test]
fn a_text_runs_and_its_loads_are_kept() {
    for memory in ["tsm-wt-c-rc", "hmg"] {
        let (_, kept) = play(MESSAGE, memory, 2, true);
        let names: Vec<&str> = kept.iter().map(|load| load.name.as_str()).collect();
        assert_eq!(names, ["before", "after", "sums"]);
        let after: Vec<u32> = kept[1].words.iter().map(|(_, _, value)| *value).collect();
        assert_eq!(after, (0..64).map(|at| 1 + 2 * at).collect::<Vec<u32>>());
        assert_eq!(kept[1].place.gpu, 1);
        assert_eq!(kept[2].words, [(0, 0, 0), (2, 0, 0), (3, 0, 0)]);
    }
}

/// A consumer that has an old copy of what a producer stores, and hands on what it reads after the flag.
const HANDED_ON: &str = "\
buffer data 256 in
buffer flag 64 in
buffer got 256 out
0 compute 500
0 store data 256 = 7
0 fence
0 exchange flag 4 = 1
1 load data 256 as before
1 wait
1 compute 5000
1 fence
1 load data 256 as after
1 store got 256 = after
expect data 256 = 7
";

#[test]
fn a_verdict_says_what_loads_brought() {
    let expecting = HANDED_ON.to_owned() + "expect after = 7\n";
    let verdict = |text: &str, memory| {
        let kernel = read("own", text).unwrap();
        let (run, kept) = play(HANDED_ON, memory, 2, true);
        let page = gpus::find("r9-nano").and_then(|model| model.hierarchy()).unwrap().page;
        let got = run.image.map(|image| image.word(2 * page.0));
        (kernel.checked(), kernel.check_loads(&kept), got)
    };
    for memory in ["rdma", "tsm-wb-nc-rc"] {
        let (checked, found, got) = verdict(&expecting, memory);
        assert_eq!(checked, Some(Checked::Answer));
        let wrong = found.unwrap_err();
        assert_eq!(
            (wrong.name.as_str(), wrong.expected, wrong.got, wrong.lane),
            ("after", 7, 0, 0)
        );
        let told = "`after` of wavefront 1.0 on GPU 1 read 0, not 7, in word 0 of work-item 0";
        assert_eq!(wrong.to_string(), told);
        // A stale word is stale where it was stored, too.
        assert_eq!(got, Some(0), "{memory:?}");
    }
    let (_, found, got) = verdict(&expecting, "hmg");
    assert_eq!((found, got), (Ok(()), Some(7)));
    // Without what loads must bring, or memory that holds it, a verdict is about memory alone.
    let constant = HANDED_ON.replace("= after", "= 1");
    assert_eq!(read("own", &constant).unwrap().checked(), Some(Checked::Memory));
    assert_eq!(read("own", HANDED_ON).unwrap().checked(), Some(Checked::Answer));
    assert_eq!(read("own", "0 wait\n").unwrap().checked(), None);
}

#[test]
fn a_loaded_word_is_stored_everywhere_and_several_in_their_order() {
    let text = "\
buffer a 256 in = 5:3
buffer b 1024 out
0 scalar a+8 16 as four
0 load a+[16,-,0] 4 as two
0 load a+4:0x1 4 as one
0 store b+0:4x4 4 = four
0 store b+64:8x2 4 = two
0 store b+128 256 = one
expect b 16 = 11:3
expect b+64 16 = [17,0,5,0]
expect b+128 256 = 8
";
    for memory in ["rdma", "tsm-wt-c-rc"] {
        play(text, memory, 2, true);
        play(text, memory, 2, false);
    }
}

#[test]
fn who_waits_for_a_busy_wavefront_sees_at_once_what_it_stores() {
    let text = |spins: &str| {
        format!(
            "buffer flag 64 in\n0 compute 2000000\n0 exchange flag 4 = 1\n1 load flag 4\n{spins}"
        )
    };
    // Under leases a wavefront goes on to see what its copies hold: here up to 1,024 loads of 24 ns.
    for (memory, longest) in [("hmg", 5), ("tsm-wt-c-rc", 25)] {
        let (alone, _) = play(&text(""), memory, 2, true);
        let (waited, _) = play(&text("1 spin flag 4 = 1\n"), memory, 2, true);
        assert!(waited.time >= alone.time);
        let late = waited.time.0 - alone.time.0;
        assert!(late < longest * Picoseconds::SECOND.0 / 1_000_000, "{memory:?}: {waited:?}");
    }
}

#[test]
fn who_waits_for_nobody_comes_to_the_end_of_its_time_in_few_events() {
    let kernel = Arc::new(read("own", "buffer flag 64 in\n0 spin flag 4 = 7\n").unwrap());
    let hierarchy = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let mut events = 0;
    let (workload, _) = kernel.workload(hierarchy.page);
    let mut count = |at: Progress| {
        events = at.events;
        ControlFlow::Continue(())
    };
    let hook: Hook<'_> = &mut count;
    let ended = run(hierarchy, &workload, &GpuOptions::default(), Some(hook));
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("has not ended after 1 s: wavefront 0 of group 0"), "{error}");
    assert!(events < 10_000_000, "{events}");
}

#[test]
fn what_would_take_the_computers_memory_is_refused() {
    let kept = format!("buffer a 256 in\n{}", "0 load a 256 as x\n".repeat(4_097));
    let error = read("own", &kept).unwrap_err().to_string();
    let expected = "own:4098:8: the words that all loads keep: 262208 is not possible: `a`; use 0 to \
                    262144";
    assert_eq!(error, expected);
    let operations = format!("buffer a 256 in\n{}", "0 wait\n".repeat((1 << 19) + 1));
    let error = read("own", &operations).unwrap_err().to_string();
    assert!(error.contains("operations: 524289 is not possible"), "{error}");
}

#[test]
fn data_do_not_change_the_time_of_what_does_not_spin() {
    let text = "buffer a 4096 inout = 5\n0.0 load a+0:16 4 as x\n0.1 compute 3\n0.1 scalar a 64 as s\n\
                0.0 barrier\n0.1 barrier\n0.0 store a+64:4x8 4 = 1.5\n3 lds 2\n3 max a 4 = 9 as m\n";
    let (with, kept) = play(text, "rdma", 4, true);
    let (without, none) = play(text, "rdma", 4, false);
    assert_eq!((with.time, with.events), (without.time, without.events));
    assert!(none.iter().all(|load| load.words.is_empty()));
    let scalar = kept.iter().find(|load| load.name == "s").unwrap();
    assert_eq!(scalar.words.len(), 16);
    assert!(scalar.words.iter().all(|(lane, _, value)| (*lane, *value) == (0, 5)));
    let image = with.image.unwrap();
    assert_eq!((image.word(0), image.word(64), image.word(96)), (9, 1.5_f32.to_bits(), 5));
}

#[test]
fn what_cannot_be_read_is_told_by_its_place() {
    let refused = [
        ("bufer a 4 in", "own:1:1: this begins no line: `bufer`; did you mean `buffer`?"),
        ("buffer a 6 in", "own:1:8: the size of a buffer is 6, which is not a multiple of 4: `a`"),
        ("buffer a 4 inn", "own:1:12: no direction of copies: `inn`; did you mean `in`?"),
        ("buffer a 8 in = [1]", "own:1:8: 1 values are listed for 2 words: `a`"),
        ("buffer a 8 out = 1", "own:1:8: `a` has initial values, but no copy brings them in"),
        ("buffer a 8 in\nbuffer a 8 in", "own:2:8: there is a buffer `a` already"),
        ("buffer a 99999999999999 in", "the size of a buffer: 99999999999999 is not possible"),
        ("buffer a 8 in\n 0 lod a 8", "own:2:4: unknown operation: `lod`; did you mean `load`?"),
        ("buffer a 8 in\n0 load b 8", "own:2:8: there is no buffer `b`; use a"),
        ("buffer a 8 in\n0 load a+4 8", "own:2:8: 4 bytes from byte 8 on do not fit in `a`"),
        ("buffer a 8 in\n0 load a+2 4", "own:2:8: an address is 2, which is not a multiple of 4"),
        ("buffer a 8 in\n0 load a 7", "own:2:10: 64 work-items do not share these bytes"),
        ("buffer a 8 in\n0 load a", "own:2:9: the line ends early; add how many bytes"),
        ("buffer a 8 in\n0 load a+[0,4 4", "own:2:8: a list without its end"),
        ("buffer a 8 in\n0 load a+0:4x65 4", "own:2:8: the work-items: 65 is not possible"),
        ("buffer a 8 in\n0 store a 8 = 1 2", "own:2:17: more than the line needs: `2`"),
        ("buffer a 8 in\n0 store a 8 = 1x", "own:2:15: not a value of 4 bytes: `1x`"),
        (
            "buffer a 8 in\n0 load a 8 as y\n0 store a 8 = x",
            "own:3:9: no earlier load keeps words as `x`: `a`; use y",
        ),
        (
            "buffer a 8 in\n1 load a 8 as x\n0 store a 8 = x",
            "own:3:9: no earlier load keeps words as `x`: `a`; load words `as` this name first",
        ),
        (
            "buffer a 64 in\n0 load a 8 as x\n0 store a 16 = x",
            "own:3:9: 2 values are listed for 4 words: `a`",
        ),
        (
            "buffer a 8 in\n0 load a 8 as x\nexpect z = 1",
            "own:3:8: no earlier load keeps words as `z`",
        ),
        (
            "buffer a 8 in\n0 load a 8 as x\nexpect x = [1]",
            "own:3:8: 1 values are listed for 2 words",
        ),
        (
            "buffer a 8 in\n0 load a 8 as x\nexpect x = 1\n0 load a 8 as x",
            "own:4:8: the words of `x` are expected already: `a`; expect them once, after the \
             last load",
        ),
        ("buffer a 8 in\n0 spin a 4", "own:2:3: it waits for no value: `spin`; add `=`"),
        ("1048576 wait", "own:1:1: the work-group: 1048576 is not possible: `1048576`; use 0 to"),
        ("0.64 wait", "own:1:1: the wavefront: 64 is not possible"),
        ("0 barrier all", "own:1:11: no barrier's scope: `all`"),
        ("0 compute -1", "own:1:11: not a number that fits: `-1`"),
        ("kernel a b", "own:1:10: more than the line needs: `b`"),
        ("kernel 7", "own:1:8: `7` is not a valid name: `7`; write a letter"),
        ("# nothing\n", "own:2:1: there is no operation; add a line such as"),
    ];
    for (text, said) in refused {
        let error = read("own", text).unwrap_err().to_string();
        assert!(error.contains(said), "{text:?}\n{error}\n{said}");
    }
}

#[test]
fn a_group_that_no_compute_unit_has_room_for_is_refused_when_it_runs() {
    let kernel = Arc::new(read("own", "0.40 wait").unwrap());
    let hierarchy = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let (workload, _) = kernel.workload(hierarchy.page);
    let error = run(hierarchy, &workload, &GpuOptions::default(), None).unwrap_err().to_string();
    assert!(error.contains("it needs 41 wavefronts of at most 40"), "{error}");
}

/// Makes an operation over a buffer of 4 KiB.
fn action() -> impl Strategy<Value = Action> {
    let offsets = prop_oneof![
        (0..256_u64, 0..32_u64, 1..=64_u32).prop_map(|(first, stride, lanes)| {
            Offsets::Strided { first: 4 * first, stride: 4 * stride, lanes }
        }),
        prop::collection::vec(prop::option::of((0..1000_u64).prop_map(|it| 4 * it)), 1..=64)
            .prop_map(Offsets::Listed),
    ];
    let touched = (offsets, 1..=4_u32).prop_map(|(offsets, words)| Touched {
        buffer: 0,
        offsets,
        width: 4 * words,
    });
    let words = (any::<u32>(), any::<u32>()).prop_map(|(first, step)| Words::Ramp { first, step });
    let name = prop::option::of("[a-z]{1,5}");
    (touched, words, name, 0..12_u8).prop_map(|(touched, words, name, kind)| {
        let word = Touched { width: 4, ..touched.clone() };
        let listed = |touched: &Touched| {
            let count = touched.offsets.count() * u64::from(touched.width / 4);
            Words::Listed((0..count as u32).collect())
        };
        let first =
            Touched { offsets: Offsets::Strided { first: 64, stride: 0, lanes: 1 }, ..word };
        match kind {
            0 => Action::Compute(7),
            1 => Action::Lds(3),
            2 => Action::Load(touched, name),
            3 => Action::Scalar(Touched { width: 16, ..first }, name),
            4 => Action::Store(touched, words),
            5 => Action::Store(touched.clone(), listed(&touched)),
            6 => Action::Atomic(AtomicOperation::Max, first, words, name),
            7 => Action::Spin(first, 9),
            8 => Action::Wait,
            9 => Action::Fence,
            10 => Action::Barrier(Scope::Group),
            _ => Action::Barrier(Scope::Launch),
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(
        actions in prop::collection::vec(((0..9_u32, 0..4_u32), action()), 1..20),
    ) {
        let mut kernel = RecordedKernel::new("own").unwrap();
        let initial = Words::Ramp { first: 3, step: 1 };
        let size = Bytes(16 << 10);
        let name = "a".to_owned();
        kernel.add_buffer(RecordedBuffer { name, size, copies: Copies::In, initial }).unwrap();
        for (place, action) in actions {
            kernel.push(place, action).unwrap();
        }
        let words = Words::Listed(vec![1, 2]);
        kernel.expect(Expected { buffer: 0, offset: 8, count: 2, words }).unwrap();
        let offsets = Offsets::Strided { first: 64, stride: 4, lanes: 3 };
        let touched = Touched { buffer: 0, offsets, width: 8 };
        kernel.push((8, 3), Action::Load(touched.clone(), Some("own".to_owned()))).unwrap();
        kernel.push((8, 3), Action::StoreLoaded(touched, "own".to_owned())).unwrap();
        kernel.expect_loaded("own", Words::Listed((0..6).collect())).unwrap();
        prop_assert_eq!(read("again", &write(&kernel)), Ok(kernel));
    }

    #[test]
    fn nothing_that_is_read_panics(text in "(buffer a 64 in\n)?([0-9]\\.?[0-9]? (load|store|add|spin) a[+:x0-9,\\[\\]-]{0,8} [0-9]{0,3}( = [0-9:\\[\\],.xy-]{0,6})?( as [xy])?\n){0,3}(expect [xy] = [0-9:]{1,3}\n)?") {
        if let Ok(kernel) = read("own", &text) {
            prop_assert_eq!(read("again", &write(&kernel)), Ok(kernel));
        }
    }
}

/// Loads one after another, as a chase of pointers does. A page that nobody knows comes first, then the first level and
/// memory in that page. The cache of scalars lacks what the second level has.
const TIMED: &str = "\
buffer data 4096 in
0 load data 4 as walk
0 wait
0 load data 4 as first
0 wait
0 load data+64 4 as memory
0 wait
0 scalar data+128 4
0 wait
0 scalar data+64 4 as second
0 wait
";

#[test]
fn a_load_alone_takes_the_sum_of_the_latencies() {
    let of = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
    let issue = 1;
    let vector = of.vector.directory + of.vector.bank;
    let second = of.second.directory + of.second.bank;
    let crossbar = 2 * of.second.crossbar;
    for with_data in [true, false] {
        let (run, kept) = play(TIMED, "rdma", 1, with_data);
        let cycles: Vec<u64> =
            kept.iter().map(|load| (load.arrived.0 - load.issued.0) / run.cycle.0).collect();
        let memory =
            issue + of.vector.directory + crossbar + of.second.directory + of.memory.latency;
        let expected = [
            memory + of.translation.latency + of.translation.walk,
            issue + vector,
            memory,
            issue + of.scalar.directory + crossbar + second,
        ];
        assert_eq!(cycles, expected.map(u64::from));
    }
}
