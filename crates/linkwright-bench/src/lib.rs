//! What the benchmarks of Linkwright share, and what they compare it with; the benchmarks themselves
//! stand in `benches/`.

pub mod event_queue_references;
pub mod systems;
