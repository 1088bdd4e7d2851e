//! Holds the contract of all kinds of fabrics, which those of other crates keep, too.

use std::collections::BTreeSet;

use crate::diagnostic::Registry;
use crate::system::fabric::{
    End, Fabric, FabricKey, FabricKind, FabricSpecification, FabricValueType, LINK_KEYS,
    fabric_dot, read_dot,
};

/// Checks that each of these kinds keeps the contract.
///
/// # Panics
/// Where one does not keep it.
pub fn check_fabrics(kinds: &Registry<dyn FabricKind>) {
    let mut keys: Vec<FabricKey> = LINK_KEYS.to_vec();
    for kind in kinds.iter() {
        check_keys(kind, &mut keys);
        check_sizes(kind);
        check_blame(kind);
    }
}

/// Keys of one name are of one type, sizes are keys, and a preset gives what links need.
fn check_keys(kind: &'static dyn FabricKind, known: &mut Vec<FabricKey>) {
    let name = kind.name();
    let own: BTreeSet<&str> = kind.keys().iter().map(|key| key.key).collect();
    assert_eq!(own.len(), kind.keys().len(), "{name}: a key twice");
    for key in kind.keys() {
        let reserved = ["kind", "preset", "file"].contains(&key.key) || key.key.contains('_');
        let of_links = LINK_KEYS.iter().any(|link| link.key == key.key);
        assert!(!reserved && !of_links, "{name}: {} is taken, or has no hyphens", key.key);
        let same = known.iter().find(|other| other.key == key.key);
        assert!(same.is_none_or(|same| same.takes == key.takes), "{name}: {}", key.key);
        known.push(*key);
    }
    assert!(kind.sizes().iter().all(|size| own.contains(size)), "{name}: {:?}", kind.sizes());
    let new = FabricSpecification::new(kind);
    for (key, _) in kind.preset(&new) {
        let of_links = LINK_KEYS.iter().any(|link| link.key == key);
        assert!(own.contains(key) || of_links, "{name}: {key} is no key");
    }
    let text = toml::to_string(&new.whole()).unwrap();
    let own = Registry::new("kind of network", &[kind]);
    assert_eq!(FabricSpecification::read_of(name, &text, &own).unwrap(), new.whole(), "{name}");
}

/// There are enough ports, never fewer for more nodes, and every fabric is sound.
fn check_sizes(kind: &'static dyn FabricKind) {
    let name = kind.name();
    let new = FabricSpecification::new(kind);
    check_fabric(&new.build().unwrap());
    let small = new.for_ports(17).unwrap();
    let again = read_dot("again.dot", &fabric_dot(&small)).unwrap();
    assert_eq!(again.channels(), small.channels(), "{name}");
    let mut before = 0;
    for needed in [1, 2, 5, 17, 33, 100, 129] {
        let sized = new.sized_for(needed).unwrap();
        assert_eq!(sized.sized_for(needed).unwrap(), sized, "{name} for {needed}");
        let built = new.for_ports(needed).unwrap();
        assert!(built.nodes() >= needed.max(before), "{name} for {needed}: {}", built.nodes());
        before = built.nodes();
        check_fabric(&built);
    }
}

/// Channels come in pairs that lead back, and all is joined.
fn check_fabric(built: &Fabric) {
    let name = built.name();
    built.check_connected().unwrap();
    for (id, channel) in built.channels().iter().enumerate() {
        let back = built.channels()[Fabric::reverse(id as u32) as usize];
        assert_eq!((back.from, back.to), (channel.to, channel.from), "{name}");
        assert_eq!((back.bandwidth, back.latency), (channel.bandwidth, channel.latency), "{name}");
    }
    for node in 0..built.nodes() {
        let out = built.channels()[Fabric::injection(node) as usize];
        assert_eq!((out.from, out.to), (End::Node(node), End::Switch(built.switch_of(node))));
    }
}

/// Whatever a size is, there is a fabric or an error that blames that size.
fn check_blame(kind: &'static dyn FabricKind) {
    for FabricKey { key, takes, .. } in kind.keys() {
        for value in [0_u32, 1, 2, 3, 7, 31, 32, 47, 64, 40_000, u32::MAX] {
            let new = FabricSpecification::new(kind);
            let given = match takes {
                FabricValueType::Count => new.with(key, value),
                FabricValueType::Counts => new.with(key, vec![value]),
                _ => continue,
            };
            for built in [given.build(), given.for_ports(40)] {
                let blamed = built.err().and_then(|error| error.parameter());
                let is_fair = blamed.is_none_or(|it| it == *key || it == "kind");
                assert!(is_fair, "{}: {key} = {value} blames {blamed:?}", kind.name());
            }
        }
    }
}
