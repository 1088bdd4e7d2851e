//! Plays a kernel of one's own as a workload.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::{Action, Copies, LoadedWords, RecordedKernel, Touched};
use crate::memory::kernel::{
    KernelWorkload, LANES, Launch, Layout, Loaded, Mismatch, Values, Wavefront,
};
use crate::units::Bytes;

type Kept = Rc<RefCell<Vec<LoadedWords>>>;

/// Loads whose words nobody has waited for.
type Open<'a> = Vec<(Loaded, &'a Action)>;

/// After this number of loads of all spinning wavefronts, and of one, nothing new is expected, if no
/// other wavefront could store meanwhile.
const MOST_IN_VAIN: (u64, u64) = (50_000, 64);

/// Who of a launch can still change what others spin on.
#[derive(Debug, Default)]
struct Others {
    /// Wavefronts that have begun, and neither ended nor wait for others.
    busy: Cell<u64>,
    /// Loads of spinning wavefronts since one was.
    in_vain: Cell<u64>,
}

impl Others {
    fn begin(&self) {
        self.busy.set(self.busy.get() + 1);
        self.in_vain.set(0);
    }

    fn end(&self) {
        self.busy.set(self.busy.get() - 1);
    }

    /// Whether nobody can have changed the word that a wavefront loads again and again.
    fn are_done(&self, own: u64) -> bool {
        if self.busy.get() > 0 {
            self.in_vain.set(0);
            return false;
        }
        self.in_vain.set(self.in_vain.get() + 1);
        self.in_vain.get() > MOST_IN_VAIN.0 && own > MOST_IN_VAIN.1
    }
}

impl RecordedKernel {
    /// Returns the kernel as a workload over pages of `page` bytes, and where its loads are kept.
    #[must_use]
    pub fn workload(self: &Arc<Self>, page: Bytes) -> (KernelWorkload, Kept) {
        let mut layout = Layout::new(page);
        let mut addresses = Vec::new();
        for buffer in &self.buffers {
            let (name, words) = (buffer.name.clone(), buffer.size.0 / 4);
            let initial = buffer.initial.clone();
            addresses.push(match buffer.copies {
                Copies::In => layout.input(name, words, move |at| initial.at(at)),
                Copies::InOut => layout.input_and_output(name, words, move |at| initial.at(at)),
                Copies::Out => layout.output(name, words, true),
                Copies::Scratch => layout.output(name, words, false),
            });
        }
        let addresses: Rc<[u64]> = addresses.into();
        let kept = Kept::default();
        let launches = self.launches.iter().enumerate().map(|(number, launch)| {
            let last = |of: fn(&(u32, u32)) -> u32| launch.wavefronts.keys().map(of).max();
            let count = |of| last(of).map_or(0, |last| last + 1);
            let shape = (u64::from(count(|at| at.0)), count(|at| at.1));
            let kernel = Arc::clone(self);
            let (addresses, kept, others) =
                (Rc::clone(&addresses), Rc::clone(&kept), Rc::default());
            let part = Part { kernel, launch: number, addresses, kept, others };
            Launch::new(launch.name.clone(), shape, move |wavefront| {
                let part = part.clone();
                async move { part.play(&wavefront).await }
            })
            .sharing(launch.lds)
        });
        let workload = KernelWorkload {
            name: self.name.clone(),
            buffers: layout.buffers(),
            launches: launches.collect(),
            check: {
                let (kernel, addresses) = (Arc::clone(self), Rc::clone(&addresses));
                Box::new(move |image| {
                    kernel.expected.iter().try_for_each(|expected| {
                        let (name, first) =
                            (kernel.buffers[expected.buffer].name.clone(), expected.offset / 4);
                        let address = addresses[expected.buffer] + expected.offset;
                        let found = Mismatch::words(image, (name, address), expected.count, |at| {
                            expected.words.at(at)
                        });
                        found.map_err(|wrong| Mismatch { element: wrong.element + first, ..wrong })
                    })
                })
            },
        };
        (workload, kept)
    }
}

/// Holds the operations of a wavefront of a launch.
#[derive(Clone)]
struct Part {
    kernel: Arc<RecordedKernel>,
    launch: usize,
    addresses: Rc<[u64]>,
    kept: Kept,
    others: Rc<Others>,
}

