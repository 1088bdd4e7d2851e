//! Reads a program from GOAL text.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::Options;
use super::token::{Kind, Token, Tokens};
use crate::diagnostic::InputError;
use crate::network::RouteClass;
use crate::program::{
    Dependency, MOST_MESSAGE, Operation, Program, Rank, RankBuilder, RankProgram, Tag, WORLD,
};
use crate::units::{Bytes, Picoseconds};

/// The program of a GOAL text; `file` is its name, in errors and as the program's name.
///
/// # Errors
/// Refuses a text that is no GOAL, and labels that are missing or given twice. Refuses ranks that
/// are missing or have two blocks, peers that do not exist, and numbers that are too large. Refuses
/// operations that wait for each other in a circle.
///
/// ```
/// use linkwright_runtime::program::goal::{Options, read};
///
/// let text = "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}\n";
/// assert_eq!(read("pair.goal", text, &Options::default())?.ranks.len(), 2);
/// # Ok::<(), linkwright_ground::diagnostic::InputError>(())
/// ```
pub fn read(file: &str, text: &str, options: &Options) -> Result<Program, InputError> {
    let mut parser = Parser { file, tokens: Tokens::new(file, text), options, ranks: 0 };
    let mut token = parser.next_line()?;
    parser.expect_word(
        token,
        "num_ranks",
        "start with `num_ranks` and how many ranks there are",
    )?;
    token = parser.next()?;
    parser.ranks = parser.number(token, "how many ranks there are")?;
    let count = token;
    let mut blocks: BTreeMap<Rank, RankProgram> = BTreeMap::new();
    loop {
        token = parser.next_line()?;
        if token.kind == Kind::End {
            break;
        }
        parser.expect_word(token, "rank", "write `rank N {` for each rank")?;
        token = parser.next()?;
        let rank = parser.rank(token)?;
        if blocks.contains_key(&rank) {
            return Err(token.fault(file, "a second block of this rank", "join the two blocks"));
        }
        token = parser.next()?;
        if token.kind != Kind::Mark('{') {
            return Err(token.fault(file, "no `{`", "write `rank N {`"));
        }
        blocks.insert(rank, parser.block()?);
    }
    // Every rank has a block, or a number of ranks alone could take all memory.
    let missing = (0..).zip(blocks.keys()).find(|(rank, given)| rank != *given);
    let first = missing.map_or(blocks.len() as u32, |(rank, _)| rank);
    if first < parser.ranks {
        let problem = format!("rank {first} of these has no block");
        return Err(count.fault(file, &problem, format!("add `rank {first} {{` and `}}`")));
    }
    Ok(Program {
        name: file.to_owned(),
        communicators: vec![(0..parser.ranks).collect()],
        regions: Vec::new(),
        ranks: blocks.into_values().collect(),
    })
}

struct Parser<'a> {
    file: &'a str,
    tokens: Tokens<'a>,
    options: &'a Options,
    ranks: u32,
}

/// Holds the operations of one rank, as far as read.
#[derive(Default)]
struct Block<'a> {
    operations: Vec<Operation>,
    labels: BTreeMap<&'a str, u32>,
    /// Says which operation waits for which; both by their place in the text.
    waits: Vec<Vec<Dependency>>,
    /// The processor that its calculations name, and the interface that its messages do.
    places: [Option<u8>; 2],
}

/// Where an operation runs.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// A calculation runs on this processor.
    Calculation,
    /// This processor hands a message over, or ties operations together. Here a rank's library does, beside its processor.
    Message,
    /// A message goes through this interface.
    Interface,
}

