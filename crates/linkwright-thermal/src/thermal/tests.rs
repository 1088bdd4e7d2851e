//! Tests slabs and fins that can be told by hand, a dense solver, and properties of every package.

use proptest::prelude::*;

use super::grid::Grid;
use super::*;

/// Builds a package of `size` millimetres each way; layers and blocks are added as texts.
fn package(size: f64, parts: &str) -> Floorplan {
    let text = format!(
        "width = {size}\nheight = {size}\nambient = 25.0\nsink = {{ resistance = 0.1 }}\n{parts}"
    );
    Floorplan::read("package.toml", &text).unwrap()
}

fn layer(name: &str, thickness: f64, conductivity: f64, more: &str) -> String {
    format!(
        "[[layer]]\nname = \"{name}\"\nthickness = {thickness}\nconductivity = {conductivity}\n{more}\n"
    )
}

fn block(name: &str, layer: &str, [x, y, width, height, power]: [f64; 5], more: &str) -> String {
    format!(
        "[[block]]\nname = \"{name}\"\nlayer = \"{layer}\"\nx = {x}\ny = {y}\nwidth = {width}\n\
         height = {height}\npower = {power}\n{more}\n"
    )
}

fn near(a: f64, b: f64, share: f64) {
    assert!((a - b).abs() <= share * a.abs().max(b.abs()), "{a} is not {b}");
}

#[test]
fn a_slab_is_as_hot_as_its_resistances_say() {
    let parts = layer("chip", 0.2, 100.0, "")
        + &layer("paste", 0.05, 4.0, "")
        + &layer("lid", 2.0, 400.0, "cells = 4")
        + &block("all", "chip", [0.0, 0.0, 20.0, 20.0, 50.0], "");
    let map = package(20.0, &parts).solve(8).unwrap();
    let (power, area, sink) = (50.0, 400e-6, 0.1);
    let through = |thickness: f64, conductivity: f64| thickness * 1e-3 / (conductivity * area);
    let [chip, paste, lid] = map.layers()[..] else { panic!("three layers") };
    let lid_below = power * (sink + through(2.0, 400.0));
    near(lid.mean - 25.0, power * (sink + through(1.0, 400.0)), 1e-6);
    near(lid.maximum - 25.0, power * (sink + through(1.75, 400.0)), 1e-6);
    near(paste.mean - 25.0, lid_below + power * through(0.025, 4.0), 1e-6);
    near(chip.maximum - 25.0, lid_below + power * (through(0.05, 4.0) + through(0.1, 100.0)), 1e-6);
    near(chip.maximum, chip.minimum, 1e-6);
    assert!(map.heat().imbalance().abs() < 1e-7);
}

#[test]
fn heat_goes_both_ways_as_the_resistances_part_it() {
    let parts = "board = { resistance = 0.4 }\n".to_owned()
        + &layer("chip", 0.2, 100.0, "")
        + &layer("lid", 2.0, 400.0, "")
        + &block("all", "chip", [0.0, 0.0, 20.0, 20.0, 50.0], "");
    let map = package(20.0, &parts).solve(4).unwrap();
    let through = |thickness: f64, conductivity: f64| thickness * 1e-3 / (conductivity * 400e-6);
    let up = 0.1 + through(2.0, 400.0) + through(0.1, 100.0);
    let down = 0.4 + through(0.1, 100.0);
    near(map.heat().sink, 50.0 * down / (up + down), 1e-6);
    near(map.heat().board, 50.0 * up / (up + down), 1e-6);
    near(map.maximum() - 25.0, 50.0 * up * down / (up + down), 1e-6);
}