impl Part {
    async fn play(&self, wavefront: &Wavefront) {
        let place = wavefront.place();
        let launch = &self.kernel.launches[self.launch];
        let number = (place.group, place.wavefront);
        let Some(actions) = launch.wavefronts.get(&number) else { return };
        let lines = launch.lines.get(&number).map_or(&[][..], Vec::as_slice);
        let mut open = Open::default();
        // These are the words of loads that are stored again.
        let mut brought: BTreeMap<&str, Vec<u32>> =
            launch.stored(number).into_iter().map(|name| (name, Vec::new())).collect();
        self.others.begin();
        for (at, action) in actions.iter().enumerate() {
            wavefront.at_line(lines.get(at).copied());
            match action {
                Action::Compute(count) => wavefront.compute(*count).await,
                Action::Lds(count) => wavefront.lds(*count).await,
                Action::Load(touched, _) => {
                    let loaded = wavefront.load(touched.width / 4, self.at(touched)).await;
                    open.push((loaded, action));
                }
                Action::Scalar(touched, _) => {
                    let first = self.at(touched)(0).unwrap_or(0);
                    let loaded = wavefront.load_scalar(touched.width, first).await;
                    open.push((loaded, action));
                }
                Action::Store(touched, words) => {
                    let each = touched.width / 4;
                    let element = elements(touched);
                    let value = |lane: usize, word: usize| {
                        words.at(element(lane) * u64::from(each) + word as u64)
                    };
                    wavefront.store(each, self.at(touched), value).await;
                }
                Action::StoreLoaded(touched, name) => {
                    let is_named = |(_, action): &(Loaded, &Action)| {
                        action.kept().is_some_and(|(kept, _)| kept == name)
                    };
                    // A wavefront's loads come in their order.
                    let last = open.iter().rposition(is_named).map_or(0, |at| at + 1);
                    self.take(wavefront, (&mut open, last), &mut brought).await;
                    let each = touched.width / 4;
                    let element = elements(touched);
                    let words = &brought[name.as_str()];
                    let value = |lane: usize, word: usize| {
                        let at = element(lane) as usize * each as usize + word;
                        words.get(if words.len() == 1 { 0 } else { at }).copied().unwrap_or(0)
                    };
                    wavefront.store(each, self.at(touched), value).await;
                }
                Action::Atomic(operation, touched, words, _) => {
                    let element = elements(touched);
                    let operand = |lane: usize| words.at(element(lane));
                    let loaded = wavefront.atomic(*operation, self.at(touched), operand).await;
                    open.push((loaded, action));
                }
                Action::Spin(touched, value) => self.spin(wavefront, touched, *value).await,
                Action::Wait => {
                    let all = open.len();
                    self.take(wavefront, (&mut open, all), &mut brought).await;
                }
                Action::Fence => wavefront.fence().await,
                Action::Barrier(scope) => {
                    self.others.end();
                    wavefront.barrier(*scope).await;
                    self.others.begin();
                }
            }
        }
        let all = open.len();
        self.take(wavefront, (&mut open, all), &mut brought).await;
        self.others.end();
    }

    /// Loads a word until it has a value.
    ///
    /// Where nobody is left who could store it, the loads become rarer and rarer. So a run that never
    /// ends soon comes to the end of its time.
    async fn spin(&self, wavefront: &Wavefront, touched: &Touched, value: u32) {
        self.others.end();
        let (mut loads, mut pause) = (0, 1_u32);
        loop {
            let loaded = wavefront.load(1, self.at(touched)).await;
            let seen = wavefront.arrived(loaded).await;
            if seen.word(0, 0) == value || !wavefront.with_data() {
                break;
            }
            // Some protocols drop copies at fences alone.
            wavefront.fence().await;
            loads += 1;
            if self.others.are_done(loads) {
                wavefront.compute(pause).await;
                pause = pause.saturating_mul(2);
            }
        }
        self.others.begin();
    }

    /// The address of each work-item that takes part.
    fn at<'a>(&self, touched: &'a Touched) -> impl Fn(usize) -> Option<u64> + 'a {
        let first = self.addresses[touched.buffer];
        move |lane| touched.offsets.of(lane).map(|offset| first + offset)
    }

    /// Waits for the first loads that are open, and keeps those that have a name.
    async fn take(
        &self,
        wavefront: &Wavefront,
        (open, count): (&mut Open<'_>, usize),
        brought: &mut BTreeMap<&str, Vec<u32>>,
    ) {
        for (loaded, action) in open.drain(..count) {
            let values = wavefront.arrived(loaded).await;
            let (touched, name) = match action {
                Action::Load(touched, Some(name))
                | Action::Scalar(touched, Some(name))
                | Action::Atomic(_, touched, _, Some(name)) => (touched, name),
                _ => continue,
            };
            let words: Vec<(u32, u32, u32)> = if !wavefront.with_data() {
                Vec::new()
            } else if matches!(action, Action::Scalar(..)) {
                // Lane `n` has the word `n` of the one address.
                (0..touched.width / 4).map(|at| (0, at, values.word(at as usize, 0))).collect()
            } else {
                words_of(touched, &values)
            };
            if let Some(brought) = brought.get_mut(name.as_str()) {
                *brought = words.iter().map(|(.., word)| *word).collect();
            }
            let (launch, place, name) = (self.launch, wavefront.place(), name.clone());
            let [issued, arrived] = wavefront.span();
            let loaded = LoadedWords { launch, place, name, issued, arrived, words };
            self.kept.borrow_mut().push(loaded);
        }
    }
}

/// Which of the work-items that take part one is.
fn elements(touched: &Touched) -> impl Fn(usize) -> u64 + '_ {
    |lane| (0..lane).filter(|before| touched.offsets.of(*before).is_some()).count() as u64
}

fn words_of(touched: &Touched, values: &Values) -> Vec<(u32, u32, u32)> {
    let lanes = (0..LANES).filter(|lane| touched.offsets.of(*lane).is_some());
    let each = |lane: usize| {
        (0..touched.width / 4)
            .map(move |word| (lane as u32, word, values.word(lane, word as usize)))
    };
    lanes.flat_map(each).collect()
}
