//! Reads what `amd-smi topology` prints, as people paste it.
//!
//! It is `rocm-smi`'s successor and shows the same of each pair of GPUs, and how much passes
//! between them at least and at most. It names GPUs by their PCI addresses, and no NUMA nodes.

use super::paste::{self, Line};
use super::rocm_smi::machine::{LinkType, Tool, Topology};
use super::rocm_smi::{RocmSmiOptions, check_options};
use super::squares::{Dialect, Square};
use super::{ImportFormat, ImportOptions};
use crate::diagnostic::{InputError, Registered};
use crate::system::error::SystemError;
use crate::system::locality::is_pci_address;
use crate::system::server::Server;

const WHOLE_PASTE: &str = "paste the whole output of `amd-smi topology`, every row to its last \
    column";
const ACCESS: &str = "ACCESS TABLE:";
const WEIGHT: &str = "WEIGHT TABLE:";
const HOPS: &str = "HOPS TABLE:";
const LINK_TYPE: &str = "LINK TYPE TABLE:";
const BANDWIDTH: &str = "NUMA BW TABLE:";

/// Bounds the links that one pair is taken to have.
const MOST_LINKS: u32 = 16;

const TOOL: Tool =
    Tool { name: "amd-smi", command: "amd-smi topology", names: "amd-smi static --asic" };

const DIALECT: Dialect = Dialect {
    tool: "amd-smi",
    whole_paste: WHOLE_PASTE,
    title,
    is_gpu: is_address,
    is_cell: |word| !word.is_empty(),
};

/// Reads what `amd-smi topology` prints.
#[derive(Debug)]
pub struct AmdSmi;

impl Registered for AmdSmi {
    fn name(&self) -> &'static str {
        "amd-smi"
    }
}

impl ImportFormat for AmdSmi {
    /// Tells it by the title of any block that says how GPUs are joined.
    fn looks_like(&self, text: &str) -> bool {
        let known = [ACCESS, WEIGHT, HOPS, LINK_TYPE, BANDWIDTH];
        known.iter().any(|title| text.contains(title))
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        read(file, text, &RocmSmiOptions::of(options))
    }
}

/// Reads a machine from the text of `amd-smi topology`; `file` names it in errors.
///
/// # Errors
/// A text without a whole link type block, cells that amd-smi does not print, blocks of
/// different GPUs and pastes that were cut. Each has file, line, column and remedy.
pub fn read(file: &str, text: &str, options: &RocmSmiOptions) -> Result<Server, SystemError> {
    check_options(file, options)?;
    let topology = topology(file, text)?;
    TOOL.machine(file, text, &topology, options)
}

fn topology(file: &str, text: &str) -> Result<Topology, InputError> {
    let lines = paste::lines(file, text)?;
    let squares = DIALECT.squares(file, &lines)?;
    let of = |name: &str| squares.iter().find(|(title, _)| title == name).map(|(_, it)| it);
    let missing = |name: &str| {
        let problem = format!("the block `{name}` is missing");
        InputError::at(file, paste::end(&lines), problem, "", WHOLE_PASTE)
    };
    let link_type = of(LINK_TYPE).ok_or_else(|| missing(LINK_TYPE))?;
    // The first block is there where no option chose among them, and so is this one then.
    if of(ACCESS).is_some() && of(BANDWIDTH).is_none() {
        return Err(missing(BANDWIDTH));
    }
    let size = link_type.header.len();
    let numbers = |square: Option<&Square>| {
        let known = square.filter(|square| square.words.iter().flatten().all(|w| w.text != "N/A"));
        known.map(|square| DIALECT.values(file, square, "0", paste::number)).transpose()
    };
    let links = match of(BANDWIDTH) {
        Some(square) => {
            let row = |row: &Vec<paste::Token>| row.iter().map(|w| links_of(&w.text)).collect();
            square.words.iter().map(row).collect()
        }
        None => vec![vec![None; size]; size],
    };
    Ok(Topology {
        gpus: (0..size).map(|number| format!("GPU{number}")).collect(),
        addresses: link_type.header.iter().map(|it| Some(it.text.to_ascii_lowercase())).collect(),
        weight: numbers(of(WEIGHT))?,
        hops: numbers(of(HOPS))?,
        link_type: DIALECT.values(file, link_type, "SELF", link_type_of)?,
        links,
        numa: vec![None; size],
    })
}

