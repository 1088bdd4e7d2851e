//! The page on networks has every key of every kind, with the default that the code has.

use std::path::Path;

use linkwright::system::fabric::{FabricSpecification, LINK_KEYS, fabrics};

/// Returns the part of the page below the heading of a kind.
fn section<'a>(page: &'a str, kind: &str) -> &'a str {
    let heading = format!("\n## {kind}\n");
    let from = page.find(&heading).unwrap_or_else(|| panic!("a heading `{kind}`")) + heading.len();
    let rest = &page[from..];
    &rest[..rest.find("\n## ").unwrap_or(rest.len())]
}

/// Returns the keys of a section's table, each with its default, in order.
fn rows(section: &str) -> Vec<(String, String)> {
    let lines = section.lines().filter(|line| line.starts_with("| `"));
    let cells = lines.map(|line| line.split(" | ").collect::<Vec<_>>());
    let bare = |cell: &str| cell.trim_matches(['|', ' ', '`']).to_owned();
    cells.map(|cells| (bare(cells[0]), bare(cells[cells.len() - 1]))).collect()
}

#[test]
fn the_page_has_every_key_of_every_kind_with_its_default() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/fabrics.md");
    let page = std::fs::read_to_string(path).unwrap();
    for name in fabrics().names() {
        let preset = FabricSpecification::preset(name).unwrap();
        let defaults = toml::Table::try_from(preset.whole()).unwrap();
        let expected: Vec<(String, Option<String>)> = preset
            .kind()
            .keys()
            .iter()
            .chain(&LINK_KEYS)
            .map(|key| {
                let value = defaults.get(key.key).map(|value| match value {
                    toml::Value::String(text) => text.clone(),
                    other => other.to_string(),
                });
                (key.key.to_owned(), value)
            })
            .collect();
        let told = rows(section(&page, name));
        let keys = |all: &[(String, _)]| all.iter().map(|row| row.0.clone()).collect::<Vec<_>>();
        let expected_keys: Vec<String> = expected.iter().map(|row| row.0.clone()).collect();
        assert_eq!(keys(&told), expected_keys, "{name}");
        for ((key, expected), (_, told)) in expected.iter().zip(&told) {
            match expected {
                Some(value) => assert_eq!(told, value, "{name}: {key}"),
                // A key that no preset gives follows another key, which the page names.
                None => assert!(
                    told.starts_with("as ") || told.starts_with("infiniband") || told == "none",
                    "{name}: {key}: {told}"
                ),
            }
        }
    }
}
