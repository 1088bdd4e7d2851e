//! Fabrics by kind and parameters, as a scenario's table or a file writes them.
//!
//! ```toml
//! kind = "fat-tree"          # or "dragonfly", "torus", "quartz", "single-switch"
//! radix = 32
//! pods = 4
//! bandwidth = "11.9 GB/s"
//! ```
//!
//! Every key but the kind may be absent: its value is then that of the preset of the kind,
//! which `presets.toml` beside this file holds with its sources. Unknown keys are refused, and
//! keys of another kind too.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::links::refuse;
use super::{
    Dragonfly, DragonflyRates, Fabric, FabricError, FatTree, FatTreeRates, LinkRate, PodTree,
    Torus, TorusRates, dragonfly, fat_tree, pod_tree, single_switch, torus,
};
use crate::diagnostic::{Diagnose, Diagnosis, InputError, Position, from_toml};
use crate::system::{NetworkKind, SystemError};
use crate::units::{Bandwidth, Picoseconds};

/// A kind of fabric that a few parameters describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FabricKind {
    /// A fat-tree: `levels`, `radix`, `pods` (three levels) or `leaves` (two), `tapering`.
    FatTree,
    /// A dragonfly: `nodes-per-switch`, `switches-per-group`, `global-links-per-switch`,
    /// `groups`, `intra-group-detours`, `hop-weights`.
    Dragonfly,
    /// A torus: `dimensions`, `nodes-per-switch`.
    Torus,
    /// A tree like that of LLNL's Quartz: `radix`, `leaves`, `leaves-per-pod`,
    /// `nodes-per-leaf`, `uplinks`, `cores`.
    Quartz,
    /// One switch: `ports`.
    SingleSwitch,
}

/// Every kind with its name.
const KINDS: [(FabricKind, &str); 5] = [
    (FabricKind::FatTree, "fat-tree"),
    (FabricKind::Dragonfly, "dragonfly"),
    (FabricKind::Torus, "torus"),
    (FabricKind::Quartz, "quartz"),
    (FabricKind::SingleSwitch, "single-switch"),
];

/// The name of every preset fabric.
pub const FABRICS: [&str; KINDS.len()] =
    [KINDS[0].1, KINDS[1].1, KINDS[2].1, KINDS[3].1, KINDS[4].1];

/// The keys of links, which every kind has.
pub const LINK_KEYS: [&str; 5] =
    ["bandwidth", "latency", "node-bandwidth", "node-latency", "links"];

impl FabricKind {
    /// Its name, which is also its preset's.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = KINDS.iter().find(|(kind, _)| *kind == self);
        named.map(|(_, name)| *name).expect("every kind has a name")
    }

    /// The keys of this kind besides those of links.
    #[must_use]
    pub const fn keys(self) -> &'static [&'static str] {
        match self {
            Self::FatTree => &["levels", "radix", "pods", "leaves", "tapering"],
            Self::Dragonfly => &[
                "nodes-per-switch",
                "switches-per-group",
                "global-links-per-switch",
                "groups",
                "global-bandwidth",
                "global-latency",
                "intra-group-detours",
                "hop-weights",
            ],
            Self::Torus => &["dimensions", "nodes-per-switch"],
            Self::Quartz => {
                &["radix", "leaves", "leaves-per-pod", "nodes-per-leaf", "uplinks", "cores"]
            }
            Self::SingleSwitch => &["ports"],
        }
    }
}

