//! Makes fabrics of the size that a system needs. The sizes that a specification leaves out are
//! chosen, so that there are enough ports.
//!
//! The sizes of a kind are its [`FabricKind::sizes`](super::FabricKind::sizes); all else that is
//! absent comes from the preset. A size that is given is kept. The others make the smallest fabric,
//! which the file of each kind tells.

use super::{Fabric, FabricError, FabricSpecification};

impl FabricSpecification {
    /// Makes the smallest fabric of at least `ports` ports. Each serves one node; spare ports stay
    /// empty.
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
        let sized = |given: &Self| self.kind().sized(given, ports.into());
        let most = match sized(self) {
            Ok(sized) => return Ok(sized),
            // A parameter that makes no fabric at all is refused by its name.
            Err(0) => match self.build()?.nodes() {
                nodes if nodes >= ports => return Ok(self.whole()),
                nodes => nodes.into(),
            },
            Err(most) => most,
        };
        let sizes = self.kind().sizes();
        let given: Vec<_> = sizes.iter().copied().filter(|key| self.gives(key)).collect();
        let frees = |keys: &[&str]| sized(&self.without(keys)).is_ok();
        let alone = given.iter().find(|key| frees(&[**key]));
        let (parameter, remedy) = match alone {
            Some(key) => (*key, format!("raise `{key}` or leave it out")),
            None if frees(&given) => {
                let keys: Vec<_> = given.iter().map(|key| format!("`{key}`")).collect();
                (given[0], format!("raise {} or leave them out", keys.join(" and ")))
            }
            None => {
                let (parameter, remedy) = self.kind().limit(self);
                (parameter, remedy.to_owned())
            }
        };
        let kind = self.kind().name();
        Err(FabricError::TooFewPorts { kind, parameter, ports: most, needed: ports, remedy })
    }
}
