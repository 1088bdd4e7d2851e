//! Builds a machine of devices and links, and checks that they make one.

use std::collections::{BTreeMap, BTreeSet};

use super::disciplines;
use super::{Device, DeviceId, Link, MAX_BANDWIDTH, MOST_GPUS, Server, ServerError};
use crate::system::calibration::Calibration;
use crate::system::kinds::{DeviceKind, LinkKind};
use crate::units::Bandwidth;

/// Takes in devices and links, and checks that they make a machine.
#[derive(Debug, Clone, Default)]
pub struct ServerBuilder {
    name: String,
    source: String,
    warnings: Vec<String>,
    assumptions: Vec<String>,
    devices: Vec<Device>,
    links: Vec<Link>,
    by_name: BTreeMap<String, DeviceId>,
    /// The ends, lower first, and kind of every bundle.
    joined: BTreeSet<(DeviceId, DeviceId, LinkKind)>,
    /// Sums the bandwidth of all bundles of each GPU; zero for other devices.
    bandwidth: Vec<u64>,
    calibration: Option<Calibration>,
}

impl ServerBuilder {
    /// Makes an empty machine of that name and source.
    #[must_use]
    pub fn new(name: &str, source: &str) -> Self {
        Self { name: name.to_owned(), source: source.to_owned(), ..Self::default() }
    }

    /// Adds a device and returns its id.
    ///
    /// # Errors
    /// [`ServerError::DuplicateDevice`] where the name is taken.
    pub fn device(
        &mut self,
        name: &str,
        kind: DeviceKind,
        model: Option<&str>,
    ) -> Result<DeviceId, ServerError> {
        self.add(Device::new(name, kind, model))
    }

    /// Adds a device with all that is known of it, and returns its id.
    ///
    /// # Errors
    /// [`ServerError::DuplicateDevice`] where the name is taken.
    pub fn add(&mut self, device: Device) -> Result<DeviceId, ServerError> {
        let id = self.devices.len();
        if self.by_name.insert(device.name.clone(), id).is_some() {
            return Err(ServerError::DuplicateDevice(device.name));
        }
        self.bandwidth.push(0);
        self.devices.push(device);
        Ok(id)
    }

    /// Returns the id of a device already added.
    ///
    /// # Errors
    /// [`ServerError::UnknownDevice`] where no device has that name.
    pub fn find(&self, name: &str) -> Result<DeviceId, ServerError> {
        let found = self.by_name.get(name).copied();
        found.ok_or_else(|| ServerError::UnknownDevice(name.to_owned()))
    }

    /// Joins two devices by `count` links with the kind's data-sheet values.
    ///
    /// # Errors
    /// Fails as [`Self::link`] does.
    pub fn data_sheet_link(
        &mut self,
        a: DeviceId,
        b: DeviceId,
        kind: LinkKind,
        count: u32,
    ) -> Result<(), ServerError> {
        let sheet = kind.data_sheet();
        let (bandwidth, latency) = (sheet.bandwidth, sheet.latency);
        let (discipline, flits, measured) = (None, None, None);
        self.link(Link { a, b, kind, count, bandwidth, latency, discipline, flits, measured })
    }

    /// Adds a bundle of links.
    ///
    /// # Errors
    /// Refuses a link to itself, and a second bundle of the same kind between the same devices.
    /// Refuses one without links or bandwidth, and more bandwidth than [`MAX_BANDWIDTH`]. Refuses a
    /// discipline that it cannot have.
    ///
    /// # Panics
    /// If an end is not an id that this builder gave.
    pub fn link(&mut self, mut link: Link) -> Result<(), ServerError> {
        let name = |id: DeviceId| self.devices[id].name.clone();
        let (a, b) = (name(link.a), name(link.b));
        if link.a == link.b {
            return Err(ServerError::SelfLink(a));
        }
        if link.count == 0 {
            return Err(ServerError::EmptyLink(a, b, "links"));
        }
        if link.bandwidth.0 == 0 {
            return Err(ServerError::EmptyLink(a, b, "bandwidth"));
        }
        if link.measured == Some(Bandwidth(0)) {
            return Err(ServerError::EmptyLink(a, b, "measured bandwidth"));
        }
        let all = link.bandwidth.0.checked_mul(u64::from(link.count));
        let Some(all) = all.filter(|all| *all <= MAX_BANDWIDTH.0) else {
            return Err(ServerError::TooWide(a, b));
        };
        if let Some(measured) = link.measured.filter(|measured| measured.0 > all) {
            return Err(ServerError::Faster { a, b, measured, peak: Bandwidth(all) });
        }
        let is_gpu = |id: DeviceId| self.devices[id].kind == DeviceKind::Gpu;
        let is_full = |id: DeviceId| is_gpu(id) && self.bandwidth[id] + all > MAX_BANDWIDTH.0;
        if is_full(link.a) {
            return Err(ServerError::TooWideGpu(a, b));
        }
        if is_full(link.b) {
            return Err(ServerError::TooWideGpu(b, a));
        }
        let allowed = disciplines::allowed(&self.devices, &link)?;
        if !self.joined.insert((link.a.min(link.b), link.a.max(link.b), link.kind)) {
            return Err(ServerError::DuplicateLink(a, b, link.kind.name()));
        }
        for gpu in [link.a, link.b].into_iter().filter(|id| is_gpu(*id)) {
            self.bandwidth[gpu] += all;
        }
        link.discipline = link.discipline.filter(|given| *given != allowed[0]);
        self.links.push(link);
        Ok(())
    }

    /// Records what was measured of the machine.
    pub fn calibrate(&mut self, calibration: Calibration) {
        self.calibration = Some(calibration);
    }

