//! Splits GOAL text into pieces.

use crate::diagnostic::{InputError, Position};

/// Names the kinds of pieces of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind<'a> {
    /// Is a letter and letters, digits and `_`.
    Word(&'a str),
    /// Is digits, perhaps with a `-` before them.
    Number(&'a str),
    /// Is `:`, `{` or `}`.
    Mark(char),
    /// Ends a line.
    NewLine,
    /// Ends the text.
    End,
}

/// A piece and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token<'a> {
    pub kind: Kind<'a>,
    pub position: Position,
}

impl Token<'_> {
    /// Shows the text that stands there, for an error.
    pub fn text(&self) -> String {
        match self.kind {
            Kind::Word(text) | Kind::Number(text) => text.to_owned(),
            Kind::Mark(mark) => mark.to_string(),
            Kind::NewLine | Kind::End => String::new(),
        }
    }

    /// An error about what stands there.
    pub fn fault(&self, file: &str, problem: &str, remedy: impl Into<String>) -> InputError {
        let behind = match self.kind {
            Kind::NewLine => " where the line ends",
            Kind::End => " where the text ends",
            _ => "",
        };
        InputError::at(file, self.position, format!("{problem}{behind}"), &self.text(), remedy)
    }
}

/// Reads pieces one after another.
pub struct Tokens<'a> {
    file: &'a str,
    rest: &'a str,
    position: Position,
}

impl<'a> Tokens<'a> {
    pub fn new(file: &'a str, text: &'a str) -> Self {
        Self { file, rest: text, position: Position { line: 1, column: 1 } }
    }

    /// Takes the first `length` bytes.
    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(length);
        self.rest = rest;
        for character in taken.chars() {
            if character == '\n' {
                self.position = Position { line: self.position.line + 1, column: 1 };
            } else {
                self.position.column += 1;
            }
        }
        taken
    }

    /// Skips blanks and comments, but no end of a line outside a comment.
    fn skip(&mut self) -> Result<(), InputError> {
        loop {
            let blank = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\r']).len();
            if blank > 0 {
                self.take(blank);
            } else if self.rest.starts_with("//") {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                let Some(end) = self.rest.find("*/") else {
                    let problem = "a comment without an end";
                    let remedy = "close it with `*/`";
                    return Err(InputError::at(self.file, self.position, problem, "/*", remedy));
                };
                self.take(end + 2);
            } else {
                return Ok(());
            }
        }
    }

    /// Reads the next piece.
    pub fn next(&mut self) -> Result<Token<'a>, InputError> {
        self.skip()?;
        let position = self.position;
        let Some(first) = self.rest.chars().next() else {
            return Ok(Token { kind: Kind::End, position });
        };
        let run = |from: usize, belongs: fn(char) -> bool| {
            let rest = &self.rest[from..];
            from + rest.find(|character| !belongs(character)).unwrap_or(rest.len())
        };
        let kind = match first {
            '\n' => {
                self.take(1);
                Kind::NewLine
            }
            ':' | '{' | '}' => {
                self.take(1);
                Kind::Mark(first)
            }
            'a'..='z' | 'A'..='Z' => {
                let length =
                    run(0, |character| character.is_ascii_alphanumeric() || character == '_');
                Kind::Word(self.take(length))
            }
            '0'..='9' | '-' => {
                let length = run(1, |character| character.is_ascii_digit());
                Kind::Number(self.take(length))
            }
            other => {
                let (problem, remedy) =
                    ("a character that GOAL does not have", "remove it, or comment it out");
                let error =
                    InputError::at(self.file, position, problem, &other.to_string(), remedy);
                return Err(error);
            }
        };
        Ok(Token { kind, position })
    }
}
