//! Reads one snapshot of NVLink byte counters.
//!
//! Two formats are read, which tell themselves apart line by line:
//! - `nvidia-smi nvlink -g 0`, as MAPA prints it (Fig. 9b), one line per link:
//!   `Link 0: Rx0: 12 KBytes, Tx0: 34 KBytes`
//! - `nvidia-smi nvlink -gt d` prints one line per direction: `Link 0: Data Tx: 34 KiB`
//!
//! Each GPU starts with `GPU 5: model (UUID: ...)`. Empty lines and a shell's `$ command`
//! lines are passed over, so that a whole terminal session can be pasted. A KByte is taken
//! to be 1024 bytes, as its successor's name says.

use std::collections::BTreeMap;

use crate::allocation::MAX_GPUS;
use crate::diagnostic::{InputError, Position};

/// Tells the user how to replace a line that is not understood.
const REMEDY: &str =
    "paste the output of `nvidia-smi nvlink -gt d`, or of `nvidia-smi nvlink -g 0`";

/// The highest number of a GPU's link: more than any GPU has.
const MOST_LINK: u32 = 255;

/// Holds the counters of one link of one GPU, in bytes.
#[derive(Debug, Clone)]
pub(super) struct LinkReading {
    pub sent: u64,
    pub received: u64,
    pub position: Position,
    /// Holds the line as written.
    pub text: String,
}

/// Holds all counters of a snapshot, by GPU and link.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub file: String,
    pub links: BTreeMap<(usize, u32), LinkReading>,
    gpus: BTreeMap<usize, Header>,
}

/// The line that a GPU starts with.
#[derive(Debug, Clone)]
struct Header {
    uuid: String,
    position: Position,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

/// A link's counters while its lines are read.
#[derive(Debug)]
struct Partial {
    sent: Option<u64>,
    received: Option<u64>,
    position: Position,
    text: String,
}

impl Snapshot {
    /// Reads the counters.
    pub(super) fn read(file: &str, text: &str) -> Result<Self, InputError> {
        let mut gpus: BTreeMap<usize, Header> = BTreeMap::new();
        let mut partial: BTreeMap<(usize, u32), Partial> = BTreeMap::new();
        let mut current = None;
        for (index, line) in text.lines().enumerate() {
            let content = line.trim();
            let position = |part: &str| {
                let offset = part.as_ptr() as usize - line.as_ptr() as usize;
                Position { line: index + 1, column: line[..offset].chars().count() + 1 }
            };
            let refuse = |part: &str, problem: &str| {
                InputError::at(file, position(part), problem, part, REMEDY)
            };
            if content.is_empty() || content.starts_with('$') {
                continue;
            }
            if let Some((id, rest)) = numbered(content, "GPU ") {
                if id as usize >= MAX_GPUS {
                    return Err(refuse(content, "no GPU number below 128"));
                }
                let uuid = rest.split_once("(UUID:").and_then(|(_, uuid)| uuid.split(')').next());
                let uuid = uuid.unwrap_or_default().trim().to_owned();
                let (position, text) = (position(content), content.to_owned());
                gpus.entry(id as usize).or_insert(Header { uuid, position, text });
                current = Some(id as usize);
                continue;
            }
            let Some((link, rest)) = numbered(content, "Link ") else {
                return Err(refuse(content, "neither a GPU nor a link's counters"));
            };
            if link > MOST_LINK {
                return Err(refuse(content, "no link number up to 255"));
            }
            let gpu = current.ok_or_else(|| refuse(content, "a link before any GPU"))?;
            if rest.trim() == "<inactive>" {
                continue;
            }
            let reading = partial.entry((gpu, link)).or_insert_with(|| Partial {
                sent: None,
                received: None,
                position: position(content),
                text: content.to_owned(),
            });
            for field in rest.split(',').map(str::trim) {
                let (direction, value) = counter(field)
                    .ok_or_else(|| refuse(field, "not a data counter in KiB or KBytes"))?;
                let known = match direction {
                    Direction::Sent => &mut reading.sent,
                    Direction::Received => &mut reading.received,
                };
                if known.is_some_and(|known| known != value) {
                    let problem = format!(
                        "GPU {gpu} link {link} has another value in line {}",
                        reading.position.line
                    );
                    let remedy = "keep one of the two lines; a file holds one snapshot";
                    return Err(InputError::at(file, position(field), problem, field, remedy));
                }
                *known = Some(value);
            }
        }
        let mut links = BTreeMap::new();
        for (key, Partial { sent, received, position, text }) in partial {
            let (Some(sent), Some(received)) = (sent, received) else {
                let problem = "a link with one direction only";
                return Err(InputError::at(file, position, problem, &text, REMEDY));
            };
            links.insert(key, LinkReading { sent, received, position, text });
        }
        if links.is_empty() {
            let start = Position { line: 1, column: 1 };
            return Err(InputError::at(file, start, "no link counters", text, REMEDY));
        }
        Ok(Self { file: file.to_owned(), links, gpus })
    }

    /// Checks that the other snapshot has every link of this one, on the same GPUs.
    pub(super) fn check_same_links(&self, other: &Self) -> Result<(), InputError> {
        let remedy = "take both snapshots with the same command";
        let other_file = &other.file;
        for (id, header) in &self.gpus {
            let same = other.gpus.get(id).is_none_or(|known| known.uuid == header.uuid);
            if !same {
                let problem = format!("GPU {id} is another GPU in {other_file}");
                let (position, text) = (header.position, &header.text);
                return Err(InputError::at(&self.file, position, problem, text, remedy));
            }
        }
        for ((gpu, link), reading) in &self.links {
            if !other.links.contains_key(&(*gpu, *link)) {
                let problem = format!("GPU {gpu} link {link} is missing in {other_file}");
                let (position, text) = (reading.position, &reading.text);
                return Err(InputError::at(&self.file, position, problem, text, remedy));
            }
        }
        Ok(())
    }

    /// Returns the position and text of the first link's line.
    pub(super) fn start(&self) -> (Position, &str) {
        let first = self.links.values().min_by_key(|reading| reading.position.line);
        first.map_or((Position { line: 1, column: 1 }, ""), |link| (link.position, &link.text))
    }
}

/// Returns the number and the rest of a line such as `Link 3: rest`.
fn numbered<'a>(line: &'a str, what: &str) -> Option<(u32, &'a str)> {
    let (number, rest) = line.strip_prefix(what)?.split_once(':')?;
    Some((number.trim().parse().ok()?, rest))
}

/// Returns the direction and the bytes of a field such as `Rx0: 12 KBytes` or `Data Tx: 34 KiB`.
fn counter(field: &str) -> Option<(Direction, u64)> {
    let (name, value) = field.split_once(':')?;
    let name = match name.strip_prefix("Data ") {
        Some(name) => name.trim(),
        None => name.strip_suffix(|c: char| c.is_ascii_digit())?,
    };
    let direction = match name {
        "Tx" => Direction::Sent,
        "Rx" => Direction::Received,
        _ => return None,
    };
    let (number, unit) = value.trim().split_once(' ')?;
    if !matches!(unit.trim(), "KiB" | "KBytes") {
        return None;
    }
    Some((direction, number.parse::<u64>().ok()?.checked_mul(1024)?))
}
