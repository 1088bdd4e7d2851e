//! Which part of a record is played.
//!
//! Simulated time ends after 2^64 picoseconds, which are 213 days; a record of years is cut first.

use super::format::AccountedJob;
use super::values::Moment;
use crate::diagnostic::InputError;

/// The most days that simulated time has: 2^64 picoseconds are 213.5 of them.
pub(in crate::scenario) const MOST_DAYS: u32 = 213;

const DAY: i128 = 86_400 * 1_000_000_000_000;

/// Where the part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::scenario) enum Start {
    /// It begins at this time.
    At(Moment),
    /// It begins this number of days after the first job.
    Days(u32),
}

impl Start {
    /// A date, with a time or without, which is midnight then; None of anything else.
    pub(in crate::scenario) fn read(text: &str) -> Option<Self> {
        let found = Moment::read(text).filter(|_| text.contains('-'));
        found.or_else(|| Moment::read(&format!("{text}T00:00"))).map(Self::At)
    }
}

/// The part of a record that is played: the jobs that were submitted in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cut {
    /// Where it begins; with the first job where absent.
    pub(in crate::scenario) from: Option<Start>,
    /// How many days it lasts; to the last job where absent.
    pub(in crate::scenario) days: Option<u32>,
}

impl Cut {
    /// The part that begins at a date or a time, and lasts `days`; None where the text is neither.
    #[must_use]
    pub fn new(from: Option<&str>, days: Option<u32>) -> Option<Self> {
        let from = from.map_or(Some(None), |text| Start::read(text).map(Some))?;
        Some(Self { from, days })
    }

    /// Finds the part of a record that has these jobs.
    pub(super) fn window(self, jobs: &[AccountedJob<'_>]) -> Window {
        let earliest = || jobs.iter().map(|job| job.submit.picoseconds).min().unwrap_or(0);
        let start = match self.from {
            _ if self == Self::default() => i128::MIN,
            Some(Start::At(moment)) => moment.picoseconds,
            Some(Start::Days(days)) => earliest() + i128::from(days) * DAY,
            None => earliest(),
        };
        let end = self.days.map_or(i128::MAX, |days| start + i128::from(days) * DAY);
        Window { start, end, cut: self }
    }
}

/// Holds the bounds of a part in picoseconds, as the moments of the record count them.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window {
    start: i128,
    end: i128,
    cut: Cut,
}

impl Window {
    /// Whether a job of the record was submitted within.
    ///
    /// # Errors
    /// A time that cannot be set against where the part begins.
    pub(super) fn holds(&self, file: &str, job: &AccountedJob<'_>) -> Result<bool, InputError> {
        if let Some(Start::At(moment)) = &self.cut.from
            && !job.submit.is_like(moment)
        {
            let problem = "`jobs.from` is a time of another kind than this";
            let remedy = "write both with a zone or both without, or `jobs.from` as a number of days \
                          after the first job";
            return Err(job.submitted.refuse(file, problem, remedy));
        }
        Ok((self.start..self.end).contains(&job.submit.picoseconds))
    }

    /// Says which keys keep jobs nearer to one another.
    pub(super) fn remedy(&self) -> String {
        let keys = match (self.cut.from, self.cut.days) {
            (None, None) => "`jobs.from` and `jobs.days`",
            (Some(_), None) => "`jobs.days` beside `jobs.from`",
            (_, Some(_)) => "a smaller `jobs.days`",
        };
        format!(
            "play a part of the record by {keys}, such as `from = \"2024-03-01\"` and `days = 30`: \
             simulated time ends after {MOST_DAYS} days (2^64 ps)"
        )
    }
}
