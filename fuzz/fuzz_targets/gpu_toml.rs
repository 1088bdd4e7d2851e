#![no_main]
use linkwright::system::gpus::{NumberType, read, write};

// A GPU model that is read answers every question, and is the same when written and read back.
libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(model) = read("fuzz", text) else { return };
    for number in NumberType::ALL {
        let rates = [model.vector_rate(number), model.matrix_rate(number)];
        assert!(rates.into_iter().flatten().all(|rate| rate.0 > 0));
    }
    assert!(model.memory().is_err() || model.memory().is_ok_and(|it| it.capacity.0 > 0));
    assert_eq!(read("again", &write(&model)), Ok(model));
});
