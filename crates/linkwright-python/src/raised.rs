//! Keeps what a class raised, until the run that asked it is left.

use std::cell::RefCell;

use pyo3::prelude::*;

thread_local! {
    /// A run asks its classes on one thread.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
}

/// Keeps an exception; the first one counts.
pub fn raise(error: PyErr) {
    RAISED.with_borrow_mut(|raised| {
        raised.get_or_insert(error);
    });
}

/// Tells whether a class has raised an exception in this run, which therefore ends.
pub fn raised() -> bool {
    RAISED.with_borrow(Option::is_some)
}

/// Takes the exception out.
pub fn take_raised() -> Option<PyErr> {
    RAISED.take()
}
