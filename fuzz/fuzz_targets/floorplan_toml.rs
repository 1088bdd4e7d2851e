#![no_main]
use linkwright::thermal::{Floorplan, ThermalError, tables};

// A floorplan that is read can be solved, and its heat is accounted for; blocks neither overlap nor
// leave.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(plan) = Floorplan::read("fuzz", text) else { return };
    for (at, block) in plan.blocks.iter().enumerate() {
        assert!(block.x >= 0.0 && block.right() <= plan.width + 1e-6);
        assert!(block.y >= 0.0 && block.back() <= plan.height + 1e-6);
        assert!(plan.blocks[..at].iter().all(|other| block.overlap(other).is_none()));
    }
    // Extremes that no matter has need not settle; that is said, and nothing else goes wrong.
    let map = match plan.solve(4) {
        Ok(map) => map,
        Err(error) => return assert!(matches!(error, ThermalError::Unsettled { .. }), "{error}"),
    };
    assert!(map.maximum().is_finite() && map.maximum() >= plan.ambient);
    assert!(map.heat().imbalance().abs() < 1e-3);
    assert_eq!(tables::block_temperatures(&map).row_count(), plan.blocks.len());
});
