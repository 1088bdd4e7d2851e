//! A scenario of a cluster: its network, its messaging library and its jobs, in TOML.

use serde::Deserialize;
use toml::Spanned;

use super::fields::{Fields, SpannedTable};
use super::network::{KEYS, NetworkSettings, PROTOCOL_KEYS};
use crate::diagnostic::InputError;
use crate::simulation::source::{Source, Tables};

/// The keys of a network's settings on their own.
const NETWORK_TABLES: Tables = &[("", KEYS), ("protocol", PROTOCOL_KEYS)];

/// The messaging library's table within another.
#[derive(Deserialize)]
struct WithProtocol {
    protocol: Option<Spanned<SpannedTable>>,
}

/// Reads the settings of a network from a TOML text whose top level is a scenario's `[network]`,
/// with its `[protocol]` beside; `file` names the text in errors.
///
/// # Errors
/// Text that is no such TOML, unknown keys, values out of range, each with line and column.
pub fn read_network(file: &str, text: &str) -> Result<NetworkSettings, InputError> {
    let source = Source { file, text };
    let from_toml = |error: toml::de::Error| InputError::from_toml(file, text, &error);
    let document = toml::de::DeTable::parse(text).map_err(from_toml)?;
    source.check_keys(NETWORK_TABLES, document.get_ref())?;
    let protocol: WithProtocol = toml::from_str(text).map_err(from_toml)?;
    let mut table: SpannedTable = toml::from_str(text).map_err(from_toml)?;
    table.remove("protocol");
    let fields = Fields::new(source, 0..0, table)?;
    let protocol = protocol.protocol.map(|table| {
        let span = table.span();
        Fields::new(source, span, table.into_inner())
    });
    NetworkSettings::read(&fields, protocol.transpose()?.as_ref(), 0)
}
