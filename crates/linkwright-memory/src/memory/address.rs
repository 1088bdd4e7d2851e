//! Says where bytes lie: pages over GPUs, lines over banks and channels.
//!
//! It represents one space of addresses that all GPUs of a run share, handed out by pages. A page
//! lies in the memory of one GPU, or in the memory that all share. Its place there fixes the bank
//! of the second level and the channel that serve each of its lines. It leaves out several
//! processes, pages of several sizes, and pages that move.

use thiserror::Error;

use crate::diagnostic::{Diagnose, Diagnosis, Named};
use crate::system::gpus::Hierarchy;
pub use crate::system::movement::Pages;
use crate::units::Bytes;

/// Counts the bytes of a cache line, one for each bit of a mask.
pub const LINE: u64 = 64;

/// Which GPU's memory a page lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distribution {
    /// Pages go over the GPUs in turn, and work-groups in equal runs.
    #[default]
    Unified,
    /// Each buffer is cut into as many blocks as there are GPUs, and so are the work-groups.
    Discrete,
    /// The first GPU runs all work-groups and holds all buffers but those that are remote, which
    /// the second holds.
    First,
}

impl Distribution {
    /// Returns how many of `gpus` GPUs run work-groups.
    #[must_use]
    pub const fn computing(self, gpus: u32) -> u32 {
        match self {
            Self::First => 1,
            Self::Unified | Self::Discrete => gpus,
        }
    }
}

impl Named for Distribution {
    const WHAT: &'static str = "distribution";
    const NAMED: &'static [(&'static str, Self)] =
        &[("unified", Self::Unified), ("discrete", Self::Discrete), ("first", Self::First)];
}

/// A footprint that the memory does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}", self.diagnosis())]
pub struct OutOfMemory {
    /// How much is asked for.
    pub asked: Bytes,
    /// How much there is.
    pub capacity: Bytes,
}

impl Diagnose for OutOfMemory {
    fn diagnosis(&self) -> Diagnosis {
        let Self { asked, capacity } = self;
        let over = Bytes(asked.0 - capacity.0);
        Diagnosis::of(format!(
            "the buffers take {asked}, {over} more than the memory of {capacity}"
        ))
        .remedy("use a smaller size or more GPUs")
    }
}

/// Gives the place of every line: its address in memory, its GPU, its bank.
#[derive(Debug, Clone)]
pub struct AddressMap {
    page_shift: u32,
    bank_shift: u32,
    bank_mask: u64,
    /// The physical line that each page of the address space starts with.
    pages: Vec<u64>,
    /// The first page that no buffer has, of each memory.
    free: Vec<u64>,
    capacity: u64,
}

/// Physical addresses of two memories differ above this bit: no memory is larger.
const MEMORY_SHIFT: u32 = 42;

impl AddressMap {
    /// Empty memories of `gpus` GPUs, or one as the pages' kind has it.
    #[must_use]
    pub fn new(hierarchy: &Hierarchy, gpus: u32, pages: Pages) -> Self {
        let own = hierarchy.memory.channel.0 * u64::from(hierarchy.second.banks);
        let (memories, capacity) = match pages {
            Pages::Own => (gpus as usize, own),
            Pages::Shared | Pages::Pinned => (1, own * u64::from(gpus)),
            // Any GPU may come to hold all.
            Pages::Migrating => (1, own),
        };
        Self {
            page_shift: hierarchy.page.0.trailing_zeros(),
            bank_shift: (hierarchy.interleaving.0 / LINE).max(1).trailing_zeros(),
            bank_mask: u64::from(hierarchy.second.banks) - 1,
            pages: Vec::new(),
            free: vec![0; memories],
            capacity,
        }
    }

    /// Places a buffer and returns its first address, that of a page.
    ///
    /// # Errors
    /// A memory that is full.
    pub fn place(&mut self, bytes: Bytes, spread: Distribution) -> Result<u64, OutOfMemory> {
        let first = self.pages.len() as u64;
        let pages = bytes.0.div_ceil(1 << self.page_shift).max(1);
        let memories = self.free.len() as u64;
        let asked: u64 = self.free.iter().sum::<u64>() + pages;
        self.check(asked, self.capacity * memories)?;
        for page in 0..pages {
            let memory = match spread {
                Distribution::Unified => (first + page) % memories,
                Distribution::Discrete => page / pages.div_ceil(memories),
                Distribution::First => 0,
            };
            self.add_page(memory)?;
        }
        Ok(first << self.page_shift)
    }