    /// Records a probable fault in the description, with its remedy.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Records what the source does not say and the importer took to be so.
    pub fn assume(&mut self, assumption: impl Into<String>) {
        self.assumptions.push(assumption.into());
    }

    /// Makes the machine.
    ///
    /// # Errors
    /// Fails with [`ServerError::NoGpu`]. Refuses links of packets beside parallel ones, or at an
    /// NVSwitch with pipes.
    pub fn build(self) -> Result<Server, ServerError> {
        disciplines::check(&self.devices, &self.links)?;
        let is_gpu = |id: &DeviceId| self.devices[*id].kind == DeviceKind::Gpu;
        let gpus: Vec<DeviceId> = (0..self.devices.len()).filter(is_gpu).collect();
        if gpus.is_empty() {
            return Err(ServerError::NoGpu);
        }
        if gpus.len() > MOST_GPUS {
            return Err(ServerError::TooManyGpus(gpus.len()));
        }
        Ok(Server {
            name: self.name,
            source: self.source,
            warnings: self.warnings,
            assumptions: self.assumptions,
            devices: self.devices,
            links: self.links,
            gpus,
            nics_meet_gpus: false,
            lacks_parts: false,
            calibration: self.calibration,
        })
    }
}

impl Server {
    /// A builder that holds all of it, to add to.
    pub(in crate::system) fn to_builder(&self) -> ServerBuilder {
        let joined =
            self.links.iter().map(|it| (it.a.min(it.b), it.a.max(it.b), it.kind)).collect();
        let mut bandwidth = vec![0; self.devices.len()];
        for link in &self.links {
            for end in [link.a, link.b] {
                if self.devices[end].kind == DeviceKind::Gpu {
                    bandwidth[end] += link.nominal_bandwidth().0;
                }
            }
        }
        let by_name =
            self.devices.iter().enumerate().map(|(id, it)| (it.name.clone(), id)).collect();
        ServerBuilder {
            name: self.name.clone(),
            source: self.source.clone(),
            warnings: self.warnings.clone(),
            assumptions: self.assumptions.clone(),
            devices: self.devices.clone(),
            links: self.links.clone(),
            by_name,
            joined,
            bandwidth,
            calibration: self.calibration.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Picoseconds;

    fn pair() -> (ServerBuilder, DeviceId, DeviceId) {
        let mut builder = ServerBuilder::new("pair", "test");
        let a = builder.device("GPU0", DeviceKind::Gpu, None).unwrap();
        let b = builder.device("GPU1", DeviceKind::Gpu, None).unwrap();
        (builder, a, b)
    }

    #[test]
    fn bad_machines_are_refused() {
        let (mut builder, a, b) = pair();
        assert!(builder.device("GPU0", DeviceKind::Gpu, None).is_err());
        assert!(builder.find("GPU7").is_err());
        assert!(builder.data_sheet_link(a, a, LinkKind::Nvlink2, 1).is_err());
        assert!(builder.data_sheet_link(a, b, LinkKind::Nvlink2, 0).is_err());
        builder.data_sheet_link(a, b, LinkKind::Nvlink2, 2).unwrap();
        assert!(builder.data_sheet_link(b, a, LinkKind::Nvlink2, 1).is_err());
        assert_eq!(ServerBuilder::new("x", "").build(), Err(ServerError::NoGpu));
    }

    #[test]
    fn more_bandwidth_than_sums_can_hold_is_refused() {
        let (mut builder, a, b) = pair();
        let link = |b, kind, count, bandwidth| {
            let latency = Picoseconds(0);
            let (bandwidth, discipline, flits, measured) = (Bandwidth(bandwidth), None, None, None);
            Link { a, b, kind, count, bandwidth, latency, discipline, flits, measured }
        };
        let third = MAX_BANDWIDTH.0 / 3;
        let too_wide = [(1, MAX_BANDWIDTH.0 + 1), (4, third), (u32::MAX, u64::MAX)];
        for (count, bandwidth) in too_wide {
            let refused = builder.link(link(b, LinkKind::Nvlink2, count, bandwidth));
            assert!(matches!(refused, Err(ServerError::TooWide(..))));
        }
        builder.link(link(b, LinkKind::Nvlink2, 3, third)).unwrap();
        let switch = builder.device("switch", DeviceKind::NvSwitch, None).unwrap();
        let refused = builder.link(link(switch, LinkKind::Nvlink2, 1, third));
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("have more than 50 TB/s in all"), "{message}");
        let text = "name = \"m\"\n[[device]]\nkind = \"gpu\"\nnames = [\"A\", \"B\"]\n[[link]]\n\
            kind = \"nvlink2\"\nbandwidth = \"9000 TB/s\"\ncount = 4000000000\n\
            between = [[\"A\", \"B\"]]\n";
        let error = crate::system::toml_format::read("m.toml", text).unwrap_err().to_string();
        assert!(error.starts_with("m.toml:9:12: ") && error.contains("50 TB/s in all"), "{error}");
        assert!(8_128 * u128::from(MAX_BANDWIDTH.0) < u128::from(u64::MAX));
        const { assert!(120 * MAX_BANDWIDTH.0 < 1 << 53, "exact as a float") };
    }

    #[test]
    fn a_bundle_adds_up() {
        let (mut builder, a, b) = pair();
        builder.data_sheet_link(a, b, LinkKind::Nvlink2, 2).unwrap();
        let machine = builder.build().unwrap();
        assert_eq!(machine.links()[0].total_bandwidth(), Bandwidth::gigabytes_per_second(50));
        assert_eq!(machine.links()[0].other_end(a), b);
        assert_eq!(machine.adjacency(), vec![vec![0], vec![0]]);
    }
}