macro_rules! specification {
    ($($(#[$doc:meta])* $field:ident / $key:literal: $type:ty,)*) => {
        /// A fabric's kind and parameters; what is None comes from the kind's preset.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct FabricSpecification {
            /// What kind of fabric.
            pub kind: FabricKind,
            $($(#[$doc])* #[serde(rename = $key, skip_serializing_if = "Option::is_none")]
            pub $field: Option<$type>,)*
        }

        impl FabricSpecification {
            /// The preset of a kind, unchanged.
            #[must_use]
            pub const fn new(kind: FabricKind) -> Self {
                Self { kind, $($field: None,)* }
            }

            /// Every key of any kind, as files spell it.
            pub const KEYS: &'static [&'static str] = &["kind", $($key,)*];

            /// The keys that are given, with their values.
            fn given(&self) -> Vec<(&'static str, String)> {
                let mut given = Vec::new();
                $(if let Some(value) = &self.$field {
                    given.push(($key, shown_value(value)));
                })*
                given
            }

            /// Whether a key is given.
            pub(super) fn gives(&self, key: &str) -> bool {
                match key {
                    $($key => self.$field.is_some(),)*
                    _ => false,
                }
            }

            /// The same without the values of some keys.
            pub(super) fn without(&self, keys: &[&str]) -> Self {
                let mut rest = self.clone();
                $(if keys.contains(&$key) {
                    rest.$field = None;
                })*
                rest
            }

            /// What is absent here, from defaults.
            fn or(&self, defaults: &Self) -> Self {
                Self {
                    kind: self.kind,
                    $($field: self.$field.clone().or_else(|| defaults.$field.clone()),)*
                }
            }
        }
    };
}

specification! {
    /// Levels of a fat-tree, 2 or 3.
    levels / "levels": u32,
    /// Ports of a switch.
    radix / "radix": u32,
    /// Pods of a fat-tree of three levels.
    pods / "pods": u32,
    /// Leaf switches: of a fat-tree of two levels, or of Quartz.
    leaves / "leaves": u32,
    /// Nodes for each link up of a leaf; 1 is full bisection.
    tapering / "tapering": u32,
    /// Leaf switches of a pod of Quartz.
    leaves_per_pod / "leaves-per-pod": u32,
    /// Nodes of a leaf of Quartz.
    nodes_per_leaf / "nodes-per-leaf": u32,
    /// Links up of a leaf, and of an aggregate, of Quartz.
    uplinks / "uplinks": u32,
    /// Core switches of Quartz.
    cores / "cores": u32,
    /// Nodes of a switch of a dragonfly (p) or a torus.
    nodes_per_switch / "nodes-per-switch": u32,
    /// Switches of a group of a dragonfly (a).
    switches_per_group / "switches-per-group": u32,
    /// Global links of a switch of a dragonfly (h).
    global_links_per_switch / "global-links-per-switch": u32,
    /// Groups of a dragonfly (g).
    groups / "groups": u32,
    /// Sizes of a torus.
    dimensions / "dimensions": Vec<u32>,
    /// Ports of a single switch, each for one node.
    ports / "ports": u32,
    /// Bandwidth of every link that nothing else gives one.
    bandwidth / "bandwidth": Bandwidth,
    /// Latency of every link that nothing else gives one.
    latency / "latency": Picoseconds,
    /// Bandwidth of the links of nodes.
    node_bandwidth / "node-bandwidth": Bandwidth,
    /// Latency of the links of nodes.
    node_latency / "node-latency": Picoseconds,
    /// Bandwidth of a dragonfly's global links.
    global_bandwidth / "global-bandwidth": Bandwidth,
    /// Latency of a dragonfly's global links.
    global_latency / "global-latency": Picoseconds,
    /// Whether a routing may lead a packet over a third switch of its own group of a dragonfly.
    intra_group_detours / "intra-group-detours": bool,
    /// Whether adaptive routings of a dragonfly multiply queues by the links of the ways behind
    /// them; as `intra-group-detours`, if nobody says.
    hop_weights / "hop-weights": bool,
    /// What the links are.
    links / "links": NetworkKind,
}

fn shown_value(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

/// A value that the preset holds, if nobody else gave one.
fn need<T: Clone>(value: Option<&T>, key: &'static str) -> Result<T, FabricError> {
    match value {
        Some(value) => Ok(value.clone()),
        None => refuse(key, "absent", "give it a value"),
    }
}

impl FabricSpecification {
    /// The preset of a name.
    ///
    /// # Errors
    /// [`SystemError::UnknownPreset`], which lists the names that exist.
    pub fn preset(name: &str) -> Result<Self, SystemError> {
        let found = KINDS.iter().find(|(_, known)| *known == name);
        let (kind, _) = found.ok_or_else(|| SystemError::UnknownPreset {
            name: name.to_owned(),
            known: FABRICS.join(", "),
        })?;
        Ok(Self::new(*kind))
    }

    /// The specification in a TOML text of its own; `file` names it in errors.
    ///
    /// # Errors
    /// Text that is not TOML, an unknown kind or key, a value of the wrong type or unit.
    pub fn read(file: &str, text: &str) -> Result<Self, InputError> {
        from_toml(file, text)
    }

    /// What this kind's preset says.
    fn defaults(kind: FabricKind) -> Self {
        let presets: Result<BTreeMap<String, Self>, _> =
            toml::from_str(include_str!("presets.toml"));
        let presets = presets.expect("the presets are valid TOML, as the tests check");
        let mut all = presets.into_values();
        all.find(|preset| preset.kind == kind).expect("each kind has a preset")
    }

    /// The fabric.
    ///
    /// # Errors
    /// Keys of another kind, and parameters that the kind's generator refuses.
    ///
    /// # Panics
    /// Never: the presets that it reads are part of the program.
    pub fn build(&self) -> Result<Fabric, FabricError> {
        let own = self.kind.keys();
        for (key, value) in self.given() {
            if !own.contains(&key) && !LINK_KEYS.contains(&key) {
                let known = own.iter().chain(&LINK_KEYS).copied().collect::<Vec<_>>().join(", ");
                let remedy = format!("this kind has no such key; its keys are {known}");
                return refuse(key, value, remedy);
            }
        }
        let whole = self.whole();
        let rates = whole.rates(self)?;
        let links = whole.links.unwrap_or_default();
        let built = self.generate(&whole, &rates).map_err(|error| self.blame(error));
        built.map(|fabric| fabric.with_links(links.link_kind()))
    }

    /// An error at the parameters that are given, where it names one that is not.
    pub(super) fn blame(&self, error: FabricError) -> FabricError {
        let FabricError::Parameter { parameter, value, remedy } = error else { return error };
        let sizes: Vec<(&'static str, String)> =
            self.given().into_iter().filter(|(key, _)| self.kind.keys().contains(key)).collect();
        match sizes.first() {
            Some((given, _)) if !self.gives(parameter) => {
                let all: Vec<String> =
                    sizes.iter().map(|(key, value)| format!("`{key}` = {value}")).collect();
                FabricError::Unset { given, all: all.join(" and "), parameter, value, remedy }
            }
            _ => FabricError::Parameter { parameter, value, remedy },
        }
    }

    /// This specification with what its kind's preset says of all that is absent.
    #[must_use]
    pub fn whole(&self) -> Self {
        let mut whole = self.or(&Self::defaults(self.kind));
        if self.kind == FabricKind::SingleSwitch {
            let sheet = whole.links.unwrap_or_default().link_kind().data_sheet();
            whole.bandwidth.get_or_insert(sheet.bandwidth);
            whole.latency.get_or_insert(sheet.latency);
        }
        whole
    }

    /// Gives the speed of links that its kind's preset has, where it says none itself.
    #[must_use]
    pub fn unsaid_speed(&self) -> Option<Bandwidth> {
        match (self.bandwidth, self.node_bandwidth) {
            (None, None) => self.whole().bandwidth,
            _ => None,
        }
    }

    /// This specification, whose links run at a speed where it names none.
    #[must_use]
    pub fn at_speed(&self, speed: Option<Bandwidth>) -> Self {
        Self { bandwidth: self.bandwidth.or(speed), ..self.clone() }
    }

    /// The fabric of a `whole` specification, of which this one has what was given.
    fn generate(&self, whole: &Self, rates: &FatTreeRates) -> Result<Fabric, FabricError> {
        match self.kind {
            FabricKind::FatTree => fat_tree(&whole.tree(self)?, rates),
            FabricKind::Dragonfly => {
                let detours = need(whole.intra_group_detours.as_ref(), "intra-group-detours")?;
                let shape = Dragonfly {
                    nodes_per_switch: need(whole.nodes_per_switch.as_ref(), "nodes-per-switch")?,
                    switches_per_group: need(
                        whole.switches_per_group.as_ref(),
                        "switches-per-group",
                    )?,
                    global_links_per_switch: need(
                        whole.global_links_per_switch.as_ref(),
                        "global-links-per-switch",
                    )?,
                    groups: need(whole.groups.as_ref(), "groups")?,
                    intra_group_detours: detours,
                    hop_weights: whole.hop_weights.unwrap_or(detours),
                };
                let global = LinkRate {
                    bandwidth: whole.global_bandwidth.unwrap_or(rates.leaf.bandwidth),
                    latency: whole.global_latency.unwrap_or(rates.leaf.latency),
                };
                dragonfly(&shape, &DragonflyRates { node: rates.node, local: rates.leaf, global })
            }
            FabricKind::Torus => {
                let shape = Torus {
                    dimensions: need(whole.dimensions.as_ref(), "dimensions")?,
                    nodes_per_switch: need(whole.nodes_per_switch.as_ref(), "nodes-per-switch")?,
                };
                torus(&shape, &TorusRates { node: rates.node, switch: rates.leaf })
            }
            FabricKind::Quartz => {
                let shape = PodTree {
                    leaves: need(whole.leaves.as_ref(), "leaves")?,
                    leaves_per_pod: need(whole.leaves_per_pod.as_ref(), "leaves-per-pod")?,
                    nodes_per_leaf: need(whole.nodes_per_leaf.as_ref(), "nodes-per-leaf")?,
                    uplinks: need(whole.uplinks.as_ref(), "uplinks")?,
                    cores: need(whole.cores.as_ref(), "cores")?,
                    radix: need(whole.radix.as_ref(), "radix")?,
                };
                pod_tree("quartz", &shape, rates)
            }
            FabricKind::SingleSwitch => {
                single_switch(need(whole.ports.as_ref(), "ports")?, rates.node)
            }
        }
    }

    /// Rates of node links and of all others. A latency or bandwidth that was given counts for
    /// nodes as well, before the preset's for nodes.
    fn rates(&self, given: &Self) -> Result<FatTreeRates, FabricError> {
        let between = LinkRate {
            bandwidth: need(self.bandwidth.as_ref(), "bandwidth")?,
            latency: need(self.latency.as_ref(), "latency")?,
        };
        let node_latency = given.node_latency.or(given.latency).or(self.node_latency);
        let node = LinkRate {
            bandwidth: self.node_bandwidth.unwrap_or(between.bandwidth),
            latency: node_latency.unwrap_or(between.latency),
        };
        Ok(FatTreeRates { node, leaf: between, core: between })
    }

    /// The fat-tree of this specification; `given` tells which keys the user wrote.
    fn tree(&self, given: &Self) -> Result<FatTree, FabricError> {
        let radix = need(self.radix.as_ref(), "radix")?;
        let tapering = need(self.tapering.as_ref(), "tapering")?;
        match need(self.levels.as_ref(), "levels")? {
            2 => {
                if let Some(pods) = given.pods {
                    return refuse("pods", pods, "a tree of 2 levels has `leaves` instead");
                }
                FatTree::two_levels(radix, self.leaves.unwrap_or(radix), tapering)
            }
            3 => {
                if let Some(leaves) = given.leaves {
                    return refuse("leaves", leaves, "a tree of 3 levels has `pods` instead");
                }
                FatTree::three_levels(radix, need(self.pods.as_ref(), "pods")?, tapering)
            }
            other => refuse("levels", other, "give 2 or 3"),
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

    #[test]
    fn each_name_builds_its_preset() {
        for (name, nodes) in FABRICS.into_iter().zip([2048, 2048, 2048, 2688, 36]) {
            let preset = FabricSpecification::preset(name).unwrap();
            assert_eq!(preset.kind.name(), name);
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
        for (kind, name) in KINDS {
            for key in kind.keys() {
                for value in values {
                    let written = match *key {
                        "dimensions" => format!("[{value}]"),
                        "global-bandwidth"
                        | "global-latency"
                        | "intra-group-detours"
                        | "hop-weights" => continue,
                        _ => value.to_string(),
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
        let told = "a.toml:2:9: `radix` = 4 cannot go with `pods`, which is 8 where it is not set: \
            `4`; set `pods`, too (";
        assert!(error.to_string().starts_with(told), "{error}");
    }
}
