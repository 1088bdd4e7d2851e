//! Reads TOML from strangers: the memory and stack that a text asks for are bounded before it is
//! parsed.

use serde::de::{DeserializeOwned, DeserializeSeed};
use toml::Spanned;
use toml::de::DeTable;

use super::{InputError, Position};

/// The most tables and lists within one another, and the most parts of a dotted key. Files of
/// this crate have up to four; a parser's time or stack grows with the square of it.
pub const DEEPEST_TOML: usize = 32;

/// Limits the values and lines of a text. A network's file with a line for each of half a million
/// links is far above the size that can be simulated. A parser takes some 200 bytes for each.
pub const MOST_TOML_VALUES: usize = 1_000_000;
/// A text holds at most two words for each value; remarks and quoted texts do not count. A parser
/// keeps 48 bytes of each word, and of the blanks behind it, before it looks at the first.
const MOST_WORDS: usize = 2 * MOST_TOML_VALUES;

/// Parses a TOML text; `file` names it in errors.
///
/// # Errors
/// Refuses a text that is no TOML, or not a `T`, each with line and column. Before the text is
/// parsed, refuses more than [`DEEPEST_TOML`] levels, [`MOST_TOML_VALUES`] values and lines, or
/// twice that number of words.
pub fn from_toml<T: DeserializeOwned>(file: &str, text: &str) -> Result<T, InputError> {
    check(file, text)?;
    ::toml::from_str(text).map_err(|error| InputError::from_toml(file, text, &error))
}

/// Parses a TOML text by what a seed knows of it; `file` names it in errors.
///
/// # Errors
/// Fails as [`from_toml`] does.
pub fn from_toml_seed<'t, S: DeserializeSeed<'t>>(
    file: &str,
    text: &'t str,
    seed: S,
) -> Result<S::Value, InputError> {
    check(file, text)?;
    let read = ::toml::Deserializer::parse(text).and_then(|parsed| seed.deserialize(parsed));
    read.map_err(|error| InputError::from_toml(file, text, &error))
}

/// The same as a table that knows the place of all it holds.
///
/// # Errors
/// Fails as [`from_toml`] does.
pub fn toml_table<'t>(file: &str, text: &'t str) -> Result<Spanned<DeTable<'t>>, InputError> {
    check(file, text)?;
    DeTable::parse(text).map_err(|error| InputError::from_toml(file, text, &error))
}

/// Refuses a text that would take a parser's memory or stack.
fn check(file: &str, text: &str) -> Result<(), InputError> {
    let refuse = |offset: usize, problem: String, remedy: &str| {
        let position = Position::of_offset(text, offset);
        Err(InputError::at(file, position, problem, &text[offset..], remedy))
    };
    let bytes = text.as_bytes();
    let (mut depth, mut parts, mut values, mut words) = (0_usize, 0, 0, 0);
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'#' => {
                at = end_of_line(bytes, at);
                continue;
            }
            quote @ (b'"' | b'\'') => {
                at = end_of_text(bytes, at, quote);
                continue;
            }
            open @ (b'[' | b'{' | b'=' | b',') => {
                depth += usize::from(matches!(open, b'[' | b'{'));
                values += 1;
                // A key's parts end where the next key or a value starts.
                parts = 0;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'.' => parts += 1,
            b'\n' => {
                values += 1;
                parts = 0;
            }
            b' ' | b'\t' => words += usize::from(!matches!(bytes.get(at + 1), Some(b' ' | b'\t'))),
            _ => {}
        }
        if depth.max(parts) > DEEPEST_TOML {
            let problem = format!("more than {DEEPEST_TOML} levels within one another");
            return refuse(at, problem, "write tables and lists side by side");
        }
        if values > MOST_TOML_VALUES {
            let problem = format!("more than {MOST_TOML_VALUES} values and lines");
            return refuse(at, problem, "describe less in one file");
        }
        if words > MOST_WORDS {
            let problem = format!("more than {MOST_WORDS} words");
            return refuse(at, problem, "describe less in one file");
        }
        at += 1;
    }
    Ok(())
}

/// Where the line ends.
fn end_of_line(bytes: &[u8], start: usize) -> usize {
    bytes[start..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |at| start + at)
}

