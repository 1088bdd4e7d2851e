//! Tells ranks apart by the prefix that a launcher puts before each line.
//!
//! `srun -l` writes `0: `, Open MPI `[1,0]<stdout>:`, Hydra `[0] `, Kubernetes the pod's name, and many the
//! time. Two lines are of one rank where their prefixes are equal but for times and blanks.

/// A prefix has at most this many bytes.
const LONGEST: usize = 256;

/// Who printed a line: its prefix without times and blanks. None where it is too long for one.
#[must_use]
pub fn label(prefix: &str) -> Option<String> {
    if prefix.len() > LONGEST {
        return None;
    }
    let (mut label, mut at) = (String::new(), 0);
    while let Some(first) = prefix[at..].chars().next() {
        let rest = &prefix[at..];
        // A time begins where a word does, so that an address keeps its numbers.
        let is_inside = prefix[..at].ends_with(|last: char| last.is_alphanumeric() || last == '.');
        let time = if is_inside { 0 } else { time_at(rest) };
        let number = if first.is_ascii_digit() { number_at(rest) } else { first.len_utf8() };
        if time == 0 {
            label.extend(rest[..number].chars().filter(|kept| !kept.is_whitespace()));
        }
        at += if time > 0 { time } else { number };
    }
    Some(label)
}

/// Makes every number of a label alike, since numbers of lines differ from line to line.
#[must_use]
pub fn with_any_numbers(label: &str) -> String {
    let mut any = String::new();
    for one in label.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }) {
        if one != '0' || !any.ends_with('0') {
            any.push(one);
        }
    }
    any
}

/// How many bytes a number takes, with the points in it.
fn number_at(text: &str) -> usize {
    text.find(|it: char| !(it.is_ascii_digit() || it == '.')).unwrap_or(text.len())
}

/// How many bytes a date, a time of day, a time in seconds or a day's name takes; zero where there is none.
fn time_at(text: &str) -> usize {
    let date = [date_at, clock_at, seconds_at, day_at].iter().map(|find| find(text));
    date.max().unwrap_or(0)
}

/// Finds `2026-11-25` or `11/25/2026`, and the time behind a `T`.
fn date_at(text: &str) -> usize {
    let found = ['-', '/'].iter().find_map(|separator| {
        let (numbers, length) = numbers_at(text, &[*separator])?;
        (numbers.contains(&4) || numbers.iter().all(|digits| *digits == 2)).then_some(length)
    });
    let Some(length) = found else { return 0 };
    let behind = text[length..].strip_prefix(['T', '_']).map_or(0, clock_at);
    if behind > 0 { length + 1 + behind } else { length }
}

/// Finds `10:00:01.250`, and a zone behind it.
fn clock_at(text: &str) -> usize {
    let Some((numbers, mut length)) = numbers_at(text, &[':']) else { return 0 };
    if numbers[1] != 2 || numbers[2] != 2 {
        return 0;
    }
    if let Some(part) = text[length..].strip_prefix(['.', ',']) {
        length += 1 + digits_at(part);
    }
    if text[length..].starts_with('Z') {
        return length + 1;
    }
    if let Some(zone) = text[length..].strip_prefix(['+', '-']) {
        let zone = zone.find(|it: char| !(it.is_ascii_digit() || it == ':')).unwrap_or(zone.len());
        return length + if zone > 0 { 1 + zone } else { 0 };
    }
    length
}

/// `1732528800.5` or `12.25`, and whole seconds since 1970. An address with more points is none.
fn seconds_at(text: &str) -> usize {
    let length = number_at(text);
    let number = &text[..length];
    let is_time = match number.split_once('.') {
        Some((whole, part)) => {
            !whole.is_empty() && !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit())
        }
        None => length >= 10,
    };
    if is_time { length } else { 0 }
}

/// Finds `Wed` or `Nov 25`.
fn day_at(text: &str) -> usize {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let end = text.find(|it: char| !it.is_alphanumeric()).unwrap_or(text.len());
    let word = &text[..end];
    if DAYS.contains(&word) {
        return end;
    }
    if !MONTHS.contains(&word) {
        return 0;
    }
    let behind = text[end..].trim_start();
    let blanks = text.len() - end - behind.len();
    match digits_at(behind) {
        day @ 1..=2 => end + blanks + day,
        _ => end,
    }
}

/// Counts the digits of three numbers with one separator between them, and the bytes of all.
fn numbers_at(text: &str, separator: &[char]) -> Option<([usize; 3], usize)> {
    let mut numbers = [0; 3];
    let mut length = 0;
    for (at, number) in numbers.iter_mut().enumerate() {
        if at > 0 {
            text[length..].strip_prefix(separator)?;
            length += 1;
        }
        *number = digits_at(&text[length..]);
        if !matches!(number, 1 | 2 | 4) {
            return None;
        }
        length += *number;
    }
    Some((numbers, length))
}

fn digits_at(text: &str) -> usize {
    text.find(|it: char| !it.is_ascii_digit()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn times_are_taken_off_and_names_stay() {
        for time in [
            "2026-11-25T10:00:01.123456789Z ",
            "2026-11-25 10:00:01,250 ",
            "2026-11-25T10:00:01+01:00 ",
            "11/25/26 10:00:01 ",
            "Wed Nov  5 10:00:01 ",
            "10:00:01 ",
            "1732528800.25 ",
            "1732528800 ",
            "0.125 ",
        ] {
            assert_eq!(label(time).unwrap(), "", "{time}");
            assert_eq!(label(&format!("{time}12: ")).unwrap(), "12:", "{time}");
            assert_eq!(label(&format!("[{time}] pod-0 ")).unwrap(), "[]pod-0", "{time}");
            assert_eq!(label(&format!("node-1 {time}")).unwrap(), "node-1", "{time}");
        }
        for name in
            ["0:", "[1,0]<stdout>:", "[pod/a-launcher-x7/mpi]", "10.0.0.1:", "node-12:", "16"]
        {
            assert_eq!(label(name).unwrap(), name);
        }
        // A part of a time is none.
        assert_eq!(label("2026-11-25 10:00:").unwrap(), "10:00:");
        assert_eq!(label(&"x".repeat(LONGEST + 1)), None);
        assert_eq!(with_any_numbers("a12:34"), with_any_numbers("a7:8"));
        assert_ne!(with_any_numbers("12"), with_any_numbers(""));
    }

    proptest! {
        /// Whatever stands there, a label has no blanks and is no longer than its prefix.
        #[test]
        fn any_prefix_has_a_label(prefix in "\\PC{0,80}") {
            if let Some(found) = label(&prefix) {
                prop_assert!(found.len() <= prefix.len());
                prop_assert!(!found.contains(char::is_whitespace));
            }
        }
    }
}
