//! Names networks as other tools write them, since no reader here takes any, and says how to write
//! each instead.

use crate::diagnostic::{InputError, Position};

/// Describes a file of another tool.
struct Stranger {
    /// Names the tool and the file.
    name: &'static str,
    /// Tells whether a line is one of it.
    is_line: fn(&str) -> bool,
    /// Says how to write it here.
    remedy: &'static str,
}

const STRANGERS: [Stranger; 6] = [
    Stranger {
        name: "Slurm's topology.conf",
        is_line: |line| {
            ["switchname=", "blockname="].iter().any(|key| starts_with_ignoring_case(line, key))
        },
        remedy: SLURM,
    },
    Stranger {
        name: "Slurm's topology.yaml",
        is_line: |line| {
            ["- topology:", "- switch:", "- block:"].iter().any(|key| line.starts_with(key))
        },
        remedy: SLURM,
    },
    Stranger {
        name: "a network of ASTRA-sim",
        is_line: |line| {
            let keys = ["npus_count", "npus-count", "topologies-per-dim", "dimensions-count"];
            let line = line.trim_start_matches(['"', '{', ' ']);
            keys.iter().any(|key| line.starts_with(key))
        },
        remedy: "write a kind of network in TOML with `bandwidth = \"50 GB/s\"` and `latency = \"500 \
            ns\"`. Rings are `kind = \"torus\"` and `dimensions = [8, 4]`. Switches are \
            `kind = \"fat-tree\"`. The dimension inside a server is a machine's, such as hgx-h100",
    },
    Stranger {
        name: "a platform of SimGrid",
        is_line: |line| line.starts_with("<platform") || line.contains("simgrid.dtd"),
        remedy: "write its links as DOT: `graph name { edge [bandwidth=\"1.25 GB/s\", \
            latency=\"50 us\"] left [nodes=16] left -- right }`. A cluster is one switch with \
            nodes. SimGrid's `bw` of 10Gbps is 1.25 GB/s",
    },
    Stranger {
        name: "a network of ns-3",
        is_line: |line| {
            line.starts_with("#include \"ns3/") || line.contains("ns3::") || is_link_of_ns3(line)
        },
        remedy: "write its links as DOT: `graph name { edge [bandwidth=\"12.5 GB/s\", \
            latency=\"1 us\"] 8 [kind=switch] 0 -- 8 }`, with a line for each link. Links that \
            differ have `bandwidth` and `latency` in brackets. 100Gbps is \"100 Gb/s\"",
    },
    Stranger {
        name: "a network as `ibnetdiscover` prints it",
        is_line: |line| line.starts_with("Switch\t") && line.contains("\"S-"),
        remedy: "write its links as DOT: `graph name { edge [bandwidth=\"50 GB/s\", latency=\"50 \
            ns\"] leaf [nodes=16] leaf -- spine [count=4] }`",
    },
];

const SLURM: &str = "it states no bandwidth, so write the network as TOML. `[defaults]` has \
    `bandwidth = \"50 GB/s\"` and `latency = \"50 ns\"`. A `[[switch]]` has `names = [\"rack1\", \
    \"rack2\"]` and `nodes = 4`; the spine's has no nodes. A `[[link]]` has `between = \
    [[\"rack1\", \"spine\"], [\"rack2\", \"spine\"]]` and `count`, the links of each pair";

const EDGE_LIST: &str = "write it as DOT: `graph name { edge [bandwidth=\"50 GB/s\", latency=\"50 \
    ns\"] node [nodes=16] 0 -- 1 }`, with `--` between the two of each line; an edge list is read \
    as a job's pattern, by `linkwright allocate --pattern FILE`";

/// Bounds the lines with words that are looked at: each tool's files show soon whose they are.
const MOST_LINES: usize = 1000;

/// Gives the error that names a text's tool, where another tool writes such texts.
pub(super) fn named(file: &str, text: &str) -> Option<InputError> {
    of_tools(file, text).or_else(|| of_edges(file, text))
}

/// Gives the same of texts that leave no doubt.
pub(in crate::system) fn of_tools(file: &str, text: &str) -> Option<InputError> {
    lines(text).find_map(|(line, number)| {
        let Stranger { name, remedy, .. } = STRANGERS.iter().find(|it| (it.is_line)(line))?;
        Some(refuse(file, number, line, name, remedy))
    })
}

/// Goes through the first lines with words, each with its number.
fn lines(text: &str) -> impl Iterator<Item = (&str, usize)> {
    let filled = text.trim_start();
    let above = text[..text.len() - filled.len()].matches('\n').count();
    let numbered = filled.lines().map(str::trim).zip(above + 1..);
    numbered.filter(|(line, _)| !line.is_empty()).take(MOST_LINES)
}

fn of_edges(file: &str, text: &str) -> Option<InputError> {
    let mut edges = lines(text).filter(|(line, _)| !line.starts_with(['#', '%']));
    let (first, number) = edges.next()?;
    let are_edges = is_edge(first) && edges.all(|(line, _)| is_edge(line));
    are_edges.then(|| refuse(file, number, first, "an edge list", EDGE_LIST))
}

fn refuse(file: &str, line: usize, value: &str, what: &str, remedy: &str) -> InputError {
    let position = Position { line, column: 1 };
    InputError::at(file, position, format!("this looks like {what}"), value, remedy)
}

fn starts_with_ignoring_case(line: &str, key: &str) -> bool {
    line.get(..key.len()).is_some_and(|start| start.eq_ignore_ascii_case(key))
}

