//! Sizes that nobody gave: enough ports, no smaller fabric, and never fewer ports for more nodes.

use linkwright::system::fabric::{
    Fabric, FabricError, FabricShape, FabricSpecification, FatTree, fabrics,
};
use proptest::prelude::*;

fn preset(kind: &str) -> FabricSpecification {
    FabricSpecification::preset(kind).unwrap()
}

fn read(text: &str) -> FabricSpecification {
    FabricSpecification::read("a.toml", text).unwrap()
}

/// How many ports the sized fabric has, without building it.
fn ports(specification: &FabricSpecification, needed: u32) -> u64 {
    let sized = specification.sized_for(needed).unwrap().whole();
    let count = |key: &str| sized.count(key).unwrap();
    let product = |keys: &[&str]| keys.iter().map(|key| u64::from(count(key))).product();
    match sized.kind().name() {
        "fat-tree" => {
            let (radix, tapering) = (count("radix"), count("tapering"));
            match count("levels") {
                2 => FatTree::two_levels(radix, count("leaves"), tapering).unwrap().nodes().into(),
                _ => FatTree::three_levels(radix, count("pods"), tapering).unwrap().nodes().into(),
            }
        }
        "dragonfly" => product(&["nodes-per-switch", "switches-per-group", "groups"]),
        "torus" => {
            let sizes = sized.counts("dimensions").unwrap().iter();
            let switches: u64 = sizes.map(|size| u64::from(*size)).product();
            switches * u64::from(count("nodes-per-switch"))
        }
        "quartz" => product(&["leaves", "nodes-per-leaf"]),
        "single-switch" => count("ports").into(),
        other => panic!("{other}"),
    }
}

#[test]
fn there_are_enough_ports_and_never_fewer_for_more_nodes() {
    for kind in fabrics().names() {
        let mut before = 0;
        for needed in 1..=3000 {
            let ports = ports(&preset(kind), needed);
            assert!(ports >= u64::from(needed).max(before), "{kind} for {needed}: {ports}");
            before = ports;
        }
    }
}

#[test]
fn what_is_built_has_the_ports_and_is_connected() {
    for kind in fabrics().names() {
        for needed in [1, 2, 5, 17, 33, 100, 129, 500, 1025, 2049] {
            let built = preset(kind).for_ports(needed).unwrap();
            assert_eq!(u64::from(built.nodes()), ports(&preset(kind), needed), "{kind} {needed}");
            built.check_connected().unwrap();
        }
    }
}

#[test]
fn a_fat_tree_of_which_nothing_is_said_is_full_of_4_8_or_16_ports_or_the_preset() {
    let sizes = |needed| {
        let sized = preset("fat-tree").sized_for(needed).unwrap();
        (sized.count("radix").unwrap(), sized.count("pods").unwrap())
    };
    for needed in 1..=2048_u32 {
        let full = [4, 8, 16].into_iter().find(|radix: &u32| radix.pow(3) / 4 >= needed);
        assert_eq!(sizes(needed), full.map_or((32, 8), |radix| (radix, radix)), "{needed}");
    }
    let beyond = [2049, 4097, 8193, 65_536, 65_537, 131_072].map(sizes);
    assert_eq!(beyond, [(32, 16), (32, 32), (64, 16), (64, 64), (128, 32), (128, 32)]);
    let preset = preset("fat-tree");
    assert_eq!(preset.for_ports(2000).unwrap(), preset.build().unwrap());
}

#[test]
fn the_other_presets_are_the_fabrics_of_their_sizes_too() {
    for kind in ["torus", "quartz", "single-switch"] {
        let built = preset(kind).build().unwrap();
        assert_eq!(preset(kind).for_ports(built.nodes()).unwrap(), built);
    }
}

#[test]
fn fewer_leaves_than_a_pod_would_hold_are_one_small_pod() {
    let few = preset("quartz").with("leaves", 4).with("leaves-per-pod", 17);
    assert_eq!(few.build().unwrap().nodes(), few.for_ports(1).unwrap().nodes());
    assert!(matches!(few.for_ports(200), Err(FabricError::TooFewPorts { ports: 128, .. })));
    let many = few.with("leaves", 34);
    let said = many.for_ports(1).unwrap_err().to_string();
    assert!(said.contains("leaves-per-pod") || said.contains("uplinks"), "{said}");
}

