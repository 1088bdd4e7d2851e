//! Knows the classes in Python that stand for policies, orders of network interfaces and routings.
//!
//! A [`PlugIn`] is known by its name, `module:Class`, which a scenario and the command line may give, too. It lives
//! as long as the process, as every entry of a registry. The modules of `plugins` ask it as the core's rules are
//! asked.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use linkwright::allocation::{Policy, PreparedMachine};
use linkwright::diagnostic::{Diagnosis, Registered, UnknownName};
use linkwright::network::packet::NicRule;
use linkwright::network::routing::RoutingKind;
use linkwright::scenario::Registries;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::argument::{Argument, Refusal, given};
use crate::errors;

/// Stands in the place of a rule: a class, or an object of one.
pub struct PlugIn {
    pub name: &'static str,
    /// The class, or the object that was given.
    pub given: Py<PyAny>,
    /// The object that is a policy: of a class, one that is made when it is first asked.
    pub object: OnceLock<Py<PyAny>>,
    /// The machines that a policy was asked about, as Python may keep them.
    pub machines: Mutex<Vec<Arc<PreparedMachine>>>,
}

/// All that were given or loaded so far, the last ones last.
static KNOWN: Mutex<Vec<&'static PlugIn>> = Mutex::new(Vec::new());

/// Whether there is any: then runs stay on the thread of whoever asks for them.
static ANY: AtomicBool = AtomicBool::new(false);

/// The methods by which each kind is told from what is none.
pub const POLICY: &str = "choose";
pub const NIC_ORDER: &str = "packetised";
pub const ROUTING: &str = "route";
pub const KINDS: [&str; 3] = [POLICY, NIC_ORDER, ROUTING];

/// Tells whether a class was ever given in this process. Without one, nothing here is asked again.
pub fn any() -> bool {
    ANY.load(Ordering::Relaxed)
}

/// Lists all that were given or loaded so far, the last ones last.
pub fn known() -> Vec<&'static PlugIn> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl fmt::Debug for PlugIn {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl Registered for PlugIn {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl PlugIn {
    /// Gives the entry of a class or an object, made where it is new.
    pub fn of(given: &Bound<'_, PyAny>) -> PyResult<&'static Self> {
        let find = || known().into_iter().find(|it| it.given.is(given));
        if let Some(found) = find() {
            return Ok(found);
        }
        let py = given.py();
        let is_class = given.is_instance_of::<PyType>();
        let class = if is_class { given.cast::<PyType>()?.clone() } else { given.get_type() };
        let has_state = || -> PyResult<bool> {
            let state = given.getattr_opt("__dict__")?;
            state.map_or(Ok(true), |state| state.is_truthy())
        };
        if !is_class && !has_state()? {
            return Self::of(class.as_any());
        }
        let name = format!("{}:{}", class.module()?, class.qualname()?);
        let of = py.import("linkwright.plug_ins")?;
        let is_loaded = of.call_method1("is_loaded", (&name, given))?.is_truthy()?;
        let is_free = |name: &str| !known().iter().any(|it| it.name == name);
        // An object, or another class of one name, as functions make them, is told apart by a number.
        let name = if is_loaded || (is_class && is_free(&name)) {
            name
        } else {
            let mut numbered = (1 + usize::from(is_class)..).map(|at| format!("{name}#{at}"));
            numbered.find(|name| is_free(name)).unwrap_or(name)
        };
        let made = Self {
            name: Box::leak(name.into_boxed_str()),
            given: given.clone().unbind(),
            object: OnceLock::new(),
            machines: Mutex::default(),
        };
        let made: &'static Self = Box::leak(Box::new(made));
        KNOWN.lock().unwrap_or_else(PoisonError::into_inner).push(made);
        ANY.store(true, Ordering::Relaxed);
        Ok(made)
    }

    /// Loads the class of a name. `None` of a name that is no class's.
    pub fn named(name: &str, method: &str) -> Option<Result<&'static Self, String>> {
        if !name.contains(':') {
            return None;
        }
        let loaded = Python::attach(|py| {
            // One that nobody can import was given in this process.
            let given = known().into_iter().rev().find(|it| it.name == name);
            let given = given.map(|it| it.given.clone_ref(py));
            let of = py.import("linkwright.plug_ins")?;
            let found = of.call_method1("load", (name, method, given))?;
            Self::of(&found)
        });
        Some(loaded.map_err(|error| Python::attach(|py| told(py, &error))))
    }

    /// Gives it where it is a class, whose objects are made here.
    pub fn class<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyType>> {
        self.given.bind(py).cast::<PyType>().ok().cloned()
    }

    /// Calls an attribute of it, or gives it where it is a value; `None` where it has none.
    pub fn attribute<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.given.bind(py).getattr_opt(name)
    }

    /// Refuses what a method gave.
    pub fn refuse(&self, method: &str, value: &Bound<'_, PyAny>, why: &str, remedy: &str) -> PyErr {
        let shown = value.py().import("linkwright.errors");
        match shown.and_then(|errors| errors.call_method1("given", (value,))?.extract::<String>()) {
            Ok(shown) => {
                let problem = format!("`{}.{method}` gave {shown}: {why}", self.name);
                errors::broken_contract(Diagnosis::of(problem).remedy(remedy))
            }
            Err(error) => error,
        }
    }
}

