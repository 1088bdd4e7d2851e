//! Reads tool output as people paste it: words with their places, and lists of numbers.
//!
//! Terminals and issue trackers change columns into spaces, and lose the escape character of a
//! colour code. They add line ends of their own, and quote lines with `>`. They keep the order of
//! the words on a line, so the readers of pasted text work on words.

use crate::diagnostic::{InputError, Position};

/// Holds one word of a line, without the colour codes around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::system) struct Token {
    /// Is the word.
    pub(in crate::system) text: String,
    /// Where it starts.
    pub(in crate::system) position: Position,
    /// The column where a reader sees it, colour codes left out.
    pub(in crate::system) seen_at: usize,
    /// Counts the tabs that stand before it on its line.
    pub(in crate::system) tabs: usize,
}

impl Token {
    /// The error that this word is wrong.
    pub(in crate::system) fn refuse(
        &self,
        file: &str,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        InputError::at(file, self.position, problem, &self.text, remedy)
    }
}

/// Holds the words of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::system) struct Line {
    /// Lists the words, first to last.
    pub(in crate::system) tokens: Vec<Token>,
    /// Gives the place just past the last word.
    pub(in crate::system) end: Position,
}

impl Line {
    /// Returns the first word, or nothing on a blank line.
    pub(in crate::system) fn first(&self) -> &str {
        self.tokens.first().map_or("", |token| &token.text)
    }

    /// Joins the words with one space between them.
    pub(in crate::system) fn joined(&self) -> String {
        let words: Vec<&str> = self.tokens.iter().map(|token| token.text.as_str()).collect();
        words.join(" ")
    }
}

/// More than any tool prints of a server: the matrix of 512 devices takes half of it.
const MOST_BYTES: usize = 4 << 20;
/// A paste has at most this number of words and lines; three matrices of 512 GPUs have 790,000.
const MOST_WORDS: usize = 1 << 20;

/// No server has more devices; their matrix has a quarter of a million cells.
pub(in crate::system) const MOST_DEVICES: usize = 512;

/// Checks that a header can name another device.
///
/// # Errors
/// Refuses more than 512 devices.
pub(in crate::system) fn has_room(
    file: &str,
    devices: usize,
    next: &Token,
) -> Result<(), InputError> {
    if devices < MOST_DEVICES {
        return Ok(());
    }
    let problem = format!("the header names more than {MOST_DEVICES} devices");
    Err(next.refuse(file, problem, "paste the matrix of one server"))
}

/// Returns the lines of a text, blank ones included.
///
/// # Errors
/// Refuses a text of more than 4 MiB, or of more than a million words and lines.
pub(in crate::system) fn lines(file: &str, text: &str) -> Result<Vec<Line>, InputError> {
    let refuse = |count: usize, what: &str, most: &str| {
        let problem = format!("the paste has {count} {what}, more than any server's");
        let start = Position { line: 1, column: 1 };
        let remedy = format!("paste the output of one server, of at most {most}");
        InputError::at(file, start, problem, "", remedy)
    };
    if text.len() > MOST_BYTES {
        return Err(refuse(text.len(), "bytes", "4 MiB"));
    }
    let words = text.lines().map(|line| line.split_whitespace().count() + 1).sum();
    if words > MOST_WORDS {
        return Err(refuse(words, "words and lines", &MOST_WORDS.to_string()));
    }
    Ok(words_by_line(text))
}

/// Returns the same for any length.
pub(in crate::system) fn words_by_line(text: &str) -> Vec<Line> {
    text.lines().enumerate().map(|(index, line)| words(line, index + 1)).collect()
}

/// The first word of a line, as a [`Token`] has it; nothing on a blank line.
pub(in crate::system) fn first_word(line: &str) -> String {
    Words::new(line, 1).next().map_or_else(String::new, |token| token.text)
}

/// Returns the place just past the last line.
pub(in crate::system) fn end(lines: &[Line]) -> Position {
    lines.last().map_or(Position { line: 1, column: 1 }, |line| line.end)
}

