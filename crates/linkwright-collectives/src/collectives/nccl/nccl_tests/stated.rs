//! Reads the variables, transports and algorithms that a log names beside its table.
//!
//! These are lines of `NCCL_DEBUG=INFO`, and of the shell that set variables.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How many variables are kept, and how long their values may be.
const MOST_VARIABLES: usize = 64;
const LONGEST_VALUE: usize = 64;

/// Data is moved from one GPU to another in one of these ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum StatedTransport {
    /// It is moved directly, over NVLink, xGMI or PCIe.
    Peer,
    /// It is moved through the host's memory.
    SharedMemory,
    /// It is moved over TCP.
    Sockets,
    /// It is moved by a network's own protocol, through the host's memory.
    Network,
    /// It is moved by the same, straight from and to GPUs.
    GpuDirect,
}

/// An algorithm may have moved the data that is not modelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Unmodelled {
    /// The network reduces.
    CollNet,
    /// There are kernels on symmetric windows, from 2.27 on.
    SymmetricKernels,
    /// Data is moved between windows by copy engines, from 2.28 on.
    CopyEngines,
    /// Buffers lie in symmetric windows (`-R 2`), so that either may have run.
    Windows,
}

impl Unmodelled {
    /// The name that NCCL prints, or what people know it by.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CollNet => "CollNet",
            Self::SymmetricKernels => "kernels on registered windows ([Symmetric])",
            Self::CopyEngines => "copy engines on registered windows",
            Self::Windows => "buffers in registered windows (-R 2)",
        }
    }

    /// Finds that of a name or a number of NCCL's, in any spelling of its variables and its log: no `Named` has several.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase().replace('_', "");
        match name.as_str() {
            "2" | "3" => Some(Self::CollNet),
            _ => name.starts_with("collnet").then_some(Self::CollNet),
        }
    }
}

impl Unmodelled {
    /// Reads NCCL's lines of kernels on windows (2.27.7, `src/enqueue.cc` 1429; 2.28.9, `src/scheduler/symmetric_sched.cc` 229).
    /// Also reads those of copy engines (2.30.7, `src/ce_coll.cc` 1435), and the option of nccl-tests that asks for windows.
    #[must_use]
    pub fn in_line(text: &str) -> Option<Self> {
        let is_test = text.contains("_perf");
        let words = || text.split_whitespace().map(|word| word.trim_matches(['"', '\'', ',']));
        let pairs = || words().zip(words().skip(1));
        let asks = |(name, value): (&str, &str)| {
            let is_option = is_test && matches!(name, "-R" | "--local_register");
            value == "2" && (is_option || matches!(name, "local_register:" | "registration:"))
        };
        let has = |own: &[&str]| own.iter().any(|own| text.contains(own));
        let may_ask = || is_test || has(&["local_register:", "registration:"]);
        if has(&["[Symmetric]"]) {
            Some(Self::SymmetricKernels)
        } else if has(&["[Copy Engine]", "[Hierarchical CE]", "Init CE, rank"]) {
            Some(Self::CopyEngines)
        } else if may_ask() && (text.contains("-R2") && is_test || pairs().any(asks)) {
            Some(Self::Windows)
        } else {
            None
        }
    }
}

/// Holds the statements of a log, each with its first line.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Stated {
    /// NCCL's variables that were set, by name.
    pub variables: BTreeMap<String, (usize, String)>,
    /// These are the transports of its connections.
    pub transports: BTreeMap<StatedTransport, usize>,
    /// The line that says that the network is TCP.
    pub sockets: Option<usize>,
    /// These algorithms ran and are not modelled.
    pub unmodelled: BTreeMap<Unmodelled, usize>,
}

