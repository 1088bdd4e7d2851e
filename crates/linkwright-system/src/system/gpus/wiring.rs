//! Says what joins second levels and the controllers of a shared memory, in one package.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::reader;
use crate::units::Bandwidth;

/// Says how links join second levels and the controllers of shared memory.
///
/// Each GPU and its share of the controllers make a tile. Links between tiles carry what goes both
/// to memory and back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PackageWiring {
    /// Names what the links form.
    pub shape: WiringShape,
    /// Says how many cycles a link takes beside a message's bytes.
    #[serde(deserialize_with = "reader::between::<_, _, 1, 1_000_000>")]
    pub link: u32,
    /// Says how fast a link between switches is, each way. It is as fast as a GPU's banks where absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    pub bandwidth: Option<Bandwidth>,
    /// Counts the middle switches of a Clos network; two where absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "most_middle_switches"
    )]
    pub middle: Option<u32>,
    /// Says how many cycles the link between two interposers takes; as many as others where absent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "reader::above_zero_if_any"
    )]
    pub between: Option<u32>,
}

/// Tells what links form between second levels and controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WiringShape {
    /// All meet in one switch, which is never short of room.
    Switch,
    /// Each bank has a link of its own to its controller.
    Crossbar,
    /// The tiles' switches are a ring; messages go the shorter way around.
    Ring,
    /// The tiles' switches form a mesh, as square as their number allows; rows come first.
    Mesh,
    /// Each tile's switch has a link to each of the middle switches.
    Clos,
    /// Half of the tiles meet in a switch on one interposer, half on another; one link joins these.
    Interposers,
}

impl WiringShape {
    /// Lists every shape with its name.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("switch", Self::Switch),
        ("crossbar", Self::Crossbar),
        ("ring", Self::Ring),
        ("mesh", Self::Mesh),
        ("clos", Self::Clos),
        ("interposers", Self::Interposers),
    ];

    /// Gives its name in files.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, shape)| *shape == self).map_or("", |(name, _)| name)
    }
}

/// Reads how many middle switches there are: one at least, and no more than a run can use.
fn most_middle_switches<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<u32>, D::Error> {
    reader::between::<D, u32, 1, 256>(deserializer).map(Some)
}

/// Reads a wiring that may be left out, and has no key that its shape does not heed.
pub(super) fn heeded<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<PackageWiring>, D::Error> {
    use WiringShape::{Clos, Crossbar, Interposers, Switch};
    let wiring = PackageWiring::deserialize(deserializer)?;
    let unheeded = [
        ("bandwidth", wiring.bandwidth.is_some(), !matches!(wiring.shape, Switch | Crossbar)),
        ("middle", wiring.middle.is_some(), wiring.shape == Clos),
        ("between", wiring.between.is_some(), wiring.shape == Interposers),
    ];
    match unheeded.iter().find(|(_, is_given, is_heeded)| *is_given && !is_heeded) {
        None => Ok(Some(wiring)),
        Some((key, _, _)) => Err(D::Error::custom(format!(
            "`{key}` changes nothing where the shape is `{}`; leave it out",
            wiring.shape.name()
        ))),
    }
}
