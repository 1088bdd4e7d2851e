//! Reads the text of a kernel of one's own.

use super::{
    Action, Copies, Expected, Offsets, RecordedBuffer, RecordedError, RecordedKernel, Touched,
    Words,
};
use crate::diagnostic::{Diagnose, InputError, Named, Position, instead_of};
use crate::memory::kernel::{AtomicOperation, LANES, Scope};
use crate::units::Bytes;

/// Lists the operations of a wavefront, as a text names them. They are no `Named`, since each reads other words behind
/// its name.
const OPERATIONS: [&str; 12] = [
    "load", "scalar", "store", "add", "exchange", "max", "spin", "compute", "lds", "wait", "fence",
    "barrier",
];
/// Lists the other words that begin a line.
const PARTS: &str = "kernel, buffer, launch, expect, or a wavefront such as 0 or 0.1";

/// The kernel of a text; `file` is its name, in errors.
///
/// # Errors
/// Refuses a line that says nothing, and a buffer that there is not. Refuses numbers that cannot
/// be, bytes outside of their buffer, and a text without an operation.
///
/// ```
/// use linkwright_memory::memory::kernel::recorded::read;
///
/// let text = "buffer a 256 in = 1:1\nbuffer b 256 out\n0 load a 256 as x\n0 store b 256 = 7\n";
/// assert_eq!(read("own.kernel", text)?.operations(), 2);
/// # Ok::<(), linkwright_ground::diagnostic::InputError>(())
/// ```
pub fn read(file: &str, text: &str) -> Result<RecordedKernel, InputError> {
    let kernel = read_unfinished(file, text)?;
    if kernel.operations() == 0 {
        let end = Position::of_offset(text, text.len());
        let remedy = "add a line such as `0 load a 256`";
        return Err(InputError::at(file, end, "there is no operation", "", remedy));
    }
    Ok(kernel)
}

/// The same of a text that may have no operation yet.
///
/// # Errors
/// Fails as [`read`] does.
pub fn read_unfinished(file: &str, text: &str) -> Result<RecordedKernel, InputError> {
    let mut kernel = RecordedKernel::new("kernel").map_err(|error| whole(file, text, &error))?;
    for (number, line) in text.lines().enumerate() {
        let code = line.split('#').next().unwrap_or_default();
        let mut tokens = Tokens { file, line: number + 1, text: code, at: 0 };
        let Some(first) = tokens.next() else { continue };
        match first.text {
            "kernel" => {
                let name = tokens.wanted("the kernel's name")?;
                kernel.name = super::checked(name.text).map_err(|error| name.refused(&error))?;
            }
            "buffer" => buffer(&mut tokens, &mut kernel)?,
            "launch" => {
                let name = tokens.wanted("the launch's name")?;
                let lds = tokens.next().map_or(Ok(0), |lds| lds.number("the group's bytes"))?;
                kernel.launch(name.text, Bytes(lds)).map_err(|error| name.refused(&error))?;
            }
            "expect" => expect(&mut tokens, &mut kernel)?,
            word if word.starts_with(|it: char| it.is_ascii_digit()) => {
                operation(first, &mut tokens, &mut kernel)?;
            }
            word => {
                let known = ["kernel", "buffer", "launch", "expect"];
                let remedy = match crate::diagnostic::closest(word, &known) {
                    Some(meant) => format!("did you mean `{meant}`? a line begins with {PARTS}"),
                    None => format!("begin a line with {PARTS}"),
                };
                return Err(first.fault("this begins no line", remedy));
            }
        }
        if let Some(more) = tokens.next() {
            return Err(more.fault("more than the line needs", "start a new line, or leave it out"));
        }
    }
    Ok(kernel)
}

fn whole(file: &str, text: &str, error: &RecordedError) -> InputError {
    let told = error.diagnosis();
    let start = Position::of_offset(text, 0);
    InputError::at(file, start, told.problem, "", told.remedy.unwrap_or_default())
}

/// Holds a word of a line.
#[derive(Clone, Copy)]
struct Token<'a> {
    file: &'a str,
    position: Position,
    text: &'a str,
}

