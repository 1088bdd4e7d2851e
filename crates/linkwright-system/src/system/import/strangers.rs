//! Names texts that describe a machine in a form that no reader takes, and the form that one does.

use crate::diagnostic::{InputError, Position};

/// Describes a form by the words that its text holds.
struct Stranger {
    /// Lists words that all stand in it.
    words: &'static [&'static str],
    /// Names it.
    name: &'static str,
    /// Says how to get the form that is read.
    remedy: &'static str,
}

const STRANGERS: [Stranger; 6] = [
    Stranger {
        words: &["\"link_type\"", "{"],
        name: "the JSON of `amd-smi topology`",
        remedy: "give what `amd-smi topology` prints without `--json`",
    },
    Stranger {
        words: &["link_type", "gpu,"],
        name: "the CSV of `amd-smi topology`",
        remedy: "give what `amd-smi topology` prints without `--csv`",
    },
    Stranger {
        words: &["(Topology)", "DRM devices", "{"],
        name: "the JSON of `rocm-smi --showtopo`",
        remedy: "give what `rocm-smi --showtopo` prints without `--json`",
    },
    Stranger {
        words: &["(Topology)", "DRM devices", ","],
        name: "the CSV of `rocm-smi --showtopo`",
        remedy: "give what `rocm-smi --showtopo` prints without `--csv`",
    },
    Stranger {
        words: &["LINK METRIC TABLE:"],
        name: "the output of `amd-smi xgmi`, which does not name the ends of its links",
        remedy: "give what `amd-smi topology` prints",
    },
    Stranger {
        words: &["Machine (", "NUMANode L#"],
        name: "the output of `lstopo`, which names no links between GPUs",
        remedy: "give what `nvidia-smi topo -m`, `rocm-smi --showtopo` or `amd-smi topology` prints",
    },
];

/// Gives the error that names the form of a text, where it is one of these.
pub(super) fn named(file: &str, text: &str) -> Option<InputError> {
    let is_it = |form: &&Stranger| form.words.iter().all(|word| text.contains(word));
    let Stranger { name, remedy, .. } = STRANGERS.iter().find(is_it)?;
    let start = Position { line: 1, column: 1 };
    Some(InputError::at(file, start, format!("this looks like {name}"), "", *remedy))
}

#[cfg(test)]
mod tests {
    use crate::system::import::{ImportOptions, import};

    #[test]
    fn other_forms_are_named_with_the_form_that_is_read() {
        let cases = [
            (
                "[\n {\n  \"gpu\": 0,\n  \"bdf\": \"0000:0b:00.0\",\n  \"links\": [\n   {\"gpu\": 1, \
                 \"weight\": 15, \"link_type\": \"XGMI\", \"num_hops\": 1}]}]\n",
                "without `--json`",
            ),
            (
                "gpu,link_type_gpu_0,link_type_gpu_1\n0,SELF,XGMI\n1,XGMI,SELF\n",
                "`amd-smi topology` prints without `--csv`",
            ),
            (
                "{\"system\": {\"(Topology) Weight between DRM devices 0 and 1\": \"15\"}}",
                "`rocm-smi --showtopo` prints without `--json`",
            ),
            (
                "device,(Topology) Weight between DRM devices 0 and 1\nsystem,15\n",
                "`rocm-smi --showtopo` prints without `--csv`",
            ),
            ("LINK METRIC TABLE:\n bdf bit_rate max_bandwidth\n", "`amd-smi topology` prints"),
            ("Machine (252GB total)\n  NUMANode L#0 (P#0 126GB)\n", "`nvidia-smi topo -m`"),
        ];
        for (text, remedy) in cases {
            let error = import("a.txt", text, None, &ImportOptions::default()).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with("a.txt:1:1: this looks like "), "{error}");
            assert!(error.contains(remedy), "{error}");
        }
    }
}
