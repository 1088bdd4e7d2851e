//! Fabrics by kind and parameters, as a scenario's table or a file writes them.
//!
//! ```toml
//! kind = "fat-tree"          # or "dragonfly", "torus", "quartz", "single-switch"
//! radix = 32
//! pods = 4
//! bandwidth = "11.9 GB/s"
//! ```
//!
//! Every key but the kind may be absent: its value is then that of the preset of the kind. Unknown
//! keys are refused, and keys of another kind too.

use std::collections::BTreeMap;

use toml::Spanned;

use super::links::refuse;
use super::reader::SpecificationSeed;
use super::{Fabric, FabricError, FabricKind, FabricParameters, FabricValue, LINK_KEYS, fabrics};
use crate::diagnostic::{
    Diagnose, Diagnosis, InputError, Position, Registry, from_toml, from_toml_seed,
};
use crate::system::{NetworkKind, SystemError};
use crate::units::{Bandwidth, Picoseconds};

/// Holds a fabric's kind and parameters; the kind's preset gives those that are absent.
#[derive(Debug, Clone)]
pub struct FabricSpecification {
    kind: &'static dyn FabricKind,
    /// Holds the parameters in the order of the kind's keys, then of those of links; last those of
    /// other kinds.
    given: Vec<(&'static str, FabricValue)>,
}

impl PartialEq for FabricSpecification {
    fn eq(&self, other: &Self) -> bool {
        (self.kind.name(), &self.given) == (other.kind.name(), &other.given)
    }
}

impl Eq for FabricSpecification {}

macro_rules! values {
    ($($(#[$doc:meta])* $name:ident: $variant:ident, $type:ty;)*) => {
        $($(#[$doc])*
        #[must_use]
        pub fn $name(&self, key: &str) -> Option<$type> {
            match self.value(key)? {
                FabricValue::$variant(value) => Some(*value),
                _ => None,
            }
        })*
    };
}

impl FabricSpecification {
    /// Returns the preset of a kind, unchanged.
    #[must_use]
    pub const fn new(kind: &'static dyn FabricKind) -> Self {
        Self { kind, given: Vec::new() }
    }

    /// Returns the kind of fabric.
    #[must_use]
    pub const fn kind(&self) -> &'static dyn FabricKind {
        self.kind
    }

    /// The same with a value for a key, in place of what it had.
    #[must_use]
    pub fn with(&self, key: &'static str, value: impl Into<FabricValue>) -> Self {
        let mut other = self.clone();
        other.given.retain(|(known, _)| *known != key);
        let rank = self.rank(key);
        let at = other.given.partition_point(|(known, _)| self.rank(known) <= rank);
        other.given.insert(at, (key, value.into()));
        other
    }

    /// Where a key stands among those that are given.
    fn rank(&self, key: &str) -> usize {
        let known = self.kind.keys().iter().chain(&LINK_KEYS);
        let mut known = known.enumerate().filter(|(_, known)| known.key == key);
        known.next().map_or(usize::MAX, |(rank, _)| rank)
    }

    /// The keys that are given, with their values.
    #[must_use]
    pub fn given(&self) -> &[(&'static str, FabricValue)] {
        &self.given
    }

    /// Whether a key is given.
    #[must_use]
    pub fn gives(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    fn value(&self, key: &str) -> Option<&FabricValue> {
        let found = self.given.iter().find(|(known, _)| *known == key);
        found.map(|(_, value)| value)
    }

    values! {
        /// The whole number of a key, where it is given.
        count: Count, u32;
        /// Whether a key is true, where it is given.
        truth: Truth, bool;
        /// The bandwidth of a key, where it is given.
        bandwidth: Bandwidth, Bandwidth;
        /// The latency of a key, where it is given.
        latency: Latency, Picoseconds;
    }

    /// The whole numbers of a key, where they are given.
    #[must_use]
    pub fn counts(&self, key: &str) -> Option<&[u32]> {
        match self.value(key)? {
            FabricValue::Counts(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the kind of the links, where it is given.
    #[must_use]
    pub fn links(&self) -> Option<NetworkKind> {
        match self.value("links")? {
            FabricValue::Links(links) => Some(*links),
            _ => None,
        }
    }

    /// Returns the same without the values of some keys.
    pub(super) fn without(&self, keys: &[&str]) -> Self {
        let mut rest = self.clone();
        rest.given.retain(|(key, _)| !keys.contains(key));
        rest
    }

    /// Returns the preset of a name.
    ///
    /// # Errors
    /// [`SystemError::UnknownPreset`], which lists the names that exist.
    pub fn preset(name: &str) -> Result<Self, SystemError> {
        let kinds = fabrics();
        let kind = kinds.get(name).map_err(|_| SystemError::UnknownPreset {
            name: name.to_owned(),
            known: kinds.names().join(", "),
        })?;
        Ok(Self::new(kind))
    }

    /// The specification in a TOML text of its own, of one of Linkwright's kinds; `file` names it in
    /// errors.
    ///
    /// # Errors
    /// Text that is not TOML, an unknown kind or key, a value of the wrong type or unit.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        Self::read_of(file, text, &fabrics())
    }

    /// Reads the specification in a TOML text of its own, of one of these kinds.
    ///
    /// # Errors
    /// Fails as [`FabricSpecification::read`] does.
    pub fn read_of(
        file: &str,
        text: &str,
        kinds: &Registry<dyn FabricKind>,
    ) -> Result<Self, InputError> {
        from_toml_seed(file, text, SpecificationSeed(kinds))
    }

    /// Makes the fabric.
    ///
    /// # Errors
    /// Keys of another kind, and parameters that the kind's generator refuses.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        if let Some((key, value)) = self.given.iter().find(|(key, _)| self.rank(key) == usize::MAX)
        {
            let own = self.kind.keys().iter().chain(&LINK_KEYS);
            let known: Vec<&str> = own.map(|known| known.key).collect();
            let remedy = format!("this kind has no such key; its keys are {}", known.join(", "));
            return refuse(key, value.shown(), remedy);
        }
        let parameters = FabricParameters::of(self);
        let links = parameters.whole.links().unwrap_or_default();
        parameters.switch_rate()?;
        let built = self.kind.build(&parameters).map_err(|error| self.blame(error));
        let whole = parameters.whole;
        built.map(|fabric| fabric.with_links(links.link_kind()).with_parameters(whole))
    }

    /// An error at the parameters that are given, where it names one that is not.
    pub(super) fn blame(&self, error: FabricError) -> FabricError {
        let FabricError::Parameter { parameter, value, remedy } = error else { return error };
        let is_own = |key: &str| self.kind.keys().iter().any(|own| own.key == key);
        let sizes: Vec<_> = self.given.iter().filter(|(key, _)| is_own(key)).collect();
        match sizes.first() {
            Some((given, _)) if !self.gives(parameter) => {
                let told =
                    |(key, value): &&(&str, FabricValue)| format!("`{key}` = {}", value.shown());
                let all: Vec<String> = sizes.iter().map(told).collect();
                FabricError::Unset { given, all: all.join(" and "), parameter, value, remedy }
            }
            _ => FabricError::Parameter { parameter, value, remedy },
        }
    }

    /// This specification with what its kind's preset says of all that is absent.
    #[must_use]
    pub fn whole(&self) -> Self {
        let absent = self.kind.preset(self).into_iter().filter(|(key, _)| !self.gives(key));
        absent.fold(self.clone(), |whole, (key, value)| whole.with(key, value))
    }

    /// Gives the speed of links that its kind's preset has, where it says none itself.
    #[must_use]
    pub fn unsaid_speed(&self) -> Option<Bandwidth> {
        match (self.bandwidth("bandwidth"), self.bandwidth("node-bandwidth")) {
            (None, None) => self.whole().bandwidth("bandwidth"),
            _ => None,
        }
    }

    /// This specification, whose links run at a speed where it names none.
    #[must_use]
    pub fn at_speed(&self, speed: Option<Bandwidth>) -> Self {
        match speed {
            Some(speed) if !self.gives("bandwidth") => self.with("bandwidth", speed),
            _ => self.clone(),
        }
    }
}

/// Reads and builds a fabric from a TOML text of one specification; `file` names it in
/// errors.
///
/// # Errors
/// As [`FabricSpecification::read`] and [`FabricSpecification::build`], with the
/// line and column of the key that is to blame.
pub fn read_specification(file: &str, text: &str) -> Result<Fabric, InputError> {
    build_read(file, text, &FabricSpecification::read(file, text)?)
}

/// Builds a specification that was read from a text, or is as that but for its speed.
pub(super) fn build_read(
    file: &str,
    text: &str,
    specification: &FabricSpecification,
) -> Result<Fabric, InputError> {
    specification.build().map_err(|error| locate(file, text, &error))
}

/// The error at the key that it names, or at the start of the text.
fn locate(file: &str, text: &str, error: &FabricError) -> InputError {
    let places: BTreeMap<String, Spanned<toml::Value>> = from_toml(file, text).unwrap_or_default();
    let key = error.parameter().unwrap_or_default();
    let span = places.get(key).map_or(0..0, Spanned::span);
    let position = Position::of_offset(text, span.start);
    let Diagnosis { problem, remedy } = error.diagnosis();
    let remedy = remedy.unwrap_or_else(|| "give other sizes".to_owned());
    InputError::at(file, position, problem, text.get(span).unwrap_or_default(), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fabric::{FabricKey, FabricValueType};

    #[test]
    fn each_name_builds_its_preset() {
        for (name, nodes) in fabrics().names().into_iter().zip([2048, 2048, 2048, 2688, 36]) {
            let preset = FabricSpecification::preset(name).unwrap();
            assert_eq!(preset.kind().name(), name);
            let built = preset.build().unwrap();
            assert_eq!(built.nodes(), nodes, "{name}");
            built.check_connected().unwrap();
            let gigabits = if name == "single-switch" { 1000 } else { 952 };
            assert_eq!(built.channels()[0].bandwidth, Bandwidth(gigabits * 12_500_000));
        }
        let error = FabricSpecification::preset("fattree").unwrap_err().to_string();
        assert!(error.contains("fat-tree, dragonfly, torus, quartz, single-switch"), "{error}");
    }

    #[test]
    fn what_is_given_goes_before_the_preset() {
        let text = "kind = \"fat-tree\"\npods = 2\nlatency = \"7 ns\"\nnode-bandwidth = \"5 GB/s\"";
        let built = read_specification("a.toml", text).unwrap();
        assert_eq!(built.nodes(), 512);
        assert_eq!(built.channels()[0].latency, Picoseconds(7000));
        let parameters = built.parameters().unwrap();
        assert_eq!(["pods", "levels"].map(|key| parameters.count(key)), [Some(2), Some(3)]);
        assert_eq!(built.channels()[0].bandwidth, Bandwidth::gigabytes_per_second(5));
    }

    #[test]
    fn errors_name_the_line_of_the_key() {
        let cases = [
            ("kind = \"fat-tree\"\npods = 33", "2:8"),
            ("kind = \"fat-tree\"\ngroups = 3", "2:10"),
            ("kind = \"fat-tree\"\nlevels = 2\npods = 2", "3:8"),
            ("kind = \"fat-tree\"\nlevels = 4", "2:10"),
            ("kind = \"dragonfly\"\ngroups = 200", "2:10"),
            ("kind = \"dragonfly\"\nswitches-per-group = 1", "2:22"),
            ("kind = \"fat-tree\"\nlatency = \"7 ns\"\nradix = 4", "3:9"),
            ("kind = \"torus\"\ndimensions = []", "2:14"),
            ("kind = \"torus\"\ndimensions = [65536, 65536]", "1:1"),
            ("kind = \"quartz\"\nradix = 47", "2:9"),
            ("kind = \"quartz\"\nbandwidth = \"0 GB/s\"", "1:1"),
            ("kind = \"torsu\"", "1:8"),
            ("kind = \"torus\"\nsizes = [2]", "2:1"),
            ("pods = 2", "1:1"),
        ];
        for (text, place) in cases {
            let error = read_specification("a.toml", text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("a.toml:{place}: ")), "{error}");
            assert!(error.contains("; "), "{error}");
        }
    }

    #[test]
    fn a_key_that_nobody_set_is_never_to_blame() {
        let values = [0_u32, 1, 2, 3, 7, 47, 40_000, u32::MAX];
        for kind in fabrics().iter() {
            let name = kind.name();
            for FabricKey { key, takes, .. } in kind.keys() {
                for value in values {
                    let written = match takes {
                        FabricValueType::Counts => format!("[{value}]"),
                        FabricValueType::Count => value.to_string(),
                        _ => continue,
                    };
                    let text = format!("kind = \"{name}\"\n{key} = {written}");
                    let Ok(specification) = FabricSpecification::read("a.toml", &text) else {
                        continue;
                    };
                    for built in [specification.build(), specification.for_ports(40)] {
                        let Err(error) = built else { continue };
                        let blamed = error.parameter();
                        let is_fair = blamed.is_none_or(|it| it == *key || it == "kind");
                        assert!(is_fair, "{text}: {error}");
                    }
                }
            }
        }
        let error = read_specification("a.toml", "kind = \"fat-tree\"\nradix = 4").unwrap_err();
        let told = "a.toml:2:9: `radix` = 4 cannot go with `pods`, whose default is 8: \
            `4`; set `pods`, too (";
        assert!(error.to_string().starts_with(told), "{error}");
    }
}
