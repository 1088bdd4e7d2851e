//! Records that come and go, in one array.

/// Names no record.
pub(super) const NONE: u32 = u32::MAX;

/// Records by index; the places of those released are used again.
#[derive(Debug, Clone)]
pub(super) struct Slab<V> {
    records: Vec<V>,
    free: Vec<u32>,
}

impl<V> Slab<V> {
    pub(super) const fn new() -> Self {
        Self { records: Vec::new(), free: Vec::new() }
    }

    /// Keeps a record; returns its index.
    pub(super) fn insert(&mut self, record: V) -> u32 {
        if let Some(index) = self.free.pop() {
            self.records[index as usize] = record;
            return index;
        }
        self.records.push(record);
        (self.records.len() - 1) as u32
    }

    /// Gives a record's place to the next.
    pub(super) fn release(&mut self, index: u32) {
        self.free.push(index);
    }

    /// Whether no record is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.free.len() == self.records.len()
    }

    /// The records kept at the moment, by index.
    pub(super) fn kept(&self) -> impl Iterator<Item = &V> {
        let mut is_free = vec![false; self.records.len()];
        for index in &self.free {
            is_free[*index as usize] = true;
        }
        self.records.iter().zip(is_free).filter(|(_, free)| !free).map(|(record, _)| record)
    }

    /// How many records were kept at once at most.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.records.len()
    }
}

impl<V> std::ops::Index<u32> for Slab<V> {
    type Output = V;

    fn index(&self, index: u32) -> &V {
        &self.records[index as usize]
    }
}

impl<V> std::ops::IndexMut<u32> for Slab<V> {
    fn index_mut(&mut self, index: u32) -> &mut V {
        &mut self.records[index as usize]
    }
}
