//! Long work on a thread of its own, so that Ctrl-C is heard while it lasts.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use linkwright::engine::{Hook, Progress};
use pyo3::prelude::*;

use crate::{plug_in, raised};

/// How long Python waits between two looks at its signals, or two reports.
const INTERVAL: Duration = Duration::from_millis(100);

/// Work that a thread takes, or, where the system makes no thread, whoever wanted one.
struct Taken<W>(Arc<Mutex<Option<W>>>);

impl<W> Taken<W> {
    fn new(work: W) -> Self {
        Self(Arc::new(Mutex::new(Some(work))))
    }

    fn share(&self) -> Self {
        Self(Arc::clone(&self.0))
    }

    /// The work, for the first who asks.
    fn take(&self) -> Option<W> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns the result of the work, with the interpreter free for other threads meanwhile.
///
/// Where a limit of processes leaves no thread, it is done without one, and Ctrl-C waits for it.
///
/// # Errors
/// Raises the exception of a signal's handler. The work then goes on to its end, unseen. Planning,
/// timing and execution are pure, and nobody waits for the thread when the program ends.
pub fn interruptible<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, receiver) = mpsc::channel();
    // A class of one's own may be asked meanwhile. The thread alone knows its exception.
    let work = Taken::new(move || {
        let done = work();
        raised::take_raised().map_or(Ok(done), Err)
    });
    let theirs = work.share();
    let spawned = thread::Builder::new().spawn(move || {
        if let Some(work) = theirs.take() {
            // Nobody receives after an interruption, and then the result is not wanted.
            let _ = sender.send(work());
        }
    });
    let Ok(worker) = spawned else {
        let work = work.take().expect("no thread has taken it");
        let done = py.detach(work)?;
        py.check_signals()?;
        return Ok(done);
    };
    let done: PyResult<_> = py.detach(move || {
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
    });
    done?
}

/// Returns the result of a run that asks a hook now and then, with the interpreter free meanwhile.
///
/// About every 100 ms, `progress` learns how far the run is, and Python looks at its signals.
/// Where a limit of processes leaves no thread, the run itself does so. It does, too, where classes of one's own may
/// be asked: Python interrupts them on the thread that hears Ctrl-C.
///
/// # Errors
/// Raises the exception of a signal's handler, of `progress` or of a class; the run has ended by then.
pub fn watched<T: Send>(
    py: Python<'_>,
    progress: impl Fn(Python<'_>, Progress) -> PyResult<()> + Sync,
    run: impl FnOnce(Hook<'_>) -> T + Send,
) -> PyResult<T> {
    let stop = AtomicBool::new(false);
    let mut failure = None;
    let mut look = |at: Option<Progress>| {
        let outcome = Python::attach(|py| {
            py.check_signals()?;
            at.map_or(Ok(()), |at| progress(py, at))
        });
        if let Err(error) = outcome {
            stop.store(true, Ordering::Relaxed);
            failure.get_or_insert(error);
        }
    };
    if plug_in::any() {
        let mut hook = |at| look(Some(at));
        let done = py.detach(|| hooked(run, &mut hook, &stop, raised::raised));
        return match raised::take_raised().or(failure) {
            Some(error) => Err(error),
            None => Ok(done),
        };
    }
    let run = Taken::new(run);
    let done = py.detach(|| {
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let (theirs, stop) = (run.share(), &stop);
            let spawned = thread::Builder::new().spawn_scoped(scope, move || {
                let mut report = |at| {
                    // The receiver lives until this thread has ended.
                    let _ = sender.send(at);
                };
                theirs.take().map(|run| hooked(run, &mut report, stop, || false))
            });
            let Ok(worker) = spawned else {
                let mut report = |at| look(Some(at));
                return Ok(run.take().map(|run| hooked(run, &mut report, stop, || false)));
            };
            loop {
                match receiver.recv_timeout(INTERVAL) {
                    Err(RecvTimeoutError::Disconnected) => break,
                    received => look(received.ok()),
                }
            }
            worker.join()
        })
    });
    match (failure, done) {
        (Some(error), _) => Err(error),
        (None, Ok(done)) => Ok(done.expect("the run is taken once")),
        (None, Err(panic)) => std::panic::resume_unwind(panic),
    }
}

/// Plays the run; its hook reports about every 100 ms, and ends it once it is to stop or has failed.
fn hooked<T>(
    run: impl FnOnce(Hook<'_>) -> T,
    report: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
    failed: impl Fn() -> bool,
) -> T {
    let mut last = Instant::now();
    run(&mut |progress| {
        if last.elapsed() >= INTERVAL {
            last = Instant::now();
            report(progress);
        }
        if stop.load(Ordering::Relaxed) || failed() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })
}
