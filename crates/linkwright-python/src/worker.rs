//! Long work on a thread of its own, so that Ctrl-C is heard while it lasts.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use pyo3::prelude::*;

/// How long Python waits between two looks at its signals.
const INTERVAL: Duration = Duration::from_millis(100);

/// What the work gives, with the interpreter free for other threads meanwhile.
///
/// # Errors
/// What a signal's handler raised. The work then goes on to its end, unseen: planning, timing
/// and execution are pure, and nobody waits for the thread when the program ends.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        // Nobody receives after an interruption, and then the result is not wanted.
        let _ = sender.send(work());
    });
    py.detach(move || {
        loop {
            match receiver.recv_timeout(INTERVAL) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => match worker.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => unreachable!("a worker that has not failed sends first"),
                },
            }
        }
    })
}
