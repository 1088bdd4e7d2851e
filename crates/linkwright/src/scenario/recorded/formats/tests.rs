//! Every format reads its sample, refuses wrong values in their places, and takes any damage.

use proptest::prelude::*;

use crate::scenario::recorded::tests::{parsed, short};
use crate::scenario::recorded::{Accounting, Cut, LeftOut, PartOfGpu, Start, accounting_formats};
use crate::scenario::tests::read as read_scenario;
use crate::scenario::{Built, Files, ReadyJobs};

const HELIOS: &str = include_str!("../../../../../../examples/accounting/helios.csv");
const TASKS: &str = include_str!("../../../../../../examples/accounting/pai-2020-tasks.csv");
const JOINED: &str = include_str!("../../../../../../examples/accounting/pai-2020-joined.csv");
const PODS: &str = include_str!("../../../../../../examples/accounting/pai-2023-pods.csv");
const PHILLY: &str = include_str!("../../../../../../examples/accounting/philly.json");
const SWF: &str = include_str!("../../../../../../examples/accounting/day.swf");
const SACCT: &str = include_str!("../../../../../../examples/one-day.sacct.txt");

/// Holds each sample with the name of its format.
const SAMPLES: [(&str, &str); 7] = [
    (SACCT, "table"),
    (HELIOS, "helios"),
    (TASKS, "pai-2020"),
    (JOINED, "pai-2020"),
    (PODS, "pai-2023"),
    (PHILLY, "philly"),
    (SWF, "swf"),
];

#[test]
fn every_format_has_a_sample_that_looks_like_it() {
    let formats = accounting_formats();
    for (text, name) in SAMPLES {
        let last = formats.iter().filter(|format| format.is_of(text)).last();
        assert_eq!(last.map(|format| format.name()), Some(name));
        assert!(Accounting::default().is_record(text), "{name}");
    }
    assert!(formats.names().iter().all(|name| SAMPLES.iter().any(|(_, known)| known == name)));
    for list in ["job,workload,gpus\na,gmm,1\n", "", "# 1\n", "[jobs]\nfile = \"a\"\n", "[[job]]\n"]
    {
        assert!(!Accounting::default().is_record(list), "{list}");
    }
}

