//! Times, durations and counts of GPUs as schedulers write them.

use crate::units::Picoseconds;

/// Says when something happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// Since 1970 in the moment's zone, in that of all where it has none, or since any zero.
    pub picoseconds: i128,
    kind: Kind,
}

/// How a moment is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Seconds,
    Local,
    Zoned,
}

const SECOND: i128 = Picoseconds::SECOND.0 as i128;

impl Moment {
    /// Reads seconds, or a date and a time with a zone or without; returns None for anything else.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        if let Some(picoseconds) = seconds(text) {
            return Some(Self { picoseconds, kind: Kind::Seconds });
        }
        let (date, time) = text.split_once(['T', ' '])?;
        let mut parts = date.split('-');
        let [year, month, day] = [(); 3].map(|()| parts.next().and_then(digits));
        if parts.next().is_some() {
            return None;
        }
        let days = days_of(year?, month?, day?)?;
        let time = time.trim();
        let at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (clock, zone) = time.split_at(at);
        let (offset, kind) = match zone {
            "" => (0, Kind::Local),
            zone => (offset_of(zone)?, Kind::Zoned),
        };
        let mut parts = clock.trim().splitn(3, ':');
        let (hours, minutes) = (digits(parts.next()?)?, digits(parts.next()?)?);
        let rest = parts.next().map_or(Some(0), seconds)?;
        // A minute may have a leap second.
        if hours > 23 || minutes > 59 || rest >= 61 * SECOND {
            return None;
        }
        let whole = i128::from(days) * 86_400 + i128::from(hours * 3600 + minutes * 60 - offset);
        Some(Self { picoseconds: whole * SECOND + rest, kind })
    }

    /// Whether two moments can be told apart by their numbers.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

/// How long, of `90`, `90.5`, `MM:SS`, `HH:MM:SS`, `D-HH:MM:SS`, or with a unit; None of anything else,
/// and of what is not less than 213 days.
#[must_use]
pub fn duration(text: &str) -> Option<Picoseconds> {
    if text.contains(':') {
        let (days, clock) = match text.split_once('-') {
            Some((days, clock)) => (digits(days)?, clock),
            None => (0, text),
        };
        let parts: Vec<&str> = clock.split(':').collect();
        let (hours, minutes, rest) = match parts[..] {
            [minutes, rest] => (0, digits(minutes)?, rest),
            [hours, minutes, rest] => (digits(hours)?, digits(minutes)?, rest),
            _ => return None,
        };
        let rest = seconds(rest)?;
        let is_clock = minutes < 60 && rest < 60 * SECOND && (days == 0 || hours < 24);
        let whole = i128::from(days) * 86_400 + i128::from(hours * 3600 + minutes * 60);
        return u64::try_from(whole * SECOND + rest).ok().filter(|_| is_clock).map(Picoseconds);
    }
    match seconds(text) {
        Some(found) => u64::try_from(found).ok().map(Picoseconds),
        None => text.parse().ok(),
    }
}

/// The part of a GPU that a job had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartOfGpu {
    /// An instance of a GPU that is cut (NVIDIA's MIG).
    Slice,
    /// Shards (Slurm's `gres/shard` and `gres/mps`), which several jobs have of one GPU.
    Shard,
    /// A number of GPUs that is not whole.
    Fraction,
}

/// The GPUs that a job had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GpuCount {
    /// How many; where it had parts, how many whole ones stand for them.
    pub gpus: u32,
    /// Tells what part of each it had, where it had no whole ones.
    pub part: Option<PartOfGpu>,
}

