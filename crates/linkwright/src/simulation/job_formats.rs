//! Formats that are told by their looks and are no lists of jobs.

use crate::diagnostic::Diagnosis;

/// How many numbers a line of the Standard Workload Format has (Feitelson's Parallel Workloads Archive, version 2.2).
const OF_SWF: usize = 18;

/// Names the format of a text that is no list of jobs, with a remedy; None of any other.
#[must_use]
pub fn other_format(text: &str) -> Option<Diagnosis> {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let first = text.lines().next().unwrap_or_default();
    if is_json(text) {
        let remedy = "write comma-separated values with a header such as `submit,gpus,duration`, or give what `sacct \
                      --parsable2` prints";
        return Some(Diagnosis::of("this looks like JSON").remedy(remedy));
    }
    let mut words = first.split_whitespace();
    let are_numbers = words.clone().count() == OF_SWF && words.all(|it| it.parse::<f64>().is_ok());
    if first.starts_with(';') || are_numbers {
        let remedy = "name it as `file` in `[jobs]` of a scenario without `columns`; or write its second, fifth and \
                      fourth column as comma-separated values below `submit,gpus,duration`";
        let problem = "this looks like a log in the Standard Workload Format (SWF)";
        return Some(Diagnosis::of(problem).remedy(remedy));
    }
    None
}

/// Whether a text begins as an object of JSON does, or a list that is no table of TOML.
fn is_json(text: &str) -> bool {
    let mut rest = text.chars().filter(|it| !it.is_whitespace());
    match rest.next() {
        Some('{') => true,
        Some('[') => matches!(rest.next(), Some('{' | ']' | '"')),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_and_swf_are_told_from_what_is_read() {
        let swf = "1 0 5 3600 4 -1 -1 4 3600 -1 1 7 3 -1 1 -1 -1 -1";
        for (text, looks) in [
            ("[{\"submit\": 1}]", "JSON"),
            ("\u{feff}\n {\n \"jobs\": []}", "JSON"),
            ("{\"job\": 1}\n{\"job\": 2}\n", "JSON"),
            ("; Version: 2.2\n; MaxProcs: 64\n", "Standard Workload Format"),
            (swf, "Standard Workload Format"),
        ] {
            let found = other_format(text).expect(text);
            assert!(found.problem.contains(looks), "{text}");
        }
        for text in [
            "",
            "[jobs]\nfile = \"a\"\n",
            "[[job]]\n",
            "submit,gpus,duration\n1,2,3\n",
            "JobID|Submit\n",
            "# 1\njob,workload,gpus\n",
            "1 2 3",
        ] {
            assert_eq!(other_format(text), None, "{text}");
        }
    }
}
