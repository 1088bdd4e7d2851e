//! Tests the meaning of files of recorded jobs, and the errors that they give.

use proptest::prelude::*;

use super::*;
use crate::diagnostic::InputError;
use crate::scenario::tests::read as read_scenario;
use crate::scenario::{Asked, Built, Files, Given, ReadyJobs, Scenario};
use crate::simulation::Job;
use crate::training::Workload;

const SACCT: &str = "JobID|Submit|Start|End|ElapsedRaw|Elapsed|AllocTRES|ReqTRES|State|User\n\
    11|2024-03-01T08:00:00|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|01:00:00|billing=8,cpu=8,gres/gpu=4,gres/gpu:v100=4,node=1|cpu=8,gres/gpu=4|COMPLETED|ann\n\
    11.batch|2024-03-01T08:01:00|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|01:00:00|cpu=8|||\n\
    11.0|2024-03-01T08:01:00|2024-03-01T08:01:00|2024-03-01T09:01:00|3600|01:00:00|cpu=8,gres/gpu=4|||\n\
    12|2024-03-01T08:30:00|None|2024-03-01T08:31:00|0|00:00:00||cpu=8,gres/gpu=2|CANCELLED by 1000|bob\n\
    13|2024-03-01T08:40:00|Unknown|Unknown|0|00:00:00||gres/gpu=2|PENDING|bob\n\
    14_1|2024-03-01T07:59:00|2024-03-01T08:05:00|2024-03-02T10:05:00|93600|1-02:00:00||cpu=8,gres/gpu=2|TIMEOUT|cy\n\
    15|2024-03-01T09:00:00|2024-03-01T09:00:00|Unknown|300|00:05:00|gres/gpu=1|gres/gpu=1|RUNNING|cy\n\
    16|2024-03-01T09:00:00|2024-03-01T09:00:00|2024-03-01T09:20:00|1200|00:20:00|cpu=64|cpu=64|COMPLETED|cy\n\
    17|2024-03-01T09:00:00|2024-03-01T09:01:00|2024-03-01T09:01:00|0|00:00:00|gres/gpu=1|gres/gpu=1|FAILED|cy\n\
    18|2024-03-01T09:30:00|2024-03-01T09:31:00|2024-03-01T09:41:00|600|00:10:00|gres/gpu=1|gres/gpu=1|CANCELLED by 7|cy\n";

pub(super) fn parsed(text: &str) -> Result<Record, InputError> {
    Accounting::default().read("jobs.txt", text, Cut::default(), 8)
}

/// Reads a table whose columns have names of their own.
fn named(columns: Columns, text: &str) -> Result<Record, InputError> {
    Accounting { columns, ..Accounting::default() }.read("a.csv", text, Cut::default(), 8)
}

/// The jobs of a part: their names, and when each was submitted after the first.
fn part(text: &str, cut: Cut) -> Result<(Vec<(String, f64)>, usize), String> {
    let record = Accounting::default().read("jobs.txt", text, cut, 8);
    let record = record.map_err(|it| it.to_string())?;
    let jobs = record.jobs.into_iter().map(|it| (it.name, it.submit.as_seconds()));
    Ok((jobs.collect(), record.left_out.outside))
}

/// Submits a job on each of 300 days, whose number names it.
fn year(submit: impl Fn(u32) -> String) -> String {
    let rows = (0..300).map(|day| format!("d{day},{},1,3600\n", submit(day)));
    std::iter::once("id,submit,gpus,duration\n".to_owned()).chain(rows).collect()
}

