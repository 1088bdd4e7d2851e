//! Plays litmus tests on the simulator: one start of a test, and the outcomes of many starts.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::rc::Rc;

use super::{Litmus, LitmusStep, Reads};
use crate::engine::{EngineError, Hook, Progress, Random};
use crate::memory::address::{AddressMap, LINE, Pages};
use crate::memory::kernel::{AtomicOperation, KernelWorkload, Launch, Layout, Scope, Wavefront};
use crate::memory::run::{GpuOptions, run};
use crate::memory::{GpuRunError, OutOfMemory};
use crate::system::gpus::Hierarchy;
use crate::units::{Bytes, Picoseconds};

/// Cycles after the first by which a wavefront may start.
const LATEST: u64 = 500;
/// Pages over which the addresses are drawn.
pub(super) const PAGES: u64 = 64;

/// Holds the choices that a seed fixes for a test: where its wavefronts run, when they start, and
/// where x and y are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draw {
    /// Names the compute unit of each wavefront, over all GPUs.
    pub units: Vec<u32>,
    /// After how many cycles each starts.
    pub starts: Vec<u64>,
    /// How many instructions each wavefront computes before each of its steps; none where absent.
    pub pauses: Vec<Vec<u32>>,
    /// The byte in their buffer at which each address is.
    pub places: Vec<u64>,
}

/// Holds the outcome of a start of a test: the values that each wavefront's reads saw. It is
/// nothing where a wavefront spun until the time was up.
pub type LitmusOutcome = Option<Reads>;

/// How an outcome is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// An order of all accesses gives it.
    Allowed,
    /// No order of all accesses gives it.
    Forbidden,
    /// Has a wavefront that spins for ever.
    NeverEnds,
}

impl Verdict {
    /// Returns the words that people use.
    #[must_use]
    pub fn told(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Forbidden => "forbidden",
            Self::NeverEnds => "never ends",
        }
    }
}

/// An outcome, and how often it was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observed {
    /// Holds the outcome that was seen.
    pub outcome: LitmusOutcome,
    /// How it is judged.
    pub verdict: Verdict,
    /// Counts the seeds that gave it.
    pub count: u64,
    /// Gives the first of these.
    pub seed: u64,
}

/// Plays a litmus test on some GPUs.
#[derive(Debug)]
pub struct Played<'a> {
    hierarchy: &'a Hierarchy,
    litmus: &'a Litmus,
    options: GpuOptions<'a>,
    /// Whether all caches have read x and y before.
    warm: bool,
    programs: Vec<Vec<LitmusStep>>,
    /// Where lines lie where each GPU has a memory, and where all share one.
    maps: [AddressMap; 2],
}

impl<'a> Played<'a> {
    /// A test, from cold caches or from such as hold its addresses; with fences where the memory
    /// system is not sequentially consistent.
    ///
    /// # Errors
    /// A memory that does not hold the few pages that it needs.
    pub fn new(
        hierarchy: &'a Hierarchy,
        litmus: &'a Litmus,
        warm: bool,
        options: &GpuOptions<'a>,
    ) -> Result<Self, OutOfMemory> {
        let options = GpuOptions { with_data: true, ..*options };
        let mut maps = [Pages::Own, Pages::Shared]
            .map(|pages| AddressMap::new(hierarchy, options.gpus, pages));
        for map in &mut maps {
            map.place(Bytes(PAGES * hierarchy.page.0), options.distribution)?;
        }
        let programs = litmus.programs(!options.memory.is_sequential(), warm);
        Ok(Self { hierarchy, litmus, options, warm, programs, maps })
    }

    /// Returns the choices that a seed fixes, the same under every memory system.
    ///
    /// Of two wavefronts the second runs on the compute unit of the first, on one of its GPU or on
    /// any. The chances are a quarter, a quarter and a half. It is equally likely that x and y
    /// share a line, share a bank, or do not.
    #[must_use]
    pub fn draw(&self, seed: u64) -> Draw {
        let mut random = Random::new(seed);
        let mut below =
            |bound: u64| random.below(NonZeroU64::new(bound).unwrap_or(NonZeroU64::MIN));
        let each = u64::from(self.hierarchy.compute.units);
        let gpus = u64::from(self.options.distribution.computing(self.options.gpus));
        let mut units: Vec<u32> = Vec::new();
        for _ in self.litmus.waves {
            let unit = match (units.last().map(|unit| u64::from(*unit)), below(4)) {
                (Some(last), 0) => last,
                (Some(last), 1) => last / each * each + below(each),
                _ => below(gpus * each),
            };
            units.push(unit as u32);
        }
        let starts = self.litmus.waves.iter().map(|_| below(LATEST + 1)).collect();
        let lines = PAGES * self.hierarchy.page.0 / LINE;
        let x = below(lines);
        let places = match below(3) {
            0 => vec![x * LINE, x * LINE + 4],
            kind => {
                let fits = |y: u64| {
                    let bank = |map: &AddressMap, line| map.bank(map.physical(line));
                    let same = self.maps.each_ref().map(|map| bank(map, x) == bank(map, y));
                    y != x && same == [kind == 1; 2]
                };
                // Where there is one bank only, any other line does.
                let first = below(lines);
                let all = (first..lines).chain(0..first);
                let y = all.clone().find(|y| fits(*y)).or_else(|| all.clone().find(|y| *y != x));
                vec![x * LINE, y.unwrap_or(x) * LINE]
            }
        };
        Draw { units, starts, pauses: Vec::new(), places }
    }

