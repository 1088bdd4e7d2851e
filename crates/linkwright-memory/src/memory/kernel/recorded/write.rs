//! Writes a kernel as its text.

use std::fmt::Write as _;

use super::{Action, Offsets, RecordedKernel, Touched, Words};
use crate::diagnostic::Named;
use crate::memory::kernel::Scope;

/// The kernel as a text that [`read`](super::read) takes for the same kernel.
#[must_use]
pub fn write(kernel: &RecordedKernel) -> String {
    let mut text = format!("kernel {}\n", kernel.name);
    for buffer in &kernel.buffers {
        let (name, size, copies) = (&buffer.name, buffer.size.0, buffer.copies.name());
        let _ = write!(text, "buffer {name} {size} {copies}");
        if buffer.initial != (Words::Ramp { first: 0, step: 0 }) {
            let _ = write!(text, " = {}", words(&buffer.initial));
        }
        text.push('\n');
    }
    for launch in &kernel.launches {
        let _ = writeln!(text, "launch {} {}", launch.name, launch.lds.0);
        for ((group, wavefront), actions) in &launch.wavefronts {
            for action in actions {
                let _ = writeln!(text, "{group}.{wavefront} {}", told(kernel, action));
            }
        }
    }
    for expected in &kernel.expected {
        let name = &kernel.buffers[expected.buffer].name;
        let (offset, bytes) = (expected.offset, expected.count * 4);
        let _ = writeln!(text, "expect {name}+{offset} {bytes} = {}", words(&expected.words));
    }
    for (name, expected) in kernel.loads.expected() {
        let _ = writeln!(text, "expect {name} = {}", words(expected));
    }
    text
}

fn words(words: &Words) -> String {
    match words {
        Words::Ramp { first, step: 0 } => first.to_string(),
        Words::Ramp { first, step } => format!("{first}:{step}"),
        Words::Listed(words) => {
            // A list of one would be read as a word for all.
            let listed: Vec<String> = words.iter().map(u32::to_string).collect();
            format!("[{}]", listed.join(","))
        }
    }
}

fn told(kernel: &RecordedKernel, action: &Action) -> String {
    let place = |touched: &Touched| {
        let name = &kernel.buffers[touched.buffer].name;
        let offsets = match &touched.offsets {
            Offsets::Strided { first, stride, lanes } => format!("{first}:{stride}x{lanes}"),
            Offsets::Listed(offsets) => {
                let each = |it: &Option<u64>| it.map_or("-".to_owned(), |it| it.to_string());
                format!("[{}]", offsets.iter().map(each).collect::<Vec<_>>().join(","))
            }
        };
        format!("{name}+{offsets} {}", touched.width)
    };
    let kept =
        |name: &Option<String>| name.as_ref().map_or(String::new(), |it| format!(" as {it}"));
    match action {
        Action::Compute(count) => format!("compute {count}"),
        Action::Lds(count) => format!("lds {count}"),
        Action::Load(touched, name) => format!("load {}{}", place(touched), kept(name)),
        Action::Scalar(touched, name) => format!("scalar {}{}", place(touched), kept(name)),
        Action::Store(touched, values) => format!("store {} = {}", place(touched), words(values)),
        Action::StoreLoaded(touched, name) => format!("store {} = {name}", place(touched)),
        Action::Atomic(operation, touched, values, name) => {
            let (operation, values) = (operation.name(), words(values));
            format!("{operation} {} = {values}{}", place(touched), kept(name))
        }
        Action::Spin(touched, value) => format!("spin {} = {value}", place(touched)),
        Action::Wait => "wait".to_owned(),
        Action::Fence => "fence".to_owned(),
        Action::Barrier(Scope::Group) => "barrier".to_owned(),
        Action::Barrier(Scope::Launch) => "barrier launch".to_owned(),
    }
}
