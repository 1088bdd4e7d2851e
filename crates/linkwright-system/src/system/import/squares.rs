//! Reads square blocks of a tool's output: a title, a header of GPUs, and a row for each of them.
//!
//! `rocm-smi` and `amd-smi` are the tools that print such blocks. They differ in their [`Dialect`].

use std::ops::Range;

use crate::diagnostic::InputError;
use crate::system::import::paste::{self, Line, Token};

/// Says how a tool writes its blocks.
pub(super) struct Dialect {
    /// Names the tool.
    pub(super) tool: &'static str,
    /// Says how to mend a block that is not whole.
    pub(super) whole_paste: &'static str,
    /// Gives the title of a block, where the line is one.
    pub(super) title: fn(&Line) -> Option<String>,
    /// Tells whether a word is a column's GPU.
    pub(super) is_gpu: fn(&str) -> bool,
    /// Tells whether a row that stands in no block belongs into one, by its first cell.
    pub(super) is_cell: fn(&str) -> bool,
}

/// Holds a block as it is written.
pub(super) struct Square {
    pub(super) header: Vec<Token>,
    pub(super) words: Vec<Vec<Token>>,
    /// Gives the places of its lines, from its title to its last row.
    lines: Range<usize>,
}

/// Holds a square and symmetric matrix by row and column, and its words for errors.
#[derive(Debug, Clone)]
pub(super) struct Block<T> {
    /// Gives the values of the cells.
    pub(super) cells: Vec<Vec<T>>,
    /// Gives the cells as they are written.
    pub(super) words: Vec<Vec<Token>>,
}

impl Dialect {
    /// Finds the blocks with their titles, in the order of the text.
    ///
    /// # Errors
    /// A block that is there twice or not whole, columns that are no GPUs, blocks of different
    /// GPUs, and rows that stand in no block.
    pub(super) fn squares(
        &self,
        file: &str,
        lines: &[Line],
    ) -> Result<Vec<(String, Square)>, InputError> {
        let mut found: Vec<(String, Square)> = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            let Some(title) = (self.title)(line) else { continue };
            if found.iter().any(|(known, _)| *known == title) {
                let problem = "this block is there twice";
                return Err(line.tokens[0].refuse(file, problem, "paste one output"));
            }
            let square = self.square(file, lines, at, &title)?;
            if let Some((_, first)) = found.first() {
                self.check_same_gpus(file, &first.header, &square.header)?;
            }
            found.push((title, square));
        }
        self.check_no_stray_row(file, lines, &found)?;
        Ok(found)
    }

    fn square(
        &self,
        file: &str,
        lines: &[Line],
        at: usize,
        name: &str,
    ) -> Result<Square, InputError> {
        let filled = lines.iter().enumerate().skip(at + 1);
        let mut block = filled.filter(|(_, line)| !line.tokens.is_empty());
        let end = |problem: String, line: &Line| {
            InputError::at(file, line.end, problem, line.first(), self.whole_paste)
        };
        let (mut last_at, header) =
            block.next().ok_or_else(|| end(format!("`{name}` has no rows"), &lines[at]))?;
        self.check_header(file, &header.tokens)?;
        let mut last = header;
        let mut words = Vec::new();
        for gpu in &header.tokens {
            let problem = || format!("`{name}` ends before the row of {}", gpu.text);
            let (row_at, row) = block.next().ok_or_else(|| end(problem(), last))?;
            (last_at, last) = (row_at, row);
            if row.first() != gpu.text {
                return Err(row.tokens[0].refuse(file, problem(), self.whole_paste));
            }
            if let Some(missing) = header.tokens.get(row.tokens.len() - 1) {
                let problem = format!("this row ends before its cell for {}", missing.text);
                return Err(end(problem, row));
            }
            if let Some(extra) = row.tokens.get(header.tokens.len() + 1) {
                let problem = "this row has more cells than the header has columns";
                return Err(extra.refuse(file, problem, self.whole_paste));
            }
            words.push(row.tokens[1..].to_vec());
        }
        Ok(Square { header: header.tokens.clone(), words, lines: at..last_at + 1 })
    }

    fn check_header(&self, file: &str, header: &[Token]) -> Result<(), InputError> {
        for (index, gpu) in header.iter().enumerate() {
            paste::has_room(file, index, gpu)?;
            if !(self.is_gpu)(&gpu.text) {
                return Err(gpu.refuse(file, "this column is no GPU", self.whole_paste));
            }
            if header[..index].iter().any(|earlier| earlier.text == gpu.text) {
                return Err(gpu.refuse(file, "two columns have this name", self.whole_paste));
            }
        }
        Ok(())
    }

    fn check_same_gpus(
        &self,
        file: &str,
        expected: &[Token],
        found: &[Token],
    ) -> Result<(), InputError> {
        for (index, gpu) in found.iter().enumerate() {
            if expected.get(index).is_none_or(|other| other.text != gpu.text) {
                let problem = "this block and the first one have different GPUs here";
                return Err(gpu.refuse(file, problem, self.whole_paste));
            }
        }
        if let Some(missing) = expected.get(found.len()) {
            let problem = "another block has no column for this GPU";
            return Err(missing.refuse(file, problem, self.whole_paste));
        }
        Ok(())
    }

    /// Refuses rows that belong into a block and stand in none: those without a column, or below a
    /// title that was cut or mistyped.
    fn check_no_stray_row(
        &self,
        file: &str,
        lines: &[Line],
        blocks: &[(String, Square)],
    ) -> Result<(), InputError> {
        let mut inside = blocks.iter().map(|(_, block)| &block.lines).peekable();
        for (at, line) in lines.iter().enumerate() {
            while inside.next_if(|block| block.end <= at).is_some() {}
            if inside.peek().is_some_and(|block| block.contains(&at)) {
                continue;
            }
            let second = line.tokens.get(1).map_or("", |token| &token.text);
            if (self.is_gpu)(line.first()) && (self.is_cell)(second) {
                let problem = "this row has no column in a header, or its block has no title";
                return Err(line.tokens[0].refuse(file, problem, self.whole_paste));
            }
        }
        Ok(())
    }

    /// Gives the cells' values, which are `itself` on the diagonal alone, and symmetric.
    ///
    /// # Errors
    /// The first cell that the tool does not print, or that differs from its opposite.
    pub(super) fn values<T: Copy + PartialEq>(
        &self,
        file: &str,
        square: &Square,
        itself: &str,
        value: impl Fn(&str) -> Option<T>,
    ) -> Result<Block<T>, InputError> {
        let remedy = "mend the cell or paste again";
        let mut cells: Vec<Vec<T>> = Vec::new();
        for (row, words) in square.words.iter().enumerate() {
            let mut values = Vec::new();
            for (column, word) in words.iter().enumerate() {
                let problem = || format!("{} prints no such cell here", self.tool);
                let unknown = || word.refuse(file, problem(), remedy);
                values.push(value(&word.text).ok_or_else(unknown)?);
                if (word.text == itself) != (row == column) {
                    let problem = format!("a GPU's cell with itself is {itself}, and no other");
                    return Err(word.refuse(file, problem, remedy));
                }
                if column < row && cells[column][row] != values[column] {
                    let (a, b) = (&square.header[row].text, &square.header[column].text);
                    let other = &square.words[column][row].text;
                    let problem = format!("{a}-{b} differs from {b}-{a}, which is {other}");
                    return Err(word.refuse(file, problem, remedy));
                }
            }
            cells.push(values);
        }
        Ok(Block { cells, words: square.words.clone() })
    }
}
