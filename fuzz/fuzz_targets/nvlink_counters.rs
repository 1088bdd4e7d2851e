#![no_main]
use linkwright::allocation::counters::pattern_from_counters;
use linkwright::system::presets::preset;
libfuzzer_sys::fuzz_target!(|texts: (&str, &str)| {
    let machine = preset("dgx1-v100").expect("a preset");
    drop(pattern_from_counters(("before", texts.0), ("after", texts.1), &machine));
});