type Expected = (&'static str, f64, u32, f64);

#[test]
fn samples_are_read_and_the_rest_is_counted() {
    let none = LeftOut::default();
    let cases: [(&str, &[Expected], LeftOut); 6] = [
        (
            HELIOS,
            &[("501", 0.0, 4, 3600.0), ("502", 600.0, 8, 240.0), ("505", 2400.0, 1, 600.0)],
            LeftOut { never_started: 1, without_gpus: 1, without_length: 1, ..none },
        ),
        (
            TASKS,
            &[("job-a", 0.0, 3, 3500.0), ("job-b", 100.0, 2, 600.0), ("job-f", 400.0, 3, 1000.0)],
            LeftOut { never_started: 1, without_gpus: 1, unfinished: 1, ..none },
        ),
        (JOINED, &[("job-a", 0.0, 2, 3500.0), ("job-b", 170.0, 2, 600.0)], none),
        (
            PODS,
            &[("pod-a", 0.0, 8, 3940.0), ("pod-b", 100.0, 1, 3000.0), ("pod-c", 200.0, 1, 57.0)],
            LeftOut { never_started: 1, without_gpus: 1, ..none },
        ),
        (
            PHILLY,
            &[("application_1_1", 0.0, 4, 3000.0), ("application_1_4", 360.0, 1, 60.0)],
            LeftOut { never_started: 2, unfinished: 1, ..none },
        ),
        (
            SWF,
            &[("1", 0.0, 4, 3600.0), ("2", 60.0, 8, 600.0), ("5", 240.0, 2, 90.0)],
            LeftOut { never_started: 1, without_length: 1, steps: 2, ..none },
        ),
    ];
    for (text, jobs, left_out) in cases {
        let record = parsed(text).unwrap();
        assert_eq!(short(&record), jobs);
        assert_eq!(record.left_out, left_out, "{text}");
    }
}

#[test]
fn a_share_takes_a_whole_gpu_and_is_told() {
    let of = |text: &str| {
        let jobs = parsed(text).unwrap().jobs;
        jobs.into_iter().filter(|job| job.part == Some(PartOfGpu::Fraction)).count()
    };
    assert_eq!((of(TASKS), of(JOINED), of(PODS), of(HELIOS), of(SWF)), (1, 1, 1, 0, 0));
}

/// Chooses each sample by its look alone, in a day that names no columns.
#[test]
fn a_day_says_what_is_taken_for_granted() {
    let day = "system.server = \"dgx1-v100\"\n[jobs]\nfile = \"day\"\nworkload = \"vgg-16\"\n";
    for (text, words) in [
        (HELIOS, "1 job that never started, 1 job without GPUs"),
        (TASKS, "1 job had fractions of a GPU; whole GPUs stand for them"),
        (TASKS, "Each instance of a task takes whole GPUs"),
        (PODS, "1 job had fractions of a GPU"),
        (PHILLY, "as long as all its attempts together"),
        (SWF, "each processor is taken for one"),
    ] {
        let files = Files::from([("day".to_owned(), text.as_bytes().to_vec())]);
        let built = read_scenario(day).unwrap().build(&files).unwrap();
        let Built { work: ReadyJobs::Mix(jobs), notes, .. } = built else { panic!("a mix") };
        assert!(jobs.iter().all(|job| job.workload == "vgg-16"));
        assert!(notes.iter().any(|note| note.contains(words)), "{words}: {notes:#?}");
    }
}

#[test]
fn a_joined_table_may_name_the_submission_in_several_ways() {
    for (task, job) in [("start_time_t", "start_time"), ("start_time", "job_start_time")] {
        let end = task.replace("start", "end");
        let head = format!("job_name,inst_num,status,{task},{end},plan_gpu,{job}");
        let record =
            parsed(&format!("{head}\na,1,Terminated,60,90,100,50\nb,1,Failed,61,99,100,10\n"));
        assert_eq!(short(&record.unwrap()), [("a", 40.0, 1, 30.0), ("b", 0.0, 1, 38.0)]);
    }
}

/// A part of a record is cut in every format.
#[test]
fn a_part_begins_with_the_first_job() {
    let cut = Cut { from: Some(Start::Days(1)), days: None };
    for (text, _) in SAMPLES {
        let error = Accounting::default().read("a", text, cut, 8).unwrap_err().to_string();
        assert!(error.contains("outside of the part; give another `jobs.from`"), "{error}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_with_its_place() {
    let swf = "1 0 10 3600 4 -1 -1 4 7200 -1 1 1 1 -1 1 -1 -1 -1\n";
    let cases = [
        (
            HELIOS.replace("job_id,user", "user,job_id").replace(",duration,", ",lasted,"),
            "1:1: the header lacks the column `duration`: `user,",
        ),
        (
            HELIOS.replace("2020-05-04 08:10:00,2020", "soon,2020"),
            "3:26: not a time: `soon`; write",
        ),
        (HELIOS.replace(",240,", ",24h0,"), "3:86: not a duration: `24h0`; write seconds"),
        (
            TASKS.replace("1200.0,1800.0", "1200.0,180.0"),
            "3:40: not a time after the task's start: `180.0`;",
        ),
        (
            TASKS.replace(",50.0,", ",half,"),
            "2:54: not a number of hundredths of a GPU: `half`; write",
        ),
        (TASKS.replace(",T4", ""), "2:1: the row has 9 fields: `job-a,worker"),
        (
            "job_name,inst_id,user,status,start_time,end_time\n".to_owned(),
            "1:1: the tasks of PAI lack the column `inst_num`:",
        ),
        (JOINED.replace("inst_id", "worker_name"), "1:1: the column `worker_name` is of instances"),
        (PODS.replace("deletion_time", "gone"), "1:1: the header lacks the column `deletion_time`"),
        (PODS.replace(",5260,", ",never,"), "4:57: not a time: `never`; write"),
        (PHILLY.replace("01:10:30", "1h"), "9:30: not a time: `2017-10-07 1h`; write"),
        (PHILLY.replace("\"jobid\": \"application_1_2\", ", ""), "21:107: missing field `jobid`"),
        (
            PHILLY.replace(
                "    },\n    {\"status\": \"Killed\"",
                "    }\n    {\"status\": \"Killed\"",
            ),
            "21:5: not a list of jobs: `{\"status",
        ),
        (
            PHILLY.trim_end().trim_end_matches(']').to_owned(),
            "28:1: not a list of jobs; part the jobs",
        ),
        (format!("{PHILLY}x"), "29:1: text behind the list of jobs: `x`; remove it"),
        (
            format!("{swf}1 2 3\n"),
            "2:1: a line of SWF has 18 numbers, this has another count: `1 2 3`; write -1",
        ),
        (swf.replace("7200", "long"), "1:1: "),
        (
            format!("{swf}{}", swf.replace("7200", "long")),
            "2:23: not a number: `long`; write a number",
        ),
        (
            format!("{swf}{}", swf.replace(" 4 -1", " 4.5 -1")),
            "2:13: not a number of processors: `4.5`; write",
        ),
        (format!("{swf}{swf}"), "2:1: two jobs have one id: `1`; line 1 has this id already"),
    ];
    for (text, expected) in cases {
        let error = parsed(&text).unwrap_err().to_string();
        assert!(error.starts_with(&format!("jobs.txt:{expected}")), "{error}\n{expected}");
    }
}

/// A comma or a bracket that is damaged is found where it stands, on a text of many jobs.
#[test]
fn a_long_list_of_json_is_placed_from_its_first_line() {
    let job = |at: usize| {
        format!(
            "{{\"jobid\": \"j{at}\", \"submitted_time\": \"2017-10-07 01:00:00\", \"attempts\": [{{\"start_time\":\n  \
             \"2017-10-07 01:00:00\", \"end_time\": \"2017-10-07 01:00:09\", \"detail\": [{{\"gpus\": [\"gpu0\"]}}]}}]}}"
        )
    };
    let jobs: Vec<String> = (0..2000).map(job).collect();
    let text = format!("[{}]", jobs.join(",\n"));
    let record = parsed(&text).unwrap();
    assert_eq!((record.jobs.len(), record.jobs[1999].place.line), (2000, 4000));
    let error = parsed(&text.replace("\"j1500\"", "7")).unwrap_err().to_string();
    assert!(error.starts_with("jobs.txt:3001:"), "{error}");
}

proptest! {
    /// Bytes of a sample that are cut out, put in or replaced give jobs or a refusal.
    #[test]
    fn no_damage_does_harm(
        sample in 0..SAMPLES.len(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..9, "[0-9a-zé,;|:\"{}\\[\\]. \n-]{0,4}"), 1..5),
    ) {
        let mut text: Vec<char> = SAMPLES[sample].0.chars().collect();
        for (at, length, put) in damage {
            let at = at.index(text.len() + 1);
            let end = (at + length).min(text.len());
            text.splice(at..end, put.chars());
        }
        let text: String = text.into_iter().collect();
        if let Ok(record) = parsed(&text) {
            prop_assert!(record.jobs.iter().all(|job| job.gpus > 0 && job.duration.0 > 0));
        }
    }

    /// Every format takes any text that looks like another, or refuses it.
    #[test]
    fn every_format_reads_any_text_or_refuses_it(
        sample in 0..SAMPLES.len(), end in any::<prop::sample::Index>(), other in "\\PC*",
    ) {
        let text = SAMPLES[sample].0;
        let mut end = end.index(text.len() + 1);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        for format in accounting_formats().iter() {
            for text in [&text[..end], &*other] {
                let _ = format.is_of(text);
                let Ok(entries) = format.entries("a", text) else { continue };
                prop_assert!(entries.take_while(Result::is_ok).count() <= text.len());
            }
        }
    }
}
