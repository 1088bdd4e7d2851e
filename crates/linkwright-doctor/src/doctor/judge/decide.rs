//! Decides: healthy, a cause, or no verdict.

use super::case::Case;
use super::cause::{CauseCandidate, SlowCause};
use super::change::{Change, ChangeError, Job};
use super::fit::{Against, against, misfit};
use super::gap::{LARGE, errors, has_gap, large, ratio_of_large};
use super::guesses::guesses;
use super::lacking::lacking;
use super::played::{COSTS, Played, cost, largest, likeliest, others_alike, played};
use super::stated::stated;
use super::told::{first_of, gap_text, judged_rows, told};
use super::verdict::{JudgedCause, RunVerdict, VerdictKind};
use crate::collectives::baselines::{Expectation, Version, release_on};
use crate::units::Bytes;

/// Lists the sizes at which a cause is asked where nothing was measured.
const UNMEASURED: [Bytes; 3] = [Bytes(1 << 20), Bytes(64 << 20), Bytes(1 << 30)];

/// A cause explains a gap that leaves at most this part of it.
const EXPLAINED: f64 = 0.5;

/// Is the ratio of times from which on a cause is dear. A cause that a line states is then named
/// within the error of the expected times, too. It must leave at most half of the gap.
const DEAR: f64 = 1.15;

/// Times that are off by this part of their errors, on the mean, are explained.
const EXACT: f64 = 0.5;

/// Is the ratio of times from which on a release is old, against the newest.
const OLD: f64 = 1.25;

/// A cause whose share was fitted has to be nearer by this part than one with nothing to fit.
const FITTED: f64 = 0.7;

/// A guess is named in the place of a stated cause where it leaves at most this part of what that leaves.
const GUESSED: f64 = 0.2;

/// Judges a run.
///
/// # Errors
/// A system on which nothing can be expected of the job.
pub fn judge(case: &Case<'_>) -> Result<RunVerdict, ChangeError> {
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
    let verdict = |kind, headline: String, causes| RunVerdict {
        kind,
        headline,
        collective: case.collective.name(),
        ranks: case.gpus.len(),
        library: library.clone(),
        rows: rows.clone(),
        causes,
    };
    if let Some(why) = lacking(case) {
        return Ok(verdict(VerdictKind::NoVerdict, format!("No verdict: {why}."), Vec::new()));
    }
    let is_gap = has_gap(case, &gaps);
    let candidates = stated(case);
    let named: Vec<SlowCause> = candidates.iter().map(|it| it.cause).collect();
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
    let costly = |it: &&Played| cost(it, &sound).is_some_and(|it| it >= COSTS);
    if case.rows.is_empty() {
        let causes: Vec<JudgedCause> = told(case, &sound, &played, before);
        let first = played.iter().filter(costly).max_by(|a, b| {
            cost(a, &sound).partial_cmp(&cost(b, &sound)).unwrap_or(std::cmp::Ordering::Equal)
        });
        return Ok(match first {
            Some(first) => {
                let cause = first.candidate.cause;
                let headline = format!("{}; nothing was measured.", first.candidate.text);
                verdict(VerdictKind::Cause, headline, first_of(causes, cause))
            }
            None => verdict(
                VerdictKind::Healthy,
                "No line shows a fault; nothing was measured.".to_owned(),
                causes,
            ),
        });
    }
    if let Some(old) = old_release(case, &job, &sizes, &sound)? {
        return Ok(verdict(VerdictKind::Cause, old.text.clone() + ".", vec![old]));
    }
    let headline = "Healthy: every size takes about as long as it should.".to_owned();
    Ok(verdict(VerdictKind::Healthy, headline, Vec::new()))
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
            && cost(it, sound).is_some_and(|cost| cost >= DEAR)
            && is_nearer(it)
    };
    case.threshold.is_none() && is_slow && played.iter().any(is_it)
}

/// Names the first cause of a gap.
fn of_gap(
    case: &Case<'_>,
    sound: &[Expectation],
    played: Vec<Played>,
    before: f64,
    verdict: impl Fn(VerdictKind, String, Vec<JudgedCause>) -> RunVerdict,
) -> RunVerdict {
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
            verdict(VerdictKind::Cause, headline, causes)
        }
        None => verdict(
            VerdictKind::NoVerdict,
            format!("No verdict: {gap} No cause that the model has explains it."),
            causes,
        ),
    }
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
    let guess = CauseCandidate::guessed(SlowCause::OldVersion, text, None);
    Ok(Some(JudgedCause {
        cost: Some(cost),
        bus_bandwidth: Some(old.bus_bandwidth),
        ..JudgedCause::unplayed(CauseCandidate { line, ..guess })
    }))
}