/// Finds the balanced dragonfly of fewest nodes to a switch, and then of fewest groups, by trying
/// all.
fn dragonfly(needed: u32) -> (u32, u32) {
    let sizes = (1..40_u32).flat_map(|size| (1..=2 * size * size + 1).map(move |g| (size, g)));
    sizes.into_iter().find(|(size, groups)| 2 * size * size * groups >= needed).unwrap()
}

/// The fewest places of a box whose longest side is at most twice the shortest, by trying all.
fn torus(needed: u32) -> (u32, u32) {
    let sides = 1..=needed.min(40);
    let mut all = Vec::new();
    for low in sides.clone() {
        for middle in sides.clone().filter(|middle| *middle >= low) {
            for high in sides.clone().filter(|high| (middle..=2 * low).contains(high)) {
                all.push((low * middle * high, high));
            }
        }
    }
    all.into_iter().filter(|(places, _)| *places >= needed).min().unwrap()
}

#[test]
fn no_smaller_fabric_would_do() {
    for needed in 1..=600 {
        let fly = preset("dragonfly").sized_for(needed).unwrap();
        let (size, groups) = dragonfly(needed);
        let expected = [Some(size), Some(2 * size), Some(size), Some(groups)];
        let sizes = ["nodes-per-switch", "switches-per-group", "global-links-per-switch", "groups"]
            .map(|key| fly.count(key));
        assert_eq!(sizes, expected, "{needed}");
        let sides = preset("torus").sized_for(needed).unwrap();
        let sides = sides.counts("dimensions").unwrap();
        assert!(sides.is_sorted() && sides.len() == 3, "{sides:?}");
        assert_eq!((sides.iter().product(), sides[2]), torus(needed), "{needed}");
        assert!(sides[2] <= 2 * sides[0], "{sides:?}");
        assert_eq!(ports(&preset("single-switch"), needed), u64::from(needed));
    }
    for needed in (1..=11_000).step_by(37) {
        // Every number of leaves that makes a tree, from one on.
        let of_leaves = |leaves: u32, cores| {
            let text = format!("kind = \"quartz\"\nleaves = {leaves}\ncores = {cores}");
            read(&text).build()
        };
        let found = preset("quartz").sized_for(needed);
        if needed > 10_752 {
            let error = found.unwrap_err().to_string();
            assert!(error.contains("10752 ports") && error.contains("raise `radix`"), "{error}");
            continue;
        }
        let (leaves, cores) = found
            .map(|sized| ["leaves", "cores"].map(|key| sized.count(key).unwrap()))
            .unwrap()
            .into();
        let built = of_leaves(leaves, cores).unwrap();
        assert!(built.nodes() >= needed);
        let fewer = (needed.div_ceil(32)..leaves).find(|leaves| of_leaves(*leaves, 1 << 4).is_ok());
        assert_eq!(fewer.filter(|leaves| leaves * 16 <= 16 * 48), None, "{needed}: {leaves}");
        assert!(u64::from(cores) * 42 >= u64::from(leaves) * 16);
        assert!((u64::from(cores) - 1) * 42 < u64::from(leaves) * 16);
    }
}

