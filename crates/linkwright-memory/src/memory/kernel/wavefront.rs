//! Describes a wavefront as its kernel sees it: its operations, and their results.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::LANES;
use super::lanes::{Lanes, PerLane};
use crate::units::Picoseconds;

/// Holds the program of a wavefront: a state machine that the compiler made of its kernel.
pub type WavefrontProgram = Pin<Box<dyn Future<Output = ()>>>;

/// Names the others that a wavefront waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Waits for every wavefront of its work-group.
    Group,
    /// Every wavefront of the launch, on all GPUs: an ideal barrier that the dispatcher holds,
    /// without traffic and without an action of any cache.
    Launch,
}

/// Names the change that an atomic operation makes to a word; the word before comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomicOperation {
    /// Adds, modulo 2^32.
    Add,
    /// Puts the operand in its place.
    Exchange,
    /// Takes the larger, of numbers without sign.
    Max,
}

impl AtomicOperation {
    /// The word after, of the word before and the operand; of two operands the one that does
    /// what both do, one after the other.
    #[must_use]
    pub fn of(self, before: u32, operand: u32) -> u32 {
        match self {
            Self::Add => before.wrapping_add(operand),
            Self::Exchange => operand,
            Self::Max => before.max(operand),
        }
    }
}

/// Names the operation that a wavefront asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WavefrontOperation {
    /// Nothing: it has not asked.
    #[default]
    Nothing,
    /// Runs vector instructions, one after another.
    Compute(u32),
    /// Accesses to the memory of the work-group.
    Lds(u32),
    /// Reads the lanes' words, through the vector cache.
    Load,
    /// Reads the words of one address, through the scalar cache.
    LoadScalar,
    /// Writes the lanes' words to memory.
    Store,
    /// Changes a word of each lane, at its home.
    Atomic(AtomicOperation),
    /// To go on when a load is there.
    Arrived(Loaded),
    /// To go on when all it asked of memory is done, and seen by others.
    Fence,
    /// To go on when the others are there.
    Barrier(Scope),
}

/// A load under way, as the wavefront that asked for it calls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loaded(pub u32);

/// Says when a wavefront gave a load, and when all of it was there.
pub type LoadTimes = [Picoseconds; 2];

/// The words that a load brought; zeros where the run has no data.
#[derive(Debug, Clone, Default)]
pub struct Values {
    words: Option<Box<[PerLane<u32>; 4]>>,
}

impl Values {
    /// Words that are to come, in a run with data.
    #[must_use]
    pub fn zeros() -> Self {
        Self { words: Some(Box::new([[0; LANES]; 4])) }
    }

    /// Whether the run has data.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.words.is_some()
    }

    /// Returns a word of a lane.
    #[inline]
    #[must_use]
    pub fn word(&self, lane: usize, word: usize) -> u32 {
        self.words.as_ref().map_or(0, |words| words[word][lane])
    }

    /// A word of a lane, or what the host knows it to be where the run has no data.
    #[inline]
    #[must_use]
    pub fn word_or(&self, lane: usize, word: usize, known: impl FnOnce() -> u32) -> u32 {
        self.words.as_ref().map_or_else(known, |words| words[word][lane])
    }

    /// Returns a lane's first word as a number.
    #[inline]
    #[must_use]
    pub fn float(&self, lane: usize) -> f32 {
        f32::from_bits(self.word(lane, 0))
    }

    /// Puts a word in its place; nothing where the run has no data.
    #[inline]
    pub fn set(&mut self, lane: usize, word: usize, value: u32) {
        if let Some(words) = &mut self.words {
            words[word][lane] = value;
        }
    }
}

/// Where a wavefront is in its launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WavefrontPlace {
    /// Names its work-group, over all GPUs.
    pub group: u32,
    /// Gives its number in the group.
    pub wavefront: u32,
    /// Counts the wavefronts of a group.
    pub wavefronts: u32,
    /// The GPU that runs it, and of how many.
    pub gpu: u32,
    /// Counts the GPUs of the launch.
    pub gpus: u32,
}

