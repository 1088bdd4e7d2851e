//! Says how long messages took, by their size.

use crate::table::Table;
use crate::units::{Bytes, Picoseconds};

/// Counts the buckets of each power of two: values in one bucket differ by at most a 32nd.
const FINENESS: u32 = 32;
const FINENESS_BITS: u32 = FINENESS.ilog2();
const BUCKETS: usize = ((65 - FINENESS_BITS) * FINENESS) as usize;
/// Sizes by powers of two: nothing, one byte, up to two, up to four, and so on.
const CLASSES: usize = 66;

/// Counts the times of one class of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Histogram {
    count: u64,
    sum: u128,
    least: u64,
    most: u64,
    buckets: Vec<u64>,
}

/// Returns the bucket of a value.
fn bucket_of(value: u64) -> usize {
    if value < u64::from(FINENESS) {
        return value as usize;
    }
    let above = value.ilog2() - FINENESS_BITS;
    let place = (value >> above) as u32 - FINENESS;
    ((above + 1) * FINENESS + place) as usize
}

/// Returns the largest value of a bucket.
fn last_of(bucket: usize) -> u64 {
    let bucket = bucket as u32;
    if bucket < FINENESS {
        return u64::from(bucket);
    }
    let (above, place) = (bucket / FINENESS - 1, bucket % FINENESS);
    // The last bucket's end is the last value of all.
    let end = u128::from(FINENESS + place + 1) << above;
    u64::try_from(end - 1).unwrap_or(u64::MAX)
}

impl Histogram {
    fn new() -> Self {
        Self { count: 0, sum: 0, least: u64::MAX, most: 0, buckets: vec![0; BUCKETS] }
    }

    fn add(&mut self, value: u64) {
        self.count += 1;
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
        self.buckets[bucket_of(value)] += 1;
    }

    /// Returns the value that `percent` of a hundred do not exceed, within its bucket.
    fn percentile(&self, percent: u64) -> u64 {
        let wanted = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
        let mut seen = 0;
        for (bucket, count) in self.buckets.iter().enumerate() {
            seen += u128::from(*count);
            if seen >= wanted {
                return last_of(bucket).clamp(self.least, self.most);
            }
        }
        self.most
    }
}

/// Returns the class of a size: 0 for nothing, 1 for a byte, and then up to each power of two.
fn class_of(size: Bytes) -> usize {
    match size.0 {
        0 | 1 => size.0 as usize,
        size => (size - 1).ilog2() as usize + 2,
    }
}

/// Holds the times of all messages, by class of size, within nodes and between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Latencies {
    classes: Vec<Option<Histogram>>,
}

impl Default for Latencies {
    fn default() -> Self {
        Self { classes: vec![None; 2 * CLASSES] }
    }
}

impl Latencies {
    /// Counts a message.
    pub fn add(&mut self, size: Bytes, within_node: bool, latency: Picoseconds) {
        let class = 2 * class_of(size) + usize::from(within_node);
        self.classes[class].get_or_insert_with(Histogram::new).add(latency.0);
    }

    /// One row for each class that has messages: smaller ones first, and of one size those
    /// between nodes before those within.
    ///
    /// `smallest` and `largest` bound the sizes of the class. Percentiles are those of buckets
    /// that differ by at most a 32nd.
    #[must_use]
    pub fn table(&self) -> Table {
        let found: Vec<(usize, &Histogram)> = (0..)
            .zip(&self.classes)
            .filter_map(|(class, histogram)| histogram.as_ref().map(|found| (class, found)))
            .collect();
        let bound = |of: fn(usize) -> u64| -> Vec<u64> {
            found.iter().map(|(class, _)| of(class / 2)).collect()
        };
        let seconds = |of: &dyn Fn(&Histogram) -> u64| -> Vec<f64> {
            found.iter().map(|(_, times)| Picoseconds(of(times)).as_seconds()).collect()
        };
        let mean = |times: &Histogram| times.sum as f64 / times.count as f64 / 1e12;
        Table::new()
            .with("smallest", "B", bound(smallest_of))
            .with("largest", "B", bound(largest_of))
            .with(
                "within_node",
                "",
                found.iter().map(|(class, _)| class % 2 == 1).collect::<Vec<_>>(),
            )
            .with("messages", "", found.iter().map(|(_, times)| times.count).collect::<Vec<_>>())
            .with("minimum", "s", seconds(&|times| times.least))
            .with("mean", "s", found.iter().map(|(_, times)| mean(times)).collect::<Vec<_>>())
            .with("p50", "s", seconds(&|times| times.percentile(50)))
            .with("p90", "s", seconds(&|times| times.percentile(90)))
            .with("p99", "s", seconds(&|times| times.percentile(99)))
            .with("maximum", "s", seconds(&|times| times.most))
    }

