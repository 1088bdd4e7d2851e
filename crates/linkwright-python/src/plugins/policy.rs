//! Asks a class of one's own which GPUs a job gets.

use std::sync::{Arc, PoisonError};

use linkwright::allocation::{
    Effort, GpuSet, Objective, Policy, PreparedMachine, Request, Selection, Ties,
};
use linkwright::diagnostic::Registered as _;
use pyo3::intern;
use pyo3::prelude::*;

use super::machine;
use crate::argument::{Argument as _, Refusal};
use crate::pattern::Pattern;
use crate::plug_in::PlugIn;
use crate::raised::{raise, raised};

/// The most machines that are kept of a policy; a system has fewer kinds of servers.
const MOST_MACHINES: usize = 16;

impl PlugIn {
    /// The object that decides.
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let Some(class) = self.class(py) else { return Ok(self.given.bind(py).clone()) };
        if let Some(made) = self.object.get() {
            return Ok(made.bind(py).clone());
        }
        let made = class.call0()?.unbind();
        Ok(self.object.get_or_init(|| made).bind(py).clone())
    }

    /// A machine that Python may keep; it is copied when it is first asked about.
    fn shared(&self, machine: &PreparedMachine) -> Arc<PreparedMachine> {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = machines.iter().find(|it| it.is_copy_of(machine)) {
            return Arc::clone(known);
        }
        let made = Arc::new(machine.clone());
        if machines.len() == MOST_MACHINES {
            machines.remove(0);
        }
        machines.push(Arc::clone(&made));
        made
    }

    /// Asks `choose`, and refuses what is no answer.
    fn chosen(
        &self,
        py: Python<'_>,
        (machine, request, free): (&PreparedMachine, &Request<'_>, GpuSet),
        effort: &mut Effort<'_>,
    ) -> PyResult<Option<Selection>> {
        let asked = Bound::new(py, machine::Machine::new(self.shared(machine), effort))?;
        let pattern = Py::new(py, Pattern(request.pattern.clone()))?;
        let job = machine::Request { pattern, sensitive: request.sensitive };
        let policy = self.policy(py)?;
        let ids: Vec<usize> = free.iter().collect();
        let answer = policy.call_method1(intern!(py, "choose"), (&asked, job, ids))?;
        effort.spend(effort.left().saturating_sub(asked.get().left()));
        let size = request.pattern.size();
        let refuse = |why: String| {
            let remedy = match free.len() < size {
                true => "give None where too few GPUs are free".to_owned(),
                false => format!("give {size} of the free GPUs {free} as a list"),
            };
            self.refuse("choose", &answer, &why, &remedy)
        };
        if answer.is_none() {
            let waits = free.len() < size;
            let why = || format!("{} GPUs are free for a job of {size}", free.len());
            return if waits { Ok(None) } else { Err(refuse(why())) };
        }
        if let Ok(selection) = answer.cast::<machine::Selection>() {
            let selection = selection.get().0.clone();
            let gpus = selection.chosen.gpus();
            if gpus.len() != size || !gpus.is_subset_of(free) {
                return Err(refuse("it was selected for another job".to_owned()));
            }
            return Ok(Some(selection));
        }
        let listed: Vec<i128> = match Vec::read(&answer) {
            Ok(listed) => listed,
            Err(Refusal::Raised(error)) => return Err(error),
            Err(Refusal::Wrong(..)) => return Err(refuse("that is no list of GPUs".to_owned())),
        };
        let mut gpus = GpuSet::EMPTY;
        for gpu in &listed {
            let known = usize::try_from(*gpu).ok().filter(|gpu| *gpu < machine.gpu_count());
            let Some(known) = known else {
                let count = machine.gpu_count();
                return Err(refuse(format!("`{}` has {count} GPUs, from 0", machine.name())));
            };
            if gpus.contains(known) {
                return Err(refuse(format!("GPU {known} is named twice")));
            }
            if !free.contains(known) {
                return Err(refuse(format!("GPU {known} is not free")));
            }
            gpus = gpus.with(known);
        }
        if gpus.len() != size {
            return Err(refuse(format!("the job asks for {size} GPUs")));
        }
        Ok(Some(machine.place(request.pattern, gpus, free, effort)))
    }

    /// Asks a method that a policy need not have.
    fn asked<T>(
        &self,
        method: &str,
        request: &Request<'_>,
        read: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        if raised() {
            return None;
        }
        let outcome = Python::attach(|py| {
            let policy = self.policy(py)?;
            let Some(method) = policy.getattr_opt(method)? else { return Ok(None) };
            let pattern = Py::new(py, Pattern(request.pattern.clone()))?;
            let job = machine::Request { pattern, sensitive: request.sensitive };
            read(&method.call1((job,))?).map(Some)
        });
        outcome.unwrap_or_else(|error| {
            raise(error);
            None
        })
    }
}

impl Policy for PlugIn {
    fn rule(&self, request: &Request<'_>, _: Ties) -> String {
        let read = |value: &Bound<'_, PyAny>| {
            let text: PyResult<String> = value.extract();
            text.map_err(|_| self.refuse("rule", value, "that is no text", "give a sentence"))
        };
        let told = self.asked("rule", request, read);
        told.unwrap_or_else(|| format!("what `{}` chooses", self.name()))
    }

    fn objective(&self, request: &Request<'_>) -> Option<Objective> {
        let read = |value: &Bound<'_, PyAny>| {
            if value.is_none() {
                return Ok(None);
            }
            let name: PyResult<String> = value.extract();
            name.and_then(|name| machine::objective(&name)).map(Some).map_err(|_| {
                let known = machine::OBJECTIVES.map(|(name, _)| name).join(", ");
                let remedy = format!("give one of {known}, or None");
                self.refuse("objective", value, "that is no objective", &remedy)
            })
        };
        self.asked("objective", request, read).flatten()
    }

    fn choose(
        &self,
        machine: &PreparedMachine,
        request: &Request<'_>,
        free: GpuSet,
        effort: &mut Effort<'_>,
    ) -> Option<Selection> {
        if raised() {
            return None;
        }
        let outcome = Python::attach(|py| self.chosen(py, (machine, request, free), effort));
        outcome.unwrap_or_else(|error| {
            raise(error);
            None
        })
    }
}