impl<'a> Token<'a> {
    fn fault(&self, problem: impl Into<String>, remedy: impl Into<String>) -> InputError {
        InputError::at(self.file, self.position, problem, self.text, remedy)
    }

    fn refused(&self, error: &RecordedError) -> InputError {
        let told = error.diagnosis();
        self.fault(told.problem, told.remedy.unwrap_or_default())
    }

    /// A part of the word, whose place is the whole word's.
    fn part(&self, text: &'a str) -> Self {
        Self { text, ..*self }
    }

    fn number(&self, what: &str) -> Result<u64, InputError> {
        let read = match self.text.strip_prefix("0x") {
            Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).ok(),
            None if !self.text.starts_with('+') => self.text.parse().ok(),
            _ => None,
        };
        let remedy = || format!("give {what} as a whole number, such as 64 or 0x40");
        read.ok_or_else(|| self.fault("not a number that fits", remedy()))
    }

    fn small(&self, what: &str) -> Result<u32, InputError> {
        let number = self.number(what)?;
        u32::try_from(number)
            .map_err(|_| self.fault("a number that is too large", "give less than 4294967296"))
    }

    /// Reads a word of memory: a number of either sign, or with a point.
    fn word(&self) -> Result<u32, InputError> {
        let remedy = "write a whole number from -2147483648 to 4294967295, or one with a point";
        let refuse = || self.fault("not a value of 4 bytes", remedy);
        if self.text.contains('.') {
            let real: f32 = self.text.parse().map_err(|_| refuse())?;
            return Ok(real.to_bits());
        }
        match self.text.strip_prefix('-') {
            Some(_) => self.text.parse::<i32>().map(|it| it as u32).map_err(|_| refuse()),
            None => {
                self.number("a value").ok().and_then(|it| it.try_into().ok()).ok_or_else(refuse)
            }
        }
    }

    /// The members of a list in brackets; none where it is no list.
    fn list(&self) -> Result<Option<impl Iterator<Item = Self>>, InputError> {
        let Some(open) = self.text.strip_prefix('[') else { return Ok(None) };
        let Some(inside) = open.strip_suffix(']') else {
            return Err(self.fault("a list without its end", "write it without blanks, as [1,2]"));
        };
        let (token, inside) = (*self, inside);
        let members = inside.split(',').filter(move |_| !inside.is_empty());
        Ok(Some(members.map(move |text| token.part(text))))
    }

    fn words(&self) -> Result<Words, InputError> {
        if let Some(list) = self.list()? {
            return Ok(Words::Listed(list.map(|it| it.word()).collect::<Result<_, _>>()?));
        }
        let (first, step) = self.text.split_once(':').unwrap_or((self.text, "0"));
        Ok(Words::Ramp { first: self.part(first).word()?, step: self.part(step).word()? })
    }
}

/// Gives the words of a line, one after another.
struct Tokens<'a> {
    file: &'a str,
    line: usize,
    text: &'a str,
    /// The first byte that has not been looked at.
    at: usize,
}

