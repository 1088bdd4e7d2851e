//! Reads arguments from Python, and refuses each in words by its name.
//!
//! PyO3 names an argument in a note of the exception alone, and describes it in words of Rust. Every argument is
//! therefore read by [`given`]. It raises `ArgumentError`, which takes its name from the note, and says which value was
//! given and which would do.

use linkwright::units::{Bandwidth, Bytes, Frequency, Power};
use pyo3::PyClass;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFrozenSet, PySet, PyString};

use crate::errors;

/// The most items of a list. A longer one is refused before it is read.
const MOST_ITEMS: usize = 1 << 24;

/// Why a value is no argument.
pub enum Refusal {
    /// It is of another kind: the place in the argument, the value there, and one that would do.
    Wrong(String, Py<PyAny>, String),
    /// Python has raised an exception.
    Raised(PyErr),
}

impl From<PyErr> for Refusal {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

impl Refusal {
    /// A value where another would do.
    pub fn wrong(value: &Bound<'_, PyAny>, wanted: impl Into<String>) -> Self {
        Self::Wrong(String::new(), value.clone().unbind(), wanted.into())
    }

    /// Says the same of an item of a list.
    fn within(self, index: usize) -> Self {
        match self {
            Self::Wrong(place, value, wanted) => {
                Self::Wrong(format!("[{index}]{place}"), value, wanted)
            }
            raised @ Self::Raised(_) => raised,
        }
    }

    /// The exception, of an argument whose name PyO3 adds, or this one.
    fn raise(self, py: Python<'_>, name: &str) -> PyErr {
        match self {
            Self::Raised(error) => error,
            Self::Wrong(place, value, wanted) => {
                errors::argument(value.bind(py), &wanted, format!("{name}{place}"))
            }
        }
    }
}

/// A kind of argument has this.
pub trait Argument<'a, 'py>: Sized {
    /// Gives the words for one, and for several.
    fn words() -> (String, String);

    /// Reads the value.
    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal>;
}

/// Reads an argument, for `from_py_with`.
pub fn given<'a, 'py, T: Argument<'a, 'py>>(value: &'a Bound<'py, PyAny>) -> PyResult<T> {
    named("", value)
}

/// An argument whose name PyO3 does not know.
pub fn named<'a, 'py, T: Argument<'a, 'py>>(
    name: &str,
    value: &'a Bound<'py, PyAny>,
) -> PyResult<T> {
    T::read(value).map_err(|refusal| refusal.raise(value.py(), name))
}

/// Reads a value by PyO3; `wanted` says which would do.
pub fn extracted<'a, 'py, T: FromPyObject<'a, 'py>>(
    value: &'a Bound<'py, PyAny>,
    wanted: &str,
) -> Result<T, Refusal> {
    value.extract().map_err(|error: T::Error| {
        let (py, error) = (value.py(), error.into());
        let is_wrong = error.is_instance_of::<PyTypeError>(py)
            || error.is_instance_of::<PyValueError>(py)
            || error.is_instance_of::<PyOverflowError>(py);
        if is_wrong { Refusal::wrong(value, wanted) } else { Refusal::Raised(error) }
    })
}

fn pair(one: &str, several: &str) -> (String, String) {
    (one.to_owned(), several.to_owned())
}

/// Arguments that PyO3 reads as they should be read.
macro_rules! as_extracted {
    ($($type:ty: $one:literal, $several:literal;)*) => {$(
        impl<'a, 'py> $crate::argument::Argument<'a, 'py> for $type {
            fn words() -> (String, String) {
                ($one.to_owned(), $several.to_owned())
            }

            fn read(
                value: &'a pyo3::Bound<'py, pyo3::PyAny>,
            ) -> Result<Self, $crate::argument::Refusal> {
                $crate::argument::extracted(value, $one)
            }
        }
    )*};
}
pub(crate) use as_extracted;

as_extracted!(
    &'a str: "a text", "texts";
    String: "a text", "texts";
    Bound<'py, PyDict>: "a dictionary", "dictionaries";
    Bound<'py, PyAny>: "a value", "values";
    Vec<u8>: "bytes", "bytes";
    std::path::PathBuf: "a path, as a str or a pathlib.Path", "paths";
);

/// Takes an object of a class that never changes.
impl<'a, 'py, T: PyClass<Frozen = True> + Sync> Argument<'a, 'py> for &'a T {
    fn words() -> (String, String) {
        class_words::<T>()
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let found = value.cast::<T>().map(|it| it.get());
        found.map_err(|_| Refusal::wrong(value, Self::words().0))
    }
}

impl<'a, 'py, T: PyClass> Argument<'a, 'py> for PyRef<'py, T> {
    fn words() -> (String, String) {
        class_words::<T>()
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        extracted(value, &Self::words().0)
    }
}