/// Stands between a wavefront's kernel and its runner.
#[derive(Debug, Default)]
pub struct WavefrontState {
    place: WavefrontPlace,
    with_data: bool,
    operation: Cell<WavefrontOperation>,
    answer: Cell<Loaded>,
    line: Cell<Option<u32>>,
    posted: RefCell<Posted>,
    local: Rc<RefCell<Vec<u32>>>,
}

/// Holds the data that goes with an operation on memory.
#[derive(Debug, Default)]
pub struct Posted {
    /// Names the bytes that are touched.
    pub lanes: Lanes,
    /// Holds the words to store, or an atomic operation's operands.
    pub values: Values,
    /// The words that a load has brought.
    pub loaded: Values,
    /// Says when that load was given and there.
    pub span: LoadTimes,
}

impl WavefrontState {
    /// A wavefront that has asked for nothing, whose group shares `local`.
    #[must_use]
    pub fn new(place: WavefrontPlace, with_data: bool, local: Rc<RefCell<Vec<u32>>>) -> Rc<Self> {
        let values = if with_data { Values::zeros() } else { Values::default() };
        let posted = RefCell::new(Posted { values, ..Posted::default() });
        Rc::new(Self { place, with_data, posted, local, ..Self::default() })
    }

    /// Runs the kernel up to what it asks for next; none where it has ended.
    pub fn resume(&self, program: &mut WavefrontProgram) -> Option<WavefrontOperation> {
        self.operation.set(WavefrontOperation::Nothing);
        match program.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(()) => None,
            Poll::Pending => Some(self.operation.get()),
        }
    }

    /// Tells the kernel what its load is called.
    pub fn answer(&self, loaded: Loaded) {
        self.answer.set(loaded);
    }

    /// The line that its operation stands in, of a kernel that is a text.
    #[must_use]
    pub fn line(&self) -> Option<u32> {
        self.line.get()
    }

    /// Returns the data that goes with the operation that was asked for.
    pub fn posted(&self) -> std::cell::RefMut<'_, Posted> {
        self.posted.borrow_mut()
    }
}

/// Puts a wavefront in the hands of its kernel.
#[derive(Debug, Clone)]
pub struct Wavefront {
    state: Rc<WavefrontState>,
}

/// Hands an operation over and goes on when it is done with.
struct Ask<'a> {
    state: &'a WavefrontState,
    operation: WavefrontOperation,
}

impl Future for Ask<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.operation == WavefrontOperation::Nothing {
            return Poll::Ready(());
        }
        self.state.operation.set(std::mem::take(&mut self.operation));
        Poll::Pending
    }
}

impl Wavefront {
    /// A wavefront's end of what stands between it and whoever runs it.
    #[must_use]
    pub fn of(state: &Rc<WavefrontState>) -> Self {
        Self { state: Rc::clone(state) }
    }

    /// Where it is in its launch.
    #[must_use]
    pub fn place(&self) -> WavefrontPlace {
        self.state.place
    }

    /// The number of a work-item over all groups, and of the first lane's.
    #[inline]
    #[must_use]
    pub fn item(&self, lane: usize) -> u64 {
        let WavefrontPlace { group, wavefront, wavefronts, .. } = self.state.place;
        (u64::from(group) * u64::from(wavefronts) + u64::from(wavefront)) * LANES as u64
            + lane as u64
    }

    /// Whether the run has data: whatever changes nothing but values may be left out otherwise.
    #[inline]
    #[must_use]
    pub fn with_data(&self) -> bool {
        self.state.with_data
    }

    /// The line that its next operation stands in, of a kernel that is a text.
    pub fn at_line(&self, line: Option<u32>) {
        self.state.line.set(line);
    }

