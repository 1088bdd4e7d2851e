//! GPUs that are cut into slices (NVIDIA's Multi-Instance GPU), as a paste shows them.

use std::collections::BTreeMap;

use crate::system::import::paste::{self, Line};

/// For each GPU with slices their profiles, such as `1g.10gb`, in the paste's order. The table of
/// `nvidia-smi` alone has none.
type Slices<'a> = BTreeMap<u32, Vec<&'a str>>;

/// Warns who asks about the machine, where the paste shows slices.
///
/// That slices reach no other GPU is from NVIDIA's MIG user guide ("GPU P2P").
pub(super) fn warning(lines: &[Line]) -> Option<String> {
    let slices = slices(lines);
    let which: Vec<String> = slices.iter().map(|(gpu, cut)| described(*gpu, cut)).collect();
    (!which.is_empty()).then(|| {
        format!(
            "MIG slices these GPUs: {}. A job there gets a slice, while whole GPUs are modelled. A \
             slice reaches no other GPU over NVLink or PCIe. Keep these GPUs from jobs that need \
             links (`--busy`), or switch MIG off (`nvidia-smi -mig 0`) and paste again.",
            which.join(", ")
        )
    })
}

fn described(gpu: u32, profiles: &[&str]) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for profile in profiles {
        match counts.iter_mut().find(|(known, _)| known == profile) {
            Some((_, count)) => *count += 1,
            None => counts.push((profile, 1)),
        }
    }
    let counts: Vec<String> =
        counts.iter().map(|(profile, count)| format!("{count} of {profile}")).collect();
    if counts.is_empty() {
        format!("GPU{gpu}")
    } else {
        format!("GPU{gpu} ({})", counts.join(", "))
    }
}

fn slices(lines: &[Line]) -> Slices<'_> {
    let mut found = Slices::new();
    let mut above = None;
    let mut is_in_table = false;
    for line in lines {
        let words: Vec<&str> = line.tokens.iter().map(|token| token.text.as_str()).collect();
        match words.as_slice() {
            // `GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-...)` and its slices, a line each.
            ["GPU", number, ..] if number.ends_with(':') => {
                above = paste::number(number.trim_end_matches(':'));
            }
            // `  MIG 1g.10gb     Device  0: (UUID: MIG-...)`.
            ["MIG", profile, "Device", ..] => {
                if let Some(gpu) = above {
                    found.entry(gpu).or_default().push(profile);
                }
            }
            // `|   0  MIG 1g.10gb       19        7          0:1     |` of `nvidia-smi mig -lgi`.
            ["|", gpu, "MIG", profile, ..] => {
                if let Some(gpu) = paste::number(gpu) {
                    found.entry(gpu).or_default().push(profile);
                }
            }
            ["|", "MIG", "devices:", ..] => is_in_table = true,
            // `|  0    7   0   0  | ...`: the GPU, the two instances, the device.
            ["|", gpu, a, b, c, "|", ..] if is_in_table => {
                let are_numbers = [a, b, c].iter().all(|word| paste::number(word).is_some());
                if let Some(gpu) = paste::number(gpu).filter(|_| are_numbers) {
                    found.entry(gpu).or_default();
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> Option<String> {
        warning(&paste::words_by_line(text))
    }

    #[test]
    fn slices_are_told_by_gpu_and_profile() {
        let listed = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n\
                      \x20 MIG 1g.10gb     Device  0: (UUID: MIG-b)\n\
                      \x20 MIG 1g.10gb     Device  1: (UUID: MIG-c)\n\
                      \x20 MIG 3g.40gb     Device  2: (UUID: MIG-d)\n\
                      GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-e)\n\
                      GPU 2: NVIDIA H100 80GB HBM3 (UUID: GPU-f)\n\
                      \x20 MIG 7g.80gb     Device  0: (UUID: MIG-g)\n";
        let warning = told(listed).unwrap();
        let which =
            "MIG slices these GPUs: GPU0 (2 of 1g.10gb, 1 of 3g.40gb), GPU2 (1 of 7g.80gb).";
        assert!(warning.starts_with(which), "{warning}");
        assert_eq!(told("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-a)\n"), None);
    }

    #[test]
    fn the_table_of_nvidia_smi_tells_slices_without_profiles() {
        let rows = "|  0    7   0   0  |      6MiB /  9728MiB | 14      0 |\n\
                    |  3    8   0   1  |      6MiB /  9728MiB | 14      0 |\n";
        let table = format!("| MIG devices:            |\n| GPU  GI  CI  MIG |   Memory |\n{rows}");
        let warning = told(&table).unwrap();
        assert!(warning.starts_with("MIG slices these GPUs: GPU0, GPU3. A job"), "{warning}");
        assert_eq!(told(rows), None);
    }

    #[test]
    fn the_list_of_instances_tells_slices_with_profiles() {
        let rows = "| GPU   Name             Profile  Instance   Placement  |\n\
                    |   1  MIG 1g.10gb         19        7          0:1     |\n\
                    |   1  MIG 2g.20gb         14        3          4:2     |\n";
        let warning = told(rows).unwrap();
        assert!(warning.contains("GPU1 (1 of 1g.10gb, 1 of 2g.20gb)."), "{warning}");
    }
}