#[test]
fn a_record_of_more_than_213_days_is_cut() {
    let seconds = year(|day| (day * 86_400).to_string());
    // 2024 is a leap year: its sixtieth day is the last of February.
    let months = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30].into_iter().zip(1..);
    let days: Vec<String> = months
        .flat_map(|(length, month)| {
            (1..=length).map(move |day| format!("2024-{month:02}-{day:02} 06:00:00"))
        })
        .collect();
    let dates = year(|day| days[day as usize].clone());
    for text in [&seconds, &dates] {
        let error = part(text, Cut::default()).unwrap_err();
        let limit = "216:1: this is more than 213 days after the first job";
        assert!(error.contains(limit), "{error}");
        for told in ["`jobs.from`", "`jobs.days`", "2^64 ps"] {
            assert!(error.contains(told), "{error}");
        }
        let from_day = Cut { from: Some(Start::Days(250)), days: None };
        let (jobs, outside) = part(text, from_day).unwrap();
        assert_eq!((jobs.len(), outside), (50, 250));
        assert_eq!((jobs[0].clone(), jobs[49].1), (("d250".to_owned(), 0.0), 49.0 * 86_400.0));
        let (jobs, outside) = part(text, Cut { from: None, days: Some(7) }).unwrap();
        assert_eq!((jobs.len(), &*jobs[6].0, outside), (7, "d6", 293));
        let both = Cut { from: Some(Start::Days(10)), days: Some(1) };
        assert_eq!(part(text, both).unwrap(), (vec![("d10".to_owned(), 0.0)], 299));
        let error = part(text, Cut { from: Some(Start::Days(5)), days: None }).unwrap_err();
        assert!(error.contains("221:1: this is more than 213 days"), "{error}");
        assert!(error.contains("`jobs.days` beside `jobs.from`"), "{error}");
        let error = part(text, Cut { from: Some(Start::Days(301)), days: None }).unwrap_err();
        let nothing =
            "all rows were left out: 300 jobs outside of the part; give another `jobs.from`";
        assert!(error.contains(nothing), "{error}");
    }
    let cut = |from: &str| Cut::new(Some(from), Some(2)).expect("a time");
    let march = vec![("d60".to_owned(), 0.0), ("d61".to_owned(), 86_400.0)];
    assert_eq!(part(&dates, cut("2024-03-01")).unwrap(), (march.clone(), 298));
    assert_eq!(part(&dates, cut("2024-03-01T06:00")).unwrap(), (march, 298));
    assert_eq!(part(&dates, cut("2024-03-01 06:00:01")).unwrap().0[0].0, "d61");
    for (text, from) in [(&seconds, "2024-03-01"), (&dates, "2024-03-01T00:00:00Z")] {
        let error = part(text, cut(from)).unwrap_err();
        assert!(error.contains("2:4: `jobs.from` is a time of another kind than this"), "{error}");
    }
    assert_eq!(Cut::new(Some("90"), None), None);
    assert_eq!(Cut::new(Some("March"), None), None);
}

#[test]
fn what_lies_outside_of_the_part_need_not_fit() {
    let text = "id,submit,gpus,duration\na,0,99,60\nb,86400,2,60\nb,172800,2,60\n";
    assert_eq!(parsed(text).unwrap_err().to_string().matches("two jobs have one id").count(), 1);
    let one = Cut { from: Some(Start::Days(1)), days: Some(1) };
    assert_eq!(part(text, one).unwrap(), (vec![("b".to_owned(), 0.0)], 2));
}