/// Heat that arises evenly in a slab makes a parabola. At its foot, which the lowest cell stands for,
/// what the cells leave out within them and at the top cancels.
#[test]
fn heat_within_a_layer_makes_a_parabola() {
    for cells in [1, 5, 16] {
        let parts = layer("chip", 4.0, 10.0, &format!("cells = {cells}"))
            + &block("all", "chip", [0.0, 0.0, 20.0, 20.0, 50.0], "");
        let map = package(20.0, &parts).solve(2).unwrap();
        // Half of what all the heat would need to pass all of the slab.
        near(map.maximum() - 25.0, 50.0 * (0.1 + 4e-3 / (10.0 * 400e-6) / 2.0), 1e-6);
    }
}

/// A thin plate, heated over a part of its width: a fin, whose temperatures are known.
#[test]
fn heat_spreads_sideways_as_in_a_fin() {
    let (length, heated, thickness, conductivity) = (40.0, 12.5, 2.0, 400.0);
    let parts = layer("plate", thickness, conductivity, "")
        + &block("hot", "plate", [0.0, 0.0, heated, length, 60.0], "");
    let plan = package(length, &parts);
    let area = length * length * 1e-6;
    let loss = 1.0 / (0.1 * area + thickness * 1e-3 / 2.0 / conductivity);
    let m = (loss / (conductivity * thickness * 1e-3)).sqrt();
    let flux = 60.0 / (heated * length * 1e-6);
    let (whole, cold) = (m * length * 1e-3, m * (length - heated) * 1e-3);
    let hottest = flux / loss * (1.0 - cold.sinh() / whole.sinh());
    let coolest = flux / loss * (whole - cold).sinh() / whole.sinh();
    let map = plan.solve(256).unwrap();
    near(map.maximum() - 25.0, hottest, 1e-4);
    near(map.layers()[0].minimum - 25.0, coolest, 1e-4);
    let off = |cells| (plan.solve(cells).unwrap().layers()[0].minimum - 25.0 - coolest).abs();
    near(off(32) / off(64), 4.0, 0.05);
}

/// A layer that conducts up and down only has no use for what lies beside its blocks.
#[test]
fn layers_conduct_differently_up_than_sideways() {
    let parts = layer("chip", 0.2, 1e-3, "vertical_conductivity = 100.0")
        + &block("half", "chip", [0.0, 0.0, 10.0, 20.0, 50.0], "");
    let map = package(20.0, &parts).solve(16).unwrap();
    // Half of the area: twice the sink's resistance, and nothing on the other side.
    near(map.maximum() - 25.0, 50.0 * (0.2 + 1e-4 / (100.0 * 200e-6)), 1e-3);
    assert!(map.layers()[0].minimum < 25.01);
}

/// The rounds and elimination come to the same, on a package with all that there is.
#[test]
fn rounds_come_to_what_elimination_does() {
    let plan = package(10.0, &several());
    let map = plan.solve(4).unwrap();
    let grid = Grid::new(&plan, 4);
    let assembled = grid.assemble(&plan);
    let network = &assembled.network;
    let cells = network.shape.cells();
    let mut rows = vec![vec![0.0; cells + 1]; cells];
    let slab = network.shape.slab();
    let ways = [(&network.right, 1), (&network.above, network.shape.x), (&network.behind, slab)];
    for (conductances, step) in ways {
        for at in 0..cells - step {
            let conductance = f64::from(conductances[at]);
            rows[at][at] += conductance;
            rows[at + step][at + step] += conductance;
            rows[at][at + step] -= conductance;
            rows[at + step][at] -= conductance;
        }
    }
    for (at, row) in rows.iter_mut().enumerate() {
        row[at] += f64::from(network.ambient[at]);
        row[cells] = assembled.heat[at];
    }
    for pivot in 0..cells {
        let (above, below) = rows.split_at_mut(pivot + 1);
        let own = &above[pivot];
        for row in below.iter_mut().filter(|row| row[pivot] != 0.0) {
            let share = row[pivot] / own[pivot];
            for at in pivot..=cells {
                row[at] -= share * own[at];
            }
        }
    }
    let mut rise = vec![0.0; cells];
    for at in (0..cells).rev() {
        let others: f64 = (at + 1..cells).map(|other| rows[at][other] * rise[other]).sum();
        rise[at] = (rows[at][cells] - others) / rows[at][at];
    }
    near(map.maximum() - 25.0, rise.iter().copied().fold(0.0, f64::max), 1e-7);
    assert!(map.rounds() > 3 && map.unaccounted() <= 1e-8);
}

