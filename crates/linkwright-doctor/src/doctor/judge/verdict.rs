//! Decides: healthy, a cause, or no verdict.

use serde::Serialize;

use super::case::Case;
use super::cause::{Candidate, Cause};
use super::change::{Change, ChangeError, Job};
use super::fit::{Against, against, median_ratio, misfit};
use super::guesses::guesses;
use super::lacking::lacking;
use super::mended::MendedLink;
use super::stated::stated;
use crate::collectives::accuracy::{Measurable, TimeAsked, error_bars};
use crate::collectives::baselines::{Expectation, Version, release_on};
use crate::doctor::evidence::Line;
use crate::units::Bytes;

/// Is the size from which on bandwidth alone counts, so that it is large.
const LARGE: Bytes = Bytes(64 << 20);
/// Lists the sizes at which a cause is asked where nothing was measured.
const UNMEASURED: [Bytes; 3] = [Bytes(1 << 20), Bytes(64 << 20), Bytes(1 << 30)];
/// A cause explains a gap that leaves at most this part of it.
const EXPLAINED: f64 = 0.5;
/// Is the ratio of times from which on a cause costs something.
const COSTS: f64 = 1.1;
/// Is the ratio of times from which on a cause is dear. A cause that a line states is then named
/// within the error of the expected times, too. It must leave at most half of the gap.
const DEAR: f64 = 1.15;
/// Times that are off by this part of their errors, on the mean, are explained.
const EXACT: f64 = 0.5;
/// Guesses that are as near as this to each other are not told apart.
const ALIKE: f64 = 1.3;
/// Times of small sizes are longer than any host's latency makes them from this ratio on.
const FAR: f64 = 1.5;
/// Is the ratio of times from which on a release is old, against the newest.
const OLD: f64 = 1.25;
/// A cause whose share was fitted has to be nearer by this part than one with nothing to fit.
const FITTED: f64 = 0.7;
/// A guess is named in the place of a stated cause where it leaves at most this part of what that leaves.
const GUESSED: f64 = 0.2;

/// Says what a verdict finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// All is as it should be.
    Healthy,
    /// A cause explains the gap, or a part of it.
    Cause,
    /// Nothing can be said; the headline says why.
    NoVerdict,
}

/// Holds one size, measured and expected.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedRow {
    /// Is the data in bytes.
    pub size: u64,
    /// Seconds, as measured; None where nothing was.
    pub measured: Option<f64>,
    /// Seconds that it should take.
    pub expected: f64,
    /// GB/s of bus bandwidth that it should reach.
    pub expected_bus_bandwidth: f64,
    /// How far off that may be, as a part of it.
    pub error: f64,
    /// Whether the measured time is as it should be.
    pub fits: bool,
    /// Names what NCCL should run.
    pub algorithm: &'static str,
    /// Names the protocol that NCCL should run it with.
    pub protocol: &'static str,
    /// The line that says what was measured.
    pub line: Option<Line>,
}

/// Holds a cause beside the measured times.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedCause {
    /// Says what it is.
    pub cause: Cause,
    /// A sentence says what is at work.
    pub text: String,
    /// Is the line that states it; None where only times tell.
    pub line: Option<Line>,
    /// Time over that of the sound system at the largest size; None where the model lacks the cause.
    pub cost: Option<f64>,
    /// Is the bus bandwidth at the largest size with it, in GB/s.
    pub bus_bandwidth: Option<f64>,
    /// The part of the gap that it explains, from 0 to 1; None where nothing was measured.
    pub explains: Option<f64>,
    /// Names the setting or the part to look at.
    pub look: String,
    /// The command that shows it.
    pub command: String,
}

/// Holds a run that was judged.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Verdict {
    /// Says what it finds.
    pub kind: Kind,
    /// Says it in one sentence.
    pub headline: String,
    /// Names the collective.
    pub collective: &'static str,
    /// Counts the ranks that ran.
    pub ranks: usize,
    /// The library and the release that was asked: `NCCL 2.21`.
    pub library: String,
    /// Holds each size.
    pub rows: Vec<JudgedRow>,
    /// The causes that were looked at, the first one first.
    pub causes: Vec<JudgedCause>,
}

