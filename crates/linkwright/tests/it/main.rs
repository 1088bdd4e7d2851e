//! Integration tests: contracts, determinism, layer order.