/// Returns layers of three sizes, a filler, bumps, blocks on one another, and a board.
fn several() -> String {
    "board = { resistance = 3.0 }\n".to_owned()
        + &layer("interposer", 0.1, 100.0, "width = 12\nheight = 11")
        + &layer("bumps", 0.02, 1.6, "beside = \"chips\"\nbeside_conductivity = 2.3")
        + &layer("chips", 0.15, 1.0, "cells = 2")
        + &layer("paste", 0.02, 4.0, "")
        + &layer("spreader", 1.0, 400.0, "width = 16\nheight = 8")
        + &layer("sink", 5.0, 400.0, "width = 30\nheight = 30\ncells = 2")
        + &block("a", "chips", [0.3, 0.4, 4.1, 4.3, 20.0], "conductivity = 120")
        + &block("b", "chips", [5.5, 5.0, 3.0, 4.9, 9.0], "conductivity = 120")
        + &block("c", "interposer", [1.0, 6.0, 3.0, 3.0, 2.0], "")
}

#[test]
fn finer_cells_come_nearer() {
    let plan = package(10.0, &several());
    let maxima: Vec<f64> =
        [10, 20, 40, 80].iter().map(|cells| plan.solve(*cells).unwrap().maximum()).collect();
    let steps: Vec<f64> = maxima.windows(2).map(|two| (two[1] - two[0]).abs()).collect();
    assert!(steps[0] > 1.5 * steps[1] && steps[1] > 1.5 * steps[2], "{maxima:?}");
    assert!(steps[2] < 0.01 * (maxima[3] - 25.0), "{maxima:?}");
}

/// As many rounds on fine grids as on coarse ones: that is what multigrid is for.
#[test]
fn fine_grids_take_as_many_rounds() {
    let plan = package(10.0, &several());
    let rounds = |cells| plan.solve(cells).unwrap().rounds();
    let (coarse, fine) = (rounds(12), rounds(96));
    assert!(fine <= coarse + 6 && fine < 30, "{coarse} and {fine}");
}

/// This has grids that no halving brings to one column at once, and cells that are far narrower
/// than others.
#[test]
fn few_cells_and_narrow_ones_settle() {
    for (width, height) in [(10.4, 10.0), (10.000_01, 10.0), (10.002, 31.0)] {
        let parts = layer("chip", 0.2, 100.0, "")
            + &layer("lid", 1.0, 400.0, &format!("width = {width}\nheight = {height}"))
            + &block("b", "chip", [1.0, 2.0, 3.0, 4.0, 20.0], "");
        for cells in 1..=9 {
            let map = package(10.0, &parts).solve(cells).unwrap();
            assert!(map.rounds() < 60, "{} rounds of {cells} cells", map.rounds());
            assert!(map.heat().imbalance().abs() < 1e-7);
        }
    }
}

#[test]
fn the_sink_for_a_temperature_is_found() {
    let plan = package(10.0, &several());
    let map = plan.sink_for(70.0, 10).unwrap();
    near(map.maximum(), 70.0, 1e-6);
    let again = plan.with_sink(map.floorplan().sink).unwrap().solve(10).unwrap();
    near(again.maximum(), 70.0, 1e-6);
    for target in [25.0, 26.0, 1e6] {
        let refused = plan.sink_for(target, 10).unwrap_err();
        assert!(matches!(refused, ThermalError::NoSink { .. }), "{refused}");
    }
    let cold = package(10.0, &layer("chip", 1.0, 100.0, ""));
    assert!(cold.sink_for(25.0, 4).is_err() || cold.solve(4).unwrap().maximum() == 25.0);
    assert!(cold.sink_for(40.0, 4).is_err());
}

