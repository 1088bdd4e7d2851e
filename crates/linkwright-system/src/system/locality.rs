//! Says where a device sits in its server: the CPU cores and NUMA nodes near it, and its PCI
//! address.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::system::import::paste::number;

/// Limits the cores that a mask may speak of, to the most that Linux can be built for.
pub const MOST_CORES: usize = 8192;

/// CPU cores or NUMA nodes: ascending ranges, ends included, as Linux writes them: `0-11,24-35`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affinity(Vec<(u32, u32)>);

impl Affinity {
    /// Holds one number.
    #[must_use]
    pub fn one(number: u32) -> Self {
        Self(vec![(number, number)])
    }

    /// Reads `0-11,24-35`, or `None` where the word is not such a list in ascending order.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for part in word.split(',') {
            let (low, high) = part.split_once('-').unwrap_or((part, part));
            let (low, high) = (number(low)?, number(high)?);
            if low > high || ranges.last().is_some_and(|last| last.1 >= low) {
                return None;
            }
            ranges.push((low, high));
        }
        Some(Self(ranges))
    }

    /// Reads a mask in words of 32 bits as the kernel prints it, `00ff00ff,00000001`, the highest
    /// word first. `None` where it is no such mask or holds no bit. No computer has more than
    /// [`MOST_CORES`].
    #[must_use]
    pub fn parse_mask(mask: &str) -> Option<Self> {
        let mut numbers = Vec::new();
        if mask.len() > MOST_CORES / 32 * "ffffffff,".len() {
            return None;
        }
        for (place, word) in mask.rsplit(',').enumerate() {
            let hexadecimal = word.bytes().all(|byte| byte.is_ascii_hexdigit());
            let bits = u32::from_str_radix(word, 16).ok().filter(|_| hexadecimal)?;
            let set = (0..32).filter(|bit| bits >> bit & 1 == 1);
            numbers.extend(set.map(|bit| 32 * place as u32 + bit));
        }
        (!numbers.is_empty()).then(|| Self::of_ascending(numbers.into_iter().map(|n| (n, n))))
    }

    /// The mask that [`Self::parse_mask`] reads, in words of 32 bits; `None` where it would be of
    /// more than [`MOST_CORES`].
    #[must_use]
    pub fn to_mask(&self) -> Option<String> {
        let highest = self.0.last().map(|(_, high)| *high as usize)?;
        if highest >= MOST_CORES {
            return None;
        }
        let mut words = vec![0_u32; highest / 32 + 1];
        for number in self.0.iter().flat_map(|(low, high)| *low..=*high) {
            words[number as usize / 32] |= 1 << (number % 32);
        }
        let words: Vec<String> = words.iter().rev().map(|word| format!("{word:08x}")).collect();
        Some(words.join(","))
    }

    /// How many numbers it holds.
    pub(super) fn count(&self) -> usize {
        self.0.iter().map(|(low, high)| (high - low) as usize + 1).sum()
    }

    /// Joins the numbers that are in any of them; `None` where there is none.
    #[must_use]
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Option<Self> {
        let mut ranges: Vec<(u32, u32)> =
            all.into_iter().flat_map(|one| one.0.iter().copied()).collect();
        ranges.sort_unstable();
        (!ranges.is_empty()).then(|| Self::of_ascending(ranges))
    }

    /// Joins ranges that touch; they are in the order of their lower ends.
    fn of_ascending(ranges: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (low, high) in ranges {
            match joined.last_mut() {
                Some(last) if low <= last.1.saturating_add(1) => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        Self(joined)
    }
}

impl fmt::Display for Affinity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (low, high)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match low == high {
                true => write!(f, "{comma}{low}")?,
                false => write!(f, "{comma}{low}-{high}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Affinity {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Affinity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Self::parse(&word).ok_or_else(|| {
            let problem = "this is no affinity; write ascending numbers and ranges such as 0-11,24";
            serde::de::Error::custom(problem)
        })
    }
}

/// Holds the known facts of a device's place; nothing by default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Locality {
    /// Lists the CPU cores near it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_affinity: Option<Affinity>,
    /// Lists the NUMA nodes near it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub numa_affinity: Option<Affinity>,
    /// Its PCI address as Linux writes it: `0000:07:00.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pci_address: Option<String>,
}

/// Whether a text can be a PCI address: hexadecimal digits in parts, `0000:07:00.0`.
#[must_use]
pub fn is_pci_address(text: &str) -> bool {
    let parts: Vec<&str> = text.split([':', '.']).collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_hexdigit());
    (3..=4).contains(&parts.len()) && parts.iter().all(digits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn affinities_are_ascending_lists() {
        assert_eq!(Affinity::parse("0,2-3"), Some(Affinity(vec![(0, 0), (2, 3)])));
        for bad in ["", "0-", "-1", "3-2", "0,0", "0-4,3", "0;1", "+1", "0,", "01", "99999999999"] {
            assert_eq!(Affinity::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn masks_are_read_from_their_highest_word() {
        let read = |mask| Affinity::parse_mask(mask).map(|cores| cores.to_string());
        assert_eq!(read("00000001,f000000f").as_deref(), Some("0-3,28-32"));
        assert_eq!(read("ff").as_deref(), Some("0-7"));
        for bad in ["", "0,0", "x", "1,,1", &"f".repeat(MOST_CORES), "+1", "100000000"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_are_digits_in_parts() {
        for good in ["0000:07:00.0", "07:00.0", "0008:c1:00.0"] {
            assert!(is_pci_address(good), "{good}");
        }
        for bad in ["", "0000", "0000:07:00.0:1", "0000:g7:00.0", "a::b.0"] {
            assert!(!is_pci_address(bad), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(numbers in proptest::collection::btree_set(0_u32..300, 1..40)) {
            let all: Vec<Affinity> = numbers.iter().rev().map(|n| Affinity::one(*n)).collect();
            let union = Affinity::union(&all).unwrap();
            prop_assert_eq!(Affinity::parse(&union.to_string()), Some(union.clone()));
            let mask = union.to_mask().unwrap();
            prop_assert_eq!(Affinity::parse_mask(&mask), Some(union.clone()));
            let read: Vec<u32> = union.0.iter().flat_map(|(low, high)| *low..=*high).collect();
            prop_assert_eq!(read, numbers.into_iter().collect::<Vec<_>>());
        }
    }
}
