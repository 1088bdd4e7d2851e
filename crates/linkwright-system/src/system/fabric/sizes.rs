//! Fabrics of the size that a system needs: what a specification leaves out of its sizes is
//! chosen, so that there are enough ports.
//!
//! The sizes of a kind are its keys in `sizes_of`; what else is absent comes from the preset. A
//! size that is given is kept. The others make the smallest fabric:
//!
//! * a fat-tree has the smallest switches of 4, 8, 16, 32, … ports whose full tree (as many pods,
//!   or leaves, as a switch has ports) is large enough, and as few pods as are enough: up to 16
//!   ports always all, beyond a power of two, and any number where the radix is given;
//! * a dragonfly is balanced (Kim et al., ISCA 2008): p = h = k nodes and global links and
//!   a = 2k switches to a group, for the smallest k with which a·h + 1 groups are enough, and as
//!   few groups as are enough;
//! * a torus has three dimensions, the longest at most twice the shortest, and of these the
//!   fewest switches, then the shortest longest side; where the dimensions are given, as few
//!   nodes to a switch as are enough;
//! * a tree like Quartz has as few leaves as are enough, and as few cores as leave each an eighth
//!   of its ports spare, as Quartz' have; at most so many that a full pod reaches all of them;
//! * a single switch has as many ports as are needed.
//!
//! So a fat-tree of which nothing is said has 16, 128 or 1,024 ports, or a power of two from 2,048
//! on, and that of 2,048 is the preset.

use super::links::LARGEST_RADIX;
use super::{Fabric, FabricError, FabricKind, FabricSpecification};

/// The keys that say how many ports a fabric of a kind has.
const fn sizes_of(kind: FabricKind) -> &'static [&'static str] {
    match kind {
        FabricKind::FatTree => &["pods", "leaves", "radix"],
        FabricKind::Dragonfly => {
            &["groups", "switches-per-group", "nodes-per-switch", "global-links-per-switch"]
        }
        FabricKind::Torus => &["nodes-per-switch", "dimensions"],
        FabricKind::Quartz => &["leaves", "cores"],
        FabricKind::SingleSwitch => &["ports"],
    }
}

/// The largest switches that are tried, far beyond real ones.
const LARGEST: u64 = LARGEST_RADIX as u64;
/// The largest fat-tree switches of which a tree of unsaid size is always full.
const ALWAYS_FULL: u64 = 16;

/// A specification with its sizes chosen, or the most ports that it can have.
type Chosen = Result<FabricSpecification, u64>;

impl FabricSpecification {
    /// The smallest fabric of at least so many ports, of which each serves one node; spare ports
    /// stay empty. The module's first lines say what is smallest.
    ///
    /// # Errors
    /// [`FabricError::TooFewPorts`] where what is given cannot have as many, [`FabricError::NoNode`]
    /// for none, and as [`FabricSpecification::build`].
    pub fn for_ports(&self, ports: u32) -> Result<Fabric, FabricError> {
        self.sized_for(ports)?.build().map_err(|error| self.blame(error))
    }

    /// This specification with the sizes that [`FabricSpecification::for_ports`] chooses.
    ///
    /// # Errors
    /// As there, but for what only building shows.
    pub fn sized_for(&self, ports: u32) -> Result<Self, FabricError> {
        if ports == 0 {
            return Err(FabricError::NoNode);
        }
        let most = match self.chosen(ports.into()) {
            Ok(sized) => return Ok(sized),
            // A parameter that makes no fabric at all is refused by its name.
            Err(0) => match self.build()?.nodes() {
                nodes if nodes >= ports => return Ok(self.whole()),
                nodes => nodes.into(),
            },
            Err(most) => most,
        };
        let sizes = sizes_of(self.kind);
        let given: Vec<_> = sizes.iter().copied().filter(|key| self.gives(key)).collect();
        let frees = |keys: &[&str]| self.without(keys).chosen(ports.into()).is_ok();
        let alone = given.iter().find(|key| frees(&[**key]));
        let (parameter, remedy) = match alone {
            Some(key) => (*key, format!("raise `{key}` or leave it out")),
            None if frees(&given) => {
                let keys: Vec<_> = given.iter().map(|key| format!("`{key}`")).collect();
                (given[0], format!("raise {} or leave them out", keys.join(" and ")))
            }
            None if self.kind == FabricKind::Quartz => {
                let blamed = if self.gives("radix") { "radix" } else { "kind" };
                (blamed, "raise `radix`".to_owned())
            }
            None => ("kind", "take another kind of network".to_owned()),
        };
        let kind = self.kind.name();
        Err(FabricError::TooFewPorts { kind, parameter, ports: most, needed: ports, remedy })
    }