    async fn ask(&self, operation: WavefrontOperation) {
        Ask { state: &self.state, operation }.await;
    }

    /// Runs vector instructions, one after another.
    pub async fn compute(&self, instructions: u32) {
        self.ask(WavefrontOperation::Compute(instructions)).await;
    }

    /// Asks for `words` words of each lane from its address, or of those lanes that have one. It
    /// goes on as soon as the instruction is issued.
    pub async fn load(&self, words: u32, address: impl Fn(usize) -> Option<u64>) -> Loaded {
        self.state.posted().lanes.set(4 * words, address);
        self.ask(WavefrontOperation::Load).await;
        self.state.answer.get()
    }

    /// Asks for up to 64 bytes from one address, the same for all lanes.
    pub async fn load_scalar(&self, bytes: u32, address: u64) -> Loaded {
        self.state
            .posted()
            .lanes
            .set(4, |lane| (4 * lane < bytes as usize).then_some(address + 4 * lane as u64));
        self.ask(WavefrontOperation::LoadScalar).await;
        self.state.answer.get()
    }

    /// Goes on when a load is there, with its words. Of a scalar load, lane `n` has the word `n`.
    pub async fn arrived(&self, loaded: Loaded) -> Values {
        self.ask(WavefrontOperation::Arrived(loaded)).await;
        std::mem::take(&mut self.state.posted().loaded)
    }

    /// Says when the load that arrived last was given, and when all of it was there.
    #[must_use]
    pub fn span(&self) -> LoadTimes {
        self.state.posted().span
    }

    /// Stores `words` words of each lane that has an address; `value` is of lane and word. It goes
    /// on as soon as the instruction is issued.
    pub async fn store(
        &self,
        words: u32,
        address: impl Fn(usize) -> Option<u64>,
        value: impl Fn(usize, usize) -> u32,
    ) {
        self.post(words, address, value);
        self.ask(WavefrontOperation::Store).await;
    }

    /// An atomic operation on a word of each lane that has an address; the words before come as of
    /// a load.
    pub async fn atomic(
        &self,
        operation: AtomicOperation,
        address: impl Fn(usize) -> Option<u64>,
        operand: impl Fn(usize) -> u32,
    ) -> Loaded {
        self.post(1, address, |lane, _| operand(lane));
        self.ask(WavefrontOperation::Atomic(operation)).await;
        self.state.answer.get()
    }

    fn post(
        &self,
        words: u32,
        address: impl Fn(usize) -> Option<u64>,
        value: impl Fn(usize, usize) -> u32,
    ) {
        let posted = &mut *self.state.posted();
        posted.lanes.set(4 * words, address);
        if self.state.with_data {
            for (lane, _) in posted.lanes.each() {
                for word in 0..words as usize {
                    posted.values.set(lane, word, value(lane, word));
                }
            }
        }
    }

    /// Goes on when all that it asked of memory is done, and others see it.
    pub async fn fence(&self) {
        self.ask(WavefrontOperation::Fence).await;
    }

    /// Goes on when the others are there.
    pub async fn barrier(&self, scope: Scope) {
        self.ask(WavefrontOperation::Barrier(scope)).await;
    }

    /// Accesses to the memory of the work-group.
    pub async fn lds(&self, accesses: u32) {
        self.ask(WavefrontOperation::Lds(accesses)).await;
    }

    /// A word of the work-group's memory, zero where the run has no data.
    #[inline]
    #[must_use]
    pub fn local(&self, word: usize) -> u32 {
        self.state.local.borrow().get(word).copied().unwrap_or(0)
    }

    /// Puts a word into the work-group's memory.
    #[inline]
    pub fn set_local(&self, word: usize, value: u32) {
        if self.state.with_data {
            let mut local = self.state.local.borrow_mut();
            if word >= local.len() {
                local.resize(word + 1, 0);
            }
            local[word] = value;
        }
    }
}