    /// A start of the test as a workload, and where its reads are put.
    #[must_use]
    pub fn workload(&self, draw: &Draw) -> (KernelWorkload, Rc<RefCell<Reads>>) {
        workload(self.litmus.name, (self.hierarchy, self.options.gpus), &self.programs, draw)
    }

    /// Returns the outcome of a seed's start.
    ///
    /// # Errors
    /// Refuses GPUs that cannot be, and fails where the hook ends the run.
    pub fn play(&self, seed: u64, hook: Option<Hook<'_>>) -> Result<LitmusOutcome, GpuRunError> {
        let (workload, reads) = self.workload(&self.draw(seed));
        match run(self.hierarchy, &workload, &self.options, hook) {
            Ok(_) => {}
            Err(GpuRunError::TooLong { .. }) => return Ok(None),
            Err(error) => return Err(error),
        }
        let mut reads = std::mem::take(&mut *reads.borrow_mut());
        let skip = if self.warm { usize::from(self.litmus.addresses) } else { 0 };
        reads.iter_mut().for_each(|reads| drop(reads.drain(..skip)));
        Ok(Some(reads))
    }

    /// How an outcome is judged.
    #[must_use]
    pub fn verdict(&self, outcome: &LitmusOutcome) -> Verdict {
        match outcome {
            None => Verdict::NeverEnds,
            Some(reads) if self.litmus.forbids(false, reads) => Verdict::Forbidden,
            Some(_) => Verdict::Allowed,
        }
    }

    /// All outcomes of some seeds, those that nothing gives without a fault first.
    ///
    /// # Errors
    /// As [`Played::play`]. The hook learns how many seeds are done.
    pub fn outcomes(
        &self,
        seeds: std::ops::Range<u64>,
        hook: Hook<'_>,
    ) -> Result<Vec<Observed>, GpuRunError> {
        let mut counts: BTreeMap<LitmusOutcome, (u64, u64)> = BTreeMap::new();
        for seed in seeds.clone() {
            let at = |progress: Progress| Progress {
                done: seed - seeds.start,
                total: seeds.end - seeds.start,
                ..progress
            };
            let mut within = |progress: Progress| hook(at(progress));
            let outcome = self.play(seed, Some(&mut within))?;
            counts.entry(outcome).or_insert((0, seed)).0 += 1;
            let now = at(Progress { done: 0, total: 0, time: Picoseconds(0), events: 0 });
            if hook(now) == ControlFlow::Break(()) {
                return Err(EngineError::Interrupted(now).into());
            }
        }
        let mut found: Vec<Observed> = counts
            .into_iter()
            .map(|(outcome, (count, seed))| Observed {
                verdict: self.verdict(&outcome),
                outcome,
                count,
                seed,
            })
            .collect();
        found.sort_by_key(|seen| (seen.verdict == Verdict::Allowed, seen.seed));
        Ok(found)
    }
}

/// Makes a workload of programs, drawn places and starts, and says where its reads are put.
pub(super) fn workload(
    name: &str,
    (hierarchy, gpus): (&Hierarchy, u32),
    programs: &[Vec<LitmusStep>],
    draw: &Draw,
) -> (KernelWorkload, Rc<RefCell<Reads>>) {
    let reads = Rc::new(RefCell::new(vec![Vec::new(); programs.len()]));
    let mut layout = Layout::new(hierarchy.page);
    let words = PAGES * hierarchy.page.0 / 4;
    let buffer = layout.output("x and y", words, false);
    // Each compute unit gets a group, and those that have no part in the test end at once.
    let groups = u64::from(gpus * hierarchy.compute.units);
    let on = |unit: u32| draw.units.iter().filter(|other| **other == unit).count();
    let most = draw.units.iter().map(|unit| on(*unit)).max().unwrap_or(1);
    let (draw, programs, seen) = (draw.clone(), programs.to_vec(), Rc::clone(&reads));
    let kernel = move |wavefront: Wavefront| {
        let place = wavefront.place();
        let mut here = (0..draw.units.len()).filter(|wave| draw.units[*wave] == place.group);
        let part = here.nth(place.wavefront as usize).map(|wave| Part {
            program: programs[wave].clone(),
            start: draw.starts[wave],
            pauses: draw.pauses.get(wave).cloned().unwrap_or_default(),
            addresses: draw.places.iter().map(|byte| buffer + byte).collect(),
            seen: Rc::clone(&seen),
            wave,
        });
        async move {
            if let Some(part) = part {
                part.play(&wavefront).await;
            }
        }
    };
    let workload = KernelWorkload {
        name: name.to_owned(),
        buffers: layout.buffers(),
        launches: vec![Launch::new(name.to_owned(), (groups, most as u32), kernel)],
        check: Box::new(|_| Ok(())),
    };
    (workload, reads)
}