    fn chosen(&self, ports: u64) -> Chosen {
        match self.kind {
            FabricKind::FatTree => self.sized_fat_tree(ports),
            FabricKind::Dragonfly => self.sized_dragonfly(ports),
            FabricKind::Torus => self.sized_torus(ports),
            FabricKind::Quartz => self.sized_quartz(ports),
            FabricKind::SingleSwitch => {
                let has = self.ports.map_or(ports, u64::from);
                enough(has, ports)?;
                Ok(Self { ports: Some(fitting(has)), ..self.clone() })
            }
        }
    }

    fn sized_fat_tree(&self, ports: u64) -> Chosen {
        let whole = self.whole();
        let (two, given) = match whole.levels {
            Some(2) => (true, self.leaves),
            Some(3) => (false, self.pods),
            _ => return Err(0),
        };
        let tapering = u64::from(whole.tapering.unwrap_or(1));
        let radices = match self.radix {
            Some(radix) => vec![u64::from(radix)],
            None => doublings(4, LARGEST).collect(),
        };
        let mut most = 0;
        for radix in radices {
            // Nodes of a leaf; a pod has half as many leaves as a switch has ports.
            let of_leaf = radix / (tapering + 1) * tapering;
            let each = if two { of_leaf } else { radix / 2 * of_leaf };
            let wanted = match (given, self.radix) {
                _ if each == 0 => continue,
                (Some(given), _) if u64::from(given) > radix => continue,
                (Some(given), _) => u64::from(given),
                (None, Some(_)) => ports.div_ceil(each).min(radix),
                (None, None) if radix <= ALWAYS_FULL => radix,
                (None, None) => ports.div_ceil(each).next_power_of_two().min(radix),
            };
            most = most.max(wanted.saturating_mul(each));
            if most < ports {
                continue;
            }
            let (radix, wanted) = (Some(fitting(radix)), Some(fitting(wanted)));
            let sized = Self { radix, ..self.clone() };
            return Ok(match two {
                true => Self { leaves: wanted, ..sized },
                false => Self { pods: wanted, ..sized },
            });
        }
        Err(most)
    }

    fn sized_dragonfly(&self, ports: u64) -> Chosen {
        let given = (self.nodes_per_switch, self.switches_per_group, self.global_links_per_switch);
        let sizes = if let (Some(_), Some(_), Some(_)) = given { 1..=1 } else { 1..=LARGEST };
        let mut most = 0;
        for size in sizes {
            let nodes = given.0.map_or(size, u64::from);
            let switches = given.1.map_or(2 * size, u64::from);
            let global = given.2.map_or(size, u64::from);
            let (each, largest) =
                (nodes.saturating_mul(switches), switches.saturating_mul(global).saturating_add(1));
            if each == 0 {
                return Err(0);
            }
            let groups = self.groups.map_or(ports.div_ceil(each).min(largest), u64::from);
            if groups > largest {
                continue;
            }
            most = most.max(groups.saturating_mul(each));
            if most >= ports {
                return Ok(Self {
                    nodes_per_switch: Some(fitting(nodes)),
                    switches_per_group: Some(fitting(switches)),
                    global_links_per_switch: Some(fitting(global)),
                    groups: Some(fitting(groups)),
                    ..self.clone()
                });
            }
        }
        Err(most)
    }

