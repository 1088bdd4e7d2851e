//! What the benchmarks of Linkwright compare it with; the benchmarks themselves stand in `benches/`.

pub mod event_queue_references;
