//! Times of kernels alone: what has to hold for any.