    fn sized_torus(&self, ports: u64) -> Chosen {
        if let Some(dimensions) = &self.dimensions {
            let sizes = dimensions.iter().map(|size| u64::from(*size));
            let switches = sizes.fold(1, u64::saturating_mul);
            if switches == 0 {
                return Err(0);
            }
            let nodes = self.nodes_per_switch.map_or(ports.div_ceil(switches), u64::from);
            enough(nodes.saturating_mul(switches), ports)?;
            return Ok(Self { nodes_per_switch: Some(fitting(nodes)), ..self.clone() });
        }
        let nodes = u64::from(self.whole().nodes_per_switch.unwrap_or(1));
        if nodes == 0 {
            return Err(0);
        }
        let dimensions = near_cube(ports.div_ceil(nodes)).map(fitting).to_vec();
        let nodes_per_switch = Some(fitting(nodes));
        Ok(Self { dimensions: Some(dimensions), nodes_per_switch, ..self.clone() })
    }

    fn sized_quartz(&self, ports: u64) -> Chosen {
        let whole = self.whole();
        let value = |key: Option<u32>| u64::from(key.unwrap_or(0));
        let of_leaf = value(whole.nodes_per_leaf);
        // No pod has more leaves than there are.
        let leaves = self.leaves.map_or(u64::MAX, |leaves| u64::from(leaves.max(1)));
        let of_pod = value(whole.leaves_per_pod).min(leaves);
        let (uplinks, radix) = (value(whole.uplinks), value(whole.radix));
        // Links that a core takes where nobody says how many cores there are.
        let of_core = (radix * 7 / 8).max(1);
        if of_leaf == 0 || of_pod == 0 || uplinks == 0 || self.cores == Some(0) {
            return Err(0);
        }
        if radix > LARGEST || of_leaf.max(uplinks) + uplinks > radix || of_pod > uplinks {
            return Err(0);
        }
        let links = self.cores.map_or(of_pod * uplinks * of_core, |cores| u64::from(cores) * radix);
        let divides = |leaves: u64| {
            let last = (leaves - 1) % of_pod + 1;
            uplinks.is_multiple_of(last) && uplinks.is_multiple_of(of_pod.min(leaves))
        };
        let largest = (1..=links / uplinks).rev().find(|leaves| divides(*leaves)).unwrap_or(0);
        let leaves = match self.leaves {
            Some(leaves) => u64::from(leaves).min(links / uplinks),
            None => {
                let wanted = ports.div_ceil(of_leaf);
                (wanted..=largest).find(|leaves| divides(*leaves)).unwrap_or(largest)
            }
        };
        enough(leaves * of_leaf, ports)?;
        if self.leaves.is_some_and(|given| u64::from(given) > leaves) {
            return Err(0);
        }
        let cores = self.cores.map_or((leaves * uplinks).div_ceil(of_core), u64::from);
        let (leaves, cores) = (Some(fitting(leaves)), Some(fitting(cores)));
        Ok(Self { leaves, cores, ..self.clone() })
    }
}

/// Refuses fewer ports than are needed.
fn enough(has: u64, needed: u64) -> Result<(), u64> {
    if has < needed { Err(has) } else { Ok(()) }
}

/// A number as a parameter, of which the largest is refused as too large by building.
fn fitting(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// A number, its double, and so on up to another.
fn doublings(first: u64, last: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(first), move |radix| (2 * radix <= last).then_some(2 * radix))
}

/// The sides of a box of at least so many places, the longest at most twice the shortest: of these
/// the fewest places, then the shortest longest side; rising.
fn near_cube(places: u64) -> [u64; 3] {
    let mut best = (u64::MAX, u64::MAX, [0; 3]);
    for low in (1_u64..).take_while(|low| (low - 1).pow(3) < places) {
        for middle in low..=2 * low {
            let high = places.div_ceil(low * middle).max(middle);
            let found = (low * middle * high, high, [low, middle, high]);
            if high <= 2 * low && found < best {
                best = found;
            }
        }
    }
    best.2
}
