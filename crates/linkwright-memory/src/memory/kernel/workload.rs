//! Describes a workload: buffers and the launches over them, with the answer that a CPU gives.

use std::borrow::Cow;
use std::convert::Infallible;
use std::fmt;
use std::rc::Rc;

use super::wavefront::{Wavefront, WavefrontProgram};
use crate::units::Bytes;

/// The instructions of a kernel, as memory holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KernelCode {
    /// Counts its bytes, which are none for a kernel that wavefronts know without reading it.
    pub size: Bytes,
    /// Counts the instructions that a wavefront issues from the first line to the last, each loop
    /// gone through once. So it is known how far in the code it is.
    pub instructions: u32,
}

/// Holds one launch: work-groups of wavefronts that run the same kernel.
pub struct Launch {
    /// Gives the kernel's name that people use.
    pub name: Cow<'static, str>,
    /// Counts the work-groups.
    pub groups: u32,
    /// Counts the wavefronts of each.
    pub wavefronts: u32,
    /// Counts the bytes of memory that a group shares.
    pub lds: Bytes,
    /// Describes the kernel's instructions.
    pub code: KernelCode,
    start: Box<dyn Fn(Wavefront) -> WavefrontProgram>,
}

impl Launch {
    /// Makes a launch of `groups` groups of wavefronts.
    pub fn new<F: Future<Output = ()> + 'static>(
        name: impl Into<Cow<'static, str>>,
        (groups, wavefronts): (u64, u32),
        kernel: impl Fn(Wavefront) -> F + 'static,
    ) -> Self {
        let start = Box::new(move |wavefront| Box::pin(kernel(wavefront)) as WavefrontProgram);
        let (lds, code) = (Bytes(0), KernelCode::default());
        Self { name: name.into(), groups: groups as u32, wavefronts, lds, code, start }
    }

    /// Returns the same with code of `bytes` bytes. A wavefront issues `instructions` instructions
    /// of it, each loop gone through once. Launches of one name have one code.
    #[must_use]
    pub fn of_code(self, bytes: u64, instructions: u32) -> Self {
        Self { code: KernelCode { size: Bytes(bytes), instructions }, ..self }
    }

    /// Returns the same with memory that each group shares.
    #[must_use]
    pub fn sharing(self, lds: Bytes) -> Self {
        Self { lds, ..self }
    }

    /// Returns the program of a wavefront.
    #[must_use]
    pub fn program(&self, wavefront: Wavefront) -> WavefrontProgram {
        (self.start)(wavefront)
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} groups of {} wavefronts", self.name, self.groups, self.wavefronts)
    }
}

/// Describes bytes that kernels work on.
#[derive(Clone)]
pub struct KernelBuffer {
    /// Gives the name that people use.
    pub name: Cow<'static, str>,
    /// Gives its first address.
    pub address: u64,
    /// Counts its bytes.
    pub size: Bytes,
    /// Its words at the start, by number; none where it holds zeros and is not copied in.
    pub initial: Option<Rc<dyn Fn(u64) -> u32>>,
    /// Whether the host copies it back at the end.
    pub copied_out: bool,
    /// Whether it lies in another GPU's memory than the kernel's.
    pub is_remote: bool,
}

impl fmt::Debug for KernelBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:#x}, {}", self.name, self.address, self.size)
    }
}

/// Hands out addresses for buffers, one after another, each at the start of a page.
#[derive(Debug, Clone)]
pub struct Layout {
    page: u64,
    buffers: Vec<KernelBuffer>,
    next: u64,
}

impl Layout {
    /// Starts with no buffers.
    #[must_use]
    pub fn new(page: Bytes) -> Self {
        Self { page: page.0, buffers: Vec::new(), next: 0 }
    }

    fn add(&mut self, buffer: KernelBuffer) -> u64 {
        let address = self.next;
        self.next += buffer.size.0.max(1).div_ceil(self.page) * self.page;
        self.buffers.push(KernelBuffer { address, ..buffer });
        address
    }

    /// A buffer that the host copies in: its address.
    pub fn input(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        words: u64,
        initial: impl Fn(u64) -> u32 + 'static,
    ) -> u64 {
        let (size, initial) = (Bytes(4 * words), Some(Rc::new(initial) as Rc<dyn Fn(u64) -> u32>));
        self.add(KernelBuffer {
            name: name.into(),
            address: 0,
            size,
            initial,
            copied_out: false,
            is_remote: false,
        })
    }

    /// A buffer that the host copies in, and back: its address.
    pub fn input_and_output(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        words: u64,
        initial: impl Fn(u64) -> u32 + 'static,
    ) -> u64 {
        let address = self.input(name, words, initial);
        if let Some(buffer) = self.buffers.last_mut() {
            buffer.copied_out = true;
        }
        address
    }

    /// A buffer that starts with zeros, and is copied back where the host needs it: its address.
    pub fn output(
        &mut self,
        name: impl Into<Cow<'static, str>>,
        words: u64,
        copied_out: bool,
    ) -> u64 {
        self.add(KernelBuffer {
            name: name.into(),
            address: 0,
            size: Bytes(4 * words),
            initial: None,
            copied_out,
            is_remote: false,
        })
    }

    /// Returns the buffers.
    #[must_use]
    pub fn buffers(self) -> Vec<KernelBuffer> {
        self.buffers
    }
}

