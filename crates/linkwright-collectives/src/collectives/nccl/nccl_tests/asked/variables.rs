//! Finds the options that ask for the settings of NCCL's variables in a log.

use super::{Asked, Finding, Means, finding};
use crate::collectives::nccl::baselines::{CrossNic, ExpectedAlgorithm};
use crate::collectives::nccl::nccl_tests::stated::Unmodelled;
use crate::collectives::schedule::Protocol;
use crate::diagnostic::{Named, shown};

/// Variables that change what runs, and that no option asks about.
const UNASKED: [&str; 14] = [
    "NCCL_P2P_LEVEL",
    "NCCL_SHM_DISABLE",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_MIN_NRINGS",
    "NCCL_MAX_NRINGS",
    "NCCL_NTHREADS",
    "NCCL_BUFFSIZE",
    "NCCL_GRAPH_FILE",
    "NCCL_RINGS",
    "NCCL_TREE_THRESHOLD",
    "NCCL_THREAD_THRESHOLDS",
];

/// The way between servers is chosen by these variables, which clouds set.
const OF_NETWORK: [&str; 6] = [
    "NCCL_IB_HCA",
    "NCCL_CROSS_NIC",
    "NCCL_NET_GDR_LEVEL",
    "NCCL_NET_GDR_READ",
    "NCCL_COLLNET_ENABLE",
    "NCCL_TOPO_FILE",
];

impl Asked<'_> {
    pub(super) fn variables(&self) -> Vec<Finding> {
        let set = self.log.stated.variables.iter();
        let found = set.filter_map(|(name, (line, value))| {
            let option = self.option_of(name, value)?;
            let is_of_network = OF_NETWORK.contains(&name.as_str());
            let means = if is_of_network { Means::Way } else { Means::Otherwise };
            let text = match option {
                Some(_) => format!("The log sets {name}={}", shown(value)),
                None => {
                    format!("The log sets {name}={}, and no option asks about that", shown(value))
                }
            };
            Some(finding(*line, means, text, option))
        });
        found.collect()
    }

    /// Finds the option that asks for the setting of a variable. The inner None means that there is none.
    /// The outer one means that the setting changes nothing here.
    fn option_of(&self, name: &str, value: &str) -> Option<Option<String>> {
        let settings = self.settings;
        let is_off = |now: bool, option: &str| now.then(|| Some(option.to_owned()));
        match name {
            "NCCL_P2P_DISABLE" if value == "1" => is_off(settings.p2p, "--env NCCL_P2P_DISABLE=1"),
            "NCCL_P2P_LEVEL" if ["0", "LOC"].contains(&value) => {
                is_off(settings.p2p, "--env NCCL_P2P_DISABLE=1")
            }
            "NCCL_NVLS_ENABLE" if value == "0" && self.may_reduce_in_switches() => {
                is_off(settings.nvls, "--env NCCL_NVLS_ENABLE=0")
            }
            "NCCL_ALGO" => self.algorithm_option(value),
            "NCCL_PROTO" => {
                let known = [Protocol::LL, Protocol::LL128, Protocol::Simple];
                let named = known.into_iter().find(|it| it.name().eq_ignore_ascii_case(value));
                match named {
                    Some(named) if settings.protocol == Some(named) => None,
                    named => Some(named.map(|it| format!("--env NCCL_PROTO={}", it.name()))),
                }
            }
            "NCCL_CROSS_NIC" if self.servers > 1 => {
                let (_, named) = CrossNic::NAMED.iter().find(|(known, _)| *known == value)?;
                (settings.cross_nic != *named)
                    .then(|| Some(format!("--env NCCL_CROSS_NIC={value}")))
            }
            "NCCL_PXN_DISABLE" if value == "1" && self.servers > 1 => {
                is_off(settings.pxn, "--env NCCL_PXN_DISABLE=1")
            }
            "NCCL_NET_GDR_LEVEL" if ["0", "LOC"].contains(&value) && self.servers > 1 => {
                is_off(settings.gpudirect, "--env NCCL_NET_GDR_LEVEL=LOC")
            }
            _ if OF_NETWORK.contains(&name) => (self.servers > 1).then_some(None),
            _ => UNASKED.contains(&name).then_some(None),
        }
    }

    fn algorithm_option(&self, value: &str) -> Option<Option<String>> {
        if Unmodelled::named(value).is_some() {
            return None;
        }
        // NCCL writes NVLSTree in one word, and in its log without small letters.
        let is_it = |it: &ExpectedAlgorithm| it.name().replace('-', "").eq_ignore_ascii_case(value);
        let named = ExpectedAlgorithm::ALL.into_iter().find(is_it);
        match named {
            Some(named) if self.settings.algorithm == Some(named) => None,
            named => Some(named.map(|it| format!("--env NCCL_ALGO={}", it.name()))),
        }
    }
}