#[test]
fn what_no_memory_holds_is_refused() {
    let plan = package(10.0, &several());
    for (cells, says) in [
        (0, "a grid cannot have 0 cells each way; use 1 to 2048"),
        (2049, "a grid cannot have 2049 cells each way"),
        (
            2048,
            "a grid of 2048 cells each way has 33554432 cells in all, which takes too much \
            memory",
        ),
    ] {
        let refused = plan.solve(cells).unwrap_err().to_string();
        assert!(refused.starts_with(says), "{refused}");
    }
    assert!(plan.with_sink(0.0).unwrap_err().to_string().contains("a sink's resistance (K/W)"));
    assert!(plan.with_ambient(f64::NAN).is_err());
    let refused = tables::cells(&plan.solve(2).unwrap(), "chip").unwrap_err().to_string();
    assert!(refused.starts_with("there is no layer `chip`; did you mean `chips`?"), "{refused}");
}

#[test]
fn a_table_has_every_cell_of_its_layer() {
    let map = package(10.0, &several()).solve(10).unwrap();
    let table = tables::cells(&map, "chips").unwrap();
    assert_eq!(table.row_count(), 100);
    let wide = tables::cells(&map, "sink").unwrap();
    let crate::table::Column::Float64(widths) = &wide.column("width").unwrap().values else {
        panic!("widths are numbers")
    };
    let crate::table::Column::Float64(heights) = &wide.column("height").unwrap().values else {
        panic!("heights are numbers")
    };
    let area: f64 = widths.iter().zip(heights).map(|(width, height)| width * height).sum();
    near(area, 900.0, 1e-9);
}

/// Blocks of some power on a lattice, and mirrored; layers of some sizes.
fn packages() -> impl Strategy<Value = (Floorplan, Floorplan)> {
    let blocks = prop::collection::vec((0.2..3.0_f64, 0.2..3.0_f64, 0.0..40.0_f64), 1..9);
    let layers = prop::collection::vec((0.02..2.0_f64, 0.5..400.0_f64, 6.0..40.0_f64), 1..4);
    (blocks, layers, prop::option::of(0.1..50.0_f64)).prop_map(|(blocks, layers, board)| {
        let mut parts =
            board.map_or(String::new(), |it| format!("board = {{ resistance = {it} }}\n"));
        parts += &layer("chips", 0.2, 2.0, "");
        for (at, (thickness, conductivity, size)) in layers.iter().enumerate() {
            let size = format!("width = {size}\nheight = {size}");
            parts += &layer(&format!("layer{at}"), *thickness, *conductivity, &size);
        }
        let mut mirrored = parts.clone();
        for (at, (width, height, power)) in blocks.iter().enumerate() {
            let (x, y) = (0.1 + 3.2 * (at % 3) as f64, 0.1 + 3.2 * (at / 3) as f64);
            let (name, own) = (format!("b{at}"), "conductivity = 130");
            parts += &block(&name, "chips", [x, y, *width, *height, *power], own);
            let x = 10.0 - x - width;
            mirrored += &block(&name, "chips", [x, y, *width, *height, *power], own);
        }
        (package(10.0, &parts), package(10.0, &mirrored))
    })
}