    /// Gives one row for each bucket that has messages, by class as in [`Self::table`] and then by
    /// time. A row has the class, the bucket's shortest and longest time, and its messages.
    #[must_use]
    pub fn histogram(&self) -> Table {
        let classes = (0..).zip(&self.classes);
        let found: Vec<(usize, usize, u64)> = classes
            .filter_map(|(class, histogram)| histogram.as_ref().map(|found| (class, found)))
            .flat_map(|(class, times)| {
                let counts = times.buckets.iter().enumerate();
                counts.map(move |(bucket, count)| (class, bucket, *count))
            })
            .filter(|(_, _, count)| *count > 0)
            .collect();
        let seconds = |of: &dyn Fn(usize) -> u64| -> Vec<f64> {
            found.iter().map(|(_, bucket, _)| Picoseconds(of(*bucket)).as_seconds()).collect()
        };
        let bound = |of: fn(usize) -> u64| -> Vec<u64> {
            found.iter().map(|(class, _, _)| of(class / 2)).collect()
        };
        Table::new()
            .with("smallest", "B", bound(smallest_of))
            .with("largest", "B", bound(largest_of))
            .with(
                "within_node",
                "",
                found.iter().map(|(class, _, _)| class % 2 == 1).collect::<Vec<_>>(),
            )
            .with(
                "shortest",
                "s",
                seconds(&|bucket| bucket.checked_sub(1).map_or(0, |before| last_of(before) + 1)),
            )
            .with("longest", "s", seconds(&last_of))
            .with("messages", "", found.iter().map(|(_, _, count)| *count).collect::<Vec<_>>())
    }
}

/// Returns the largest size of a class.
fn largest_of(class: usize) -> u64 {
    match class {
        0 => 0,
        class => 1_u64.checked_shl(class as u32 - 1).unwrap_or(u64::MAX),
    }
}

/// Returns the smallest size of a class.
fn smallest_of(class: usize) -> u64 {
    match class {
        0 | 1 => class as u64,
        class => largest_of(class - 1) + 1,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::table::Column;

    #[test]
    fn classes_end_at_powers_of_two() {
        for (size, class) in [(0, 0), (1, 1), (2, 2), (3, 3), (4, 3), (5, 4), (4096, 13)] {
            assert_eq!(class_of(Bytes(size)), class, "{size}");
        }
        assert_eq!(class_of(Bytes(u64::MAX)), CLASSES - 1);
        assert_eq!((smallest_of(3), largest_of(3)), (3, 4));
        assert_eq!(largest_of(CLASSES - 1), u64::MAX);
    }

    #[test]
    fn a_table_has_a_row_for_each_class() {
        let mut latencies = Latencies::default();
        for time in 1..=100 {
            latencies.add(Bytes(100), false, Picoseconds(time * 1_000_000));
        }
        latencies.add(Bytes(100), true, Picoseconds(7));
        let table = latencies.table();
        assert_eq!(table.row_count(), 2);
        let value = |name: &str| match &table.column(name).unwrap().values {
            Column::Float64(values) => values[0],
            _ => panic!("real numbers"),
        };
        assert_eq!((value("minimum"), value("maximum")), (1e-6, 1e-4));
        assert!((value("mean") - 50.5e-6).abs() < 1e-12);
        for (name, exact) in [("p50", 50e-6), ("p90", 90e-6), ("p99", 99e-6)] {
            let ratio = value(name) / exact;
            assert!((1.0..1.0 + 1.0 / 32.0).contains(&ratio), "{name}: {ratio}");
        }
    }

    #[test]
    fn a_histogram_counts_each_message_once() {
        let mut latencies = Latencies::default();
        for time in [5, 5, 100, 1_000_000] {
            latencies.add(Bytes(100), false, Picoseconds(time));
        }
        latencies.add(Bytes(0), true, Picoseconds(0));
        let table = latencies.histogram();
        let column = |name: &str| match &table.column(name).unwrap().values {
            Column::UInt64(values) => values.clone(),
            _ => panic!("whole numbers"),
        };
        assert_eq!(column("messages"), [1, 2, 1, 1]);
        assert_eq!(column("largest"), [0, 128, 128, 128]);
        let time = |name: &str| match &table.column(name).unwrap().values {
            Column::Float64(values) => values.clone(),
            _ => panic!("real numbers"),
        };
        for ((shortest, longest), latency) in
            time("shortest").iter().zip(time("longest")).zip([0.0, 5e-12, 100e-12, 1e-6])
        {
            assert!(*shortest <= latency && latency <= longest, "{latency}");
        }
    }

    proptest! {
        #[test]
        fn a_bucket_holds_values_that_differ_by_a_32nd(value: u64) {
            let bucket = bucket_of(value);
            prop_assert!(bucket < BUCKETS);
            let last = last_of(bucket);
            prop_assert!(value <= last && last - value <= value / 32);
            prop_assert!(last == u64::MAX || bucket_of(last + 1) == bucket + 1);
        }

        #[test]
        fn each_size_lies_within_its_class(size: u64) {
            let class = class_of(Bytes(size));
            prop_assert!((smallest_of(class)..=largest_of(class)).contains(&size));
        }
    }
}
