//! AES-256: a block of 16 bytes for each work-item, encrypted in place, in groups of 64. Each GPU
//! has its own table of substitutions and its own key.

use std::rc::Rc;

use super::{Fact, KernelWorkload, Layout, Setting};
use crate::memory::kernel::{LANES, Launch, Mismatch, PerLane, Wavefront};

const ROUNDS: u64 = 14;
/// Counts the words of the expanded key.
const KEY_WORDS: usize = 4 * (ROUNDS as usize + 1);

pub(super) const FACT: Fact = Fact {
    what: "AES-256 of blocks of 16 bytes",
    size: "bytes",
    multiple: 16 * LANES as u64,
    small: 256 << 10,
    full: 71 << 20,
    most: 1 << 32,
    workload,
};

type Block = [u8; 16];

/// Returns twice a number of the field of 256.
fn twice(x: u8) -> u8 {
    (x << 1) ^ if x & 0x80 == 0 { 0 } else { 0x1B }
}

/// Returns the substitution of each byte (FIPS 197, section 5.1.1).
fn substitutions() -> [u8; 256] {
    let mut table = [0x63; 256];
    let (mut p, mut q) = (1_u8, 1_u8);
    loop {
        // Three times, and its inverse: p runs over all but zero, q over their inverses.
        p ^= twice(p);
        for shift in [1, 2, 4] {
            q ^= q << shift;
        }
        q ^= if q & 0x80 == 0 { 0 } else { 0x09 };
        let mixed = (1..5).fold(q, |mixed, turn| mixed ^ q.rotate_left(turn));
        table[p as usize] = mixed ^ 0x63;
        if p == 1 {
            return table;
        }
    }
}

/// Returns the expanded key of 32 bytes (FIPS 197, section 5.2), as words of memory.
fn expanded(key: &[u8; 32]) -> [u32; KEY_WORDS] {
    let table = substitutions();
    let mut words = [[0_u8; 4]; KEY_WORDS];
    let mut constant = 1_u8;
    for at in 0..KEY_WORDS {
        if at < 8 {
            words[at].copy_from_slice(&key[4 * at..4 * at + 4]);
            continue;
        }
        let mut word = words[at - 1];
        if at % 8 == 0 {
            word.rotate_left(1);
        }
        if at % 4 == 0 {
            word = word.map(|byte| table[byte as usize]);
        }
        if at % 8 == 0 {
            word[0] ^= constant;
            constant = twice(constant);
        }
        for byte in 0..4 {
            words[at][byte] = words[at - 8][byte] ^ word[byte];
        }
    }
    words.map(u32::from_le_bytes)
}

fn add_key(block: &mut Block, key: [u32; 4]) {
    for (part, word) in block.chunks_mut(4).zip(key) {
        for (byte, of_key) in part.iter_mut().zip(word.to_le_bytes()) {
            *byte ^= of_key;
        }
    }
}

/// Moves rows, and mixes columns but in the last round (FIPS 197, sections 5.1.2 and 5.1.3).
fn shift_and_mix(block: &mut Block, is_last: bool) {
    let before = *block;
    for (at, byte) in block.iter_mut().enumerate() {
        *byte = before[(at + 4 * (at % 4)) % 16];
    }
    if is_last {
        return;
    }
    for column in block.chunks_mut(4) {
        let all = column.iter().fold(0, |all, byte| all ^ byte);
        let first = column[0];
        for row in 0..4 {
            let next = if row == 3 { first } else { column[row + 1] };
            column[row] ^= all ^ twice(column[row] ^ next);
        }
    }
}

fn encrypted(mut block: Block, key: &[u32; KEY_WORDS]) -> Block {
    let table = substitutions();
    let of_round = |round: usize| [0, 1, 2, 3].map(|word| key[4 * round + word]);
    add_key(&mut block, of_round(0));
    for round in 1..=ROUNDS as usize {
        block = block.map(|byte| table[byte as usize]);
        shift_and_mix(&mut block, round == ROUNDS as usize);
        add_key(&mut block, of_round(round));
    }
    block
}

fn key() -> [u8; 32] {
    std::array::from_fn(|at| (37 * at + 11) as u8)
}

/// Returns the words of the message.
fn message(word: u64) -> u32 {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
}

/// Holds the content of the tables.
#[derive(Debug)]
struct Known {
    table: [u8; 256],
    key: [u32; KEY_WORDS],
}

/// Where the buffers are: of each GPU a page with the table, then the key.
#[derive(Debug, Clone, Copy)]
struct Buffers {
    message: u64,
    tables: u64,
    page: u64,
}