fn powered(plan: &Floorplan, power: impl Fn(usize, f64) -> f64) -> Floorplan {
    let mut plan = plan.clone();
    for (at, block) in plan.blocks.iter_mut().enumerate() {
        block.power = power(at, block.power);
    }
    plan
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_holds_for_every_package((plan, mirrored) in packages()) {
        let cells = 9;
        let map = plan.solve(cells).unwrap();
        let rise = |map: &ThermalMap| -> Vec<f64> {
            map.blocks().iter().map(|block| block.mean - 25.0).collect()
        };
        let (whole, most) = (rise(&map), map.maximum() - 25.0);
        // A number near 25 is rounded by 4e-15.
        let hair = 1e-6 * most.max(1e-6);

        // Heat out is power in.
        let heat = map.heat();
        prop_assert!((heat.power - heat.sink - heat.board).abs() <= 1e-6 * heat.power);
        prop_assert!(map.unaccounted() <= 1e-8);

        // The hottest cell is where heat arises, and nothing is cooler than the air.
        let powered_blocks = || plan.blocks.iter().zip(map.blocks()).filter(|(it, _)| it.power > 0.0);
        if powered_blocks().next().is_some() {
            let chips = map.layers()[0];
            prop_assert!(chips.maximum >= map.maximum() - hair);
            // Heat arises in some part of the cell that has it.
            let (x, y) = chips.hottest;
            let reach = plan.width / cells as f64 / 2.0 + 1e-9;
            let lies = |at: f64, from: f64, size: f64| at >= from - reach && at <= from + size + reach;
            let is_over = |it: &Block| lies(x, it.x, it.width) && lies(y, it.y, it.height);
            prop_assert!(powered_blocks().any(|(it, _)| is_over(it)), "{x}, {y}");
        }
        // A cell that a block has less than half of is not counted to it. A block that is thinner than two cells may
        // have no other.
        let hottest = powered_blocks().map(|(_, block)| block.maximum).fold(25.0, f64::max);
        let is_wide = |it: &Block| it.width.min(it.height) >= 2.0 * plan.width / cells as f64;
        let is_told = powered_blocks().all(|(it, _)| is_wide(it));
        prop_assert!(!is_told || hottest >= map.maximum() - 0.15 * most, "{hottest} of {}", map.maximum());
        prop_assert!(map.layers().iter().all(|layer| layer.minimum >= 25.0 - hair));

        // Temperatures are sums: of one block's heat, and of the others'.
        let one = powered(&plan, |at, power| if at == 0 { power } else { 0.0 }).solve(cells).unwrap();
        let rest = powered(&plan, |at, power| if at == 0 { 0.0 } else { power }).solve(cells).unwrap();
        for ((whole, one), rest) in whole.iter().zip(rise(&one)).zip(rise(&rest)) {
            prop_assert!((whole - one - rest).abs() <= hair, "{whole} is not {one} and {rest}");
        }

        // More power never cools anything.
        let more = powered(&plan, |at, power| if at == 0 { power + 5.0 } else { power });
        for (before, after) in whole.iter().zip(rise(&more.solve(cells).unwrap())) {
            prop_assert!(after >= before - hair);
        }

        // Left and right are alike.
        for (own, other) in whole.iter().zip(rise(&mirrored.solve(cells).unwrap())) {
            prop_assert!((own - other).abs() <= hair, "{own} is not {other}");
        }
    }
}

fn refused(text: &str) -> String {
    Floorplan::read("f.toml", text).unwrap_err().to_string()
}