    /// Places bytes in one memory, and returns their first address, that of a page.
    ///
    /// # Errors
    /// A memory that is full.
    pub fn place_in(&mut self, bytes: Bytes, memory: u32) -> Result<u64, OutOfMemory> {
        let first = self.pages.len() as u64;
        for _ in 0..bytes.0.div_ceil(1 << self.page_shift).max(1) {
            self.add_page(memory.into())?;
        }
        Ok(first << self.page_shift)
    }

    fn add_page(&mut self, memory: u64) -> Result<(), OutOfMemory> {
        let frame = self.free[memory as usize];
        self.free[memory as usize] += 1;
        self.check(frame + 1, self.capacity)?;
        self.pages.push(((memory << MEMORY_SHIFT) | (frame << self.page_shift)) / LINE);
        Ok(())
    }

    /// Checks that a number of pages is no more than a number of bytes.
    fn check(&self, pages: u64, capacity: u64) -> Result<(), OutOfMemory> {
        let asked = pages << self.page_shift;
        let fits = asked <= capacity;
        let over = OutOfMemory { asked: Bytes(asked), capacity: Bytes(capacity) };
        if fits { Ok(()) } else { Err(over) }
    }

    /// How many bytes the address space has so far.
    #[must_use]
    pub fn size(&self) -> u64 {
        (self.pages.len() as u64) << self.page_shift
    }

    /// Returns the page of a line, as buffers of translations know it.
    #[inline]
    #[must_use]
    pub fn page(&self, line: u64) -> u64 {
        line >> (self.page_shift - LINE.trailing_zeros())
    }

    /// Where a line lies in memory, as the number of a line there.
    #[inline]
    #[must_use]
    pub fn physical(&self, line: u64) -> u64 {
        let within = self.page_shift - LINE.trailing_zeros();
        self.pages[(line >> within) as usize] | (line & ((1 << within) - 1))
    }

    /// The first line of a page, and how many it has.
    #[must_use]
    pub fn lines(&self, page: u64) -> (u64, u64) {
        let lines = (1 << self.page_shift) / LINE;
        (page * lines, lines)
    }

    /// Moves a page to the same place of another memory.
    pub fn move_page(&mut self, page: u64, memory: u32) {
        let place = &mut self.pages[page as usize];
        let frame = *place & ((1 << (MEMORY_SHIFT - LINE.trailing_zeros())) - 1);
        *place = frame | (u64::from(memory) << (MEMORY_SHIFT - LINE.trailing_zeros()));
    }

    /// Returns the memory of a physical line: its GPU's, or 0 where all share one.
    #[inline]
    #[must_use]
    pub fn memory(physical: u64) -> u32 {
        (physical >> (MEMORY_SHIFT - LINE.trailing_zeros())) as u32
    }

    /// Returns the bank of the second level that caches a physical line, and the channel of its
    /// memory.
    #[inline]
    #[must_use]
    pub fn bank(&self, physical: u64) -> u32 {
        ((physical >> self.bank_shift) & self.bank_mask) as u32
    }

    /// Returns the number that picks a line's set in a bank: its number among the lines of that
    /// bank.
    #[inline]
    #[must_use]
    pub fn within_bank(&self, physical: u64) -> u64 {
        let below = physical & ((1 << self.bank_shift) - 1);
        (physical >> (self.bank_shift + self.bank_mask.count_ones()) << self.bank_shift) | below
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::gpus;

    #[test]
    fn one_memory_may_be_full_before_all_are() {
        let found = gpus::find("r9-nano").and_then(|model| model.hierarchy()).expect("it is known");
        let mut small = found.clone();
        // Eight channels of a page.
        small.memory.channel = small.page;
        let mut map = AddressMap::new(&small, 2, Pages::Own);
        let mut place = || map.place(Bytes(1), Distribution::Discrete);
        for page in 0..8 {
            assert_eq!(place(), Ok(page * small.page.0));
        }
        assert_eq!(
            place().unwrap_err().to_string(),
            "the buffers take 36 KiB, 4 KiB more than the memory of 32 KiB; use a smaller size or \
             more GPUs"
        );
    }
}
