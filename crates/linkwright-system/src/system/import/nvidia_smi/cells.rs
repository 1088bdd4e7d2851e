//! Reads the cells of a row, also where they run into each other.
//!
//! nvidia-smi ends each cell with a tab. Where a machine has many devices it loses some of the
//! tabs, or the tab and a letter. So `PXBNODE` is PXB and NODE, and `PH0-115` is PHB and the cores
//! 0-115. A row is read in this way only where the number of its cells leaves one reading. The
//! other half of the matrix, which is read apart, has to agree.

use std::collections::BTreeSet;

use crate::diagnostic::Position;
use crate::system::import::host_tree::Relation;
use crate::system::import::paste::{self, Token};
use crate::system::locality::Affinity;

/// The most NVLinks that a cell may bond: two generations beyond today's 18.
pub(in crate::system) const MOST_NVLINKS: u32 = 36;

/// Holds a cell's relation of its two devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cell {
    /// Means the device itself.
    Itself,
    /// Counts bonded NVLinks.
    NvLink(u32),
    /// Means a way over PCIe.
    Pcie(Relation),
}

/// The cells that are always the same word.
const FIXED: [(&str, Cell); 7] = [
    ("X", Cell::Itself),
    ("PIX", Cell::Pcie(Relation::Switch)),
    ("PXB", Cell::Pcie(Relation::Switches)),
    ("PHB", Cell::Pcie(Relation::HostBridge)),
    ("NODE", Cell::Pcie(Relation::Socket)),
    ("SYS", Cell::Pcie(Relation::System)),
    ("SOC", Cell::Pcie(Relation::System)),
];

/// The cell that a word is.
pub(super) fn cell(word: &str) -> Option<Cell> {
    let fixed = FIXED.iter().find(|(text, _)| *text == word).map(|(_, cell)| *cell);
    fixed.or_else(|| Some(Cell::NvLink(paste::number(word.strip_prefix("NV")?)?)))
}

/// Whether a word is one cell as it stands.
fn is_whole(word: &str) -> bool {
    cell(word).is_some_and(|cell| !matches!(cell, Cell::NvLink(count) if count > MOST_NVLINKS))
}

/// Holds a row: its cells, and the words after them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Reading {
    /// Holds one word for each cell.
    pub(super) cells: Vec<Token>,
    /// Holds the affinities.
    pub(super) rest: Vec<Token>,
    /// Counts the columns of affinities that ran into the last cell.
    pub(super) runs_on: usize,
}

/// Returns the cells of row number `row` among the words after its name. Among these words, `width`
/// are cells and at most `trailing` are affinities. Returns every reading, but no more than two.
pub(super) fn readings(words: &[Token], row: usize, width: usize, trailing: usize) -> Vec<Reading> {
    if words.len() >= width && words[..width].iter().all(|word| is_whole(&word.text)) {
        let (cells, rest) = (words[..width].to_vec(), words[width..].to_vec());
        return vec![Reading { cells, rest, runs_on: 0 }];
    }
    let (dead, path, found) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut search = Search { words, row, width, trailing, dead, path, found };
    search.from(0);
    search.found
}

struct Search<'a> {
    words: &'a [Token],
    row: usize,
    width: usize,
    trailing: usize,
    /// Words and numbers of cells before them from which no reading follows.
    dead: BTreeSet<(usize, usize)>,
    path: Vec<Token>,
    found: Vec<Reading>,
}

impl Search<'_> {
    fn from(&mut self, at: usize) {
        let state = (at, self.path.len());
        if self.found.len() > 1 || self.dead.contains(&state) {
            return;
        }
        let before = self.found.len();
        if self.path.len() == self.width {
            self.end(None, at);
        } else if let Some(word) = self.words.get(at) {
            for split in splits(word) {
                let cells = self.path.len();
                if self.fits(&split.cells) {
                    self.path.extend(split.cells);
                    match split.rest {
                        None => self.from(at + 1),
                        Some(rest) if self.path.len() == self.width => self.end(Some(rest), at + 1),
                        Some(_) => {}
                    }
                }
                self.path.truncate(cells);
            }
        }
        if self.found.len() == before {
            self.dead.insert(state);
        }
    }

    /// X stands on the diagonal and nowhere else.
    fn fits(&self, cells: &[Token]) -> bool {
        let columns = self.path.len()..;
        self.path.len() + cells.len() <= self.width
            && columns.zip(cells).all(|(column, cell)| (cell.text == "X") == (column == self.row))
    }

    fn end(&mut self, first: Option<Token>, at: usize) {
        let runs_on = usize::from(first.is_some());
        let rest: Vec<Token> = first.into_iter().chain(self.words[at..].iter().cloned()).collect();
        let is_affinity =
            |word: &Token| word.text == "N/A" || Affinity::parse(&word.text).is_some();
        if rest.len() <= self.trailing && rest.iter().all(is_affinity) {
            self.found.push(Reading { cells: self.path.clone(), rest, runs_on });
        }
    }
}

/// The most bytes of a word that is cut: some thirty cells, where real ones run together by threes.
const LONGEST_GLUED: usize = 128;

/// One way to cut a word into cells; `rest` is an affinity that the last of them ran into.
struct Split {
    cells: Vec<Token>,
    rest: Option<Token>,
}

