#![no_main]
use linkwright::doctor::evidence::Evidence;
use linkwright::doctor::read::read_file;

// Each graph that is read has finite speeds and stands in a line of the file.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let text = format!("<graphs version=\"1\">\n{text}");
    let mut evidence = Evidence::default();
    let Ok(()) = read_file("fuzz", text.as_bytes(), &mut evidence) else { return };
    assert!(!evidence.graphs.is_empty());
    let lines = evidence.files[0].lines;
    let is_sound = |speed: f64| speed.is_finite() && speed >= 0.0;
    for graph in &evidence.graphs {
        assert!(is_sound(graph.inside) && is_sound(graph.between));
        assert!((1..=lines).contains(&graph.line.number));
    }
});