fn class_words<T: PyClass>() -> (String, String) {
    let name = T::NAME;
    let article = if name.starts_with(['A', 'E', 'O']) { "an" } else { "a" };
    (format!("{article} `{name}`"), format!("values of `{name}`"))
}

impl<'a, 'py> Argument<'a, 'py> for bool {
    fn words() -> (String, String) {
        pair("True or False", "True or False")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if is_truth(value)? {
            return Ok(value.is_truthy()?);
        }
        Err(Refusal::wrong(value, "True or False"))
    }
}

/// Whether it is one of Python's truths, or of numpy's, which pass for numbers elsewhere.
fn is_truth(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = value.get_type().name()?;
    Ok(value.is_instance_of::<PyBool>() || name == "bool" || name == "bool_")
}

/// A whole number, however large: of Python, of numpy, or a float without a fraction. One that does not fit the widest type
/// counts as its last number, which is out of every range.
impl<'a, 'py> Argument<'a, 'py> for i128 {
    fn words() -> (String, String) {
        pair("a whole number", "whole numbers")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let refuse = || Refusal::wrong(value, "a whole number");
        if is_truth(value)? {
            return Err(refuse());
        }
        let read: PyResult<Self> = value.extract();
        match read {
            Ok(number) => Ok(number),
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                Ok(if value.lt(0)? { Self::MIN } else { Self::MAX })
            }
            Err(_) => match f64::read(value) {
                Ok(real) if real.is_finite() && real.fract() == 0.0 => Ok(real as Self),
                _ => Err(refuse()),
            },
        }
    }
}

impl<'a, 'py> Argument<'a, 'py> for u64 {
    fn words() -> (String, String) {
        pair("a whole number from 0", "whole numbers from 0")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let read = i128::read(value)?;
        Self::try_from(read).map_err(|_| Refusal::wrong(value, Self::words().0))
    }
}

/// A number; a whole one that is too large for a float counts as infinite.
impl<'a, 'py> Argument<'a, 'py> for f64 {
    fn words() -> (String, String) {
        pair("a number", "numbers")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        // An array of one number would pass for it.
        if is_truth(value)? || value.len().is_ok() {
            return Err(Refusal::wrong(value, "a number"));
        }
        let read: PyResult<Self> = value.extract();
        match read {
            Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => {
                Ok(if value.lt(0)? { Self::NEG_INFINITY } else { Self::INFINITY })
            }
            read => read.map_err(|_| Refusal::wrong(value, "a number")),
        }
    }
}

impl<'a, 'py, T: Argument<'a, 'py>> Argument<'a, 'py> for Option<T> {
    fn words() -> (String, String) {
        let (one, several) = T::words();
        (format!("{one} or None"), several)
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        if value.is_none() {
            return Ok(None);
        }
        T::read(value).map(Some)
    }
}

/// The items of anything that has an order, such as a list, a range or an array.
fn items<'py>(
    value: &Bound<'py, PyAny>,
    wanted: String,
) -> Result<Vec<Bound<'py, PyAny>>, Refusal> {
    let has_none = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyBytes>()
        || value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PySet>()
        || value.is_instance_of::<PyFrozenSet>();
    let items = if has_none { None } else { value.try_iter().ok() };
    let items = items.ok_or_else(|| Refusal::wrong(value, &*wanted))?;
    if value.len().is_ok_and(|count| count > MOST_ITEMS) {
        return Err(Refusal::wrong(value, format!("{wanted}, {MOST_ITEMS} at most")));
    }
    Ok(items.collect::<PyResult<_>>()?)
}

impl<'a, 'py, T: for<'b> Argument<'b, 'py>> Argument<'a, 'py> for Vec<T> {
    fn words() -> (String, String) {
        let (_, several) = T::words();
        (format!("a list of {several}"), format!("lists of {several}"))
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let items = items(value, Self::words().0)?;
        let read = items.iter().enumerate();
        read.map(|(at, item)| T::read(item).map_err(|refusal| refusal.within(at))).collect()
    }
}

macro_rules! tuples {
    ($($number:literal, $several:literal: $($type:ident $at:tt),*;)*) => {$(
        impl<'a, 'py, $($type: for<'b> Argument<'b, 'py>),*> Argument<'a, 'py> for ($($type,)*) {
            fn words() -> (String, String) {
                let each = [$($type::words().0),*].join(", ");
                (format!("{} of {each}", $number), format!("{} of {each}", $several))
            }

            fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
                let items = items(value, Self::words().0)?;
                if items.len() != [$($at),*].len() {
                    return Err(Refusal::wrong(value, Self::words().0));
                }
                Ok(($($type::read(&items[$at]).map_err(|refusal| refusal.within($at))?,)*))
            }
        }
    )*};
}