impl<'a> Tokens<'a> {
    fn next(&mut self) -> Option<Token<'a>> {
        let rest = &self.text[self.at..];
        let start = self.at + rest.find(|it: char| !it.is_whitespace())?;
        let rest = &self.text[start..];
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.at = start + length;
        let column = self.text[..start].chars().count() + 1;
        let position = Position { line: self.line, column };
        Some(Token { file: self.file, position, text: &rest[..length] })
    }

    fn wanted(&mut self, what: &str) -> Result<Token<'a>, InputError> {
        self.next().ok_or_else(|| {
            let column = self.text.trim_end().chars().count() + 1;
            let position = Position { line: self.line, column };
            InputError::at(self.file, position, "the line ends early", "", format!("add {what}"))
        })
    }

    /// Reads the values behind a `=`; none where there is none.
    fn values(&mut self) -> Result<Option<Words>, InputError> {
        let mut ahead = Self { ..*self };
        if ahead.next().is_none_or(|token| token.text != "=") {
            return Ok(None);
        }
        self.at = ahead.at;
        self.wanted("values: one, the first and a step as 1:2, or a list as [1,2]")?
            .words()
            .map(Some)
    }

    /// The name of a load behind a `=`; none where there is none, or a value, which begins with no letter.
    fn loaded(&mut self) -> Option<String> {
        let mut ahead = Self { ..*self };
        ahead.next().filter(|token| token.text == "=")?;
        let name = ahead.next().filter(|token| super::checked(token.text).is_ok())?;
        self.at = ahead.at;
        Some(name.text.to_owned())
    }

    /// The name behind an `as`; none where there is none.
    fn kept(&mut self) -> Result<Option<String>, InputError> {
        let mut ahead = Self { ..*self };
        if ahead.next().is_none_or(|token| token.text != "as") {
            return Ok(None);
        }
        self.at = ahead.at;
        Ok(Some(self.wanted("the name under which the words are kept")?.text.to_owned()))
    }

    /// Reads an address and the bytes behind it.
    fn touched(
        &mut self,
        kernel: &RecordedKernel,
        way: Way,
    ) -> Result<(Token<'a>, Touched), InputError> {
        let token = self.wanted("an address: a buffer's name, and `+` with an offset")?;
        let (name, offsets) = token.text.split_once('+').unwrap_or((token.text, "0"));
        // `a:64` strides from the start of the buffer.
        let (name, offsets) = match name.split_once(':') {
            Some((name, _)) => (name, &token.text[name.len()..]),
            None => (name, offsets),
        };
        let buffer = kernel.buffer(name).map_err(|error| token.part(name).refused(&error))?;
        let bytes = self.wanted("how many bytes")?;
        let width = bytes.small("the bytes")?;
        let offsets = token.part(offsets);
        if let Some(list) = offsets.list()? {
            let each = |it: Token<'_>| match it.text {
                "-" => Ok(None),
                _ => it.number("an offset").map(Some),
            };
            let mut listed = Vec::new();
            for it in list.take(LANES + 1) {
                listed.push(each(it)?);
            }
            return Ok((token, Touched { buffer, offsets: Offsets::Listed(listed), width }));
        }
        let strided = offsets.text.split_once(':');
        let first = match strided.map_or(offsets.text, |(first, _)| first) {
            "" => 0,
            first => token.part(first).number("the offset")?,
        };
        let (stride, lanes, width) = match (strided, way) {
            (Some((_, stride)), _) => {
                let (stride, lanes) = stride.split_once('x').unwrap_or((stride, "64"));
                let lanes = token.part(lanes).small("the work-items")?;
                (token.part(stride).number("the stride")?, lanes, width)
            }
            (None, Way::OneAddress) => (0, 1, width),
            (None, Way::Together) => together(&bytes, width)?,
        };
        Ok((token, Touched { buffer, offsets: Offsets::Strided { first, stride, lanes }, width }))
    }
}

/// How an address without a stride is meant.
#[derive(Clone, Copy)]
enum Way {
    /// The bytes are those of all work-items, one after another.
    Together,
    /// Means the address of one work-item.
    OneAddress,
}

/// Reads `bytes` bytes on end, as a stride, a number of work-items and the bytes of each.
fn together(token: &Token<'_>, bytes: u32) -> Result<(u64, u32, u32), InputError> {
    let width = match bytes {
        0..=256 => 4,
        257..=512 => 8,
        _ => 16,
    };
    if bytes == 0 || !bytes.is_multiple_of(width) || bytes / width > LANES as u32 {
        let remedy = "take multiples of 4 up to 256, of 8 up to 512, or of 16 up to 1024";
        return Err(token.fault("64 work-items do not share these bytes in whole words", remedy));
    }
    Ok((u64::from(width), bytes / width, width))
}

fn buffer(tokens: &mut Tokens<'_>, kernel: &mut RecordedKernel) -> Result<(), InputError> {
    let name = tokens.wanted("the buffer's name")?;
    let size = tokens.wanted("how many bytes it has")?.number("its bytes")?;
    let copies = tokens.wanted("in, out, inout or scratch")?;
    let direction = Copies::from_name(copies.text).map_err(|error| {
        let told = error.diagnosis();
        copies.fault("no direction of copies", told.remedy.unwrap_or_default())
    })?;
    let initial = tokens.values()?.unwrap_or(Words::Ramp { first: 0, step: 0 });
    let buffer = RecordedBuffer {
        name: name.text.to_owned(),
        size: Bytes(size),
        copies: direction,
        initial,
    };
    kernel.add_buffer(buffer).map_err(|error| name.refused(&error))
}

