//! The events of a network's model, none of which may be lost.

use super::transport::TransportError;
use crate::engine::EventQueue;
use crate::units::Picoseconds;

/// A model's events, and the first that could not be scheduled.
///
/// A model that cannot schedule an event has lost a packet or a message, and everything after it
/// would be wrong. It goes on to the end of what it is doing, and the run ends there.
#[derive(Debug, Clone)]
pub(in crate::network) struct Agenda<E> {
    queue: EventQueue<E>,
    fault: Option<TransportError>,
}

impl<E: Copy> Agenda<E> {
    pub(in crate::network) fn new() -> Self {
        Self { queue: EventQueue::new(), fault: None }
    }

    /// Schedules an event, and tells whether it could: its time must not be before the current
    /// one, nor the last that is counted, at which sums of times stop.
    #[inline]
    #[must_use]
    pub(in crate::network) fn schedule(&mut self, time: u64, event: E) -> bool {
        if time < u64::MAX && self.queue.push(Picoseconds(time), event).is_ok() {
            return true;
        }
        self.refuse(time, event);
        false
    }

    #[cold]
    fn refuse(&mut self, time: u64, event: E) {
        if self.fault.is_none() {
            let error = match self.queue.push(Picoseconds(time), event) {
                Err(past) => past.into(),
                Ok(()) => TransportError::TooLong { now: self.queue.now() },
            };
            self.fault = Some(error);
        }
    }

    /// Notes that something happens beyond the last time that is counted.
    #[cold]
    pub(in crate::network) fn too_long(&mut self) {
        let now = self.queue.now();
        self.fault.get_or_insert(TransportError::TooLong { now });
    }

    /// Notes that something cannot happen at all.
    #[cold]
    pub(in crate::network) fn fail(&mut self, error: TransportError) {
        self.fault.get_or_insert(error);
    }

    /// Takes the next event and sets the clock to its time.
    #[inline]
    pub(in crate::network) fn pop(&mut self) -> Option<(Picoseconds, E)> {
        self.queue.pop()
    }

    /// When the next event happens.
    pub(in crate::network) fn peek_time(&self) -> Option<Picoseconds> {
        self.queue.peek_time()
    }

    /// Whether every event could be scheduled.
    ///
    /// # Errors
    /// The first that could not.
    #[inline]
    pub(in crate::network) fn check(&self) -> Result<(), TransportError> {
        self.fault.clone().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::PastEvent;

    #[test]
    fn an_event_in_the_past_is_the_runs_end() {
        let mut agenda = Agenda::new();
        assert!(agenda.schedule(5, 'a'));
        assert_eq!(agenda.pop(), Some((Picoseconds(5), 'a')));
        assert_eq!(agenda.check(), Ok(()));
        assert!(!agenda.schedule(4, 'b'));
        assert!(!agenda.schedule(u64::MAX, 'c'));
        let past = PastEvent { time: Picoseconds(4), now: Picoseconds(5) };
        assert_eq!(agenda.check(), Err(TransportError::Past(past)), "the first is told");
    }

    #[test]
    fn an_event_beyond_counted_time_is_the_runs_end() {
        let mut agenda = Agenda::new();
        assert!(agenda.schedule(u64::MAX - 1, 'a'));
        assert!(agenda.pop().is_some());
        assert!(!agenda.schedule(u64::MAX, 'b'));
        let now = Picoseconds(u64::MAX - 1);
        assert_eq!(agenda.check(), Err(TransportError::TooLong { now }));
    }
}