/// The causes of links that are slower than their like, where nothing was run.
#[must_use]
pub fn narrow_causes(links: &[MendedLink]) -> Vec<JudgedCause> {
    let cause = |link: &MendedLink| {
        JudgedCause::unplayed(Candidate::guessed(Cause::PcieNarrow, link.to_string(), None))
    };
    links.iter().map(cause).collect()
}

impl JudgedCause {
    /// Makes a cause whose words alone are known.
    fn unplayed(candidate: Candidate) -> Self {
        Self {
            cause: candidate.cause,
            text: candidate.text,
            line: candidate.line,
            cost: None,
            bus_bandwidth: None,
            explains: None,
            look: candidate.look,
            command: candidate.command,
        }
    }
}

/// A candidate with what it takes.
struct Played {
    candidate: Candidate,
    times: Vec<Expectation>,
    misfit: f64,
}

/// Judges a run.
///
/// # Errors
/// A system on which nothing can be expected of the job.
pub fn judge(case: &Case<'_>) -> Result<Verdict, ChangeError> {
    let job = Job {
        system: case.system,
        described: case.described,
        gpus: case.gpus,
        collective: case.collective,
    };
    let measured: Vec<Bytes> = case.rows.iter().map(|row| row.size).collect();
    let sizes = if measured.is_empty() { UNMEASURED.to_vec() } else { measured };
    let sound = job.play(&Change::of_settings(case.settings), &sizes)?;
    let errors = errors(case, &sound);
    let gaps = against(&case.rows, &sound, &errors);
    let rows = judged_rows(case, &sound, &errors, &gaps);
    let library = release_on(case.system, case.gpus, &case.settings)
        .map_or_else(|_| String::new(), |(name, _)| name);
    let verdict = |kind, headline: String, causes| Verdict {
        kind,
        headline,
        collective: case.collective.name(),
        ranks: case.gpus.len(),
        library: library.clone(),
        rows: rows.clone(),
        causes,
    };
    if let Some((why, _)) = lacking(case) {
        return Ok(verdict(Kind::NoVerdict, format!("No verdict: {why}."), Vec::new()));
    }
    let is_gap = has_gap(case, &gaps);
    let candidates = stated(case);
    let named: Vec<Cause> = candidates.iter().map(|it| it.cause).collect();
    let mut played = played(&job, case, candidates, &sizes, &errors);
    let before = misfit(&gaps);
    // Where a stated cause leaves nothing to explain no other is looked for.
    let is_explained = |it: &Played| it.misfit <= EXACT.min(EXPLAINED * before);
    if is_gap && !played.iter().any(is_explained) {
        let others = guesses(case, ratio_of_large(case, &gaps));
        let others = others.into_iter().filter(|it| !named.contains(&it.cause)).collect();
        played.extend(self::played(&job, case, others, &sizes, &errors));
    }
    if is_gap || is_stated_gap(case, &sound, &played, &gaps) {
        return Ok(of_gap(case, &sound, played, before, verdict));
    }
    let costly = |it: &&Played| {
        it.candidate.cause != Cause::OldVersion && cost(it, &sound).is_some_and(|it| it >= COSTS)
    };
    if case.rows.is_empty() {
        let causes: Vec<JudgedCause> = told(case, &sound, &played, before);
        let first = played.iter().filter(costly).max_by(|a, b| {
            cost(a, &sound).partial_cmp(&cost(b, &sound)).unwrap_or(std::cmp::Ordering::Equal)
        });
        return Ok(match first {
            Some(first) => {
                let cause = first.candidate.cause;
                let headline = format!("{}; nothing was measured.", first.candidate.text);
                verdict(Kind::Cause, headline, first_of(causes, cause))
            }
            None => verdict(
                Kind::Healthy,
                "No line shows a fault; nothing was measured.".to_owned(),
                causes,
            ),
        });
    }
    if let Some(old) = old_release(case, &job, &sizes, &sound)? {
        return Ok(verdict(Kind::Cause, old.text.clone() + ".", vec![old]));
    }
    let headline = "Healthy: every size takes about as long as it should.".to_owned();
    Ok(verdict(Kind::Healthy, headline, Vec::new()))
}