/// Holds the bytes of memory, by address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    bytes: Vec<u8>,
}

impl Image {
    /// Makes a memory of `size` bytes with the content of buffers at the start.
    #[must_use]
    pub fn of(size: u64, buffers: &[KernelBuffer]) -> Self {
        let Ok(image) = Self::filled(size, buffers, || Ok::<_, Infallible>(()));
        image
    }

    /// Makes the same, asking at each word whether to go on.
    ///
    /// # Errors
    /// Passes on the error that ended it.
    pub fn filled<E>(
        size: u64,
        buffers: &[KernelBuffer],
        mut tick: impl FnMut() -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut image = Self { bytes: vec![0; size as usize] };
        for buffer in buffers {
            if let Some(initial) = &buffer.initial {
                for word in 0..buffer.size.0 / 4 {
                    image.set(buffer.address + 4 * word, initial(word));
                    tick()?;
                }
            }
        }
        Ok(image)
    }

    /// Returns the word at an address.
    #[inline]
    #[must_use]
    pub fn word(&self, address: u64) -> u32 {
        let at = address as usize;
        self.bytes
            .get(at..at + 4)
            .map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    /// Returns the word at an address, as a number.
    #[inline]
    #[must_use]
    pub fn float(&self, address: u64) -> f32 {
        f32::from_bits(self.word(address))
    }

    /// Returns the bytes of a buffer, by its address and size.
    #[must_use]
    pub fn of_buffer(&self, address: u64, size: Bytes) -> &[u8] {
        let first = address as usize;
        &self.bytes[first..first + size.0 as usize]
    }

    /// Puts a word at an address.
    #[inline]
    pub fn set(&mut self, address: u64, word: u32) {
        let at = address as usize;
        if let Some(bytes) = self.bytes.get_mut(at..at + 4) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
    }

    /// Returns the bytes of a line.
    #[inline]
    pub fn line(&mut self, line: u64) -> &mut [u8] {
        &mut self.bytes[line as usize * 64..line as usize * 64 + 64]
    }
}

/// An answer that is not the CPU's.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Names the buffer.
    pub buffer: Cow<'static, str>,
    /// Names the first element that differs.
    pub element: u64,
    /// Gives the value that a CPU computes.
    pub expected: String,
    /// Gives the value that memory holds.
    pub got: String,
    /// Where it does.
    pub address: u64,
    /// Names the compute unit that stored it last, and its GPU, where that is known.
    pub stored_by: Option<(u32, u32)>,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, element, expected, got, .. } = self;
        write!(f, "element {element} of {buffer} is {got}, not {expected}")?;
        if let Some((gpu, unit)) = self.stored_by {
            write!(f, ", by what compute unit {unit} of GPU {gpu} read")?;
        }
        Ok(())
    }
}

/// Compares memory with what a CPU computes: the first element that differs, if any does.
pub type Check = Box<dyn Fn(&Image) -> Result<(), Mismatch>>;

/// Holds everything for a run: buffers, launches one after another, and how the answer is checked.
pub struct KernelWorkload {
    /// Gives the name that people use.
    pub name: String,
    /// Holds the buffers, in the order of their addresses.
    pub buffers: Vec<KernelBuffer>,
    /// Holds the launches.
    pub launches: Vec<Launch>,
    /// Compares memory after the run with what a CPU computes.
    pub check: Check,
}

impl fmt::Debug for KernelWorkload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}, {:?}", self.name, self.buffers, self.launches)
    }
}

impl KernelWorkload {
    /// Returns how much memory the buffers take.
    #[must_use]
    pub fn footprint(&self) -> Bytes {
        Bytes(self.buffers.iter().map(|buffer| buffer.size.0).sum())
    }
}

impl Mismatch {
    /// Compares a buffer of numbers with what a CPU computes, exactly or within a part of it.
    ///
    /// # Errors
    /// Names the first element that differs.
    pub fn floats(
        image: &Image,
        (name, address): (impl Into<Cow<'static, str>>, u64),
        count: u64,
        within: f32,
        expected: impl Fn(u64) -> f32,
    ) -> Result<(), Self> {
        let wrong = (0..count).find_map(|element| {
            let (expected, got) = (expected(element), image.float(address + 4 * element));
            let near = (expected - got).abs() <= within * expected.abs().max(1.0);
            (!near).then(|| Self {
                buffer: Cow::Borrowed(""),
                element,
                expected: expected.to_string(),
                got: got.to_string(),
                address: address + 4 * element,
                stored_by: None,
            })
        });
        wrong.map_or(Ok(()), |wrong| Err(Self { buffer: name.into(), ..wrong }))
    }

    /// Compares a buffer of words with what a CPU computes.
    ///
    /// # Errors
    /// Names the first element that differs.
    pub fn words(
        image: &Image,
        (name, address): (impl Into<Cow<'static, str>>, u64),
        count: u64,
        expected: impl Fn(u64) -> u32,
    ) -> Result<(), Self> {
        let wrong = (0..count).find_map(|element| {
            let (expected, got) = (expected(element), image.word(address + 4 * element));
            (expected != got).then(|| Self {
                buffer: Cow::Borrowed(""),
                element,
                expected: expected.to_string(),
                got: got.to_string(),
                address: address + 4 * element,
                stored_by: None,
            })
        });
        wrong.map_or(Ok(()), |wrong| Err(Self { buffer: name.into(), ..wrong }))
    }
}
