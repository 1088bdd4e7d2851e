//! JSON whose values know where they stand, so that what is wrong with one can be shown.

use serde::de::IgnoredAny;

use crate::diagnostic::{InputError, Position};

/// A value and where it starts.
#[derive(Debug)]
pub(super) struct Node {
    at: usize,
    value: Value,
}

#[derive(Debug)]
enum Value {
    /// Is `true`, `false` or `null`.
    Word,
    Number,
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// Holds the text that nodes stand in.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
}

impl Source<'_> {
    /// Refuses a value.
    pub(super) fn refuse(
        &self,
        node: &Node,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> InputError {
        let position = Position::of_offset(self.text, node.at);
        let value = self.text.get(node.at..).unwrap_or_default();
        let value = match node.value {
            Value::List(_) | Value::Object(_) => "",
            Value::Text(ref text) => text,
            Value::Word | Value::Number => &value[..length_of_word(value)],
        };
        InputError::at(self.file, position, problem, value, remedy)
    }

    /// Reads the whole text.
    pub(super) fn parse(&self) -> Result<Node, InputError> {
        serde_json::from_str::<IgnoredAny>(self.text).map_err(|error| {
            let position = Position { line: error.line().max(1), column: error.column().max(1) };
            let remedy = "give the whole file that MSCCL++ would load";
            let line = self.text.lines().nth(position.line - 1).unwrap_or_default();
            let value = line.get(position.column - 1..).unwrap_or_default();
            InputError::at(self.file, position, "this is no JSON", value, remedy)
        })?;
        let mut reader = Reader { source: *self, at: 0 };
        reader.node()
    }

    /// Gives the members of an object.
    pub(super) fn object<'n>(&self, node: &'n Node) -> Result<Object<'n>, InputError> {
        match &node.value {
            Value::Object(members) => Ok(Object { node, members }),
            _ => Err(self.refuse(node, "this is no object", "write { … }")),
        }
    }

    /// Gives the items of a list.
    pub(super) fn list<'n>(&self, node: &'n Node) -> Result<&'n [Node], InputError> {
        match &node.value {
            Value::List(items) => Ok(items),
            _ => Err(self.refuse(node, "this is no list", "write [ … ]")),
        }
    }

    /// Reads a text.
    pub(super) fn words<'n>(&self, node: &'n Node) -> Result<&'n str, InputError> {
        match &node.value {
            Value::Text(text) => Ok(text),
            _ => Err(self.refuse(node, "this is no text", "write it in quotes")),
        }
    }

    /// Reads `true` or `false`.
    pub(super) fn flag(&self, node: &Node) -> Result<bool, InputError> {
        let text = self.text.get(node.at..).unwrap_or_default();
        match &node.value {
            Value::Word if text.starts_with("true") => Ok(true),
            Value::Word if text.starts_with("false") => Ok(false),
            _ => Err(self.refuse(node, "this is neither true nor false", "write true or false")),
        }
    }

    /// Reads a whole number between two bounds.
    pub(super) fn number(&self, node: &Node, least: u64, most: u64) -> Result<u64, InputError> {
        let text = self.text.get(node.at..).unwrap_or_default();
        let word = &text[..length_of_word(text)];
        let number: Option<u64> = match node.value {
            Value::Number => word.parse().ok(),
            _ => None,
        };
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            Some(_) => {
                let remedy = match most.checked_sub(least) {
                    Some(0) => format!("write {least}"),
                    Some(_) => format!("write {least} to {most}"),
                    None => "take this out: there is nothing of that kind".to_owned(),
                };
                Err(self.refuse(node, "the number is out of range", remedy))
            }
            None => {
                let problem = "this is no whole number from 0 on";
                Err(self.refuse(node, problem, "write such as 0 or 16"))
            }
        }
    }

    /// A number that counts from zero and lies below a bound.
    pub(super) fn index(&self, node: &Node, below: usize) -> Result<usize, InputError> {
        match below {
            0 => {
                let remedy = "take this out: there is nothing of that kind to name";
                Err(self.refuse(node, "the number is out of range", remedy))
            }
            _ => Ok(self.number(node, 0, below as u64 - 1)? as usize),
        }
    }
}

/// Holds an object's members.
#[derive(Clone, Copy)]
pub(super) struct Object<'n> {
    /// Is the object itself.
    pub(super) node: &'n Node,
    members: &'n [(String, Node)],
}

impl<'n> Object<'n> {
    /// A member, where there is one.
    pub(super) fn get(&self, key: &str) -> Option<&'n Node> {
        self.members.iter().find(|(known, _)| known == key).map(|(_, node)| node)
    }

    /// A member that the executor needs.
    pub(super) fn needed(&self, source: &Source, key: &str) -> Result<&'n Node, InputError> {
        self.get(key).ok_or_else(|| {
            let problem = format!("`{key}` is missing");
            source.refuse(self.node, problem, "add it; the executor needs it")
        })
    }
}

/// Up to where a number or a word goes.
fn length_of_word(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | ']' | '}');
    text.find(ends).unwrap_or(text.len())
}

/// Reads text that is known to be JSON, of a depth that `serde_json` allows.
struct Reader<'a> {
    source: Source<'a>,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.source.text.get(self.at..).unwrap_or_default()
    }

    /// Goes past white space, and commas and colons with it, whose places are known to be right.
    fn skip(&mut self) {
        let rest = self.rest();
        let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | ',' | ':');
        self.at += rest.find(|c| !blank(c)).unwrap_or(rest.len());
    }

    fn node(&mut self) -> Result<Node, InputError> {
        self.skip();
        let at = self.at;
        let value = match self.rest().as_bytes().first() {
            Some(b'{') => self.object()?,
            Some(b'[') => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.ends_with(b']') {
                    items.push(self.node()?);
                }
                Value::List(items)
            }
            Some(b'"') => Value::Text(self.text()),
            Some(b'-' | b'0'..=b'9') => self.word(Value::Number),
            _ => self.word(Value::Word),
        };
        Ok(Node { at, value })
    }

    fn object(&mut self) -> Result<Value, InputError> {
        self.at += 1;
        let mut members: Vec<(String, Node)> = Vec::new();
        while !self.ends_with(b'}') {
            let key = self.text();
            let node = self.node()?;
            members.push((key, node));
        }
        let mut keys: Vec<(&str, usize)> =
            members.iter().enumerate().map(|(at, (key, _))| (key.as_str(), at)).collect();
        keys.sort_unstable();
        if let Some(pair) = keys.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            let (key, node) = &members[pair[1].1];
            let problem = format!("`{key}` stands here twice");
            return Err(self.source.refuse(node, problem, "keep one of them"));
        }
        Ok(Value::Object(members))
    }

    /// Goes past the end of a list or an object, if it is there.
    fn ends_with(&mut self, end: u8) -> bool {
        self.skip();
        let is_end = self.rest().as_bytes().first().is_none_or(|first| *first == end);
        self.at += usize::from(is_end);
        is_end
    }

    fn word(&mut self, value: Value) -> Value {
        self.at += length_of_word(self.rest()).max(1);
        value
    }

    fn text(&mut self) -> String {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = 1;
        while bytes.get(end).is_some_and(|byte| *byte != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let end = (end + 1).min(rest.len());
        let text = rest.get(..end).and_then(|text| serde_json::from_str(text).ok());
        self.at += end;
        text.unwrap_or_default()
    }
}