#[test]
fn what_is_given_is_kept_and_the_rest_is_smallest() {
    for (given, needed, sizes) in [
        ("kind = \"fat-tree\"\nradix = 8", 17, "pods = 2"),
        ("kind = \"fat-tree\"\nradix = 32", 257, "pods = 2"),
        ("kind = \"fat-tree\"\npods = 3", 100, "radix = 16"),
        ("kind = \"fat-tree\"\ntapering = 3", 25, "radix = 8\npods = 8"),
        ("kind = \"fat-tree\"\nlevels = 2", 9, "radix = 8\nleaves = 8"),
        ("kind = \"fat-tree\"\nlevels = 2\nradix = 16", 9, "leaves = 2"),
        (
            "kind = \"dragonfly\"\ngroups = 4",
            100,
            "nodes-per-switch = 4\nswitches-per-group = 8\nglobal-links-per-switch = 4",
        ),
        (
            "kind = \"dragonfly\"\nnodes-per-switch = 8\nswitches-per-group = 16\nglobal-links-per-switch = 8",
            2048,
            "groups = 16",
        ),
        (
            "kind = \"dragonfly\"\nnodes-per-switch = 4",
            50,
            "switches-per-group = 4\nglobal-links-per-switch = 2\ngroups = 4",
        ),
        ("kind = \"torus\"\ndimensions = [4, 4]", 33, "nodes-per-switch = 3"),
        ("kind = \"torus\"\nnodes-per-switch = 8", 64, "dimensions = [2, 2, 2]"),
        ("kind = \"quartz\"\nleaves = 16", 33, "cores = 7"),
        ("kind = \"quartz\"\ncores = 4", 33, "leaves = 2"),
        ("kind = \"single-switch\"\nports = 64", 33, ""),
    ] {
        let sized = read(given).sized_for(needed).unwrap();
        assert_eq!(sized, read(&format!("{given}\n{sizes}")), "{given} for {needed}");
        assert!(sized.build().unwrap().nodes() >= needed, "{given}");
    }
}

#[test]
fn too_few_ports_are_said_with_what_is_missing_and_what_to_raise() {
    for (given, needed, expected) in [
        (
            "kind = \"fat-tree\"\nradix = 4",
            20,
            "a fat-tree of this size has at most 16 ports, 4 fewer than the 20 needed; raise \
             `radix` or leave it out",
        ),
        (
            "kind = \"fat-tree\"\nradix = 8\npods = 2",
            33,
            "32 ports, 1 fewer than the 33 needed; raise `pods` or leave it out",
        ),
        (
            "kind = \"fat-tree\"\nradix = 4\npods = 1",
            33,
            "4 ports, 29 fewer than the 33 needed; raise `radix` or leave it out",
        ),
        (
            "kind = \"fat-tree\"\nlevels = 2\nradix = 4",
            9,
            "8 ports, 1 fewer than the 9 needed; raise `radix`",
        ),
        (
            "kind = \"dragonfly\"\nnodes-per-switch = 1\nswitches-per-group = 2\nglobal-links-per-switch = 1",
            7,
            "6 ports, 1 fewer than the 7 needed; raise `switches-per-group` or",
        ),
        (
            "kind = \"dragonfly\"\ngroups = 2\nnodes-per-switch = 1\nswitches-per-group = 1",
            1000,
            "2 ports, 998 fewer than the 1000 needed; raise `groups` or",
        ),
        (
            "kind = \"torus\"\ndimensions = [2, 2]\nnodes-per-switch = 1",
            5,
            "4 ports, 1 fewer than the 5 needed; raise `nodes-per-switch` or",
        ),
        (
            "kind = \"quartz\"\nleaves = 1\ncores = 1",
            40,
            "32 ports, 8 fewer than the 40 needed; raise `leaves` or",
        ),
        (
            "kind = \"single-switch\"\nports = 1",
            2,
            "at most 1 port, 1 fewer than the 2 needed; raise `ports` or leave it out",
        ),
    ] {
        let error = read(given).for_ports(needed).unwrap_err();
        assert!(error.to_string().contains(expected), "{given}: {error}");
        assert!(matches!(error, FabricError::TooFewPorts { .. }));
    }
    assert_eq!(preset("torus").for_ports(0), Err(FabricError::NoNode));
    for (given, key) in [
        ("kind = \"fat-tree\"\nradix = 31", "radix"),
        ("kind = \"fat-tree\"\nlevels = 4", "levels"),
        ("kind = \"fat-tree\"\ntapering = 0", "tapering"),
        ("kind = \"dragonfly\"\nnodes-per-switch = 0", "nodes-per-switch"),
        ("kind = \"torus\"\ndimensions = [3, 0]", "dimensions"),
        ("kind = \"quartz\"\nuplinks = 40", "uplinks"),
        ("kind = \"quartz\"\nradix = 40000", "radix"),
        ("kind = \"torus\"\npods = 3", "pods"),
        ("kind = \"torus\"\nports = 3", "ports"),
    ] {
        let error = read(given).for_ports(10).unwrap_err();
        assert_eq!(error.parameter(), Some(key), "{given}: {error}");
    }
    let error = preset("fat-tree").for_ports(u32::MAX).unwrap_err();
    assert!(matches!(error, FabricError::TooLarge { .. }), "{error}");
}

