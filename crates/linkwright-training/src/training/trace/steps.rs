//! Gives each kernel its step, its pass and its kind, and sums up.

use std::collections::{BTreeMap, BTreeSet};

use super::records::{Call, Kernel, Launch, Operator, Records, Span};
use super::spans::{between, joined, length, place};
use super::{
    KernelKind, KernelTrace, TracedCollectives, TracedKernels, TracedProducts, TracedTime,
};
use crate::diagnostic::{InputError, Position};
use crate::units::Picoseconds;

const NANOSECOND: u64 = Picoseconds::SECOND.0 / 1_000_000_000;
/// The most kernels that no rule knows are named.
const MOST_UNKNOWN: usize = 20;
/// Parts of names of kernels, in small letters, which only backward passes have.
const OF_BACKWARD: [&str; 8] =
    ["backward", "bwd", "dgrad", "wgrad", "_wrw_", "_bw_", "grad_input", "grad_weight"];

/// Sums up the records of a trace.
///
/// # Errors
/// Steps in which nothing ran on a GPU.
pub(super) fn summed(file: &str, mut records: Records) -> Result<KernelTrace, InputError> {
    let names_steps = !records.steps.is_empty();
    records.launches.sort_unstable_by_key(|launch| launch.correlation);
    let by_place = |it: &Operator| (it.external, it.thread, it.start);
    records.operators.sort_unstable_by_key(by_place);
    records.updates = joined(std::mem::take(&mut records.updates), (i64::MIN, i64::MAX));
    records.steps.sort_unstable();
    if !names_steps {
        let start = records.kernels.iter().map(|it| it.start).min().unwrap_or(0);
        let start = records.launches.iter().map(|it| it.start).fold(start, i64::min);
        records.steps.push((start, i64::MAX));
    }
    let sums = Sums::of(&records);
    if sums.began.is_empty() {
        let position = Position { line: 1, column: 1 };
        let problem = "no kernel was launched within a step of the trace";
        let remedy = "profile some steps more, and call the profiler's step() behind each";
        return Err(InputError::at(file, position, problem, "", remedy));
    }
    Ok(sums.finish(records, names_steps))
}

/// Holds what is summed up.
#[derive(Default)]
struct Sums {
    kernels: BTreeMap<(KernelKind, bool, u32), (u64, u64)>,
    products: BTreeMap<([u64; 3], bool), (u64, u64)>,
    collectives: BTreeMap<(Call, u32), (u64, u64)>,
    unknown: BTreeMap<u32, u64>,
    /// Each step that has kernels begins and ends then on the GPU.
    began: BTreeMap<usize, Span>,
    outside: u64,
}

impl Records {
    fn launch(&self, kernel: &Kernel) -> Option<&Launch> {
        let wanted = kernel.correlation?;
        let at = self.launches.binary_search_by_key(&wanted, |launch| launch.correlation);
        at.ok().map(|at| &self.launches[at])
    }

    /// Gives the operator that launched a kernel. Numbers of operators may repeat between threads.
    fn operator(&self, kernel: &Kernel, launch: Option<&Launch>) -> Option<&Operator> {
        let external = kernel.external.or(launch?.external)?;
        let Some(launch) = launch else {
            let at = self.operators.partition_point(|it| it.external < external);
            return self.operators.get(at).filter(|it| it.external == external);
        };
        let wanted = (external, launch.thread, launch.start);
        let behind =
            self.operators.partition_point(|it| (it.external, it.thread, it.start) <= wanted);
        let found = self.operators.get(behind.checked_sub(1)?)?;
        let is_own = found.external == external
            && found.thread == launch.thread
            && launch.start <= found.end;
        is_own.then_some(found)
    }

    fn step(&self, kernel: &Kernel, launch: Option<&Launch>) -> Option<usize> {
        let moment = match launch {
            Some(launch) => launch.start,
            None if self.launches.is_empty() => kernel.start,
            None => return None,
        };
        place(&self.steps, moment)
    }
}

impl Sums {
    fn of(records: &Records) -> Self {
        let mut own = Self::default();
        let names: Vec<bool> = records.names.iter().map(|name| is_of_backward(name)).collect();
        let mut operators = BTreeSet::new();
        for kernel in &records.kernels {
            let launch = records.launch(kernel);
            let Some(step) = records.step(kernel, launch) else {
                own.outside += 1;
                continue;
            };
            let span = own.began.entry(step).or_insert((kernel.start, kernel.end));
            *span = (span.0.min(kernel.start), span.1.max(kernel.end));
            let operator = records.operator(kernel, launch);
            let is_update =
                launch.is_some_and(|launch| place(&records.updates, launch.start).is_some());
            let kind = match KernelKind::joined(kernel.kind, operator.and_then(|it| it.kind)) {
                it @ (KernelKind::Collective | KernelKind::Copy | KernelKind::HostCopy) => it,
                _ if is_update => KernelKind::Optimizer,
                it => it,
            };
            let is_backward = match launch {
                _ if kind == KernelKind::Optimizer => false,
                Some(launch) if !records.backward.is_empty() => {
                    records.backward.contains(&launch.thread)
                }
                _ => names[kernel.name as usize],
            };
            let time = kernel.end.abs_diff(kernel.start);
            add(&mut own.kernels, (kind, is_backward, kernel.stream), 1, time);
            match kind {
                KernelKind::Collective => {
                    let call = kernel.call.or_else(|| operator?.call);
                    let call = call.map(|at| records.calls[at as usize].clone());
                    let call =
                        call.unwrap_or_else(|| unnamed(&records.names[kernel.name as usize]));
                    add(&mut own.collectives, (call, kernel.stream), 1, time);
                }
                KernelKind::Other => *own.unknown.entry(kernel.name).or_default() += time,
                KernelKind::Product => {
                    let Some((own_operator, shape)) =
                        operator.and_then(|it| Some((it, it.product?)))
                    else {
                        continue;
                    };
                    // Several kernels of one operator are one product.
                    let is_new = operators.insert((own_operator.external, own_operator.start));
                    let count = u64::from(is_new);
                    add(&mut own.products, (shape, is_backward), count, time);
                }
                _ => {}
            }
        }
        own
    }

