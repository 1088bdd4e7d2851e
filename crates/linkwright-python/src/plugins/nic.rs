//! Asks a class of one's own which message a network interface sends first.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;

use linkwright::diagnostic::{Diagnosis, Registered as _};
use linkwright::network::packet::NicRule;
use linkwright::network::packet::nic::{self, NicScheduler};
use linkwright::network::transport::MessageIndex;
use linkwright::units::Bytes;
use pyo3::intern;
use pyo3::prelude::*;

use crate::argument::Argument as _;
use crate::errors;
use crate::plug_in::{PlugIn, known};
use crate::raised::{raise, raised};

/// A message at its network interface, as an order of one's own is told of it.
#[pyclass(frozen, module = "linkwright.contracts")]
pub struct QueuedMessage(nic::QueuedMessage);

#[pymethods]
impl QueuedMessage {
    /// Tells it from others in the network.
    #[getter]
    fn index(&self) -> MessageIndex {
        self.0.index
    }

    /// Counts its bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.0.message.size.0
    }

    /// The device that sends it, as the system counts them.
    #[getter]
    fn source(&self) -> u32 {
        self.0.message.source
    }

    /// The device that it goes to.
    #[getter]
    fn destination(&self) -> u32 {
        self.0.message.destination
    }

    /// How urgent its sender says it is; 0 where nobody says.
    #[getter]
    fn priority(&self) -> u8 {
        self.0.message.class.priority
    }

    /// Tells when it came to the interface, in seconds.
    #[getter]
    fn arrived(&self) -> f64 {
        self.0.arrived.as_seconds()
    }
}

/// Holds the messages of one interface in an object of the class.
struct Order {
    rule: &'static PlugIn,
    object: Py<PyAny>,
    /// The messages that are there, so that no other is sent.
    queued: BTreeSet<MessageIndex>,
    /// Keeps the answer of `next` until the next change.
    next: Cell<Option<Option<MessageIndex>>>,
}

impl fmt::Debug for Order {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.rule.name())
    }
}

/// Sends nothing: the class could not be made, and the run ends.
#[derive(Debug)]
struct Nothing;

impl NicScheduler for Nothing {
    fn push(&mut self, _: nic::QueuedMessage) {}

    fn next(&self) -> Option<MessageIndex> {
        None
    }

    fn packetised(&mut self, _: Bytes) {}
}

impl PlugIn {
    /// Reads how many messages are sent at once as flows: `at_once`, 1 where it is absent.
    fn count_at_once(&self) -> PyResult<usize> {
        Python::attach(|py| {
            let Some(value) = self.attribute(py, "at_once")? else { return Ok(1) };
            if value.is_none() {
                return Ok(usize::MAX);
            }
            let read = i128::read(&value).ok().and_then(|count| usize::try_from(count).ok());
            read.filter(|count| *count > 0).ok_or_else(|| {
                let remedy = "give 1 or more, or None for all";
                self.refuse("at_once", &value, "no messages could be under way", remedy)
            })
        })
    }

    fn order(&'static self) -> PyResult<Order> {
        Python::attach(|py| {
            let class = self.class(py).ok_or_else(|| {
                let problem = format!("`{}` is no class", self.name());
                let remedy = "give the class: each network interface makes an object of its own";
                errors::broken_contract(Diagnosis::of(problem).remedy(remedy))
            })?;
            let (object, queued) = (class.call0()?.unbind(), BTreeSet::new());
            Ok(Order { rule: self, object, queued, next: Cell::new(None) })
        })
    }
}

impl NicRule for PlugIn {
    fn at_once(&self, _: u16) -> usize {
        self.count_at_once().unwrap_or_else(|error| {
            raise(error);
            1
        })
    }

    fn scheduler(&self, _: u16) -> Box<dyn NicScheduler> {
        let this = known().into_iter().find(|it| std::ptr::eq(*it, self));
        match this.map(Self::order) {
            Some(Ok(order)) => Box::new(order),
            Some(Err(error)) => {
                raise(error);
                Box::new(Nothing)
            }
            None => Box::new(Nothing),
        }
    }
}

impl Order {
    fn ask(&self) -> PyResult<Option<MessageIndex>> {
        Python::attach(|py| {
            let value = self.object.bind(py).call_method0(intern!(py, "next"))?;
            let refuse = |why: &str| {
                let queued: Vec<String> = self.queued.iter().take(8).map(u32::to_string).collect();
                let remedy = match queued.is_empty() {
                    true => "give None where no message is queued".to_owned(),
                    false => {
                        format!(
                            "give the `index` of a queued message, such as {}",
                            queued.join(", ")
                        )
                    }
                };
                self.rule.refuse("next", &value, why, &remedy)
            };
            if value.is_none() {
                return if self.queued.is_empty() {
                    Ok(None)
                } else {
                    Err(refuse(&format!("{} messages are queued", self.queued.len())))
                };
            }
            let index =
                i128::read(&value).ok().and_then(|index| MessageIndex::try_from(index).ok());
            let Some(index) = index else { return Err(refuse("that is no message")) };
            if !self.queued.contains(&index) {
                return Err(refuse("that message is not queued, or has been sent"));
            }
            Ok(Some(index))
        })
    }
}

impl NicScheduler for Order {
    fn push(&mut self, message: nic::QueuedMessage) {
        if raised() {
            return;
        }
        self.next.set(None);
        self.queued.insert(message.index);
        let pushed = Python::attach(|py| {
            let told = QueuedMessage(message);
            self.object.bind(py).call_method1(intern!(py, "push"), (told,)).map(drop)
        });
        pushed.unwrap_or_else(raise);
    }

    fn next(&self) -> Option<MessageIndex> {
        if raised() {
            return None;
        }
        if let Some(next) = self.next.get() {
            return next;
        }
        match self.ask() {
            Ok(next) => {
                self.next.set(Some(next));
                next
            }
            Err(error) => {
                raise(error);
                None
            }
        }
    }

    fn packetised(&mut self, left: Bytes) {
        if raised() {
            return;
        }
        if left.0 == 0
            && let Some(sent) = self.next()
        {
            self.queued.remove(&sent);
        }
        self.next.set(None);
        let noted = Python::attach(|py| {
            self.object.bind(py).call_method1(intern!(py, "packetised"), (left.0,)).map(drop)
        });
        noted.unwrap_or_else(raise);
    }
}
