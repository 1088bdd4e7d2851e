//! Open sets of things that people choose by name: Linkwright's own, and those of others.

use std::fmt;

use super::named::UnknownName;
use super::{instead_of, shown};

/// Something that is chosen by its name.
pub trait Registered: Send + Sync + 'static {
    /// Gives the name in scenarios and on the command line.
    fn name(&self) -> &'static str;
}

/// Finds the entry of a name that no entry has; `None` of a name that it knows nothing of.
///
/// Its error gives the cause and the remedy.
pub type Finder<T> = fn(&str) -> Option<Result<&'static T, String>>;

/// Holds what can be chosen by name where something of one kind is asked for. It is a value, never
/// a global.
///
/// An entry lives as long as the program, so that whatever chose it holds it by a plain reference.
/// A crate of one's own registers a `static` of its own by [`add`](Self::add).
pub struct Registry<T: ?Sized + 'static> {
    what: &'static str,
    entries: Vec<&'static T>,
    finder: Option<Finder<T>>,
}

impl<T: Registered + ?Sized> Registry<T> {
    /// One of these entries; `what` says what they are, for messages.
    #[must_use]
    pub fn new(what: &'static str, entries: &[&'static T]) -> Self {
        Self { what, entries: entries.to_vec(), finder: None }
    }

    /// Asks a function for names that no entry has, such as classes that are loaded on demand.
    #[must_use]
    pub fn with_finder(self, finder: Finder<T>) -> Self {
        Self { finder: Some(finder), ..self }
    }

    /// Adds an entry; it takes the place of one that has its name.
    pub fn add(&mut self, entry: &'static T) {
        match self.entries.iter_mut().find(|known| known.name() == entry.name()) {
            Some(known) => *known = entry,
            None => self.entries.push(entry),
        }
    }

    /// Every entry, in the order in which they are told.
    pub fn iter(&self) -> impl Iterator<Item = &'static T> + '_ {
        self.entries.iter().copied()
    }

    /// Gives every name.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.iter().map(|entry| entry.name()).collect()
    }

    /// Gives the entry of a name.
    ///
    /// # Errors
    /// A name that none has.
    pub fn get(&self, name: &str) -> Result<&'static T, UnknownName> {
        if let Some(known) = self.iter().find(|entry| entry.name() == name) {
            return Ok(known);
        }
        self.find(name).unwrap_or_else(|| Err(self.unknown(name, instead_of(name, &self.names()))))
    }

    /// Asks its finder alone; `None` where it has none, or one that knows nothing of the name.
    pub fn find(&self, name: &str) -> Option<Result<&'static T, UnknownName>> {
        let found = self.finder.and_then(|finder| finder(name))?;
        Some(found.map_err(|instead| self.unknown(name, instead)))
    }

    fn unknown(&self, name: &str, instead: String) -> UnknownName {
        UnknownName { what: self.what, name: shown(name), instead }
    }
}

impl<T: ?Sized> Clone for Registry<T> {
    fn clone(&self) -> Self {
        Self { what: self.what, entries: self.entries.clone(), finder: self.finder }
    }
}

impl<T: Registered + ?Sized> PartialEq for Registry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.what, self.names()) == (other.what, other.names())
    }
}

impl<T: Registered + ?Sized> Eq for Registry<T> {}

impl<T: Registered + ?Sized> fmt::Debug for Registry<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.names()).finish()
    }
}

/// An entry that was chosen, equal to whatever has its name.
pub struct Chosen<T: ?Sized + 'static>(pub &'static T);

impl<T: ?Sized> Clone for Chosen<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: ?Sized> Copy for Chosen<T> {}

impl<T: Registered + ?Sized> PartialEq for Chosen<T> {
    fn eq(&self, other: &Self) -> bool {
        self.0.name() == other.0.name()
    }
}

impl<T: Registered + ?Sized> Eq for Chosen<T> {}

impl<T: Registered + ?Sized> fmt::Debug for Chosen<T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Rule(&'static str, u32);

    impl Registered for Rule {
        fn name(&self) -> &'static str {
            self.0
        }
    }

    static FIRST: Rule = Rule("first", 1);
    static LAST: Rule = Rule("last", 2);
    static OTHER_FIRST: Rule = Rule("first", 3);

    #[test]
    fn an_entry_is_found_by_its_name_and_a_later_one_takes_its_place() {
        let rules = Registry::new("rule", &[&FIRST]);
        let mut more = rules.clone();
        more.add(&LAST);
        more.add(&OTHER_FIRST);
        assert_eq!(rules.names(), ["first"]);
        assert_eq!(more.names(), ["first", "last"]);
        assert_eq!((rules.get("first").unwrap().1, more.get("first").unwrap().1), (1, 3));
        assert_ne!(rules, more);
        assert_eq!(Chosen(&FIRST), Chosen(&OTHER_FIRST));
        assert_ne!(Chosen(&FIRST), Chosen(&LAST));
        let found = more.clone().with_finder(|name| match name {
            "own:Rule" => Some(Ok(&OTHER_FIRST)),
            "own:Other" => Some(Err("write it".to_owned())),
            _ => None,
        });
        assert_eq!(found.get("own:Rule").unwrap().1, 3);
        assert_eq!(found.get("first").unwrap().1, 3);
        let error = found.get("own:Other").err().unwrap().to_string();
        assert_eq!(error, "there is no rule `own:Other`; write it");
        assert!(found.get("lst").err().unwrap().to_string().contains("did you mean"));
        let error = more.get("lst").err().unwrap().to_string();
        assert_eq!(error, "there is no rule `lst`; did you mean `last`? use one of first, last");
    }
}