/// Holds the steps of a wavefront in a start of a test.
struct Part {
    program: Vec<LitmusStep>,
    start: u64,
    pauses: Vec<u32>,
    addresses: Vec<u64>,
    seen: Rc<RefCell<Reads>>,
    wave: usize,
}

/// Cycles that an instruction keeps its wavefront for, at least.
const INSTRUCTION: u64 = 8;

impl Part {
    async fn play(self, wavefront: &Wavefront) {
        // Whoever has no part has ended, and all others start together.
        wavefront.barrier(Scope::Launch).await;
        wavefront.compute((self.start / INSTRUCTION) as u32).await;
        for _ in 0..self.start % INSTRUCTION {
            // An access without a work-item takes its turn, a cycle, and nothing else.
            wavefront.store(1, |_| None, |_, _| 0).await;
        }
        let at = |address: u8| {
            let address = self.addresses[usize::from(address)];
            move |lane: usize| (lane == 0).then_some(address)
        };
        let fences = self.program.contains(&LitmusStep::Fence);
        let mut loads = Vec::new();
        for (at_step, step) in self.program.iter().enumerate() {
            if let Some(pause) = self.pauses.get(at_step).filter(|pause| **pause > 0) {
                wavefront.compute(*pause).await;
            }
            match *step {
                LitmusStep::Read(address) => loads.push(wavefront.load(1, at(address)).await),
                LitmusStep::Write(address, value) => {
                    wavefront.store(1, at(address), |_, _| u32::from(value)).await;
                }
                LitmusStep::Add(address, value) => {
                    let operand = move |_| u32::from(value);
                    loads.push(wavefront.atomic(AtomicOperation::Add, at(address), operand).await);
                }
                LitmusStep::Spin(address, value) => loop {
                    let loaded = wavefront.load(1, at(address)).await;
                    if wavefront.arrived(loaded).await.word(0, 0) == u32::from(value) {
                        break;
                    }
                    if fences {
                        wavefront.fence().await;
                    }
                },
                LitmusStep::Fence => wavefront.fence().await,
                LitmusStep::Barrier => wavefront.barrier(Scope::Launch).await,
            }
        }
        for load in loads {
            let value = wavefront.arrived(load).await.word(0, 0);
            self.seen.borrow_mut()[self.wave].push(value as u8);
        }
    }
}

const NAMES: [&str; 2] = ["x", "y"];

impl Litmus {
    /// Returns the program of each wavefront, as people write it.
    #[must_use]
    pub fn program(&self) -> String {
        let name = |address: u8| NAMES[usize::from(address)];
        let step = |step: &LitmusStep| match *step {
            LitmusStep::Read(address) => format!("read {}", name(address)),
            LitmusStep::Write(address, value) => format!("{}={value}", name(address)),
            LitmusStep::Spin(address, value) => format!("until {}={value}", name(address)),
            LitmusStep::Add(address, value) => format!("add {value} to {}", name(address)),
            LitmusStep::Fence => "fence".to_owned(),
            LitmusStep::Barrier => "barrier".to_owned(),
        };
        let wave = |wave: &&[LitmusStep]| wave.iter().map(step).collect::<Vec<_>>().join("; ");
        self.waves.iter().map(wave).collect::<Vec<_>>().join(" ‖ ")
    }

    /// Returns an outcome in words: the values that each wavefront that reads has read, in order.
    #[must_use]
    pub fn told(&self, outcome: &LitmusOutcome) -> String {
        let Some(reads) = outcome else { return String::new() };
        let wave = |(wave, (program, values)): (usize, (&&[LitmusStep], &Vec<u8>))| {
            let addresses =
                program.iter().filter(|step| step.reads()).filter_map(|it| it.address());
            let told: Vec<String> = addresses
                .zip(values)
                .map(|(address, value)| format!("{}={value}", NAMES[usize::from(address)]))
                .collect();
            (!told.is_empty()).then(|| format!("{wave}: {}", told.join(" ")))
        };
        let told: Vec<String> = self.waves.iter().zip(reads).enumerate().filter_map(wave).collect();
        told.join(", ")
    }
}
