//! Closed sets of values that people choose from by name.

use thiserror::Error;

use super::{Diagnose, Diagnosis, instead_of, one_of, shown};

/// Stands for a value that files, the command line and Python know by a name.
///
/// The names stand beside the type and nowhere else: readers, settings and the binding ask it.
pub trait Named: Copy + PartialEq + 'static {
    /// Names the kind of the values, for messages.
    const WHAT: &'static str;
    /// Every value with its name, in the order in which they are told.
    const NAMED: &'static [(&'static str, Self)];
    /// Holds other names that people use elsewhere, in small letters and without hyphens.
    const ELSEWHERE: &'static [(&'static str, Self)] = &[];

    /// Lists every name.
    #[must_use]
    fn names() -> Vec<&'static str> {
        Self::NAMED.iter().map(|(name, _)| *name).collect()
    }

    /// Returns the value of a name.
    ///
    /// # Errors
    /// A name that none has.
    fn from_name(name: &str) -> Result<Self, UnknownName> {
        let found = Self::NAMED.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value).ok_or_else(|| Self::unknown(name))
    }

    /// Refuses a name that no value has.
    #[must_use]
    fn unknown(name: &str) -> UnknownName {
        let known = Self::names();
        let instead = match Self::meant(name) {
            Some(meant) => format!("did you mean `{meant}`? {}", one_of(&known)),
            None => instead_of(name, &known),
        };
        UnknownName { what: Self::WHAT, name: shown(name), instead }
    }

    /// Finds the name here of a value that has this one elsewhere.
    #[must_use]
    fn meant(name: &str) -> Option<&'static str> {
        let plain = name.to_ascii_lowercase().replace(['-', '_', ' '], "");
        let found = Self::ELSEWHERE.iter().find(|(other, _)| *other == plain);
        found.map(|(_, value)| value.name())
    }

    /// Returns the name of the value.
    #[must_use]
    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, value)| *value == self).map_or("", |(name, _)| *name)
    }
}

/// Makes a type [`Named`] by its own `ALL`, an array of its values, and its own constant `name`.
#[macro_export]
macro_rules! named_by_all {
    ($type:ty, $what:literal) => {
        impl $crate::diagnostic::Named for $type {
            const WHAT: &'static str = $what;
            const NAMED: &'static [(&'static str, Self)] = &{
                let mut named = [("", <$type>::ALL[0]); <$type>::ALL.len()];
                let mut at = 0;
                while at < named.len() {
                    named[at] = (<$type>::ALL[at].name(), <$type>::ALL[at]);
                    at += 1;
                }
                named
            };
        }
    };
}

/// A name that no value of a closed set has.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct UnknownName {
    /// Names the kind of thing that was asked for.
    pub what: &'static str,
    /// Gives the name, as [`shown`].
    pub name: String,
    /// The one that was probably meant, and all that there are.
    pub instead: String,
}

impl Diagnose for UnknownName {
    fn diagnosis(&self) -> Diagnosis {
        let Self { what, name, instead } = self;
        Diagnosis::of(format!("there is no {what} `{name}`")).remedy(instead)
    }
}
