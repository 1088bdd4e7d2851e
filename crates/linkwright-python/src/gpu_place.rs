//! Gives Python `linkwright.GpuPlace`.

use linkwright::system::{self, Affinity};
use pyo3::prelude::*;

/// Says where one GPU of a machine sits, as far as the machine's source tells.
#[pyclass(frozen, eq, get_all, module = "linkwright.network")]
#[derive(Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GpuPlace {
    /// Names the GPU as the machine does.
    name: String,
    /// Gives its PCI address, such as `0000:07:00.0`.
    pci_address: Option<String>,
    /// Lists the CPU cores near it, such as `0-11,24-35`.
    cpu_affinity: Option<String>,
    /// Lists the NUMA nodes near it, such as `0`.
    numa_affinity: Option<String>,
    /// Names its nearest network interfaces.
    nics: Vec<String>,
    /// How near they are: `PIX`, `PXB`, `PHB`, `NODE` or `SYS`; None where there are none.
    nic_proximity: Option<String>,
}

impl From<system::GpuPlace<'_>> for GpuPlace {
    fn from(place: system::GpuPlace<'_>) -> Self {
        let text = |affinity: &Option<Affinity>| affinity.as_ref().map(Affinity::to_string);
        Self {
            name: place.name.to_owned(),
            pci_address: place.locality.pci_address.clone(),
            cpu_affinity: text(&place.locality.cpu_affinity),
            numa_affinity: text(&place.locality.numa_affinity),
            nics: place.nics.into_iter().map(str::to_owned).collect(),
            nic_proximity: place.nic_proximity.map(|near| near.name().to_owned()),
        }
    }
}

#[pymethods]
impl GpuPlace {
    fn __repr__(&self) -> String {
        let nics = self.nics.join(", ");
        let near = self.nic_proximity.as_deref().unwrap_or("none");
        format!("<GpuPlace {}: NICs {nics} ({near})>", self.name)
    }
}
