#![no_main]
use linkwright::system::{ExportFormat, ImportOptions, Server, export, import};
libfuzzer_sys::fuzz_target!(|text: &str| {
    let options = ImportOptions::default();
    let Ok(machine) = import("fuzz", text, None, &options) else { return };
    let gpus = |machine: Server| machine.gpus().len();
    for format in ExportFormat::ALL {
        let Ok(written) = export(&machine, format) else { continue };
        let read = import("written", &written.text, Some(format.reader()), &options).map(gpus);
        // A matrix of more NVLinks than any generation has tells neither bundles nor switches.
        if format != ExportFormat::NvidiaSmi || read.is_ok() {
            assert_eq!(read, Ok(machine.gpus().len()), "{}", written.text);
        }
    }
});