#[test]
fn what_no_package_has_is_refused_with_its_place() {
    let head = "width = 10\nheight = 8\nsink = { resistance = 0.1 }\n";
    let chips = layer("chips", 0.2, 100.0, "");
    let whole = |parts: &str| format!("{head}{chips}{parts}");
    let a = block("a", "chips", [0.0, 0.0, 4.0, 4.0, 1.0], "");
    for (text, says) in [
        (head.to_owned(), "no key `layer`; add `layer`"),
        (format!("{head}layer = []"), "no layer; write a [[layer]] for each"),
        (whole("colour = 3"), "unknown key: `colour`; "),
        (
            whole(&block("b", "chips", [7.0, 0.0, 4.0, 4.0, 1.0], "")),
            "f.toml:12:5: block `b` leaves the interposer: from x = 7 to 11, where there is 0 to \
             10: `7`; write x = 0 to 6",
        ),
        (
            whole(&block("b", "chips", [0.0, 4.5, 4.0, 4.0, 1.0], "")),
            "f.toml:13:5: block `b` leaves the interposer: from y = 4.5 to 8.5, where there is 0 \
             to 8: `4.5`; write y = 0 to 4",
        ),
        (
            whole(&block("b", "chips", [0.0, 0.0, 10.5, 4.0, 1.0], "")),
            "make it at most 10 mm wide that way",
        ),
        (
            whole(&(a.clone() + &block("b", "chips", [3.5, 1.0, 4.0, 4.0, 1.0], ""))),
            "f.toml:21:5: block `b` overlaps block `a` by 0.5 x 3 mm: `3.5`; write x = from 4",
        ),
        (
            whole(
                &(block("a", "chips", [5.0, 0.0, 4.0, 4.0, 1.0], "")
                    + &block("b", "chips", [3.5, 1.0, 4.0, 4.0, 1.0], "")),
            ),
            "block `b` overlaps block `a` by 2.5 x 3 mm: `3.5`; write x = up to 1 or from 9",
        ),
        (whole(&(a.clone() + &a)), "two blocks have one name: `\"a\"`; give each its own"),
        (whole(&chips), "two layers have one name: `\"chips\"`; give each its own"),
        (
            whole(&block("b", "chip", [0.0, 0.0, 4.0, 4.0, 1.0], "")),
            "unknown layer: `\"chip\"`; did you mean `chips`? use chips",
        ),
        (
            whole(&block("b", "chips", [0.0, 0.0, 4.0, 4.0, -1.0], "")),
            "`power` is out of range: `-1`; write 0 to 1000000, in W",
        ),
        (
            whole(&block("b", "chips", [f64::NAN, 0.0, 4.0, 4.0, 1.0], "").replace("NaN", "nan")),
            "`x` is out of range: `nan`; write 0 to 10000, in mm",
        ),
        (whole(&block(" ", "chips", [0.0, 0.0, 4.0, 4.0, 1.0], "")), "a block without a name"),
        (format!("{head}{}", layer("a", 0.2, 0.0, "")), "`conductivity` is out of range"),
        (
            format!("{head}{}", layer("a", 0.2, 1.0, "cells = 65")),
            "the number of cells from the board up",
        ),
        (
            format!("{head}{}", layer("a", 0.2, 1.0, "cells = 0")),
            "the number of cells from the board up",
        ),
        (format!("{head}{}", layer("a", 0.2, 1.0, "beside = \"a\"")), "`beside` says nothing"),
        (
            format!("{head}{}", layer("a", 0.2, 1.0, "beside_conductivity = 2")),
            "`beside_conductivity` says nothing by itself",
        ),
        (
            format!("{head}{}", layer("a", 0.2, 1.0, "beside = \"a\"\nbeside_conductivity = 2")),
            "a layer does not lie beside itself",
        ),
        (
            format!("{head}{}", layer("small", 0.2, 1.0, "width = 4"))
                + &block("b", "small", [2.0, 0.0, 4.0, 4.0, 1.0], ""),
            "block `b` leaves its layer: from x = 2 to 6, where there is 3 to 7: `2`; write x = 3 to 3",
        ),
        (head.replace("10", "0") + &chips, "`width` is out of range: `0`; write 0.001 to 10000"),
        (head.replace("0.1", "0") + &chips, "`resistance` is out of range"),
        (format!("ambient = -300\n{head}{chips}"), "`ambient` is out of range"),
    ] {
        let error = refused(&text);
        assert!(error.contains(says), "{error}\ninstead of\n{says}");
    }
}

/// Blocks that share an edge do not overlap, whatever the last digits of their sums.
#[test]
fn blocks_may_touch() {
    let parts = layer("chips", 0.2, 100.0, "")
        + &block("a", "chips", [0.0, 0.0, 0.1, 4.0, 1.0], "")
        + &block("b", "chips", [0.1, 0.0, 0.2, 4.0, 1.0], "")
        + &block("c", "chips", [0.3, 0.0, 9.7, 10.0, 1.0], "");
    near(package(10.0, &parts).solve(7).unwrap().heat().power, 3.0, 1e-12);
}
