//! Integration tests: contracts, brute force, determinism, layer order.

mod brute_force;
mod collective_timing;
mod layers;
mod policy_contract;
mod real_machine;
mod server;