    fn finish(self, records: Records, names_steps: bool) -> KernelTrace {
        let mut unknown: Vec<(String, Picoseconds)> = self
            .unknown
            .iter()
            .map(|(name, time)| (records.names[*name as usize].clone(), picoseconds(*time)))
            .collect();
        unknown.sort_by(|(a, first), (b, second)| second.cmp(first).then(a.cmp(b)));
        unknown.truncate(MOST_UNKNOWN);
        let kernels = self.kernels.iter().map(|((kind, is_backward, stream), (count, time))| {
            let (kind, is_backward, stream) = (*kind, *is_backward, *stream);
            TracedKernels { kind, is_backward, stream, count: *count, time: picoseconds(*time) }
        });
        let products = self.products.iter().map(|((shape, is_backward), (count, time))| {
            let (shape, is_backward) = (*shape, *is_backward);
            TracedProducts { shape, is_backward, count: *count, time: picoseconds(*time) }
        });
        let collectives = self.collectives.iter().map(|((call, stream), (count, time))| {
            let Call { name, number, group, group_size, elements } = call.clone();
            let (stream, count, time) = (*stream, *count, picoseconds(*time));
            TracedCollectives { name, group, group_size, elements, number, stream, count, time }
        });
        KernelTrace {
            events: records.events,
            steps: self.began.len() as u64,
            names_steps,
            rank: records.rank,
            ranks: records.ranks.filter(|ranks| *ranks > 0),
            gpu: records.gpu.clone(),
            kernels: kernels.collect(),
            products: products.collect(),
            collectives: collectives.collect(),
            unknown,
            time: self.time(&records),
            skipped: self.skipped(&records, names_steps),
        }
    }

    fn skipped(&self, records: &Records, names_steps: bool) -> Vec<String> {
        let mut skipped = Vec::new();
        if self.outside > 0 {
            skipped.push(format!("{} kernels that no step of the trace launched", self.outside));
        }
        let without = records.steps.len() - self.began.len();
        if without > 0 {
            skipped.push(format!("{without} steps without a kernel"));
        }
        if records.dropped > 0 {
            skipped.push(format!("{} events of a trace of too many", records.dropped));
        }
        if records.launches.is_empty() {
            skipped.push("launches, so that kernels are of the step in which they ran".to_owned());
        }
        if !names_steps {
            skipped.push("where steps begin: the trace counts as one step".to_owned());
        }
        skipped
    }

    /// Tells what the time of the steps went into.
    fn time(&self, records: &Records) -> TracedTime {
        let window = self
            .began
            .values()
            .fold((i64::MAX, i64::MIN), |whole, own| (whole.0.min(own.0), whole.1.max(own.1)));
        let spans = |is_kind: fn(KernelKind) -> bool| {
            let own = records.kernels.iter().filter(|it| is_kind(it.kind));
            joined(own.map(|it| (it.start, it.end)).collect(), window)
        };
        let whole = spans(|_| true);
        let computing = length(&spans(|kind| kind != KernelKind::Collective));
        let collectives = length(&spans(|kind| kind == KernelKind::Collective));
        let busy = length(&whole);
        let mut launched: Vec<(i64, i64)> = records
            .kernels
            .iter()
            .filter_map(|it| Some((it.start, records.launch(it)?.end)))
            .collect();
        launched.sort_unstable();
        let held_up = between(&whole, window).into_iter().map(|(start, end)| {
            let first = launched.partition_point(|(begun, _)| *begun < end);
            let launched = launched.get(first).filter(|(begun, _)| *begun == end);
            launched.map_or(0, |(_, launched)| (*launched).clamp(start, end).abs_diff(start))
        });
        let host: u64 = held_up.sum();
        let idle = window.1.abs_diff(window.0).saturating_sub(busy);
        TracedTime {
            computing: picoseconds(computing),
            exposed: picoseconds(busy - computing),
            host: picoseconds(host),
            waiting: picoseconds(idle - host),
            collectives: picoseconds(collectives),
        }
    }
}

const fn picoseconds(nanoseconds: u64) -> Picoseconds {
    Picoseconds(nanoseconds.saturating_mul(NANOSECOND))
}

fn add<K: Ord>(sums: &mut BTreeMap<K, (u64, u64)>, key: K, count: u64, time: u64) {
    let own = sums.entry(key).or_default();
    *own = (own.0 + count, own.1.saturating_add(time));
}

fn is_of_backward(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    OF_BACKWARD.iter().any(|word| name.contains(word))
}

/// Calls a collective by its kernel's name, without its parameters.
fn unnamed(kernel: &str) -> Call {
    let name = kernel.split(['(', '<']).next().unwrap_or(kernel).to_owned();
    let name =
        if name.trim_start_matches("void").trim().is_empty() { kernel.to_owned() } else { name };
    Call { name, number: String::new(), group: String::new(), group_size: None, elements: None }
}