tuples!(
    "a pair", "pairs": A 0, B 1;
    "a triple", "triples": A 0, B 1, C 2;
    "a quadruple", "quadruples": A 0, B 1, C 2, D 3;
);

/// Holds bytes, from a whole number or a text.
struct Size(i128);

impl<'a, 'py> Argument<'a, 'py> for Size {
    fn words() -> (String, String) {
        pair("bytes, or a size such as \"25 MiB\"", "bytes, or of sizes such as \"25 MiB\"")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let refuse = || Refusal::wrong(value, Self::words().0);
        match value.cast::<PyString>() {
            Ok(text) => {
                let read = text.to_str()?.parse::<Bytes>();
                read.map(|size| Self(size.0.into())).map_err(|_| refuse())
            }
            Err(_) => i128::read(value).map(Self).map_err(|_| refuse()),
        }
    }
}

/// Holds gigabytes per second, from a number or a text.
struct Speed(f64);

impl<'a, 'py> Argument<'a, 'py> for Speed {
    fn words() -> (String, String) {
        pair("GB/s, or a speed such as \"400 Gb/s\"", "GB/s, or of speeds such as \"400 Gb/s\"")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let refuse = || Refusal::wrong(value, Self::words().0);
        match value.cast::<PyString>() {
            Ok(text) => {
                let read = text.to_str()?.parse::<Bandwidth>();
                read.map(|speed| Self(speed.as_gigabytes_per_second())).map_err(|_| refuse())
            }
            Err(_) => f64::read(value).map(Self).map_err(|_| refuse()),
        }
    }
}

/// Holds a power, from watts or a text.
struct Watts(Power);

impl<'a, 'py> Argument<'a, 'py> for Watts {
    fn words() -> (String, String) {
        pair("watts, or a power such as \"500 W\"", "watts, or of powers such as \"500 W\"")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let read = match value.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse().ok(),
            Err(_) => f64::read(value).ok().and_then(Power::from_watts),
        };
        read.map(Self).ok_or_else(|| Refusal::wrong(value, Self::words().0))
    }
}

/// Holds a frequency, from megahertz or a text.
struct Clock(Frequency);

impl<'a, 'py> Argument<'a, 'py> for Clock {
    fn words() -> (String, String) {
        let one = "megahertz, or a clock such as \"1500 MHz\"";
        pair(one, "megahertz, or of clocks such as \"1500 MHz\"")
    }

    fn read(value: &'a Bound<'py, PyAny>) -> Result<Self, Refusal> {
        let read = match value.cast::<PyString>() {
            Ok(text) => text.to_str()?.parse().ok(),
            Err(_) => f64::read(value).ok().and_then(Frequency::from_megahertz),
        };
        read.map(Self).ok_or_else(|| Refusal::wrong(value, Self::words().0))
    }
}

/// Reads watts, or None.
pub fn optional_power(value: &Bound<'_, PyAny>) -> PyResult<Option<Power>> {
    let read: Option<Watts> = given(value)?;
    Ok(read.map(|Watts(power)| power))
}

/// Reads megahertz, or None.
pub fn optional_clock(value: &Bound<'_, PyAny>) -> PyResult<Option<Frequency>> {
    let read: Option<Clock> = given(value)?;
    Ok(read.map(|Clock(clock)| clock))
}

/// Reads bytes, for `from_py_with`.
pub fn size(value: &Bound<'_, PyAny>) -> PyResult<i128> {
    given(value).map(|Size(size)| size)
}

/// Reads the same, or None.
pub fn optional_size(value: &Bound<'_, PyAny>) -> PyResult<Option<i128>> {
    let read: Option<Size> = given(value)?;
    Ok(read.map(|Size(size)| size))
}

/// Reads a list of sizes.
pub fn sizes(value: &Bound<'_, PyAny>) -> PyResult<Vec<i128>> {
    let read: Vec<Size> = given(value)?;
    Ok(read.into_iter().map(|Size(size)| size).collect())
}

/// Reads gigabytes per second, for `from_py_with`.
pub fn speed(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    given(value).map(|Speed(speed)| speed)
}

/// Reads the same, or None.
pub fn optional_speed(value: &Bound<'_, PyAny>) -> PyResult<Option<f64>> {
    let read: Option<Speed> = given(value)?;
    Ok(read.map(|Speed(speed)| speed))
}

/// Reads a function that is called while a simulation runs, or None.
pub fn callback(value: &Bound<'_, PyAny>) -> PyResult<Option<Py<PyAny>>> {
    if value.is_none() {
        return Ok(None);
    }
    if value.is_callable() {
        return Ok(Some(value.clone().unbind()));
    }
    Err(Refusal::wrong(value, "a function or None").raise(value.py(), ""))
}