#[test]
fn the_part_is_a_scenario_s() {
    let day = "system.server = \"dgx2\"\n[jobs]\nfile = \"a.csv\"\nworkload = \"vgg-16\"\n";
    let seconds = year(|day| (day * 86_400).to_string());
    let files: Files = [("a.csv".to_owned(), seconds.into_bytes())].into();
    let build = |keys: &str| {
        let found = read_scenario(&format!("{day}{keys}"));
        found.and_then(|it| it.build(&files)).map_err(|error| error.to_string())
    };
    let error = build("").map(drop).unwrap_err();
    assert!(error.contains("simulated time ends after 213 days (2^64 ps)"), "{error}");
    let built = build("from = 40\ndays = 30\n").unwrap();
    let Built { work: ReadyJobs::Mix(jobs), notes, .. } = built else { panic!("a mix") };
    assert_eq!((jobs.len(), &*jobs[0].name), (30, "d40"));
    assert!(notes.iter().any(|it| it.ends_with("270 jobs outside of the part.")), "{notes:?}");
    for (keys, expected) in [
        ("from = -1", "s.toml:5:8: neither a time nor a number of days: `-1`; write a date"),
        ("from = \"soon\"", "neither a time nor a number of days: `\"soon\"`"),
        ("from = true", "neither a time nor"),
        ("days = 0", "this cannot be zero: `0`; write a whole number from 1 to 213"),
        ("days = 214", "simulated time ends after 213 days (2^64 ps): `214`; write a whole number"),
        ("days = 1.5", "no whole number"),
    ] {
        let error = build(keys).map(drop).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
    let asked = |from: &str| read_scenario(&format!("{day}from = {from}\n")).unwrap().asked;
    assert_eq!(asked("2024-03-01"), asked("\"2024-03-01\""));
    let generated = "system.server = \"dgx2\"\n[jobs]\ngenerate = {}\ndays = 3\n";
    let error = read_scenario(generated).unwrap_err().to_string();
    assert!(error.contains("this is of jobs that a file says ran"), "{error}");
}

fn refusal(text: &str) -> String {
    parsed(text).unwrap_err().to_string()
}

pub(super) fn short(record: &Record) -> Vec<(&str, f64, u32, f64)> {
    let each = record.jobs.iter();
    each.map(|it| (&*it.name, it.submit.as_seconds(), it.gpus, it.duration.as_seconds())).collect()
}

#[test]
fn what_sacct_prints_is_read_and_the_rest_is_counted() {
    let record = parsed(SACCT).unwrap();
    let expected = [("11", 60.0, 4, 3600.0), ("14_1", 0.0, 2, 93_600.0), ("18", 5460.0, 1, 600.0)];
    assert_eq!(short(&record), expected);
    let left_out = LeftOut {
        steps: 2,
        never_started: 2,
        unfinished: 1,
        without_gpus: 1,
        without_length: 1,
        too_wide: 0,
        outside: 0,
    };
    assert_eq!(record.left_out, left_out);
    assert_eq!(
        left_out.told(),
        "2 steps of jobs, 2 jobs that never started, 1 job that had not ended, 1 job without GPUs, \
         1 job of no length"
    );
    // With `--parsable` a bar ends each line.
    let barred: String = SACCT.lines().map(|line| format!("{line}|\r\n")).collect();
    assert_eq!(parsed(&barred), Ok(record));
}

#[test]
fn columns_may_be_any_and_in_any_order() {
    let record = parsed(
        "STATE|Partition|End|reqtres|start|submit\n\
         COMPLETED|a|2024-02-29T00:00:10Z|gres/gpu:a=1,gres/gpu:b=2|2024-02-28T23:59:00Z|2024-02-28T23:00:00+01:00\n",
    );
    assert_eq!(short(&record.unwrap()), [("job-001", 0.0, 3, 70.0)]);
    let csv = "# mine\n\nduration, gpus ,submit\n1:30,2,5\n\"90 s\",1,0.5\n2-00:00:00,8,100\n";
    let expected =
        [("job-001", 4.5, 2, 90.0), ("job-002", 0.0, 1, 90.0), ("job-003", 99.5, 8, 172_800.0)];
    assert_eq!(short(&parsed(csv).unwrap()), expected);
}

#[test]
fn a_scenario_may_name_the_columns() {
    let columns = Columns {
        submit: Some("Queued".to_owned()),
        duration: Some("lasted".to_owned()),
        gpus: Some("cards".to_owned()),
        ..Columns::default()
    };
    let text = "queued,lasted,cards,duration\n10,60,2,9\n";
    let accounting = Accounting { columns: columns.clone(), ..Accounting::default() };
    assert!(accounting.is_record(text));
    let record = named(columns.clone(), text).unwrap();
    assert_eq!(short(&record), [("job-001", 0.0, 2, 60.0)]);
    let text = "queued,last,cards\n1,2,3\n";
    let error = named(columns, text).unwrap_err().to_string();
    assert!(error.contains("lacks the column `lasted`") && error.contains("`last`?"), "{error}");
    // A list of jobs is none.
    assert!(!Accounting::default().is_record("job,workload,gpus\na,gmm,1\n"));
    assert!(Accounting::default().is_record("submit,gpus,duration\n"));
}

#[test]
fn what_is_no_record_is_refused_with_its_place() {
    let head = "submit,gpus,duration\n";
    let cases = [
        (String::new(), "1:1: the file has no header; begin with"),
        (
            "submit,gpus\n1,1\n".into(),
            "1:1: no column says how long jobs ran: `submit,gpus`; print `E",
        ),
        ("gpus,duration\n1,1\n".into(), "1:1: no column says when jobs were submitted"),
        ("submit,duration\n1,1\n".into(), "1:1: no column says how many GPUs jobs had"),
        ("submit,gpus,duration,gpus\n".into(), "1:22: two columns say the same: `gpus`"),
        (format!("{head}1,2\n"), "2:1: the row is too short: `1,2`; give each"),
        (format!("{head}1,2,3,4\n"), "2:7: the row is too long: `4`; the header has 3 columns"),
        (
            format!("{head}2024-13-01 00:00:00,2,3\n"),
            "2:1: not a time: `2024-13-01 00:00:00`; write",
        ),
        (format!("{head}2023-02-29T00:00:00,2,3\n"), "2:1: not a time"),
        (format!("{head}1,two,3\n"), "2:3: not a number of GPUs: `two`; write"),
        (
            format!("{head}1,9,3\n"),
            "1:1: the file has no job to play: `submit,gpus,duration`; all rows were left out: 1 job of more GPUs than ",
        ),
        (
            "{\"jobs\": []}\n".into(),
            "1:1: this looks like JSON: `{\"jobs\": []}`; write comma-separated",
        ),
        (format!("{head}1,2, 1:99:00\n"), "2:6: not a duration: `1:99:00`; write seconds"),
        (format!("{head}1,2,-3\n"), "2:5: not a duration: `-3`"),
        (format!("{head}1,2,18446745\n"), "2:5: not a duration"),
        (format!("{head}0,2,3\n18446745,2,3\n"), "3:1: this is more than 213 days after the first"),
        (
            format!("{head}2024-03-01T00:00:00,1,1\n2024-03-01T00:00:00Z,1,1\n"),
            "3:1: the file writes times in different ways",
        ),
        (format!("id,{head}a,1,1,1\na,1,1,1\n"), "3:1: two jobs have one id: `a`; line 2 has"),
        (format!("workload,{head}vgg,1,1,1\n"), "2:1: unknown workload: `vgg`; use one of alexnet"),
        (format!("{head}\"1,2,3\n"), "2:1: the quote is not closed on its line"),
        (
            format!("{head}1,0,3\n"),
            "1:1: the file has no job to play: `submit,gpus,duration`; all rows",
        ),
        (
            "JobID  Submit  Elapsed\n------ ------ ------\n1 2 3\n".into(),
            "1:1: blanks part the columns: `JobID  Submit  Elapsed`; run `sacct` with `--parsable2`",
        ),
        (
            "submit;gpus\n1;2\n".into(),
            "1:1: semicolons or tabs part the columns: `submit;gpus`; write",
        ),
        ("submit\tgpus\n1\t2\n".into(), "1:1: semicolons or tabs part the columns"),
        (head.into(), "1:1: the file has no job to play: `submit,gpus,duration`; add a row"),
    ];
    for (text, expected) in cases {
        let error = refusal(&text);
        assert!(error.starts_with(&format!("jobs.txt:{expected}")), "{error}\n{expected}");
    }
    let named = "JobID|JobName|Submit|Elapsed|ReqTRES\n1|a|b|2024-03-01T00:00:00|10|gres/gpu=1\n";
    assert!(refusal(named).contains("leave out `JobName`"), "{}", refusal(named));
}

const DAY: &str = "[system]\nserver = \"dgx1-v100\"\n[jobs]\nfile = \"day.txt\"\n\
    workload = \"vgg-16\"\nrun_time = \"played\"\n[allocation]\npolicies = [\"greedy\"]\n";

fn built(text: &str, variant: Option<&str>) -> (Vec<Job>, Vec<String>) {
    let files = Files::from([("day.txt".to_owned(), SACCT.as_bytes().to_vec())]);
    let variant = variant.map(str::to_owned);
    let given =
        Given { file: "s.toml".to_owned(), text: text.to_owned(), variant, ..Given::default() };
    let Built { work, notes, .. } = Scenario::read(&given).unwrap().build(&files).unwrap();
    match work {
        ReadyJobs::Mix(jobs) => (jobs, notes),
        ReadyJobs::Programs(_) => panic!("jobs of GPUs"),
    }
}

/// Alone on its machine each job runs as long as it was recorded to, to half an iteration.
#[test]
fn durations_become_iterations_of_the_workload() {
    for run_time in ["played", "formula"] {
        let text = DAY.replace("played", run_time);
        let (jobs, notes) = built(&text, None);
        assert!(notes[0].contains("it is assumed that its 3 jobs ran vgg-16"), "{notes:?}");
        assert!(notes[1].contains("2 jobs that never started"), "{notes:?}");
        let vgg = Workload::find("vgg-16").unwrap();
        assert!(jobs.iter().all(|job| job.workload == "vgg-16"));
        // One GPU only computes.
        let compute = vgg.compute_per_iteration().0;
        assert_eq!(jobs[2].iterations, (600_000_000_000_000 + compute / 2) / compute);
        // Four also reduce.
        let computed = jobs[0].iterations * compute;
        assert!((360_000_000_000_000..3_240_000_000_000_000).contains(&computed), "{computed}");
    }
}

/// Another planner or machine does the same work.
#[test]
fn variants_have_the_jobs_of_the_scenario() {
    let text = format!(
        "{DAY}[compare.classic]\ncollectives.planner = \"nccl-classic\"\n\
         [compare.other]\nsystem.server = \"dgx-a100\"\n"
    );
    let (jobs, _) = built(&text, None);
    for name in ["classic", "other"] {
        assert_eq!(built(&text, Some(name)).0, jobs, "{name}");
    }
    let classic =
        DAY.replace("[allocation]", "[collectives]\nplanner = \"nccl-classic\"\n[allocation]");
    assert_ne!(built(&classic, None).0, jobs);
}

#[test]
fn scenarios_say_what_recorded_jobs_ran() {
    let wrong = read_scenario(&DAY.replace("vgg-16", "vgg16")).unwrap_err().to_string();
    assert!(
        wrong.starts_with("s.toml:5:12: unknown workload: `\"vgg16\"`; did you mean `vgg-16`?"),
        "{wrong}"
    );
    let generated = read_scenario(&DAY.replace("file = \"day.txt\"", "generate = {}"));
    let error = generated.unwrap_err().to_string();
    assert!(error.contains("this is of jobs that a file says ran"), "{error}");
    let read = read_scenario(&DAY.replace("workload = \"vgg-16\"\n", "")).unwrap();
    assert!(matches!(read.asked, Asked::Mix(_)));
    let files = Files::from([("day.txt".to_owned(), SACCT.as_bytes().to_vec())]);
    let error = read.build(&files).unwrap_err().to_string();
    assert!(error.starts_with("day.txt:2:"), "{error}");
    assert!(error.contains("nobody says what the jobs ran: `11`; write `workload"), "{error}");
    let list = Files::from([("day.txt".to_owned(), b"job,workload,gpus\na,gmm,1\n".to_vec())]);
    let error = read_scenario(DAY).unwrap().build(&list).unwrap_err().to_string();
    assert!(error.starts_with("s.toml:5:12: a workload beside a list of jobs"), "{error}");
    // A file that is neither says itself what it lacks.
    for (text, lacks) in [
        ("", "day.txt:1:1: the file has no header"),
        ("submit,gpus\n1,1\n", "day.txt:1:1: no column says how long jobs ran"),
        ("JobID Submit State\n1 2 x\n", "day.txt:1:1: blanks part the columns"),
        ("submit;gpus;duration\n1;1;1\n", "day.txt:1:1: semicolons or tabs part the columns"),
    ] {
        let files = Files::from([("day.txt".to_owned(), text.as_bytes().to_vec())]);
        let error = read_scenario(DAY).unwrap().build(&files).unwrap_err().to_string();
        assert!(error.starts_with(lacks), "{error}");
    }
    let small = DAY.replace("dgx1-v100", "4x-l40s-pcie");
    let large = SACCT.replace("gres/gpu=4", "gres/gpu=5");
    let files = Files::from([("day.txt".to_owned(), large.into_bytes())]);
    let Built { work: ReadyJobs::Mix(jobs), notes, .. } =
        read_scenario(&small).unwrap().build(&files).unwrap()
    else {
        panic!("a mix")
    };
    assert_eq!(jobs.iter().map(|job| job.gpus).max(), Some(2));
    assert!(notes.iter().any(|it| it.contains("1 job of more GPUs than one can get")), "{notes:?}");
}

/// Writes a moment of the calendar as text, for a zone.
fn written(days: i64, seconds: i64, zone: &str) -> String {
    // By counting, which is slow and plainly right.
    let (mut year, mut month, mut day) = (1970, 1, 1);
    for _ in 0..days {
        let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let most = [31, 28 + i64::from(is_leap), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        day += 1;
        if day > most[month - 1] {
            (day, month) = (1, month + 1);
        }
        if month > 12 {
            (month, year) = (1, year + 1);
        }
    }
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{rest:02}{zone}")
}

#[test]
fn zones_are_heeded() {
    let at = |text: &str| Moment::read(text).unwrap().picoseconds;
    let noon = at("2024-03-01T12:00:00Z");
    for same in ["2024-03-01T13:00:00+01:00", "2024-03-01T06:30:00-0530", "2024-03-01 14:00+02"] {
        assert_eq!(at(same), noon, "{same}");
    }
    assert_eq!(at("2024-03-01T12:00:00.25Z") - noon, 250_000_000_000);
    for wrong in ["2024-03-01", "2024-03-01T24:00:00", "2024-03-01T12:00:00+1", "x", "", "1e3"] {
        assert!(Moment::read(wrong).is_none(), "{wrong}");
    }
}

#[test]
fn gpus_are_those_of_all_models() {
    for (text, count) in [
        ("4", Some(4)),
        ("", Some(0)),
        ("cpu=4,mem=8G", Some(0)),
        ("gres/gpu=2,gres/gpu:v100=2,gres/gpumem=10", Some(2)),
        ("gres/gpu:a100=1,gres/gpu:v100=2", Some(3)),
        ("gres/gpu=x", None),
        ("four", None),
    ] {
        assert_eq!(gpus_of(text, 1).map(|it| it.gpus), count, "{text}");
        assert_eq!(gpus_of(text, 1).and_then(|it| it.part), None, "{text}");
    }
}

#[test]
fn parts_of_gpus_are_told_from_whole_ones() {
    use PartOfGpu::{Fraction, Shard, Slice};
    for (text, parts, gpus, part) in [
        ("cpu=4,gres/gpu:1g.10gb=1,gres/gpu=1", 1, 1, Some(Slice)),
        ("gres/gpu:a100_3g.20gb=2", 1, 2, Some(Slice)),
        ("gres/gpu:1g.5gb+me=1,gres/gpu:a100=1", 1, 2, Some(Slice)),
        ("gres/mig-1g.5gb=3", 1, 3, Some(Slice)),
        ("gres/gpu:rtx_4090_24gb=1", 1, 1, None),
        ("gres/gpu:1g.10gb=0", 1, 0, None),
        ("cpu=2,gres/shard=4,node=1", 1, 1, Some(Shard)),
        ("gres/shard:a100=4", 1, 1, Some(Shard)),
        ("gres/mps=50", 1, 1, Some(Shard)),
        ("gres/shard=0", 1, 0, None),
        ("gres/gpu=2,gres/shard=8", 1, 2, None),
        ("0.5", 1, 1, Some(Fraction)),
        ("2.0", 1, 2, None),
        ("250", 1000, 1, Some(Fraction)),
        ("1000", 1000, 1, None),
        ("8000", 1000, 8, None),
        ("1500", 1000, 2, Some(Fraction)),
        ("50", 100, 1, Some(Fraction)),
        ("0", 1000, 0, None),
    ] {
        assert_eq!(gpus_of(text, parts), Some(GpuCount { gpus, part }), "{text}");
    }
    for text in ["-1", "1e3", "5000000000", "gres/shard=x"] {
        assert_eq!(gpus_of(text, 1), None, "{text}");
    }
}

/// A day of Slurm, and one of PAI, in which some jobs had parts of GPUs.
#[test]
fn a_day_says_how_many_jobs_had_parts_of_gpus() {
    let of = |text: &str, columns: &str| -> (Vec<u32>, Vec<String>) {
        let files = Files::from([("day.txt".to_owned(), text.as_bytes().to_vec())]);
        let scenario = DAY.replace("run_time", &format!("{columns}run_time"));
        let built = read_scenario(&scenario).unwrap().build(&files).unwrap();
        let Built { work: ReadyJobs::Mix(jobs), notes, .. } = built else { panic!("a mix") };
        (jobs.iter().map(|job| job.gpus).collect(), notes)
    };
    let row = |id: u32, gpus: &str| {
        format!("{id}|2024-03-01T08:00:0{id}|600|00:10:00|{gpus}|COMPLETED\n")
    };
    let slurm: String =
        std::iter::once("JobID|Submit|ElapsedRaw|Elapsed|AllocTRES|State\n".to_owned())
            .chain([
                row(1, "gres/gpu:1g.10gb=1,gres/gpu=1"),
                row(2, "gres/gpu:1g.10gb=2"),
                row(3, "gres/shard=3"),
                row(4, "gres/gpu=4"),
                row(5, "gres/gpu=9"),
            ])
            .collect();
    let (gpus, notes) = of(&slurm, "");
    assert_eq!(gpus, [1, 2, 1, 4]);
    let told = "day.txt: 2 jobs had slices of GPUs (MIG), 1 job had shards of a GPU; whole GPUs stand for them";
    assert!(notes.iter().any(|note| note.starts_with(told)), "{notes:?}");
    assert!(
        notes.iter().any(|note| note.contains("1 job of more GPUs than one can get")),
        "{notes:?}"
    );
    let pai = "name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n\
               a,1,250,0,600,10\nb,1,1000,5,700,20\nc,2,1000,9,700,30\nd,1,500,9,800,40\ne,0,0,9,80,40\n";
    let columns = |gpus| {
        format!(
            "columns = {{ job = \"name\", submit = \"creation_time\", start = \"scheduled_time\", end = \
             \"deletion_time\", gpus = \"{gpus}\" }}\n"
        )
    };
    for (column, expected) in [("num_gpu", vec![1, 1, 2, 1]), ("gpu_milli", vec![1, 1, 1, 1])] {
        let (gpus, notes) = of(pai, &columns(column));
        assert_eq!(gpus, expected);
        let told = "2 jobs had fractions of a GPU; whole GPUs stand for them";
        assert!(notes.iter().any(|note| note.contains(told)), "{notes:?}");
        assert!(notes.iter().any(|note| note.contains("1 job without GPUs")), "{notes:?}");
    }
}

/// Who knows no time of submission may take that of the start: nobody waited then.
#[test]
fn one_column_may_tell_two_things() {
    let given = |submit: &str, start: Option<&str>| Columns {
        submit: Some(submit.to_owned()),
        start: start.map(str::to_owned),
        ..Columns::default()
    };
    let usual = "gpus,start,end\n2,60,120\n1,0,90\n";
    let own = usual.replace("start", "begun");
    let expected = [("job-001", 60.0, 2, 60.0), ("job-002", 0.0, 1, 90.0)];
    for (text, columns) in [
        (usual, given("start", None)),
        (usual, given("start", Some("start"))),
        (&own, given("begun", Some("begun"))),
    ] {
        let record = named(columns, text).unwrap();
        assert_eq!(short(&record), expected);
    }
    // A column that is no time has the one meaning that it is given.
    let columns = Columns { gpus: Some("duration".to_owned()), ..Columns::default() };
    let error = named(columns, "submit,duration\n1,2\n").unwrap_err();
    assert!(error.to_string().contains("no column says how long jobs ran"), "{error}");
}

proptest! {
    #[test]
    fn moments_are_those_of_the_calendar(days in 0_i64..40_000, seconds in 0_i64..86_400) {
        let read = Moment::read(&written(days, seconds, "")).unwrap();
        prop_assert_eq!(read.picoseconds, i128::from(days * 86_400 + seconds) * 1_000_000_000_000);
    }

    #[test]
    fn durations_read_as_they_are_written(seconds in 0_u64..18_000_000) {
        let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
        let rest = seconds % 60;
        let expected = Some(Picoseconds(seconds * 1_000_000_000_000));
        prop_assert_eq!(duration(&seconds.to_string()), expected);
        prop_assert_eq!(duration(&format!("{days}-{hours:02}:{minutes:02}:{rest:02}")), expected);
        let hours = seconds / 3600;
        prop_assert_eq!(duration(&format!("{hours}:{minutes:02}:{rest:02}")), expected);
    }

    /// Every row is a job or counted; none is both or neither.
    #[test]
    fn every_row_is_counted_once(
        rows in prop::collection::vec((0_usize..6, 0_u32..11, 0_u64..9000), 1..12),
    ) {
        let states = ["COMPLETED", "CANCELLED by 1", "RUNNING", "PENDING", "FAILED", "TIMEOUT"];
        let mut text = "JobID|Submit|ElapsedRaw|AllocTRES|State\n".to_owned();
        for (at, (state, gpus, lasted)) in rows.iter().enumerate() {
            let state = states[*state];
            text += &format!("{at}|2024-03-01T08:00:{at:02}|{lasted}|gres/gpu={gpus}|{state}\n");
            text += &format!("{at}.batch|2024-03-01T08:00:00|{lasted}||{state}\n");
        }
        if let Ok(Record { jobs, left_out, .. }) = parsed(&text) {
            prop_assert_eq!(left_out.steps, rows.len());
            let LeftOut { never_started, unfinished, without_gpus, without_length, .. } = left_out;
            let others =
                never_started + unfinished + without_gpus + without_length + left_out.too_wide;
            prop_assert_eq!(jobs.len() + others, rows.len());
            prop_assert!(jobs.iter().all(|job| job.gpus > 0 && job.duration.0 > 0));
            prop_assert!(jobs.iter().any(|job| job.submit.0 == 0));
        }
    }

    #[test]
    fn any_text_reads_or_is_refused(text in "\\PC*", row in "[a-zA-Z0-9,|.:=/TZ+ \n\t-]{0,60}") {
        let _ = parsed(&text);
        let _ = parsed(&format!("{SACCT}{row}"));
        let _ = parsed(&format!("submit,gpus,duration\n{row}"));
        let _ = (Moment::read(&text), duration(&text), gpus_of(&text, 100));
        let _ = (Moment::read(&row), duration(&row), gpus_of(&row, 1));
    }
}