fn expect(tokens: &mut Tokens<'_>, kernel: &mut RecordedKernel) -> Result<(), InputError> {
    let token = tokens.wanted("an address: a buffer's name, and `+` with an offset")?;
    if let Some(words) = tokens.values()? {
        // Nothing says how many bytes: it is a load's name.
        return kernel.expect_loaded(token.text, words).map_err(|error| token.refused(&error));
    }
    let (name, offset) = token.text.split_once('+').unwrap_or((token.text, "0"));
    let buffer = kernel.buffer(name).map_err(|error| token.part(name).refused(&error))?;
    let offset = token.part(offset).number("the offset")?;
    let bytes = tokens.wanted("how many bytes")?;
    let count = bytes.number("the bytes")?;
    if count == 0 || !count.is_multiple_of(4) {
        return Err(bytes.fault("no whole words", "take a multiple of 4"));
    }
    let Some(words) = tokens.values()? else {
        return Err(token.fault("no values are expected", "add `=` and values"));
    };
    let expected = Expected { buffer, offset, count: count / 4, words };
    kernel.expect(expected).map_err(|error| token.refused(&error))
}

fn operation<'a>(
    place: Token<'a>,
    tokens: &mut Tokens<'a>,
    kernel: &mut RecordedKernel,
) -> Result<(), InputError> {
    let (group, wavefront) = place.text.split_once('.').unwrap_or((place.text, "0"));
    let at = (place.part(group).small("a group")?, place.part(wavefront).small("a wavefront")?);
    let word = tokens.wanted("an operation, such as load")?;
    // The refused word is an address, where there is one.
    let mut blamed = place;
    let action = match word.text {
        "compute" => Action::Compute(tokens.wanted("how many")?.small("how many")?),
        "lds" => Action::Lds(tokens.wanted("how many")?.small("how many")?),
        "wait" => Action::Wait,
        "fence" => Action::Fence,
        "barrier" => match tokens.next() {
            None => Action::Barrier(Scope::Group),
            Some(scope) if scope.text == "launch" => Action::Barrier(Scope::Launch),
            Some(scope) => {
                let remedy = "write `barrier`, or `barrier launch` for all groups";
                return Err(scope.fault("no barrier's scope", remedy));
            }
        },
        name => {
            let way = match name {
                "scalar" | "spin" => Way::OneAddress,
                "load" | "store" | "add" | "exchange" | "max" => Way::Together,
                _ => {
                    let remedy = instead_of(name, &OPERATIONS);
                    return Err(word.fault("unknown operation", remedy));
                }
            };
            let (token, what) = tokens.touched(kernel, way)?;
            blamed = token;
            match name {
                "load" => Action::Load(what, tokens.kept()?),
                "scalar" => Action::Scalar(what, tokens.kept()?),
                "store" => match tokens.loaded() {
                    Some(name) => Action::StoreLoaded(what, name),
                    None => {
                        let zero = Words::Ramp { first: 0, step: 0 };
                        Action::Store(what, tokens.values()?.unwrap_or(zero))
                    }
                },
                "spin" => {
                    let Some(Words::Ramp { first, step: 0 }) = tokens.values()? else {
                        return Err(word.fault("it waits for no value", "add `=` and a value"));
                    };
                    Action::Spin(what, first)
                }
                _ => {
                    let Some(words) = tokens.values()? else {
                        return Err(word.fault("it has no operand", "add `=` and values"));
                    };
                    let operation =
                        AtomicOperation::from_name(name).unwrap_or(AtomicOperation::Add);
                    Action::Atomic(operation, what, words, tokens.kept()?)
                }
            }
        }
    };
    kernel.push(at, action).map_err(|error| blamed.refused(&error))?;
    kernel.came_from(at, place.position.line);
    Ok(())
}
