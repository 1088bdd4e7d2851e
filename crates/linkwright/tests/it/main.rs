//! Integration tests: contracts, brute force, schedules, determinism, layer order.

mod brute_force;
mod collective_timing;
mod collectives;
mod effort;
mod interconnect;
mod layers;
mod otf2;
mod policy_contract;
mod programs_page;
mod real_machine;
mod routing;
mod server;