/// Tells whether a line states a dear cause whose times are nearer to the measured ones than a
/// sound system's are.
fn is_stated_gap(
    case: &Case<'_>,
    sound: &[Expectation],
    played: &[Played],
    gaps: &[Against],
) -> bool {
    let own: Vec<Against> = large(case, gaps).collect();
    let largest = case.rows.iter().zip(gaps).max_by_key(|(row, _)| row.size);
    let is_slow = largest.is_some_and(|(_, gap)| gap.off >= COSTS.ln());
    let is_nearer = |it: &Played| {
        let errors: Vec<f64> = gaps.iter().map(|gap| gap.error.exp_m1()).collect();
        let with: Vec<Against> = large(case, &against(&case.rows, &it.times, &errors)).collect();
        !with.is_empty() && misfit(&with) <= EXPLAINED * misfit(&own)
    };
    let is_it = |it: &Played| {
        it.candidate.is_stated()
            && it.candidate.cause != Cause::OldVersion
            && cost(it, sound).is_some_and(|cost| cost >= DEAR)
            && is_nearer(it)
    };
    case.threshold.is_none() && is_slow && played.iter().any(is_it)
}

/// Names the first cause of a gap.
fn of_gap(
    case: &Case<'_>,
    sound: &[Expectation],
    mut played: Vec<Played>,
    before: f64,
    verdict: impl Fn(Kind, String, Vec<JudgedCause>) -> Verdict,
) -> Verdict {
    played.retain(|it| !matches!(it.candidate.cause, Cause::OldVersion));
    let weight = |it: &Played| if it.candidate.is_fitted { it.misfit / FITTED } else { it.misfit };
    let best = |is_stated: bool| {
        let own = played.iter().filter(|it| !it.times.is_empty());
        let own = own.filter(|it| it.candidate.is_stated() == is_stated);
        own.min_by(|a, b| weight(a).total_cmp(&weight(b)))
    };
    let explains = |it: &&Played| it.misfit <= EXPLAINED * before;
    let by_line = best(true);
    let by_time = best(false).map(|best| likeliest(best, &played, weight));
    let helps = |it: &&Played| {
        it.misfit < 0.95 * before && cost(it, sound).is_some_and(|cost| cost >= COSTS)
    };
    let first = match (by_line.filter(explains), by_time.filter(explains)) {
        (Some(line), Some(time)) if weight(time) <= GUESSED * weight(line) => Some(time),
        (Some(line), _) => Some(line),
        (None, time) => by_line.filter(helps).or(time),
    };
    let also = first.map(|first| others_alike(first, &played, weight));
    let first = first.map(|it| it.candidate.cause);
    let unplayed = played.iter().find(|it| it.times.is_empty()).map(|it| it.candidate.cause);
    let causes = told(case, sound, &played, before);
    let gap = gap_text(case, sound);
    match first.or(unplayed) {
        Some(first) => {
            let causes = first_of(causes, first);
            let headline = format!("{gap} {}{}.", causes[0].text, also.unwrap_or_default());
            verdict(Kind::Cause, headline, causes)
        }
        None => verdict(
            Kind::NoVerdict,
            format!("No verdict: {gap} No cause that the model has explains it."),
            causes,
        ),
    }
}

/// Lists causes that are slow by themselves and that times hardly tell apart. The likeliest stands
/// first.
const SLOW: [(Cause, &str); 4] = [
    (Cause::SlowServer, "a slow network of one server"),
    (Cause::SlowNetwork, "a slow network of all servers"),
    (Cause::SlowGpu, "one slow GPU"),
    (Cause::SlowLinks, "slow links between all GPUs"),
];

/// The likeliest of the guesses that are about as near as the nearest.
fn likeliest<'a>(
    best: &'a Played,
    played: &'a [Played],
    weight: impl Fn(&Played) -> f64,
) -> &'a Played {
    let place = |it: &Played| SLOW.iter().position(|(cause, _)| *cause == it.candidate.cause);
    if place(best).is_none() {
        return best;
    }
    let alike = played.iter().filter(|it| {
        !it.candidate.is_stated() && place(it).is_some() && weight(it) <= ALIKE * weight(best)
    });
    let order = |it: &&Played| (place(it), (weight(it) * 1e6) as u64);
    alike.min_by_key(order).unwrap_or(best)
}

