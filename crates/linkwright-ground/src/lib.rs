//! The ground that every layer of Linkwright stands on. It holds no model of anything.
//!
//! [`diagnostic`] says where an input is wrong, [`units`] are quantities, [`table`] holds results,
//! [`xml`] reads texts of strangers, and [`engine`] is the one clock. The crate
//! `linkwright` offers all but [`xml`] under its own name.

pub mod diagnostic;
pub mod engine;
pub mod table;
pub mod units;
pub mod xml;