/// Gives the title of a block: `LINK TYPE TABLE:`.
fn title(line: &Line) -> Option<String> {
    line.tokens.last().is_some_and(|word| word.text == "TABLE:").then(|| line.joined())
}

fn is_address(word: &str) -> bool {
    word.contains(':') && is_pci_address(word)
}

fn link_type_of(word: &str) -> Option<LinkType> {
    match word {
        "SELF" => Some(LinkType::Itself),
        "XGMI" => Some(LinkType::Xgmi),
        "PCIE" => Some(LinkType::Pcie),
        _ => None,
    }
}

/// Counts the links that `50000-200000` tells: the driver gives the bandwidth of one, and of all.
fn links_of(word: &str) -> Option<u32> {
    let (least, most) = word.split_once('-')?;
    let (least, most) = (paste::number(least)?, paste::number(most)?);
    let links = most.checked_div(least)?;
    (links * least == most && (1..=MOST_LINKS).contains(&links)).then_some(links)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::system::import::host_tree::Relation;
    use crate::system::kinds::LinkKind;
    use crate::system::test_support::{
        assert_cuts_are_safe, assert_is_helpful, assert_nothing_vanishes,
        assert_rectangles_are_safe, census, damaged, quirk, relation,
    };

    const MESH: &str = quirk!("xgmi-mesh.amd-smi.txt");

    /// Shows two packages of two GPUs, each on a socket of its own. It has no blocks on access.
    const PACKAGES: &str = "\
HOPS TABLE:
             0000:0b:00.0 0000:13:00.0 0000:8B:00.0 0000:93:00.0
0000:0b:00.0 0            1            3            3
0000:13:00.0 1            0            3            3
0000:8B:00.0 3            3            0            1
0000:93:00.0 3            3            1            0
LINK TYPE TABLE:
             0000:0b:00.0 0000:13:00.0 0000:8B:00.0 0000:93:00.0
0000:0b:00.0 SELF         XGMI         PCIE         PCIE
0000:13:00.0 XGMI         SELF         PCIE         PCIE
0000:8B:00.0 PCIE         PCIE         SELF         XGMI
0000:93:00.0 PCIE         PCIE         XGMI         SELF
NUMA BW TABLE:
             0000:0b:00.0 0000:13:00.0 0000:8B:00.0 0000:93:00.0
0000:0b:00.0 N/A          50000-200000 N/A          N/A
0000:13:00.0 50000-200000 N/A          N/A          N/A
0000:8B:00.0 N/A          N/A          N/A          50000-200000
0000:93:00.0 N/A          N/A          50000-200000 N/A
";

    fn plain(text: &str) -> Result<Server, SystemError> {
        read("paste", text, &RocmSmiOptions::default())
    }

    fn xgmi(machine: &Server) -> Vec<u32> {
        let links = machine.links().iter().filter(|link| link.kind.is_xgmi());
        links.map(|link| link.count).collect()
    }

    #[test]
    fn eight_gpus_are_all_joined_and_numbered_by_their_addresses() {
        let machine = plain(MESH).unwrap();
        assert_eq!(xgmi(&machine), [1; 28]);
        let gpus: Vec<_> = machine.gpus().iter().map(|id| &machine.devices()[*id]).collect();
        let named: Vec<_> = gpus
            .iter()
            .map(|gpu| (gpu.name.as_str(), gpu.locality.pci_address.as_deref().unwrap()))
            .collect();
        assert_eq!(named.len(), 8);
        assert_eq!(named[0], ("GPU0", "0000:0b:00.0"));
        assert_eq!(named[7], ("GPU7", "0000:cb:00.0"));
        assert!(gpus.iter().all(|gpu| gpu.vendor_id() == Some("1002")));
        assert_eq!((machine.name(), machine.source()), ("amd-smi", "amd-smi topology"));
        assert!(machine.warnings()[0].contains("amd-smi static --asic"));
        let named = format!("MARKET_NAME: AMD Instinct MI350X\n{MESH}");
        let named = plain(&named).unwrap();
        assert!(named.warnings().is_empty());
        assert!(named.links().iter().any(|link| link.kind == LinkKind::XgmiMi350));
    }

    #[test]
    fn bandwidths_tell_the_links_of_a_pair_and_hops_the_sockets() {
        let machine = plain(PACKAGES).unwrap();
        assert_eq!(xgmi(&machine), [4; 2]);
        let id = |name| machine.device(name).unwrap();
        assert_eq!(relation(&machine, id("GPU0"), id("GPU1")), Relation::Socket);
        assert_eq!(relation(&machine, id("GPU0"), id("GPU2")), Relation::System);
        assert_eq!(census(&machine)["cpu"], 2);
        let two = RocmSmiOptions { xgmi_links: Some(2), ..RocmSmiOptions::default() };
        assert_eq!(xgmi(&read("paste", PACKAGES, &two).unwrap()), [2; 2]);
        for silent in ["0-0         ", "N/A         ", "50000-1     "] {
            let machine = plain(&PACKAGES.replace("50000-200000", silent)).unwrap();
            assert_eq!(xgmi(&machine), [1; 2], "{silent}");
            assert!(machine.assumptions().join("").contains("each pair is taken to have one"));
        }
        let (pairs, _) = PACKAGES.split_once("NUMA BW").unwrap();
        assert_eq!(xgmi(&plain(pairs).unwrap()), [1; 2], "options choose blocks");
        let alone = plain(&pairs.replace("XGMI", "PCIE").replace(" 1", " 2")).unwrap();
        assert!(xgmi(&alone).is_empty() && census(&alone)["cpu"] == 2);
    }

    #[test]
    fn pastes_of_every_manner_read_alike() {
        let expected = plain(MESH).unwrap();
        let manners = [
            MESH.replace('\n', "  \r\n"),
            format!("$ amd-smi topology\n\n{MESH}\n$ "),
            MESH.lines().map(|line| format!("> {line}\n")).collect(),
            MESH.split("Legend").next().unwrap().to_owned(),
            MESH.replace("\n\n", "\n"),
            MESH.replace("COHERANCY", "COHERENCY"),
        ];
        for manner in manners {
            assert_eq!(plain(&manner).unwrap(), expected, "{manner}");
        }
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        let (whole, _) = MESH.split_once("NUMA BW").unwrap();
        let cases = [
            (String::new(), "1:1", "`LINK TYPE TABLE:` is missing"),
            (whole.to_owned(), "44:1", "`NUMA BW TABLE:` is missing"),
            (PACKAGES.replace("8B:00.0 PCIE", "8B:00.0 FAST"), "11:14", "no such cell"),
            (PACKAGES.replace("8B:00.0 PCIE", "8B:00.0 XGMI"), "11:14", "differs from"),
            (PACKAGES.replace("LINK TYPE TABLE:", "LINK TYPES"), "8:14", "no title"),
            (PACKAGES.replace("HOPS TABLE", "LINK TYPE TABLE"), "7:1", "twice"),
            (PACKAGES.replace("0000:93:00.0\n0", "0000:94:00.0\n0"), "6:1", "row of"),
            (PACKAGES.replacen("0000:93:00.0\n", "GPU3\n", 1), "2:53", "no GPU"),
            (
                PACKAGES.replacen("0            1            3            3", "0 1 3", 1),
                "3:19",
                "ends",
            ),
        ];
        for (text, place, words) in cases {
            let error = plain(&text).unwrap_err();
            assert_is_helpful(&error);
            let error = error.to_string();
            assert!(error.starts_with(&format!("paste:{place}: ")), "{place} {error}\n{text}");
            assert!(error.contains(words), "{error}\n{text}");
        }
        let wrong = RocmSmiOptions { xgmi_links: Some(0), ..RocmSmiOptions::default() };
        assert_is_helpful(&read("paste", MESH, &wrong).unwrap_err());
    }

    #[test]
    fn a_cut_paste_is_never_a_smaller_machine() {
        let blocks = format!("ACCESS TABLE:\n{}{PACKAGES}", {
            let access = PACKAGES.split_once("LINK").unwrap().0.replace("HOPS TABLE:\n", "");
            access.replace(" 1  ", " ENABLED")
        });
        assert_cuts_are_safe(&blocks, plain);
        assert_rectangles_are_safe(&blocks, usize::MAX, plain);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in any::<String>(), block in any::<String>()) {
            let _ = plain(&text);
            let _ = plain(&format!("LINK TYPE TABLE:\n{block}"));
            let _ = plain(&format!("{PACKAGES}{block}"));
        }

        #[test]
        fn one_wrong_character_loses_no_device(
            (text, damaged) in prop::sample::select(vec![MESH, PACKAGES])
                .prop_flat_map(|text| (Just(text), damaged(text))),
        ) {
            assert_nothing_vanishes(text, &damaged, plain);
        }
    }
}
