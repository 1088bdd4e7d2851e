//! Integration tests: contracts, determinism, layer order.

mod layers;
