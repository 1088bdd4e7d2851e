//! Adds a GPU model: it is twice a V100.

use linkwright::system::GpuFile;

/// Has twice the speed and memory of a V100.
pub static FAST_GPU: GpuFile = GpuFile::new(
    "fast-gpu",
    r#"
name = "fast-gpu"
product = "Fast GPU"
vendor = "nvidia"
pci_ids = []
processors = ["sm_70"]
pcie = "pcie3"
source = "an example of CONTRIBUTING; no one product"

[peak]
source = "twice a V100"

[peak.vector]
fp32 = "31.4 TFLOP/s"

[memory]
kind = "hbm2"
capacity = "32 GiB"
bandwidth = "1800 GB/s"
source = "twice a V100"

[caches]
units = 160
l2 = "12 MiB"
source = "twice a V100"
"#,
);