/// Says an exception in a sentence: that of Linkwright by its problem and remedy, another by its type.
fn told(py: Python<'_>, error: &PyErr) -> String {
    match error.value(py).str() {
        Ok(text) => text.to_string(),
        Err(_) => error.to_string(),
    }
}

/// Gives what a scenario may choose by name, classes of one's own among it.
pub fn registries() -> Registries {
    let own = Registries::default();
    Registries {
        policies: own.policies.with_finder(|name| {
            let found = PlugIn::named(name, POLICY)?;
            Some(found.map(|it| it as &dyn Policy))
        }),
        nic_policies: own.nic_policies.with_finder(|name| {
            let found = PlugIn::named(name, NIC_ORDER)?;
            Some(found.map(|it| it as &dyn NicRule))
        }),
        routings: own.routings.with_finder(|name| {
            let found = PlugIn::named(name, ROUTING)?;
            Some(found.map(|it| it as &dyn RoutingKind))
        }),
        ..own
    }
}

/// Finds the policy of a name.
pub fn policy(name: &str) -> Result<&'static dyn Policy, UnknownName> {
    registries().policies.get(name)
}

/// Gives the name of a class or an object with one of these methods; `None` of any other value.
pub fn name_of(value: &Bound<'_, PyAny>, methods: &[&str]) -> PyResult<Option<&'static str>> {
    // An array and a number of numpy have a method `choose`, too.
    let mut has = false;
    if value.hasattr("__array__")? {
        return Ok(None);
    }
    for method in methods {
        has = has || value.hasattr(*method)?;
    }
    if has { PlugIn::of(value).map(|it| Some(it.name)) } else { Ok(None) }
}

/// Holds a policy's name, or that of a class or an object in its place.
pub struct PolicyName<'a>(pub &'a str);

impl<'a, 'py> Argument<'a, 'py> for PolicyName<'a> {
    fn words() -> (String, String) {
        let one = "a policy's name, or a class with a method `choose`";
        (one.to_owned(), "policies' names, or classes with a method `choose`".to_owned())
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if let Ok(name) = value.cast::<PyString>() {
            return Ok(Self(name.to_str()?));
        }
        let wrong = || Refusal::wrong(value, Self::words().0);
        name_of(value, &[POLICY])?.map(Self).ok_or_else(wrong)
    }
}

/// Gives the name by which a class, or an object of one, is known from now on; None of any other value.
#[pyfunction]
#[pyo3(signature = (value: "object") -> "str | None")]
pub fn plug_in_name(
    #[pyo3(from_py_with = given)] value: Bound<'_, PyAny>,
) -> PyResult<Option<&'static str>> {
    name_of(&value, &KINDS)
}

/// Gives the class or the object that a name stands for; None where none was given or loaded in this process.
#[pyfunction]
#[pyo3(signature = (name: "str") -> "object")]
pub fn plug_in_named(
    py: Python<'_>,
    #[pyo3(from_py_with = given)] name: &str,
) -> Option<Py<PyAny>> {
    let found = known().into_iter().rev().find(|it| it.name == name);
    found.map(|it| it.given.clone_ref(py))
}