fn splits(word: &Token) -> Vec<Split> {
    let mut found = Vec::new();
    if is_whole(&word.text) {
        found.push(Split { cells: vec![word.clone()], rest: None });
    } else if word.text.len() <= LONGEST_GLUED {
        cut(word, 0, &mut Vec::new(), &mut found);
    }
    found
}

/// Makes a word in place of the characters from `from` on. All of these are one byte long.
fn part(word: &Token, from: usize, text: &str) -> Token {
    let Position { line, column } = word.position;
    Token {
        text: text.to_owned(),
        position: Position { line, column: column + from },
        seen_at: word.seen_at + from,
        tabs: word.tabs,
    }
}

fn cut(word: &Token, from: usize, cells: &mut Vec<Token>, found: &mut Vec<Split>) {
    let rest = &word.text[from..];
    let starts_affinity =
        |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit()) || rest.starts_with("N/A");
    if rest.is_empty() {
        return found.push(Split { cells: cells.clone(), rest: None });
    }
    if !cells.is_empty() && starts_affinity(rest) {
        found.push(Split { cells: cells.clone(), rest: Some(part(word, from, rest)) });
    }
    let mut take = |text: &str, length: usize| {
        cells.push(part(word, from, text));
        cut(word, from + length, cells, found);
        cells.pop();
    };
    for (text, _) in FIXED {
        let short = &text[..text.len() - 1];
        if rest.starts_with(text) {
            take(text, text.len());
        } else if short.len() > 1 && rest.strip_prefix(short).is_some_and(starts_affinity) {
            take(text, short.len());
        }
    }
    let digits = rest.strip_prefix("NV").unwrap_or_default();
    let digits = digits.bytes().take(2).take_while(u8::is_ascii_digit).count();
    for length in (1..=digits).map(|digits| digits + "NV".len()) {
        if is_whole(&rest[..length]) {
            take(&rest[..length], length);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(row: usize, width: usize, text: &str) -> Vec<(Vec<String>, Vec<String>)> {
        let line = paste::words_by_line(&format!("{text}\n")).remove(0);
        let words = |tokens: &[Token]| tokens.iter().map(|token| token.text.clone()).collect();
        let all = readings(&line.tokens, row, width, 3);
        all.iter().map(|reading| (words(&reading.cells), words(&reading.rest))).collect()
    }

    #[test]
    fn cells_that_ran_into_each_other_are_told_apart() {
        let cases = [
            (0, "X NV18 PXBNODE SYS 0-55 0 N/A", "X NV18 PXB NODE SYS", "0-55 0 N/A"),
            (4, "NODENODENODENODE X", "NODE NODE NODE NODE X", ""),
            (2, "SYSSYS X NV12NV4", "SYS SYS X NV12 NV4", ""),
            (0, "X SYS SYS SYS PH0-115 0 N/A", "X SYS SYS SYS PHB", "0-115 0 N/A"),
            (0, "X SYS SYS SYS PIX0-115 0 N/A", "X SYS SYS SYS PIX", "0-115 0 N/A"),
            (0, "X SYS SYS SYS SYSN/A N/A N/A", "X SYS SYS SYS SYS", "N/A N/A N/A"),
            (0, "X PIX PIX PIX NV1812 0", "X PIX PIX PIX NV18", "12 0"),
        ];
        for (row, text, cells, rest) in cases {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect();
            let expected: (Vec<String>, Vec<String>) = (words(cells), words(rest));
            let found = read(row, 5, text);
            // NV1 beside the cores 812 would be a reading, too.
            assert!(found.contains(&expected), "{text}: {found:?}");
            assert_eq!(found.len(), if text.contains("1812") { 2 } else { 1 }, "{text}");
        }
        for text in ["X SYS SYS SYS", "X SYS SYS SYSSYSSYS", "X SYS SYS SYXSYS", "X X SYS SYSSYS"] {
            assert!(read(0, 5, text).is_empty(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn lost_separators_are_read_back_or_leave_a_doubt(
            mut cells in prop::collection::vec(
                prop::sample::select(vec!["PIX", "PXB", "PHB", "NODE", "SYS", "NV1", "NV12"]), 1..12),
            row in 0..12_usize,
            lost in prop::collection::vec(any::<bool>(), 12),
            affinity in prop::sample::select(vec!["", " 0-7 0 N/A", "0-7 0 N/A", " N/A"]),
        ) {
            let row = row % cells.len();
            cells[row] = "X";
            let mut text = String::new();
            for (at, cell) in cells.iter().enumerate() {
                let beside = |at: usize| cells.get(at).is_none_or(|cell| *cell == "X");
                text.push_str(cell);
                if !lost[at] || beside(at) || beside(at + 1) {
                    text.push(' ');
                }
            }
            let text = text.trim_end().to_owned() + affinity;
            let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
            let found = read(row, cells.len(), &text);
            prop_assert!(found.len() > 1 || found.iter().any(|reading| reading.0 == cells), "{text}");
        }

        #[test]
        fn arbitrary_rows_never_panic(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "X", "NV", "1", "18", "PIX", "PI", "SYS", "NODE", "0-7", "N/A", " ", " ", "é",
                ]), 0..60),
            row in 0..8_usize,
        ) {
            prop_assert!(read(row, 8, &words.concat()).len() <= 2);
        }
    }
}
