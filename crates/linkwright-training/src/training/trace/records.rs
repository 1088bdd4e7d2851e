//! Keeps of a trace's events what is asked for: compact records of kernels, launches, operators and steps.

use std::collections::HashMap;

use super::event::{Arguments, Event, Loose};
use super::kinds::KernelKind;

/// The most records of a kind that are kept: some hundreds of megabytes in all.
const MOST_RECORDS: usize = 1 << 22;
/// The most names of kernels that are told apart, and the most characters of each.
const MOST_NAMES: usize = 1 << 16;
pub(super) const MOST_OF_NAME: usize = 160;

/// A kernel, copy or fill on a GPU; times are in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Kernel {
    pub start: i64,
    pub end: i64,
    pub stream: u32,
    pub kind: KernelKind,
    /// Names it in the list of names.
    pub name: u32,
    pub correlation: Option<u64>,
    pub external: Option<u64>,
    /// Names the collective that it says it is.
    pub call: Option<u32>,
}

/// A call of the driver or the runtime that starts something on the GPU.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Launch {
    pub correlation: u64,
    pub start: i64,
    pub end: i64,
    pub thread: u64,
    pub external: Option<u64>,
}

/// An operator of the framework on the host, where it says what its kernels do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Operator {
    pub external: u64,
    pub thread: u64,
    pub start: i64,
    pub end: i64,
    pub kind: Option<KernelKind>,
    /// Counts rows, columns and terms of a product.
    pub product: Option<[u64; 3]>,
    pub call: Option<u32>,
}

/// A collective as the trace names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Call {
    pub name: String,
    pub number: String,
    pub group: String,
    pub group_size: Option<u64>,
    pub elements: Option<u64>,
}

/// A part of the host's time that has a name.
pub(super) type Span = (i64, i64);

/// Holds the records of a trace, in the order of its events.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub kernels: Vec<Kernel>,
    pub launches: Vec<Launch>,
    pub operators: Vec<Operator>,
    pub steps: Vec<Span>,
    pub updates: Vec<Span>,
    /// Threads on which gradients are calculated.
    pub backward: Vec<u64>,
    pub names: Vec<String>,
    pub calls: Vec<Call>,
    pub events: u64,
    /// Counts the events that had no place left.
    pub dropped: u64,
    /// Whether operators of PyTorch, or what its profiler writes beside events, were seen.
    pub is_pytorch: bool,
    pub rank: Option<u64>,
    pub ranks: Option<u64>,
    /// Names the GPU; empty where nothing does.
    pub gpu: String,
    name_places: HashMap<String, u32>,
    call_places: HashMap<Call, u32>,
}

impl Records {
    pub(super) fn take(&mut self, event: Event) {
        self.events += 1;
        if event.ph.text() != "X" {
            return;
        }
        let Some(start) = event.ts.nanoseconds() else { return };
        let lasting = event.dur.nanoseconds().unwrap_or(0);
        let span = (start, start.saturating_add(lasting));
        match event.cat.text().to_ascii_lowercase().as_str() {
            "kernel" => self.take_kernel(&event, span, KernelKind::of_kernel),
            "gpu_memcpy" | "memcpy" | "gpu_memset" | "memset" => {
                self.take_kernel(&event, span, KernelKind::of_copy);
            }
            "cuda_runtime" | "cuda_driver" | "hip_runtime" | "hip_driver" | "runtime" => {
                self.take_launch(&event, span);
            }
            "cpu_op" | "operator" => {
                self.is_pytorch = true;
                self.take_operator(&event, span);
            }
            "user_annotation" => {
                self.is_pytorch = true;
                let name = event.name.text();
                let spans = match () {
                    () if name.starts_with("ProfilerStep#") => &mut self.steps,
                    () if name.starts_with("Optimizer.") => &mut self.updates,
                    () => return,
                };
                push(spans, span, &mut self.dropped);
            }
            _ => {}
        }
    }

