//! Holds the code that the benchmarks of Linkwright share, and the code that they compare it with.
//! The benchmarks themselves stand in `benches/`.

pub mod event_queue_references;
pub mod systems;

/// Processor time of the user that this process has had, in seconds, by the kernel's hundredths.
///
/// # Panics
/// Where the kernel is not Linux.
#[must_use]
pub fn user_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").expect("the kernel says");
    let after_name = text.rsplit(')').next().expect("a name in parentheses");
    let ticks: f64 =
        after_name.split_whitespace().nth(11).expect("a field").parse().expect("ticks");
    ticks / 100.0
}