/// Says which other guesses times do not tell from the first.
fn others_alike(first: &Played, played: &[Played], weight: impl Fn(&Played) -> f64) -> String {
    let is_slow = |cause: Cause| SLOW.iter().any(|(known, _)| *known == cause);
    if first.candidate.is_stated() || !is_slow(first.candidate.cause) {
        return String::new();
    }
    let is_alike = |cause: Cause| {
        let mut of = played.iter().filter(|it| it.candidate.cause == cause);
        cause != first.candidate.cause && of.any(|it| weight(it) <= ALIKE * weight(first))
    };
    let others = SLOW.iter().filter(|(cause, _)| is_alike(*cause));
    let others: Vec<&str> = others.map(|(_, text)| *text).collect();
    if others.is_empty() {
        return String::new();
    }
    format!("; times do not tell this from {}", others.join(" or "))
}

impl Candidate {
    /// Tells whether a file states it.
    fn is_stated(&self) -> bool {
        self.line.is_some() || self.change.as_ref().is_some_and(|change| change.as_described)
    }
}

/// How far off each expected time may be, as a part of it.
fn errors(case: &Case<'_>, sound: &[Expectation]) -> Vec<f64> {
    let of = Measurable {
        collective: Some(case.collective.name()),
        p2p: case.settings.p2p,
        without: None,
    };
    let times: Vec<TimeAsked<'_>> = sound
        .iter()
        .map(|it| TimeAsked { size: it.size, algorithm: Some(it.choice.algorithm.name()) })
        .collect();
    error_bars(case.system, case.gpus, of, &times).map_or_else(
        |_| vec![0.0; sound.len()],
        |bars| bars.iter().map(|it| it.ninetieth).collect(),
    )
}

/// Whether the run is slower than it should be.
fn has_gap(case: &Case<'_>, gaps: &[Against]) -> bool {
    if let Some(threshold) = case.threshold {
        return large(case, gaps).any(|it| it.off > -threshold.ln());
    }
    let (slow, all): (Vec<Against>, Vec<Against>) = {
        let large: Vec<Against> = large(case, gaps).collect();
        let all = if large.is_empty() { gaps.to_vec() } else { large };
        (all.iter().copied().filter(|it| !it.is_sound()).collect(), all)
    };
    if !all.is_empty() && 2 * slow.len() >= all.len() {
        return true;
    }
    // A wrong protocol or algorithm shows in a range of sizes, far off. Latencies differ from host to host by less.
    let far = gaps.iter().filter(|it| it.off > (2.0 * it.error).max(FAR.ln())).count();
    gaps.len() >= 4 && 3 * far >= gaps.len()
}

/// Gives the rows of large sizes; of a run without these, that of the largest.
fn large<'a>(case: &'a Case<'_>, gaps: &'a [Against]) -> impl Iterator<Item = Against> + 'a {
    let most = case.rows.iter().map(|row| row.size).max().unwrap_or_default();
    let from = LARGE.min(most);
    let rows = case.rows.iter().zip(gaps).filter(move |(row, _)| row.size >= from);
    rows.map(|(_, gap)| *gap)
}

fn ratio_of_large(case: &Case<'_>, gaps: &[Against]) -> f64 {
    let large: Vec<Against> = large(case, gaps).collect();
    median_ratio(&large).unwrap_or(1.0).max(1.0)
}

fn played(
    job: &Job<'_>,
    case: &Case<'_>,
    candidates: Vec<Candidate>,
    sizes: &[Bytes],
    errors: &[f64],
) -> Vec<Played> {
    let play = |candidate: Candidate| {
        let times = candidate.change.as_ref().map(|change| job.play(change, sizes));
        // A system that has lost the way between GPUs carries nothing: that is not what ran.
        let times = times.and_then(Result::ok).unwrap_or_default();
        let misfit = if times.is_empty() {
            f64::INFINITY
        } else {
            misfit(&against(&case.rows, &times, errors))
        };
        Played { candidate, times, misfit }
    };
    candidates.into_iter().map(play).collect()
}

/// Gives the time over that of the sound system at the largest size.
fn cost(played: &Played, sound: &[Expectation]) -> Option<f64> {
    let (with, without) = (largest(&played.times)?, largest(sound)?);
    Some(with.time.as_seconds() / without.time.as_seconds())
}

