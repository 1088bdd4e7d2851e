//! Tool output as people paste it: words with their places, and lists of numbers.
//!
//! Terminals and issue trackers change columns into spaces, lose the escape character of
//! a colour code, add line ends of their own, and quote lines with `>`. What stays is the
//! order of the words on a line, so the readers of pasted text work on words.

use crate::diagnostic::{InputError, Position};

/// One word of a line, without the colour codes around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::system) struct Token {
    /// The word.
    pub(in crate::system) text: String,
    /// Where it starts.
    pub(in crate::system) position: Position,
    /// The column where a reader sees it, colour codes left out.
    pub(in crate::system) seen_at: usize,
    /// How many tabs stand before it on its line.
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

/// The words of one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::system) struct Line {
    /// The words, first to last.
    pub(in crate::system) tokens: Vec<Token>,
    /// The place just past the last word.
    pub(in crate::system) end: Position,
}

impl Line {
    /// The first word, or nothing on a blank line.
    pub(in crate::system) fn first(&self) -> &str {
        self.tokens.first().map_or("", |token| &token.text)
    }

    /// The words with one space between them.
    pub(in crate::system) fn joined(&self) -> String {
        let words: Vec<&str> = self.tokens.iter().map(|token| token.text.as_str()).collect();
        words.join(" ")
    }
}

/// More than any tool prints of a server: the matrix of 512 devices takes half of it.
const MOST_BYTES: usize = 4 << 20;

/// The lines of a text, blank ones included.
///
/// # Errors
/// A text of more than 4 MiB.
pub(in crate::system) fn lines(file: &str, text: &str) -> Result<Vec<Line>, InputError> {
    if text.len() > MOST_BYTES {
        let problem = format!("the paste has {} bytes, more than any server's", text.len());
        let start = Position { line: 1, column: 1 };
        let remedy = "paste the output of one server, of at most 4 MiB";
        return Err(InputError::at(file, start, problem, "", remedy));
    }
    Ok(words(text))
}

/// The same, however long.
pub(in crate::system) fn words(text: &str) -> Vec<Line> {
    text.lines().enumerate().map(|(index, line)| split(line, index + 1)).collect()
}

/// The place just past the last line.
pub(in crate::system) fn end(lines: &[Line]) -> Position {
    lines.last().map_or(Position { line: 1, column: 1 }, |line| line.end)
}

fn split(line: &str, number: usize) -> Line {
    let characters: Vec<char> = line.chars().collect();
    let mut tokens: Vec<Token> = Vec::new();
    let mut inside = false;
    let mut end = 1;
    let mut at = 0;
    let mut unseen = 0;
    let mut tabs = 0;
    while at < characters.len() {
        if let Some(length) = colour_code(&characters[at..]) {
            at += length;
            unseen += length;
            continue;
        }
        let character = characters[at];
        at += 1;
        let quote = character == '>' && tokens.is_empty();
        if quote || character.is_whitespace() || character == '\u{feff}' {
            inside = false;
            tabs += usize::from(character == '\t');
            continue;
        }
        if !inside {
            let position = Position { line: number, column: at };
            tokens.push(Token { text: String::new(), position, seen_at: at - unseen, tabs });
            inside = true;
        }
        if let Some(token) = tokens.last_mut() {
            token.text.push(character);
        }
        end = at + 1;
    }
    Line { tokens, end: Position { line: number, column: end } }
}

/// The length of a colour code such as `ESC[4m` at the start of the characters. Issue
/// trackers drop the escape character and keep the rest.
fn colour_code(characters: &[char]) -> Option<usize> {
    let start = usize::from(characters.first() == Some(&'\u{1b}'));
    if characters.get(start) != Some(&'[') {
        return (start == 1).then_some(1);
    }
    let rest = &characters[start + 1..];
    let digits = rest.iter().take_while(|c| c.is_ascii_digit() || **c == ';').count();
    let is_colour = rest.get(digits) == Some(&'m');
    is_colour.then_some(start + digits + 2).or((start == 1).then_some(1))
}

/// Whether a word is `GPU` and a number.
pub(in crate::system) fn is_gpu_name(word: &str) -> bool {
    word.strip_prefix("GPU").is_some_and(|rest| number(rest).is_some())
}

/// A plain decimal number: digits only, no leading zero.
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
        let lines = words("\u{1b}[4mGPU0\tGPU1\u{1b}[0m\r\n  [4mA\u{a0}B[0m\n\n");
        assert_eq!(lines[0].joined(), "GPU0 GPU1");
        assert_eq!(lines[0].tokens[0].position, Position { line: 1, column: 5 });
        assert_eq!(lines[1].joined(), "A B");
        assert_eq!(lines[1].end, Position { line: 2, column: 9 });
        assert_eq!(lines[2].first(), "");
    }

    #[test]
    fn quotation_marks_vanish_from_the_start_of_a_line() {
        let lines = words("> GPU0\tX\n>> >GPU1 > X\n>\n");
        assert_eq!(lines[0].joined(), "GPU0 X");
        assert_eq!(lines[0].tokens[0].position, Position { line: 1, column: 3 });
        assert_eq!(lines[1].joined(), "GPU1 > X");
        assert_eq!(lines[2].first(), "");
    }
}