impl Place {
    const fn word(self) -> &'static str {
        match self {
            Self::Calculation | Self::Message => "cpu",
            Self::Interface => "nic",
        }
    }
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Result<Token<'a>, InputError> {
        self.tokens.next()
    }

    /// The next piece that is not the end of a line.
    fn next_line(&mut self) -> Result<Token<'a>, InputError> {
        loop {
            let token = self.next()?;
            if token.kind != Kind::NewLine {
                return Ok(token);
            }
        }
    }

    fn expect_word(&self, token: Token, word: &str, remedy: &str) -> Result<(), InputError> {
        if token.kind == Kind::Word(word) {
            return Ok(());
        }
        Err(token.fault(self.file, &format!("no `{word}`"), remedy))
    }

    fn number<N: std::str::FromStr>(&self, token: Token, what: &str) -> Result<N, InputError> {
        let remedy = format!("write {what}");
        match token.kind {
            Kind::Number(text) => {
                text.parse().map_err(|_| token.fault(self.file, "not a number that fits", remedy))
            }
            _ => Err(token.fault(self.file, "no number", remedy)),
        }
    }

    fn rank(&self, token: Token) -> Result<Rank, InputError> {
        let rank = self.number(token, "a rank")?;
        if rank < self.ranks {
            return Ok(rank);
        }
        let remedy = match self.ranks.checked_sub(1) {
            Some(last) => format!("ranks are 0 to {last}"),
            None => "there are no ranks".to_owned(),
        };
        Err(token.fault(self.file, "no such rank", remedy))
    }

    /// A number for which -1 stands for any.
    fn or_any<T>(
        &self,
        token: Token,
        read: impl Fn(&Self, Token) -> Result<T, InputError>,
    ) -> Result<Option<T>, InputError> {
        if token.kind == Kind::Number("-1") { Ok(None) } else { read(self, token).map(Some) }
    }

    fn tag(&self, token: Token) -> Result<Tag, InputError> {
        let tag = self.number(token, "a tag")?;
        if tag == Tag::MAX {
            // LogGOPSim stores "any" as this number.
            let remedy = "take a smaller tag, or -1 for any";
            return Err(token.fault(self.file, "a tag that stands for any", remedy));
        }
        Ok(tag)
    }

    /// Reads the statements up to the closing brace.
    fn block(&mut self) -> Result<RankProgram, InputError> {
        let mut block = Block::default();
        loop {
            let token = self.next_line()?;
            let end = match token.kind {
                Kind::Mark('}') => return self.sorted(&block, token),
                Kind::Word("calc" | "send" | "recv") => self.operation(token, &mut block)?,
                Kind::Word(label) => self.labelled(token, label, &mut block)?,
                _ => {
                    let remedy = "write a statement such as `l1: calc 100`, or `}`";
                    return Err(token.fault(self.file, "no statement", remedy));
                }
            };
            match end.kind {
                Kind::NewLine => {}
                Kind::Mark('}') => return self.sorted(&block, end),
                _ => {
                    let remedy = "start a new line";
                    return Err(end.fault(self.file, "more than a statement", remedy));
                }
            }
        }
    }

    /// An operation behind its label, or a dependency; returns the piece behind it.
    fn labelled(
        &mut self,
        start: Token<'a>,
        label: &'a str,
        block: &mut Block<'a>,
    ) -> Result<Token<'a>, InputError> {
        let token = self.next()?;
        match token.kind {
            Kind::Mark(':') => {
                let index = block.operations.len() as u32;
                if block.labels.insert(label, index).is_some() {
                    let remedy = "give each operation of a rank its own label";
                    return Err(start.fault(self.file, "a label given twice", remedy));
                }
                let token = self.next()?;
                self.operation(token, block)
            }
            Kind::Word(word @ ("requires" | "irequires")) => {
                let on = self.next()?;
                let (waiting, awaited) =
                    (self.labelled_as(start, block)?, self.labelled_as(on, block)?);
                block.waits[waiting as usize].push(match word {
                    "requires" => Dependency::Completed(awaited),
                    _ => Dependency::Started(awaited),
                });
                self.next()
            }
            _ => {
                let remedy = "write `:` and an operation, `requires` or `irequires`";
                Err(token.fault(self.file, "nothing that goes behind a label", remedy))
            }
        }
    }

    fn labelled_as(&self, token: Token, block: &Block) -> Result<u32, InputError> {
        let Kind::Word(label) = token.kind else {
            return Err(token.fault(self.file, "no label", "name an operation by its label"));
        };
        let found = block.labels.get(label).copied();
        found.ok_or_else(|| {
            let remedy = "label an operation above so, or name one that is";
            token.fault(self.file, "an unknown label", remedy)
        })
    }

    /// An operation; returns the piece behind it.
    fn operation(
        &mut self,
        start: Token<'a>,
        block: &mut Block<'a>,
    ) -> Result<Token<'a>, InputError> {
        let Kind::Word(word @ ("calc" | "send" | "recv")) = start.kind else {
            let remedy = "write `calc`, `send` or `recv`";
            return Err(start.fault(self.file, "unknown operation", remedy));
        };
        let token = self.next()?;
        let amount: u64 = self.number(token, "an amount")?;
        if word != "calc" && amount > MOST_MESSAGE.0 {
            let remedy = format!("write at most {}", MOST_MESSAGE.0);
            return Err(token.fault(self.file, "a message larger than any GPU's memory", remedy));
        }
        let (operation, end) = if word == "calc" {
            (self.calculation(token, amount)?, self.next()?)
        } else {
            self.message(word == "send", Bytes(amount))?
        };
        block.operations.push(operation);
        block.waits.push(Vec::new());
        // A calculation has no NIC, which txt2bin insists on too.
        let places: &[Place] = match (word, amount) {
            // A join takes no time anywhere.
            ("calc", 0) => &[Place::Message],
            ("calc", _) => &[Place::Calculation],
            _ => &[Place::Message, Place::Interface],
        };
        self.places(end, places, &mut block.places)
    }

    fn calculation(&self, token: Token, amount: u64) -> Result<Operation, InputError> {
        if amount == 0 {
            return Ok(Operation::Join);
        }
        let Some(duration) = amount.checked_mul(self.options.time_unit.0) else {
            let remedy = format!("write at most {}", u64::MAX / self.options.time_unit.0.max(1));
            return Err(token.fault(self.file, "a time that does not fit", remedy));
        };
        Ok(Operation::Compute { duration: Picoseconds(duration) })
    }

    /// Reads a message behind its amount, and the piece behind it.
    fn message(&mut self, sends: bool, size: Bytes) -> Result<(Operation, Token<'a>), InputError> {
        let token = self.next()?;
        self.expect_word(token, "b", "write the size as in `10b`")?;
        let (token, word) = (self.next()?, if sends { "to" } else { "from" });
        self.expect_word(token, word, "write `send 10b to 1` or `recv 10b from 0`")?;
        let peer = self.next()?;
        let mut end = self.next()?;
        let tag = if end.kind == Kind::Word("tag") {
            let tag = self.next()?;
            end = self.next()?;
            Some(tag)
        } else {
            None
        };
        let communicator = WORLD;
        let operation = if sends {
            let tag = tag.map_or(Ok(0), |token| self.tag(token))?;
            Operation::Send {
                to: self.rank(peer)?,
                tag,
                communicator,
                size,
                route: RouteClass::Any,
            }
        } else {
            let from = self.or_any(peer, Self::rank)?;
            let tag = tag.map_or(Ok(Some(0)), |token| self.or_any(token, Self::tag))?;
            Operation::Receive { from, tag, communicator, size }
        };
        Ok((operation, end))
    }

    /// Reads where an operation runs, each place at most once and in this order; returns the
    /// piece behind.
    ///
    /// A rank has one processor and the interfaces that its system gives it. So its calculations name one `cpu`, and its
    /// messages one `nic`. On several they would run side by side, which no rank here does.
    fn places(
        &mut self,
        mut token: Token<'a>,
        places: &[Place],
        known: &mut [Option<u8>; 2],
    ) -> Result<Token<'a>, InputError> {
        for place in places {
            let mut named = (None, 0);
            if token.kind == Kind::Word(place.word()) {
                let number = self.next()?;
                // LogGOPSim stores these in a byte.
                named = (Some(number), self.number::<u8>(number, "a number from 0 to 255")?);
                token = self.next()?;
            }
            let (at, number) = named;
            let (first, problem, remedy) = match place {
                Place::Message => continue,
                Place::Calculation => (
                    &mut known[0],
                    "calculates beside what the rank calculates elsewhere",
                    "name one `cpu` in all of a rank's `calc`, or give each processor a rank of its own",
                ),
                Place::Interface => (
                    &mut known[1],
                    "a message beside those of the rank's other interfaces",
                    "name one `nic` in all of a rank's messages: the system says which interfaces a rank has",
                ),
            };
            if *first.get_or_insert(number) != number {
                return Err(at.unwrap_or(token).fault(self.file, problem, remedy));
            }
        }
        Ok(token)
    }

    /// Builds the rank's program: operations in the text's order, but each behind those that it
    /// waits for.
    fn sorted(&self, block: &Block, end: Token) -> Result<RankProgram, InputError> {
        let count = block.operations.len();
        let awaited = |dependency: &Dependency| {
            let (Dependency::Completed(on) | Dependency::Started(on)) = *dependency;
            on as usize
        };
        let mut followers: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (index, waits) in block.waits.iter().enumerate() {
            waits.iter().for_each(|wait| followers[awaited(wait)].push(index));
        }
        let mut missing: Vec<usize> = block.waits.iter().map(Vec::len).collect();
        let free = (0..count).filter(|index| missing[*index] == 0);
        let mut ready: BinaryHeap<_> = free.map(Reverse).collect();
        let mut places = vec![0; count];
        let mut rank = RankBuilder::default();
        let mut done = 0;
        while let Some(Reverse(index)) = ready.pop() {
            let moved = |wait: &Dependency| match *wait {
                Dependency::Completed(on) => Dependency::Completed(places[on as usize]),
                Dependency::Started(on) => Dependency::Started(places[on as usize]),
            };
            let waits: Vec<_> = block.waits[index].iter().map(moved).collect();
            places[index] = rank.push(block.operations[index], &waits);
            done += 1;
            for follower in &followers[index] {
                missing[*follower] -= 1;
                if missing[*follower] == 0 {
                    ready.push(Reverse(*follower));
                }
            }
        }
        if done < count {
            let stuck = |index: &u32| missing[*index as usize] > 0;
            let label =
                block.labels.iter().find(|(_, index)| stuck(index)).map(|(label, _)| *label);
            let problem = format!(
                "operations of this rank wait for each other in a circle, among them `{}`",
                label.unwrap_or_default()
            );
            return Err(end.fault(self.file, &problem, "remove one of their dependencies"));
        }
        Ok(rank.finish())
    }
}
