//! Tells the errors of serde's readers in words that name the remedy.
//!
//! Types of Rust mean nothing to the author of the file. A number outside `u32` is told with the
//! range, an unknown name with the nearest. Text of another layer is left as it is.

use super::{Diagnosis, instead_of};

/// The most that TOML writes as a whole number.
const MOST_WHOLE: u64 = i64::MAX as u64;

/// A message of a reader as what is wrong and what would work, where it is one of serde's.
pub fn in_plain_words(message: &str) -> Diagnosis {
    let message = message.trim_end().replace('\n', ", ");
    let known = unknown_name(&message).or_else(|| missing(&message)).or_else(|| other(&message));
    known.unwrap_or_else(|| Diagnosis::of_text(&message))
}

/// A name or a key that there is not.
fn unknown_name(message: &str) -> Option<Diagnosis> {
    let (what, rest) = message
        .strip_prefix("unknown variant ")
        .map(|rest| ("name", rest))
        .or_else(|| message.strip_prefix("unknown field ").map(|rest| ("key", rest)))?;
    let (name, expected) = rest.strip_prefix('`')?.rsplit_once("`, expected ")?;
    // Whatever stands between backquotes is a name: `a`, `a` or `b`, one of `a`, `b`, `c`.
    let known: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
    Some(Diagnosis::of(format!("unknown {what} `{name}`")).remedy(instead_of(name, &known)))
}

/// A key that is not there.
fn missing(message: &str) -> Option<Diagnosis> {
    let key = message.strip_prefix("missing field `")?.strip_suffix('`')?;
    Some(Diagnosis::of(format!("no key `{key}`")).remedy(format!("add `{key}`")))
}

/// A value of another type, or one that its type does not hold.
fn other(message: &str) -> Option<Diagnosis> {
    let rest = message.strip_prefix("invalid ")?;
    let (of, rest) = rest.split_once(": ")?;
    if !matches!(of, "type" | "value") {
        return None;
    }
    let (found, expected) = rest.rsplit_once(", expected ")?;
    let is_whole = found.starts_with("integer `");
    if expected.starts_with("any valid TOML") && is_whole {
        let remedy = format!("write a whole number up to {MOST_WHOLE}");
        return Some(Diagnosis::of("out of range").remedy(remedy));
    }
    let (what, remedy) = wanted(expected)?;
    let out_of_range = is_whole && what == "whole number";
    let problem = if out_of_range { "out of range".to_owned() } else { format!("no {what}") };
    Some(Diagnosis::of(problem).remedy(format!("write {remedy}")))
}

/// Returns the name of a type, and how it is written.
fn wanted(expected: &str) -> Option<(&'static str, String)> {
    let (least, of) = match expected.strip_prefix("a nonzero ") {
        Some(of) => (1, of),
        None => (0, expected),
    };
    let most = match of {
        "u8" => Some(u64::from(u8::MAX)),
        "u16" => Some(u64::from(u16::MAX)),
        "u32" => Some(u64::from(u32::MAX)),
        "u64" | "usize" => Some(MOST_WHOLE),
        _ => None,
    };
    if let Some(most) = most {
        return Some(("whole number", format!("a whole number from {least} to {most}")));
    }
    if let Some(size) = of.strip_prefix("a tuple of size ") {
        return Some(("list", format!("a list of {size}")));
    }
    let (what, remedy) = match of {
        "i8" | "i16" | "i32" | "i64" | "isize" => ("whole number", "a whole number"),
        "f32" | "f64" => ("number", "a number"),
        "a string" | "a borrowed string" => ("text", "a text in quotes"),
        "a boolean" => ("truth", "true or false"),
        "a sequence" => ("list", "a list, such as [1, 2] or [\"a\", \"b\"]"),
        "a map" => ("table", "a table, such as { key = value }"),
        _ if of.starts_with("struct ") => ("table", "a table, such as { key = value }"),
        _ => return None,
    };
    Some((what, remedy.to_owned()))
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::diagnostic::from_toml;

    #[derive(Debug, serde::Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Colour {
        Red,
        Green,
    }

    #[derive(Debug, serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Car {
        #[expect(dead_code, reason = "read to be refused")]
        wheels: NonZeroU32,
        #[expect(dead_code, reason = "read to be refused")]
        colour: Option<Colour>,
        #[expect(dead_code, reason = "read to be refused")]
        seats: Option<Vec<String>>,
        #[expect(dead_code, reason = "read to be refused")]
        new: Option<bool>,
        #[expect(dead_code, reason = "read to be refused")]
        speed: Option<f64>,
        #[expect(dead_code, reason = "read to be refused")]
        size: Option<(f64, f64)>,
    }

    #[test]
    fn no_type_of_rust_is_named() {
        let whole = "write a whole number from 1 to 4294967295";
        for (text, says) in [
            ("wheels = 5000000000", format!("1:10: out of range: `5000000000`; {whole}")),
            ("wheels = 0", format!("1:10: out of range: `0`; {whole}")),
            ("wheels = -4", format!("1:10: out of range: `-4`; {whole}")),
            ("wheels = \"four\"", format!("1:10: no whole number: `\"four\"`; {whole}")),
            (
                "wheels = 99999999999999999999",
                "1:10: out of range: `99999999999999999999`; ".to_owned() + whole,
            ),
            (
                "wheels = 4\ncolour = \"gren\"",
                "2:10: unknown name: `\"gren\"`; did you mean `green`? use one of red, green"
                    .to_owned(),
            ),
            (
                "wheels = 4\nseat = 1",
                "2:1: unknown key: `seat`; did you mean `seats`? use one of wheels, colour, seats, \
                 new, speed, size"
                    .to_owned(),
            ),
            (
                "wheels = 4\nseats = \"x\"",
                "2:9: no list: `\"x\"`; write a list, such as [1, 2] or [\"a\", \"b\"]".to_owned(),
            ),
            ("wheels = 4\nseats = [1]", "2:10: no text: `1`; write a text in quotes".to_owned()),
            ("wheels = 4\nnew = 1", "2:7: no truth: `1`; write true or false".to_owned()),
            ("wheels = 4\nspeed = true", "2:9: no number: `true`; write a number".to_owned()),
            ("wheels = 4\nsize = 1", "2:8: no list: `1`; write a list of 2".to_owned()),
            ("", "1:1: no key `wheels`; add `wheels`".to_owned()),
        ] {
            let error = from_toml::<Car>("a.toml", text).unwrap_err().to_string();
            assert_eq!(error, format!("a.toml:{says}"), "{text}");
        }
    }

    #[test]
    fn what_others_say_is_left() {
        let said = in_plain_words("`90 parsecs` is not a time; write a number and a unit");
        assert_eq!(said.problem, "`90 parsecs` is not a time");
        assert_eq!(said.remedy.as_deref(), Some("write a number and a unit"));
        assert_eq!(in_plain_words("unclosed table, expected `]`").remedy, None);
    }
}
