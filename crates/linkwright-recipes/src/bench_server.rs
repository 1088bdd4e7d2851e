//! Adds a preset of a server: it has two V100 under one CPU.

use linkwright::system::presets::Preset;

/// Describes a workbench with two GPUs.
pub static BENCH_SERVER: Preset = Preset::new(
    "bench-server",
    "2 V100 on PCIe 3 under one CPU, from no data sheet",
    r#"
name = "bench-server"
source = "an example of CONTRIBUTING; no one product"

[[device]]
kind = "gpu"
model = "V100-SXM2-16GB"
names = ["GPU0", "GPU1"]

[[device]]
kind = "cpu"
names = ["CPU0"]

[[link]]
kind = "pcie3"
between = [["GPU0", "CPU0"], ["GPU1", "CPU0"]]
"#,
);