/// Returns the words of one line, by its number in the text.
pub(in crate::system) fn words(line: &str, number: usize) -> Line {
    let mut words = Words::new(line, number);
    let tokens = words.by_ref().collect();
    Line { tokens, end: Position { line: number, column: words.end } }
}

/// Goes through the words of a line.
struct Words<'a> {
    /// The part that is still to be looked at.
    rest: &'a str,
    line: usize,
    /// The characters before the rest, how many of them are colour codes, and how many tabs.
    before: usize,
    unseen: usize,
    tabs: usize,
    /// The column where the last word has ended.
    end: usize,
    has_begun: bool,
}

impl<'a> Words<'a> {
    fn new(text: &'a str, line: usize) -> Self {
        Self { rest: text, line, before: 0, unseen: 0, tabs: 0, end: 1, has_begun: false }
    }
}

impl Iterator for Words<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        let mut word: Option<Token> = None;
        while let Some(character) = self.rest.chars().next() {
            if let Some(length) = colour_code(self.rest) {
                self.rest = &self.rest[length..];
                self.before += length;
                self.unseen += length;
                continue;
            }
            let quote = character == '>' && !self.has_begun;
            let is_blank = quote || character.is_whitespace() || character == '\u{feff}';
            if is_blank && word.is_some() {
                break;
            }
            self.rest = &self.rest[character.len_utf8()..];
            self.before += 1;
            if is_blank {
                self.tabs += usize::from(character == '\t');
                continue;
            }
            let token = word.get_or_insert_with(|| Token {
                text: String::new(),
                position: Position { line: self.line, column: self.before },
                seen_at: self.before - self.unseen,
                tabs: self.tabs,
            });
            token.text.push(character);
            self.has_begun = true;
            self.end = self.before + 1;
        }
        word
    }
}

/// Returns the length of a colour code such as `ESC[4m` at the start of a text. Issue trackers drop
/// the escape character and keep the rest.
fn colour_code(text: &str) -> Option<usize> {
    let (start, code) = match text.strip_prefix('\u{1b}') {
        Some(code) => (1, code),
        None => (0, text),
    };
    let Some(code) = code.strip_prefix('[') else {
        return (start == 1).then_some(1);
    };
    let digits = code.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    let is_colour = code.as_bytes().get(digits) == Some(&b'm');
    is_colour.then_some(start + digits + 2).or((start == 1).then_some(1))
}

/// Whether a word is `GPU` and a number.
pub(in crate::system) fn is_gpu_name(word: &str) -> bool {
    word.strip_prefix("GPU").is_some_and(|rest| number(rest).is_some())
}

/// Reads a plain decimal number: digits only, no leading zero.
pub(in crate::system) fn number(word: &str) -> Option<u32> {
    let plain = word == "0" || !word.starts_with('0');
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    (plain && digits).then(|| word.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_codes_and_odd_spaces_vanish() {
        let lines = words_by_line("\u{1b}[4mGPU0\tGPU1\u{1b}[0m\r\n  [4mA\u{a0}B[0m\n\n");
        assert_eq!(lines[0].joined(), "GPU0 GPU1");
        assert_eq!(lines[0].tokens[0].position, Position { line: 1, column: 5 });
        assert_eq!(lines[1].joined(), "A B");
        assert_eq!(lines[1].end, Position { line: 2, column: 9 });
        assert_eq!(lines[2].first(), "");
    }

    #[test]
    fn quotation_marks_vanish_from_the_start_of_a_line() {
        let lines = words_by_line("> GPU0\tX\n>> >GPU1 > X\n>\n");
        assert_eq!(lines[0].joined(), "GPU0 X");
        assert_eq!(lines[0].tokens[0].position, Position { line: 1, column: 3 });
        assert_eq!(lines[1].joined(), "GPU1 > X");
        assert_eq!(lines[2].first(), "");
    }
}