impl Stated {
    /// Takes what a line says.
    pub(super) fn line(&mut self, number: usize, text: &str) {
        self.windows_in(number, text);
        if text.contains("NCCL_") && !text.contains("WARN") {
            self.variables_in(number, text);
        }
        if let Some((_, way)) = text.split_once(" via ") {
            self.transport(number, way);
        }
        if let Some((_, network)) = text.split_once("Using network ")
            && network.trim_start().starts_with("Socket")
        {
            self.sockets.get_or_insert(number);
        }
        if let Some((_, algorithm)) = text.split_once("Algo ")
            && text.contains("Bytes")
        {
            let name = algorithm.split_whitespace().next().unwrap_or_default();
            if let Some(found) = Unmodelled::named(name) {
                first(&mut self.unmodelled, found, number);
            }
        }
    }

    /// Takes what a line says of registered windows.
    pub(super) fn windows_in(&mut self, number: usize, text: &str) {
        if let Some(found) = Unmodelled::in_line(text) {
            first(&mut self.unmodelled, found, number);
        }
    }

    fn transport(&mut self, number: usize, way: &str) {
        let (kind, rest) = way.split_once('/').unwrap_or((way, ""));
        let found = match kind.split_whitespace().next() {
            Some("P2P") => StatedTransport::Peer,
            Some("SHM") => StatedTransport::SharedMemory,
            Some("NET") if rest.starts_with("Socket") => StatedTransport::Sockets,
            Some("NET") if rest.contains("GDRDMA") => StatedTransport::GpuDirect,
            Some("NET") => StatedTransport::Network,
            Some("COLLNET") => {
                first(&mut self.unmodelled, Unmodelled::CollNet, number);
                return;
            }
            _ => return,
        };
        first(&mut self.transports, found, number);
    }

    /// Reads `NCCL_ALGO set by environment to Ring`, and `NCCL_ALGO=Ring` of a shell.
    fn variables_in(&mut self, number: usize, text: &str) {
        for (at, _) in text.match_indices("NCCL_").take(MOST_VARIABLES) {
            if self.variables.len() == MOST_VARIABLES {
                return;
            }
            let is_name = |it: char| it.is_ascii_uppercase() || it.is_ascii_digit() || it == '_';
            let end = text[at..].find(|it| !is_name(it)).map_or(text.len(), |end| at + end);
            let (name, behind) = (&text[at..end], &text[end..]);
            let set = || behind.strip_prefix(" set ")?.split_once("to ").map(|(_, value)| value);
            let is_log = text.contains("NCCL INFO");
            let Some(value) = behind.strip_prefix('=').filter(|_| !is_log).or_else(set) else {
                continue;
            };
            let value = value.trim_start_matches(['"', '\'']);
            let stop = |it: char| it.is_whitespace() || matches!(it, '"' | '\'');
            let value =
                value.split(stop).next().unwrap_or_default().trim_end_matches(['.', ',', ';']);
            if value.len() <= LONGEST_VALUE && name.len() <= LONGEST_VALUE {
                let value = (number, value.to_owned());
                let kept = self.variables.entry(name.to_owned()).or_insert_with(|| value.clone());
                if number < kept.0 {
                    *kept = value;
                }
            }
        }
    }

    /// Finds the line and the value of a variable.
    #[must_use]
    pub fn variable(&self, name: &str) -> Option<(usize, &str)> {
        self.variables.get(name).map(|(line, value)| (*line, value.as_str()))
    }

    /// The line that says that servers exchange over TCP.
    #[must_use]
    pub fn tcp(&self) -> Option<usize> {
        let others = [StatedTransport::Network, StatedTransport::GpuDirect];
        let is_other = others.iter().any(|other| self.transports.contains_key(other));
        let disabled = self.variable("NCCL_IB_DISABLE").filter(|(_, value)| *value == "1");
        let chosen =
            self.variable("NCCL_NET").filter(|(_, net)| net.eq_ignore_ascii_case("socket"));
        let set = disabled.or(chosen).map(|(line, _)| line);
        let shown = self.transports.get(&StatedTransport::Sockets).copied();
        shown.or(self.sockets.or(set).filter(|_| !is_other))
    }
}

