//! Runs a workload on memory alone, without time: it gives the answer of a machine without caches.

use std::cell::RefCell;
use std::rc::Rc;

use super::wavefront::{
    Loaded, Scope, Values, Wavefront, WavefrontOperation, WavefrontPlace, WavefrontProgram,
    WavefrontState,
};
use super::workload::{Image, KernelWorkload, Launch};
use crate::memory::address::LINE;

/// One wavefront, its program, and the words of the loads that it has not taken.
struct Running {
    state: Rc<WavefrontState>,
    program: WavefrontProgram,
    loads: Vec<Values>,
    group: u32,
    waits: Option<Scope>,
    ended: bool,
}

/// Runs all launches of a workload; work-groups in order, or side by side between the barriers of
/// a whole launch. Wavefronts that spin on what others write are not for it.
#[must_use]
pub fn run(workload: &KernelWorkload, size: u64) -> Image {
    let mut image = Image::of(size, &workload.buffers);
    for launch in &workload.launches {
        play(launch, &mut image);
    }
    image
}

fn play(launch: &Launch, image: &mut Image) {
    let mut waiting = Vec::new();
    for group in 0..launch.groups {
        let local = Rc::new(RefCell::new(Vec::new()));
        let mut wavefronts: Vec<_> = (0..launch.wavefronts)
            .map(|wavefront| {
                let wavefronts = launch.wavefronts;
                let place = WavefrontPlace { group, wavefront, wavefronts, gpu: 0, gpus: 1 };
                let state = WavefrontState::new(place, true, Rc::clone(&local));
                let program = launch.program(Wavefront::of(&state));
                Running { state, program, loads: Vec::new(), group, waits: None, ended: false }
            })
            .collect();
        until_launch_barrier(&mut wavefronts, image);
        waiting.extend(wavefronts.into_iter().filter(|wavefront| !wavefront.ended));
    }
    while !waiting.is_empty() {
        for group in waiting.chunk_by_mut(|one, other| one.group == other.group) {
            group.iter_mut().for_each(|wavefront| wavefront.waits = None);
            until_launch_barrier(group, image);
        }
        waiting.retain(|wavefront| !wavefront.ended);
    }
}

/// Runs a group until each of its wavefronts has ended or waits for the whole launch.
fn until_launch_barrier(group: &mut [Running], image: &mut Image) {
    loop {
        for wavefront in &mut *group {
            while !wavefront.ended && wavefront.waits.is_none() {
                step(wavefront, image);
            }
        }
        let mut at_group = false;
        for wavefront in &mut *group {
            if wavefront.waits == Some(Scope::Group) {
                wavefront.waits = None;
                at_group = true;
            }
        }
        if !at_group {
            return;
        }
    }
}

fn step(wavefront: &mut Running, image: &mut Image) {
    let Some(operation) = wavefront.state.resume(&mut wavefront.program) else {
        wavefront.ended = true;
        return;
    };
    let mut posted = wavefront.state.posted();
    let posted = &mut *posted;
    match operation {
        WavefrontOperation::Load
        | WavefrontOperation::LoadScalar
        | WavefrontOperation::Atomic(_) => {
            let mut values = Values::zeros();
            for (line, _) in posted.lanes.lines() {
                for (lane, word, byte) in posted.lanes.words_in(*line) {
                    let address = line * LINE + byte as u64;
                    let before = image.word(address);
                    values.set(lane, word, before);
                    if let WavefrontOperation::Atomic(operation) = operation {
                        image.set(address, operation.of(before, posted.values.word(lane, word)));
                    }
                }
            }
            wavefront.state.answer(Loaded(wavefront.loads.len() as u32));
            wavefront.loads.push(values);
        }
        WavefrontOperation::Store => {
            for (line, _) in posted.lanes.lines() {
                for (lane, word, byte) in posted.lanes.words_in(*line) {
                    image.set(line * LINE + byte as u64, posted.values.word(lane, word));
                }
            }
        }
        WavefrontOperation::Arrived(loaded) => {
            posted.loaded = std::mem::take(&mut wavefront.loads[loaded.0 as usize]);
        }
        WavefrontOperation::Barrier(scope) => wavefront.waits = Some(scope),
        WavefrontOperation::Nothing
        | WavefrontOperation::Compute(_)
        | WavefrontOperation::Lds(_)
        | WavefrontOperation::Fence => {}
    }
}
