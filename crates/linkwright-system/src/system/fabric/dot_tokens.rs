//! Cuts Graphviz' DOT language into tokens, each with its place.

use std::ops::Range;

use super::graph::input_error;
use crate::diagnostic::InputError;

/// Holds a piece of a DOT text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Holds a name, a number or a string, without its quotes.
    Text(String),
    /// Is one of `{ } [ ] ; , = : +`.
    Mark(char),
    /// Is `--`, or `->` for true.
    Edge(bool),
}

/// A token and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub token: Token,
    pub span: Range<usize>,
    /// Whether it is a word without quotes, which may be a keyword.
    pub is_bare: bool,
}

/// The most tokens: forty thousand links with their attributes. Each takes some 100 bytes.
const MOST_TOKENS: usize = 1 << 19;

/// Cuts a text into tokens; comments and lines that start with `#` are left out.
pub(super) fn tokens(file: &str, text: &str) -> Result<Vec<Placed>, InputError> {
    let bytes = text.as_bytes();
    let mut found: Vec<Placed> = Vec::new();
    let mut at = usize::from(text.starts_with('\u{feff}')) * '\u{feff}'.len_utf8();
    let mut is_line_start = true;
    while at < bytes.len() {
        let rest = &text[at..];
        let byte = bytes[at];
        if byte == b'\n' || byte.is_ascii_whitespace() {
            is_line_start |= byte == b'\n';
            at += 1;
            continue;
        }
        // Only where it is needed: a text of one long line has a million tokens.
        let line = || rest.find('\n').unwrap_or(rest.len());
        if (byte == b'#' && is_line_start) || rest.starts_with("//") {
            at += line();
            continue;
        }
        is_line_start = false;
        if rest.starts_with("/*") {
            let Some(length) = rest.find("*/") else {
                return Err(input_error(file, text, at..at + 2, "a comment without end", "add */"));
            };
            at += length + 2;
            continue;
        }
        let (token, length) = match byte {
            b'{' | b'}' | b'[' | b']' | b';' | b',' | b'=' | b':' | b'+' => {
                (Token::Mark(char::from(byte)), 1)
            }
            _ if rest.starts_with("--") => (Token::Edge(false), 2),
            _ if rest.starts_with("->") => (Token::Edge(true), 2),
            b'"' => quoted(rest).ok_or_else(|| {
                input_error(file, text, at..at + line(), "a string without end", "close it with \"")
            })?,
            b'<' => html(rest).ok_or_else(|| {
                input_error(file, text, at..at + line(), "a <…> string without end", "add its >")
            })?,
            _ => word(rest).ok_or_else(|| {
                let length = rest.chars().next().map_or(1, char::len_utf8);
                let remedy = "quote names that hold other than letters, digits and _";
                input_error(file, text, at..at + length, "no part of the DOT language", remedy)
            })?,
        };
        if found.len() == MOST_TOKENS {
            let problem = format!("more than {MOST_TOKENS} names and marks");
            return Err(input_error(file, text, at..at + length, &problem, "give a smaller graph"));
        }
        let is_bare = !matches!(byte, b'"' | b'<');
        found.push(Placed { token, span: at..at + length, is_bare });
        at += length;
    }
    Ok(found)
}

/// A string in quotes, in which only `\"` is an escape and a backslash may end a line.
fn quoted(rest: &str) -> Option<(Token, usize)> {
    let mut value = String::new();
    let mut characters = rest.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((Token::Text(value), at + 1)),
            '\\' => match characters.next()?.1 {
                '\n' => {}
                '"' => value.push('"'),
                '\\' => value.push('\\'),
                other => value.extend(['\\', other]),
            },
            _ => value.push(character),
        }
    }
    None
}

/// An HTML-like string, whose angle brackets are balanced.
fn html(rest: &str) -> Option<(Token, usize)> {
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'<' => depth += 1,
            b'>' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some((Token::Text(rest[1..at].to_owned()), at + 1));
        }
    }
    None
}

/// Reads a word of letters, digits and underscores, or a number with a sign and a point.
fn word(rest: &str) -> Option<(Token, usize)> {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii();
    let is_number = rest.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    let length = if is_number {
        let sign = usize::from(rest.starts_with('-'));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit() && c != '.');
        let length = sign + digits.unwrap_or(rest.len() - sign);
        if length == sign { 0 } else { length }
    } else {
        rest.find(|c: char| !is_letter(c)).unwrap_or(rest.len())
    };
    (length > 0).then(|| (Token::Text(rest[..length].to_owned()), length))
}