/// Tells whether a line is a link of the simulators built on ns-3: `0 8 100Gbps 0.001ms 0`.
fn is_link_of_ns3(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let [Some(a), Some(b), Some(rate), Some(delay)] = [(); 4].map(|()| words.next()) else {
        return false;
    };
    let quantity = |word: &str, units: &[&str]| {
        let number = units.iter().find_map(|unit| word.strip_suffix(unit));
        number.is_some_and(|number| number.parse::<f64>().is_ok())
    };
    [a, b].iter().all(|end| end.parse::<u32>().is_ok())
        && quantity(rate, &["Gbps", "Mbps", "Kbps", "bps"])
        && quantity(delay, &["ns", "us", "ms", "s"])
}

/// Tells whether a line has two names of vertices, and a weight or not.
fn is_edge(line: &str) -> bool {
    let line = line.split('#').next().unwrap_or_default();
    let words: Vec<&str> =
        line.split([' ', '\t', ',', ';']).filter(|word| !word.is_empty()).take(4).collect();
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_name = |word: &str| word.chars().all(plain) && !matches!(word, "--" | "-");
    match words.as_slice() {
        [a, b] => is_name(a) && is_name(b),
        [a, b, weight] => is_name(a) && is_name(b) && weight.parse::<f64>().is_ok(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::fabric::read_fabric;
    use crate::system::import::{ImportOptions, import};

    const TOPOLOGY_CONF: &str = include_str!("strangers/topology.conf");

    #[test]
    fn networks_of_other_tools_are_named_wherever_one_is_read() {
        let cases = [
            (TOPOLOGY_CONF, "n.conf:2:1: this looks like Slurm's topology.conf", "`[[switch]]`"),
            (
                "BlockName=b1 Nodes=n[01-18]\n",
                "n.conf:1:1: this looks like Slurm's",
                "`[defaults]`",
            ),
            (
                "---\n- topology: main\n  tree:\n    switches:\n      - switch: spine\n",
                "n.conf:2:1: this looks like Slurm's topology.yaml",
                "bandwidth",
            ),
            (
                "topology: [ Ring, Switch ]\nnpus_count: [ 4, 8 ]\nbandwidth: [ 100.0, 50.0 ]\n",
                "n.conf:2:1: this looks like a network of ASTRA-sim",
                "kind = ",
            ),
            (
                "{\n  \"topology-name\": \"Hierarchical\",\n  \"topologies-per-dim\": [\"Ring\"]\n}\n",
                "n.conf:3:1: this looks like a network of ASTRA-sim",
                "`dimensions = [8, 4]`",
            ),
            (
                "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
                 <platform version=\"4.1\">\n",
                "n.conf:2:1: this looks like a platform of SimGrid",
                "DOT",
            ),
            (
                "3 1 2\n2\n0 2 100Gbps 0.001ms 0\n1 2 100Gbps 0.001ms 0\n",
                "n.conf:3:1: this looks like a network of ns-3",
                "\"100 Gb/s\"",
            ),
            (
                "Switch\t36 \"S-0002c902\"\t# \"leaf\" base port 0\n[1]\t\"H-0002c903\"[1]\n",
                "n.conf:1:1: this looks like a network as `ibnetdiscover` prints it",
                "DOT",
            ),
            (
                "# a ring\n0 1\n1 2\n2 0\n",
                "n.conf:2:1: this looks like an edge list",
                "--pattern FILE",
            ),
            ("sw1,sw2,1.5\nsw2,sw3,2\n", "n.conf:1:1: this looks like an edge list", "`--`"),
        ];
        for (text, start, remedy) in cases {
            let error = read_fabric("n.conf", text).unwrap_err();
            assert!(!error.remedy.ends_with('…'), "{}", error.remedy);
            let error = error.to_string();
            assert!(error.starts_with(start) && error.contains(remedy), "{error}");
            if start.contains("edge list") || text.starts_with('<') {
                continue;
            }
            let error = import("n.conf", text, None, &ImportOptions::default()).unwrap_err();
            assert!(error.to_string().starts_with(start), "{error}");
        }
        let platform = "<platform version=\"4.1\"/>";
        let error = import("n.xml", platform, None, &ImportOptions::default()).unwrap_err();
        assert!(error.to_string().contains("a platform of SimGrid"), "{error}");
    }

    #[test]
    fn what_is_toml_or_of_no_tool_keeps_its_own_error() {
        for text in ["kind = \"torsu\"\n", "hello", "SwitchNam=x y\n", "a -- b\n", "0 1 2 3\n", ""]
        {
            if let Err(error) = read_fabric("n.conf", text) {
                assert!(!error.to_string().contains("this looks like"), "{error}");
            }
        }
    }

    #[test]
    fn what_a_remedy_says_to_write_reads() {
        let toml = "[defaults]\nbandwidth = \"50 GB/s\"\nlatency = \"50 ns\"\n[[switch]]\n\
            names = [\"rack1\", \"rack2\"]\nnodes = 4\n[[switch]]\nnames = [\"spine\"]\n[[link]]\n\
            between = [[\"rack1\", \"spine\"], [\"rack2\", \"spine\"]]\ncount = 2\n";
        assert_eq!(read_fabric("n.toml", toml).unwrap().nodes(), 8);
        let dots = STRANGERS.iter().map(|stranger| stranger.remedy).chain([EDGE_LIST]);
        let dots =
            dots.filter_map(|remedy| remedy.split('`').find(|part| part.starts_with("graph")));
        let nodes: Vec<u32> = dots.map(|dot| read_fabric("n.dot", dot).unwrap().nodes()).collect();
        assert_eq!(nodes.len(), 4);
    }
}
