//! Adds an importer: it reads a list of GPUs that are joined to one CPU.
//!
//! ```text
//! GPU list
//! GPU0 V100-SXM2-16GB pcie3
//! GPU1 V100-SXM2-16GB pcie3
//! ```

use linkwright::diagnostic::{InputError, Position, Registered, instead_of};
use linkwright::system::{
    DeviceKind, ImportFormat, ImportOptions, LinkKind, Server, ServerBuilder, SystemError,
};

/// Reads a GPU, its model and its generation of PCIe from each line below a title.
#[derive(Debug)]
pub struct GpuList;

const TITLE: &str = "GPU list";

impl Registered for GpuList {
    fn name(&self) -> &'static str {
        "gpu-list"
    }
}

impl ImportFormat for GpuList {
    fn looks_like(&self, text: &str) -> bool {
        text.starts_with(TITLE)
    }

    fn read(&self, file: &str, text: &str, options: &ImportOptions) -> Result<Server, SystemError> {
        let name = options.name.as_deref().unwrap_or(self.name());
        let mut builder = ServerBuilder::new(name, "a list of GPUs");
        let host = builder.device("CPU0", DeviceKind::Cpu, None)?;
        for (index, line) in text.lines().enumerate().skip(1) {
            let refuse = |problem: &str, remedy: String| {
                let position = Position { line: index + 1, column: 1 };
                SystemError::Input(InputError::at(file, position, problem, line, remedy))
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            let [gpu, model, bus] = words[..] else {
                return Err(refuse("no GPU", "write its name, its model and its bus".to_owned()));
            };
            let known = LinkKind::ALL.into_iter().filter(|kind| kind.is_pcie());
            let names: Vec<&str> = known.clone().map(LinkKind::name).collect();
            let kind = known.into_iter().find(|kind| kind.name() == bus);
            let kind = kind.ok_or_else(|| refuse("no bus", instead_of(bus, &names)))?;
            let gpu = builder.device(gpu, DeviceKind::Gpu, Some(model))?;
            builder.data_sheet_link(gpu, host, kind, 1)?;
        }
        Ok(builder.build()?)
    }
}