/// Keeps the first line that states a thing: lines before a table's heading may be read behind it.
fn first<K: Ord>(lines: &mut BTreeMap<K, usize>, stated: K, number: usize) {
    let line = lines.entry(stated).or_insert(number);
    *line = number.min(*line);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(text: &str) -> Stated {
        let mut stated = Stated::default();
        for (number, line) in (1..).zip(text.lines()) {
            stated.line(number, line);
        }
        stated
    }

    #[test]
    fn variables_are_read_as_nccl_and_as_shells_say_them() {
        let found = stated(
            "a:1:1 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n\
             + mpirun -x NCCL_P2P_DISABLE=1 -x NCCL_PROTO='LL' ./all_reduce_perf\n\
             a:1:1 [0] NCCL INFO NCCL_NVLS_ENABLE set by environment to 0.\n\
             a:1:1 [0] NCCL WARN try NCCL_IB_DISABLE=1",
        );
        assert_eq!(found.variable("NCCL_ALGO"), Some((1, "Ring")));
        assert_eq!(found.variable("NCCL_P2P_DISABLE"), Some((2, "1")));
        assert_eq!(found.variable("NCCL_PROTO"), Some((2, "LL")));
        assert_eq!(found.variable("NCCL_NVLS_ENABLE"), Some((3, "0")));
        assert_eq!(found.variable("NCCL_IB_DISABLE"), None, "advice sets nothing");
    }

    #[test]
    fn registered_windows_are_told_by_nccl_and_by_the_options_of_the_test() {
        use Unmodelled::{CopyEngines, SymmetricKernels, Windows};
        let of = |text: &str| stated(text).unmodelled.into_keys().collect::<Vec<_>>();
        let symmetric = "[0] NCCL INFO AllReduce [Symmetric]: 65536 Bytes -> Kernel AllReduce_AGxLLMC_R \
                         nchannels 8 nthreads 512 nWorks 1";
        assert_eq!(of(symmetric), [SymmetricKernels]);
        let copied = "[0] NCCL INFO AllGather [Copy Engine]: 8388608 Bytes -> cudaMemcpy";
        assert_eq!(of(copied), [CopyEngines]);
        for asked in [
            "+ mpirun -np 8 ./all_reduce_perf -b 8 -e 8G -f 2 -R 2",
            "./all_gather_perf --local_register 2",
            "# nThread 1 nGpus 8 minBytes 8 local_register: 2",
        ] {
            assert_eq!(of(asked), [Windows], "{asked}");
        }
        for other in ["./all_reduce_perf -R 1", "scp -R 2 file", "./all_reduce_perf -b 2 -R 0"] {
            assert_eq!(of(other), [], "{other}");
        }
    }

    #[test]
    fn transports_and_algorithms_are_those_of_nccls_lines() {
        let found = stated(
            "[0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n\
             [0] NCCL INFO Channel 00 : 1[1] -> 2[2] via SHM/direct/direct\n\
             [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0\n\
             [0] NCCL INFO AllReduce: 8589934592 Bytes -> Algo CollNetDirect proto SIMPLE",
        );
        use StatedTransport::{Peer, SharedMemory, Sockets};
        let ways: Vec<_> = found.transports.keys().copied().collect();
        assert_eq!(ways, [Peer, SharedMemory, Sockets]);
        assert_eq!(found.tcp(), Some(3));
        assert_eq!(found.unmodelled, BTreeMap::from([(Unmodelled::CollNet, 4)]));
        let found = stated(
            "NET/IB : No device found.\n[0] NCCL INFO Using network Socket\n\
             [0] NCCL INFO AllReduce: 1024 Bytes -> Algo 1 proto 2 time 5.0",
        );
        assert_eq!(found.tcp(), Some(2));
        assert!(found.unmodelled.is_empty());
        let direct = stated("x via NET/IB/0/GDRDMA\nx via NET/IB/1\nx via NVLS\nUsing network IB");
        assert_eq!(direct.transports.len(), 2);
        assert_eq!(direct.tcp(), None);
        // A table of what there is to choose from says of nothing that it ran.
        let table = stated("[0] NCCL INFO  Algorithm | Tree | Ring | CollNet | NVLS | NVLSTree");
        assert_eq!(table, Stated::default());
    }
}