    fn take_kernel(&mut self, event: &Event, (start, end): Span, kind: fn(&str) -> KernelKind) {
        let name = event.name.text();
        let kind = kind(name);
        let own = &event.args;
        let stream = own.stream.or_else(|| event.tid.integer()).unwrap_or(0);
        let kernel = Kernel {
            start,
            end,
            stream: u32::try_from(stream).unwrap_or(u32::MAX),
            kind,
            name: self.name(name),
            correlation: own.correlation,
            external: own.external.filter(|external| *external > 0),
            call: self.call(own),
        };
        push(&mut self.kernels, kernel, &mut self.dropped);
    }

    fn take_launch(&mut self, event: &Event, (start, end): Span) {
        let Some(correlation) = event.args.correlation else { return };
        let name = event.name.text();
        // Other calls start nothing.
        let starts = ["Launch", "Memcpy", "Memset"].iter().any(|word| name.contains(word));
        if starts {
            let external = event.args.external.filter(|external| *external > 0);
            let thread = event.thread();
            let launch = Launch { correlation, start, end, thread, external };
            push(&mut self.launches, launch, &mut self.dropped);
        }
    }

    fn take_operator(&mut self, event: &Event, (start, end): Span) {
        let name = event.name.text();
        let thread = event.thread();
        if name.starts_with("autograd::engine") && !self.backward.contains(&thread) {
            push(&mut self.backward, thread, &mut self.dropped);
        }
        let Some(external) = event.args.external else { return };
        let kind = KernelKind::of_operator(name);
        let product = product(name, &event.args);
        let call = self.call(&event.args);
        // The others say nothing of kernels.
        if kind.is_some() || call.is_some() {
            let operator = Operator { external, thread, start, end, kind, product, call };
            push(&mut self.operators, operator, &mut self.dropped);
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        let short: String = name.chars().take(MOST_OF_NAME).collect();
        let next = self.names.len().min(MOST_NAMES) as u32;
        let place = *self.name_places.entry(short).or_insert_with_key(|short| {
            if self.names.len() < MOST_NAMES {
                self.names.push(short.clone());
            } else if self.names.len() == MOST_NAMES {
                self.names.push("others".to_owned());
            }
            next
        });
        if self.name_places.len() > MOST_NAMES {
            self.name_places.retain(|_, place| (*place as usize) < MOST_NAMES);
        }
        place
    }

    /// Gives the place of the collective that an event says it is.
    fn call(&mut self, own: &Arguments) -> Option<u32> {
        if own.collective.is_empty() {
            return None;
        }
        let short = |text: &str| text.chars().take(MOST_OF_NAME).collect::<String>();
        let call = Call {
            name: short(&own.collective),
            number: short(&own.number),
            group: short(&own.group),
            group_size: own.group_size,
            elements: own.elements,
        };
        if let Some(place) = self.call_places.get(&call) {
            return Some(*place);
        }
        if self.calls.len() >= MOST_NAMES {
            return None;
        }
        let place = self.calls.len() as u32;
        self.calls.push(call.clone());
        self.call_places.insert(call, place);
        Some(place)
    }
}

impl Event {
    fn thread(&self) -> u64 {
        self.tid.integer().unwrap_or(0)
    }
}

fn push<T>(records: &mut Vec<T>, record: T, dropped: &mut u64) {
    if records.len() < MOST_RECORDS {
        records.push(record);
    } else {
        *dropped += 1;
    }
}

/// Gives rows, columns and terms of the product of an operator, where its tensors' shapes were recorded.
fn product(name: &str, own: &Arguments) -> Option<[u64; 3]> {
    // The first tensor of `addmm` is what is added.
    let first = match name {
        "aten::mm" | "aten::_scaled_mm" => 0,
        "aten::addmm" => 1,
        _ => return None,
    };
    let lengths = |at: usize| {
        let shape = &own.shapes.0.get(at)?.0;
        let lengths: Vec<u64> = shape.iter().filter_map(Loose::integer).collect();
        <[u64; 2]>::try_from(lengths).ok()
    };
    let ([rows, terms], [second, columns]) = (lengths(first)?, lengths(first + 1)?);
    (terms == second).then_some([rows, columns, terms])
}