impl Buffers {
    /// The page of tables that lies in a GPU's own memory, where pages go over GPUs in turn.
    fn own(self, gpu: u64, gpus: u64) -> u64 {
        let first = self.tables / self.page % gpus;
        self.tables + self.page * ((gpu + gpus - first) % gpus)
    }
}

fn workload(setting: Setting) -> KernelWorkload {
    let Setting { page, size, gpus } = setting;
    let mut layout = Layout::new(page);
    let (table, key) = (substitutions(), expanded(&key()));
    let words_of_page = page.0 / 4;
    let tables = move |word: u64| match (word % words_of_page) as usize {
        at @ 0..64 => u32::from_le_bytes([0, 1, 2, 3].map(|byte| table[4 * at + byte])),
        at @ 64..124 => key[at - 64],
        _ => 0,
    };
    let at = Buffers {
        message: layout.input_and_output("message", size / 4, message),
        tables: layout.input("tables", words_of_page * u64::from(gpus), tables),
        page: page.0,
    };
    let groups = size / 16 / LANES as u64;
    let known = Rc::new(Known { table, key });
    let kernel = move |wavefront| encrypt(wavefront, at, Rc::clone(&known));
    KernelWorkload {
        name: format!("aes {size}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("encrypt", (groups, 1), kernel).of_code(1608, 143)],
        check: Box::new(move |image| {
            Mismatch::words(image, ("message", at.message), size / 4, |word| {
                let mut block = [0; 16];
                for (part, bytes) in (0..4).zip(block.chunks_mut(4)) {
                    bytes.copy_from_slice(&message(word / 4 * 4 + part).to_le_bytes());
                }
                let block = encrypted(block, &key);
                let at = word as usize % 4 * 4;
                u32::from_le_bytes([0, 1, 2, 3].map(|byte| block[at + byte]))
            })
        }),
    }
}

async fn encrypt(wavefront: Wavefront, at: Buffers, known: Rc<Known>) {
    let place = wavefront.place();
    let tables = at.own(u64::from(place.gpu), u64::from(place.gpus));
    let key_at = tables + 256;
    let with_data = wavefront.with_data();
    wavefront.compute(16).await;
    let address = |lane| Some(at.message + 16 * wavefront.item(lane));
    let loaded = wavefront.load(4, address).await;
    let loaded = wavefront.arrived(loaded).await;
    // Which entries are looked up depends on the data: without, they are what the host knows.
    let mut blocks: PerLane<Block> = std::array::from_fn(|lane| {
        let mut block = [0; 16];
        for (word, bytes) in block.chunks_mut(4).enumerate() {
            let known = message(4 * wavefront.item(lane) + word as u64);
            let value = if with_data { loaded.word(lane, word) } else { known };
            bytes.copy_from_slice(&value.to_le_bytes());
        }
        block
    });
    for round in 0..=ROUNDS {
        for byte in 0..if round == 0 { 0 } else { 16 } {
            let entry = |lane: usize| Some(tables + u64::from(blocks[lane][byte] & !3));
            let loaded = wavefront.load(1, entry).await;
            let loaded = wavefront.arrived(loaded).await;
            wavefront.compute(2).await;
            for (lane, block) in blocks.iter_mut().enumerate() {
                let place = block[byte];
                block[byte] = if with_data {
                    loaded.word(lane, 0).to_le_bytes()[usize::from(place % 4)]
                } else {
                    known.table[usize::from(place)]
                };
            }
        }
        wavefront.compute(if matches!(round, 0 | ROUNDS) { 16 } else { 60 }).await;
        let loaded = wavefront.load_scalar(16, key_at + 16 * round).await;
        let loaded = wavefront.arrived(loaded).await;
        wavefront.compute(16).await;
        let of_round = [0, 1, 2, 3].map(|word| {
            if with_data { loaded.word(word, 0) } else { known.key[4 * round as usize + word] }
        });
        for block in &mut blocks {
            if round > 0 {
                shift_and_mix(block, round == ROUNDS);
            }
            add_key(block, of_round);
        }
    }
    let value = |lane: usize, word: usize| {
        let block: &Block = &blocks[lane];
        u32::from_le_bytes([0, 1, 2, 3].map(|byte| block[4 * word + byte]))
    };
    wavefront.store(4, address, value).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_example_comes_out() {
        // FIPS 197, appendix C.3.
        let key = expanded(&std::array::from_fn(|at| at as u8));
        let block = encrypted(std::array::from_fn(|at| 0x11 * at as u8), &key);
        assert_eq!(block[..4], [0x8E, 0xA2, 0xB7, 0xCA]);
        assert_eq!(block[12..], [0x4B, 0x49, 0x60, 0x89]);
    }
}