fn largest(rows: &[Expectation]) -> Option<&Expectation> {
    rows.iter().max_by_key(|row| row.size)
}

/// Tells of every candidate that costs something, those that explain most first.
fn told(
    case: &Case<'_>,
    sound: &[Expectation],
    played: &[Played],
    before: f64,
) -> Vec<JudgedCause> {
    let mut order: Vec<&Played> = played.iter().collect();
    order.sort_by(|a, b| {
        let key = |it: &Played| (!it.candidate.is_stated(), it.misfit);
        key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut causes: Vec<JudgedCause> = Vec::new();
    for it in order {
        let cost = cost(it, sound);
        let is_dear = cost.is_none_or(|cost| cost >= COSTS);
        let is_known = causes.iter().any(|known| known.cause == it.candidate.cause);
        if is_known || !(is_dear || it.candidate.is_stated()) {
            continue;
        }
        let explains = (!case.rows.is_empty() && it.misfit.is_finite() && before > 0.0)
            .then(|| (1.0 - it.misfit / before).max(0.0));
        causes.push(JudgedCause {
            cost,
            bus_bandwidth: largest(&it.times).map(|row| row.bus_bandwidth),
            explains,
            ..JudgedCause::unplayed(it.candidate.clone())
        });
    }
    causes
}

/// Puts a cause first.
fn first_of(mut causes: Vec<JudgedCause>, first: Cause) -> Vec<JudgedCause> {
    causes.sort_by_key(|it| it.cause != first);
    causes
}

/// A release that takes a quarter longer than the newest at large sizes.
fn old_release(
    case: &Case<'_>,
    job: &Job<'_>,
    sizes: &[Bytes],
    sound: &[Expectation],
) -> Result<Option<JudgedCause>, ChangeError> {
    let Some(own) = case.settings.version.filter(|own| *own < Version::NEWEST) else {
        return Ok(None);
    };
    let mut settings = case.settings;
    settings.version = Some(Version::NEWEST);
    let newest = job.play(&Change::of_settings(settings), sizes)?;
    let (Some(old), Some(new)) = (largest(sound), largest(&newest)) else { return Ok(None) };
    let cost = old.time.as_seconds() / new.time.as_seconds();
    if cost < OLD || old.size < LARGE {
        return Ok(None);
    }
    let line = case.log.version.as_ref().map(|(_, line)| line.clone());
    let text = format!(
        "NCCL {own} takes {cost:.2} times as long as {} should: {:.1} and {:.1} GB/s",
        Version::NEWEST,
        old.bus_bandwidth,
        new.bus_bandwidth
    );
    let guess = Candidate::guessed(Cause::OldVersion, text, None);
    Ok(Some(JudgedCause {
        cost: Some(cost),
        bus_bandwidth: Some(old.bus_bandwidth),
        ..JudgedCause::unplayed(Candidate { line, ..guess })
    }))
}

/// How much is reached at the largest size.
fn gap_text(case: &Case<'_>, sound: &[Expectation]) -> String {
    let rows = case.rows.iter().zip(sound).max_by_key(|(row, _)| row.size);
    let Some((row, expected)) = rows else { return String::new() };
    let reached = expected.time.as_seconds() / row.time;
    format!(
        "{} reaches {:.1} GB/s of {:.1} GB/s of bus bandwidth ({:.0} %) at {}.",
        case.collective.name(),
        expected.bus_bandwidth * reached,
        expected.bus_bandwidth,
        reached * 100.0,
        row.size
    )
}

fn judged_rows(
    case: &Case<'_>,
    sound: &[Expectation],
    errors: &[f64],
    gaps: &[Against],
) -> Vec<JudgedRow> {
    let row = |(at, expected): (usize, &Expectation)| JudgedRow {
        size: expected.size.0,
        measured: case.rows.get(at).map(|row| row.time),
        expected: expected.time.as_seconds(),
        expected_bus_bandwidth: expected.bus_bandwidth,
        error: errors[at],
        fits: gaps.get(at).is_none_or(|gap| gap.fits()),
        algorithm: expected.choice.algorithm.name(),
        protocol: expected.choice.protocol.name(),
        line: case.rows.get(at).map(|row| row.line.clone()),
    };
    sound.iter().enumerate().map(row).collect()
}
