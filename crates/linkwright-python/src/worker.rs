//! Long work on a thread of its own, so that Ctrl-C is heard while it lasts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use linkwright::engine::{Hook, Progress};
use pyo3::prelude::*;

/// How long Python waits between two looks at its signals, or two reports.
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

/// What a run gives that asks a hook now and then, with the interpreter free meanwhile.
///
/// About every 100 ms, `progress` learns how far the run is, and Python looks at its signals.
///
/// # Errors
/// What a signal's handler or `progress` raised; the run has ended by then.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: impl Fn(Python<'_>, Progress) -> PyResult<()> + Sync,
    run: impl FnOnce(Hook<'_>) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let run = |report: mpsc::Sender<Progress>| {
        let mut last = Instant::now();
        run(&mut |progress| {
            if last.elapsed() >= INTERVAL {
                last = Instant::now();
                // The receiver lives until this thread has ended.
                let _ = report.send(progress);
            }
            if stop.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
    };
    let mut failure = None;
    let done = py.detach(|| {
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let worker = scope.spawn(|| run(sender));
            loop {
                let received = receiver.recv_timeout(INTERVAL);
                if matches!(received, Err(RecvTimeoutError::Disconnected)) {
                    break;
                }
                let outcome = Python::attach(|py| {
                    py.check_signals()?;
                    received.map_or(Ok(()), |at| progress(py, at))
                });
                if let Err(error) = outcome {
                    stop.store(true, Ordering::Relaxed);
                    failure.get_or_insert(error);
                }
            }
            worker.join()
        })
    });
    match (failure, done) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => Ok(done),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}
