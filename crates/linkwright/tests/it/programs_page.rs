//! The tables and examples of the page on programs are what the code gives.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use linkwright::program::skeletons::{APPLICATIONS, Application};
use linkwright::program::{goal, workload};

use crate::loggp::{LogGp, estimate};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/concepts/programs.md");
    fs::read_to_string(path).expect("the page is there")
}

/// Returns the first block of a language.
fn block<'a>(page: &'a str, language: &str) -> &'a str {
    let start = format!("```{language}\n");
    let after = &page[page.find(&start).expect("a block of this language") + start.len()..];
    &after[..after.find("```").expect("an end of the block")]
}

#[test]
fn the_table_of_shares_is_what_the_estimate_says() {
    let mut table = String::from(
        "| application | speed-up | 32, before | 32, after | 512, before | 512, after |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for application in &APPLICATIONS {
        let _ = write!(table, "| {} | {} |", application.name, application.gpu_speedup);
        for ranks in [32, 512] {
            let program = application.program(ranks, &toml::Table::new()).expect("a paper's count");
            for speedup in [1.0, application.gpu_speedup] {
                let estimate = estimate(&program, LogGp::default(), speedup).expect("sound");
                let _ = write!(table, " {:.1} % |", 100.0 * estimate.communication_share());
            }
        }
        table.push('\n');
    }
    assert!(page().contains(&table), "docs/concepts/programs.md should hold:\n{table}");
}

#[test]
fn the_examples_of_formats_are_read() {
    let page = page();
    let program = goal::read("goal", block(&page, "goal"), &goal::Options::default());
    assert_eq!(program.expect("a sound example").ranks.len(), 2);
    let mapping = workload::read_mapping("mapping", block(&page, "mapping"), &[2, 1], 8);
    assert_eq!(mapping, Ok(vec![vec![0, 4], vec![1]]));
}
