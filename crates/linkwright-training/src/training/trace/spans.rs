//! Joins spans of time, so that what runs at once counts once.

use super::records::Span;

/// Joins spans that touch, in order of time, and cuts them to a window.
pub(super) fn joined(mut spans: Vec<Span>, window: Span) -> Vec<Span> {
    spans.retain(|(start, end)| end > start && *end > window.0 && *start < window.1);
    spans.sort_unstable();
    let mut joined: Vec<Span> = Vec::new();
    for (start, end) in spans {
        let (start, end) = (start.max(window.0), end.min(window.1));
        match joined.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => joined.push((start, end)),
        }
    }
    joined
}

/// Sums up spans that do not touch.
pub(super) fn length(spans: &[Span]) -> u64 {
    spans.iter().map(|(start, end)| end.abs_diff(*start)).sum()
}

/// Gives the spans of a window between others, which are joined.
pub(super) fn between(spans: &[Span], window: Span) -> Vec<Span> {
    let starts = std::iter::once(window.0).chain(spans.iter().map(|it| it.1));
    let ends = spans.iter().map(|it| it.0).chain(std::iter::once(window.1));
    starts.zip(ends).filter(|(start, end)| end > start).collect()
}

/// Whether one of some spans holds a moment; they are in order of their starts, and none lies within another.
pub(super) fn place(spans: &[Span], moment: i64) -> Option<usize> {
    let after = spans.partition_point(|(start, _)| *start <= moment);
    let place = after.checked_sub(1)?;
    (moment < spans[place].1).then_some(place)
}