/// Counts the GPUs of a number, or of Slurm's list of resources; None of anything else.
///
/// A GPU has `parts` of the parts that a number counts. In Slurm's list the count of all stands before those of models.
#[must_use]
pub fn gpus_of(text: &str, parts: u32) -> Option<GpuCount> {
    if text.is_empty() {
        return Some(GpuCount::default());
    }
    if !text.contains('=') {
        let given = seconds(text)?;
        let one = SECOND * i128::from(parts);
        let gpus = u32::try_from(given.div_euclid(one) + i128::from(given % one > 0)).ok()?;
        return Some(GpuCount { gpus, part: (given % one > 0).then_some(PartOfGpu::Fraction) });
    }
    let (mut all, mut of_models, mut shards, mut is_cut) = (None, 0_u32, 0_u32, false);
    for part in text.split(',') {
        let (name, count) = part.split_once('=')?;
        let Some(resource) = name.trim().strip_prefix("gres/") else { continue };
        let (kind, model) = resource.split_once(':').unwrap_or((resource, ""));
        let count = || count.trim().parse::<u32>().ok();
        match kind {
            "gpu" if model.is_empty() => all = Some(count()?),
            "shard" | "mps" => shards = shards.max(count()?),
            _ if kind == "gpu" || is_slice(resource) => {
                of_models = of_models.checked_add(count()?)?
            }
            _ => continue,
        }
        is_cut |= is_slice(resource);
    }
    let gpus = all.unwrap_or(of_models);
    let is_shared = shards > 0 && gpus == 0;
    let part = match (is_cut && gpus > 0, is_shared) {
        (true, _) => Some(PartOfGpu::Slice),
        (false, true) => Some(PartOfGpu::Shard),
        (false, false) => None,
    };
    Some(GpuCount { gpus: gpus.max(u32::from(is_shared)), part })
}

/// Whether a resource has the name of an instance of a GPU, such as `1g.10gb` or `a100_3g.20gb`.
fn is_slice(resource: &str) -> bool {
    resource.match_indices("g.").any(|(at, _)| {
        let (before, memory) = (&resource[..at], &resource[at + 2..]);
        let memory = memory.trim_start_matches(|it: char| it.is_ascii_digit());
        before.ends_with(|it: char| it.is_ascii_digit())
            && memory.to_ascii_lowercase().starts_with("gb")
    })
}

/// Digits alone, few enough that nothing that is made of them overflows.
fn digits(text: &str) -> Option<i64> {
    let is_number =
        !text.is_empty() && text.len() < 9 && text.bytes().all(|it| it.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}

/// Reads seconds with up to twelve decimals, in picoseconds.
fn seconds(text: &str) -> Option<i128> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    if !are_digits(whole) || !are_digits(decimals) || whole.len() > 15 || decimals.len() > 12 {
        return None;
    }
    let fraction: i128 = format!("{decimals:0<12}").parse().ok()?;
    Some(whole.parse::<i128>().ok()? * SECOND + fraction)
}

/// The seconds by which a zone is ahead, of `Z`, `+01`, `+0100` and `+01:00`.
fn offset_of(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let (sign, rest) = zone.split_at(1);
    let rest = rest.replace(':', "");
    let (hours, minutes) = match rest.len() {
        2 => (digits(&rest)?, 0),
        4 if rest.is_char_boundary(2) => (digits(&rest[..2])?, digits(&rest[2..])?),
        _ => return None,
    };
    let ahead = hours * 3600 + minutes * 60;
    (hours < 24 && minutes < 60).then_some(if sign == "-" { -ahead } else { ahead })
}

/// Counts the days since 1970 of a date in the Gregorian calendar.
///
/// The source is H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", `days_from_civil`.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        2 => 28 + i64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !(1..=most).contains(&day) || year > 9999 {
        return None;
    }
    let from_march = if month > 2 { year } else { year - 1 };
    let era = from_march.div_euclid(400);
    let of_era = from_march.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// How many servers Slurm's list of resources names, such as 2 of `cpu=8,gres/gpu=4,node=2`.
pub(super) fn servers_of(resources: &str) -> Option<u32> {
    let counts = resources.split(',').filter_map(|resource| resource.trim().strip_prefix("node="));
    counts.filter_map(|count| count.parse().ok()).find(|count| *count > 0)
}
