//! Holds kernels that ask one thing of memory. They measure how long an access takes, how much it
//! carries, and whether a flag tells of earlier writes.

use super::{Fact, KernelWorkload, Layout, Setting};
use crate::memory::kernel::{AtomicOperation, LANES, Launch, Mismatch, Wavefront};

pub(super) const CHASE: Fact = Fact {
    what: "one pointer after another: latency",
    size: "lines",
    multiple: 64,
    small: 4096,
    full: 64 << 10,
    most: 1 << 26,
    workload: chase,
};

pub(super) const STREAM: Fact = Fact {
    what: "copy of a vector: bandwidth",
    size: "elements",
    multiple: 256,
    small: 256 << 10,
    full: 8 << 20,
    most: 1 << 32,
    workload: stream,
};

pub(super) const MESSAGE: Fact = Fact {
    what: "a flag that is spun on, and the data written before it",
    size: "elements",
    multiple: LANES as u64,
    small: 1024,
    full: 4096,
    most: 1 << 26,
    workload: message,
};

/// The line after each, so that no two follow each other: a step that all lines are odd to.
fn following(lines: u64, line: u64) -> u64 {
    let step = (lines / 2 + 1) | 1;
    (line + step) % lines
}

fn chase(setting: Setting) -> KernelWorkload {
    let Setting { page, size: lines, .. } = setting;
    let mut layout = Layout::new(page);
    let next = move |word: u64| (following(lines, word / 16) * 64) as u32;
    let chain = layout.input("chain", lines * 16, next);
    let end = layout.output("end", 16, true);
    let steps = lines.min(4096);
    let kernel = move |wavefront: Wavefront| async move {
        let (mut at, mut sum) = (0, 0_u32);
        for _ in 0..steps {
            let address = chain + at;
            let loaded = wavefront.load(1, |lane| (lane == 0).then_some(address)).await;
            let value = wavefront.arrived(loaded).await;
            at = if wavefront.with_data() {
                u64::from(value.word(0, 0))
            } else {
                following(lines, at / 64) * 64
            };
            // A chain may end where it begins, as one of nothing does.
            sum = sum.wrapping_add(at as u32);
        }
        wavefront.store(1, |lane| (lane == 0).then_some(end), |_, _| sum).await;
    };
    KernelWorkload {
        name: format!("chase {lines}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("chase", (1, 1), kernel).of_code(16, 2)],
        check: Box::new(move |image| {
            let (_, sum) = (0..steps).fold((0, 0_u32), |(line, sum), _| {
                let next = following(lines, line);
                (next, sum.wrapping_add((next * 64) as u32))
            });
            Mismatch::words(image, ("end", end), 1, |_| sum)
        }),
    }
}

fn stream(setting: Setting) -> KernelWorkload {
    let Setting { page, size: length, .. } = setting;
    let mut layout = Layout::new(page);
    let input = layout.input("input", length, |at| at as u32);
    let output = layout.output("output", length, true);
    let kernel = move |wavefront: Wavefront| async move {
        let loaded = wavefront.load(4, |lane| Some(input + 16 * wavefront.item(lane))).await;
        let values = wavefront.arrived(loaded).await;
        let place = |lane| Some(output + 16 * wavefront.item(lane));
        wavefront.store(4, place, |lane, word| values.word(lane, word)).await;
    };
    KernelWorkload {
        name: format!("stream {length}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("copy", (length / 256, 1), kernel).of_code(16, 2)],
        check: Box::new(move |image| {
            Mismatch::words(image, ("output", output), length, |at| at as u32)
        }),
    }
}

/// Returns a word of the message.
fn word(at: u64) -> u32 {
    at as u32 ^ 0x5EED_5EED
}

fn message(setting: Setting) -> KernelWorkload {
    let Setting { page, size: length, gpus } = setting;
    let mut layout = Layout::new(page);
    let sent = layout.input("message", length, |_| 0);
    let flag = layout.input("flag", 16, |_| 0);
    let got = layout.output("got", length, true);
    // The sender is on the first GPU, the receiver on the last; both have read the message before.
    let groups = u64::from(gpus.max(2));
    let kernel = move |wavefront: Wavefront| async move {
        let group = u64::from(wavefront.place().group);
        if group != 0 && group + 1 != groups {
            return;
        }
        let address = |vector: u64, step: u64| {
            move |lane: usize| Some(vector + 4 * (step * LANES as u64 + lane as u64))
        };
        for step in 0..length / LANES as u64 {
            let loaded = wavefront.load(1, address(sent, step)).await;
            wavefront.arrived(loaded).await;
        }
        if group == 0 {
            for step in 0..length / LANES as u64 {
                let value = |lane, _| word(step * LANES as u64 + lane as u64);
                wavefront.store(1, address(sent, step), value).await;
            }
            wavefront.fence().await;
            let first = |lane| (lane == 0).then_some(flag);
            let old = wavefront.atomic(AtomicOperation::Exchange, first, |_| 1).await;
            wavefront.arrived(old).await;
            return;
        }
        // Without data nobody sees the flag: the receiver looks once.
        loop {
            let loaded = wavefront.load(1, |lane| (lane == 0).then_some(flag)).await;
            let seen = wavefront.arrived(loaded).await;
            if seen.word(0, 0) == 1 || !wavefront.with_data() {
                break;
            }
            wavefront.compute(4).await;
            // Else who spins sees its own copy for ever, where fences keep caches in agreement.
            wavefront.fence().await;
        }
        wavefront.fence().await;
        for step in 0..length / LANES as u64 {
            let loaded = wavefront.load(1, address(sent, step)).await;
            let values = wavefront.arrived(loaded).await;
            wavefront.store(1, address(got, step), |lane, _| values.word(lane, 0)).await;
        }
    };
    KernelWorkload {
        name: format!("message {length}"),
        buffers: layout.buffers(),
        launches: vec![Launch::new("message", (groups, 1), kernel).of_code(104, 13)],
        check: Box::new(move |image| Mismatch::words(image, ("got", got), length, word)),
    }
}