/// Draws a specification of a kind with some of its sizes.
fn some_sizes() -> impl Strategy<Value = FabricSpecification> {
    let size = || prop_oneof![2 => Just(None), 1 => (0_u32..40).prop_map(Some)];
    let dimensions = prop::option::of(prop::collection::vec(0_u32..6, 0..4));
    (
        0..fabrics().names().len(),
        prop::array::uniform5(size()),
        dimensions,
        prop::option::of(1_u32..4),
    )
        .prop_map(|(kind, [a, b, c, d, e], dimensions, tapering)| {
            let new = FabricSpecification::new(fabrics().iter().nth(kind).unwrap());
            let sized = |keys: &[(&'static str, Option<u32>)]| {
                let given = keys.iter().filter_map(|(key, value)| Some((*key, (*value)?)));
                given.fold(new.clone(), |new, (key, value)| new.with(key, value))
            };
            match new.kind().name() {
                "fat-tree" => {
                    let levels = e.map(|levels| levels % 3 + 1);
                    let (pods, leaves) = if levels == Some(2) { (None, a) } else { (a, None) };
                    sized(&[
                        ("radix", b),
                        ("pods", pods),
                        ("leaves", leaves),
                        ("levels", levels),
                        ("tapering", tapering),
                    ])
                }
                "dragonfly" => sized(&[
                    ("nodes-per-switch", a),
                    ("switches-per-group", b),
                    ("global-links-per-switch", c),
                    ("groups", d),
                ]),
                "torus" => {
                    let sized = sized(&[("nodes-per-switch", a)]);
                    match dimensions {
                        Some(dimensions) => sized.with("dimensions", dimensions),
                        None => sized,
                    }
                }
                "quartz" => sized(&[
                    ("leaves", a),
                    ("cores", b),
                    ("nodes-per-leaf", c),
                    ("uplinks", d),
                    ("leaves-per-pod", e),
                ]),
                _ => sized(&[("ports", a)]),
            }
        })
}

proptest! {
    #[test]
    fn any_specification_has_the_ports_or_says_how_many_are_missing(
        specification in some_sizes(),
        needed in 1_u32..3000,
    ) {
        match specification.for_ports(needed) {
            Ok(built) => {
                prop_assert!(built.nodes() >= needed);
                let sized = specification.sized_for(needed).unwrap();
                prop_assert_eq!(sized.sized_for(needed).unwrap(), sized.clone());
                prop_assert!(keeps(&specification, &sized));
            }
            Err(FabricError::TooFewPorts { ports, .. }) => {
                prop_assert!(ports < u64::from(needed));
                // This number of ports can be had, with the sizes given.
                if let Ok(fabric) = specification.for_ports(ports as u32) {
                    prop_assert_eq!(u64::from(fabric.nodes()), ports);
                }
            }
            Err(error) => prop_assert!(error.to_string().contains("; "), "{error}"),
        }
    }
}

/// Whether what is given in one stands in the other.
fn keeps(given: &FabricSpecification, sized: &FabricSpecification) -> bool {
    given.given().iter().all(|pair| sized.given().contains(pair))
}

#[test]
fn a_fabric_for_nodes_has_the_shape_of_its_kind() {
    let kinds = fabrics().names();
    let shapes = kinds.iter().map(|kind| preset(kind).for_ports(40).unwrap());
    let is_of = |fabric: &Fabric, kind: &str| {
        matches!(
            (fabric.shape(), kind),
            (FabricShape::FatTree(_), "fat-tree")
                | (FabricShape::Dragonfly(_), "dragonfly")
                | (FabricShape::Torus(_), "torus")
                | (FabricShape::Graph, "quartz")
                | (FabricShape::SingleSwitch, "single-switch")
        )
    };
    assert!(shapes.zip(&kinds).all(|(fabric, kind)| is_of(&fabric, kind)));
}