/// Where what follows a quoted text starts; one that is not closed ends with its line, as a
/// parser will say.
fn end_of_text(bytes: &[u8], start: usize, quote: u8) -> usize {
    let long = bytes[start..].starts_with(&[quote; 3]);
    let width = if long { 3 } else { 1 };
    let mut at = start + width;
    while at < bytes.len() {
        if quote == b'"' && bytes[at] == b'\\' {
            at += 2;
        } else if bytes[at..].starts_with(&[quote; 3][..width]) {
            return at + width;
        } else if bytes[at] == b'\n' && !long {
            return at;
        } else {
            at += 1;
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused(text: &str) -> String {
        from_toml::<::toml::Table>("a.toml", text).unwrap_err().to_string()
    }

    #[test]
    fn what_is_nested_deeply_is_refused_before_it_is_parsed() {
        let many = 1_000_000;
        for text in [
            format!("a = {}", "[".repeat(many)),
            "[".repeat(many),
            format!("a = {}", "{b = ".repeat(many)),
            format!("{} = 1", vec!["a"; many].join(".")),
            format!("[{}]\nb = 1", vec!["a"; many].join(".")),
            format!("[[{}]]\nb = 1", vec!["'a'"; many].join(" . ")),
            format!("a = {{ {} = 1 }}", vec!["\"a\""; many].join(".")),
        ] {
            let error = refused(&text);
            assert!(error.contains("more than 32 levels within one another"), "{error}");
            assert!(error.len() < 300, "{error}");
        }
        assert!(
            refused("a = 1\nb =   [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[").starts_with("a.toml:2:39: ")
        );
    }

    #[test]
    fn more_values_than_fit_are_refused() {
        let many = "0,".repeat(MOST_TOML_VALUES);
        assert!(refused(&format!("a = [{many}]")).contains("more than 1000000 values and"));
        assert!(refused(&"\n".repeat(MOST_TOML_VALUES + 1)).starts_with("a.toml:1000001:1: "));
        let lines: String = (0..=MOST_TOML_VALUES).map(|at| format!("a{at}=1\n")).collect();
        assert!(refused(&lines).starts_with("a.toml:500001:"));
        let error = refused(&"a ".repeat(MOST_WORDS + 1));
        assert!(error.starts_with("a.toml:1:4000002: more than 2000000 words"), "{error}");
    }

    #[test]
    fn what_stands_in_texts_and_remarks_is_no_structure() {
        let dots = ".".repeat(100);
        let brackets = "[{".repeat(100);
        let text = format!(
            "# {brackets}{dots}\na = \"{brackets}\\\"{dots}\" # {brackets}\nb = '{brackets}\\'\n\
             c = \"\"\"\n{brackets}\\\"\"\"{dots}\"\"\"\nd = '''{brackets}'{dots}\n'''\n\
             e = [[1.5, 2.5], {{ x.y = 1 }}]\n[f.g]\n\"{brackets}\" = 1\n"
        );
        let read: ::toml::Table = from_toml("a.toml", &text).unwrap();
        assert_eq!(read.len(), 6);
    }

    fn written(value: &::toml::Value) -> String {
        let mut table = ::toml::Table::new();
        table.insert("a".to_owned(), value.clone());
        table.to_string()
    }

    fn values() -> impl Strategy<Value = ::toml::Value> {
        let leaf = prop_oneof![
            any::<i64>().prop_map(::toml::Value::Integer),
            "\\PC{0,12}".prop_map(::toml::Value::String),
            "[\\[\\]{}.\"'#=,\\\\\n]{0,12}".prop_map(::toml::Value::String),
        ];
        leaf.prop_recursive(4, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(::toml::Value::Array),
                prop::collection::btree_map("[a-z.\"'\\[]{0,5}", inner, 0..6)
                    .prop_map(|map| ::toml::Value::Table(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        /// The text that a writer of TOML makes is never taken for more than it is.
        #[test]
        fn what_is_written_is_read(value in values()) {
            let read: ::toml::Table = from_toml("a.toml", &written(&value)).unwrap();
            prop_assert_eq!(&read["a"], &value);
        }

        /// Whatever the text, the guard ends and what it lets through the parser ends with.
        #[test]
        fn any_text_is_read_or_refused(text in "[\\[\\]{}a.\"'#=,\\\\\n ]{0,200}") {
            let _ = from_toml::<::toml::Table>("a.toml", &text);
        }
    }
}
