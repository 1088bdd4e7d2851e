//! Multigrid: roughly what temperatures heat brings about, by ever coarser networks.
//!
//! It serves as the preconditioner of conjugate gradients, and so is a symmetric positive definite
//! map. Layers are thin: a cell is bound to those above and below it far closer than to those
//! beside it. So columns of cells are solved as wholes, slab after slab of columns. Grids become
//! coarser from left to right and from front to back alone (Trottenberg, Oosterlee and Schueller,
//! Multigrid, 2001, chapter 5). The coarsest grid is one column, whose solution is exact. It works
//! in single precision, which is enough for a rough answer and takes half the memory.

use super::network::{Network, Shape};

/// Raises a cell's own conductance by this share of its conductances to the right and the left. The
/// cell is solved while those beside it stay as they were. Without the raise, cells that swing
/// against those beside them would go on to.
const DAMPED: f32 = 0.5;

/// The least share of a conductance that is left in a coarser grid.
const LEAST: f64 = 0.5;

/// Limits the cells of a coarser grid across and along, added up, to this number of tenths.
const TENTHS: usize = 7;

/// Grids of fewer cells are asked twice: that costs little, and long waves are found sooner.
const TWICE: usize = 1 << 20;

/// Holds the networks, the finest first.
#[derive(Debug)]
pub(super) struct Multigrid {
    levels: Vec<Level>,
}

/// Holds one network, prepared, with room to work in.
#[derive(Debug)]
struct Level {
    network: Network,
    /// One over what is left of a cell's conductances when those below it are eliminated.
    pivot: Vec<f32>,
    /// Says which columns of the next coarser grid the columns fall into, across and along.
    across: Vec<usize>,
    along: Vec<usize>,
    heat: Vec<f32>,
    rise: Vec<f32>,
    /// Holds this grid's first answer.
    first: Vec<f32>,
    /// Has room for one slab.
    room: Vec<f32>,
}

impl Multigrid {
    /// Prepares it for a network.
    pub fn new(network: Network) -> Self {
        let mut finest = Some(network);
        let mut levels = Vec::new();
        while let Some(network) = finest {
            let (across, along) = columns_into(&network);
            finest = (network.shape.x * network.shape.y > 1)
                .then(|| coarsened(&network, &across, &along));
            let asked_twice = !levels.is_empty() && network.shape.cells() < TWICE;
            levels.push(Level::new(network, across, along, asked_twice));
        }
        Self { levels }
    }

    /// The network that it was prepared for.
    pub fn network(&self) -> &Network {
        &self.levels[0].network
    }

    /// Where the heat of each cell is put, in W, before [`Self::apply`].
    pub fn heat(&mut self) -> &mut [f32] {
        &mut self.levels[0].heat
    }

    /// Roughly the temperatures over ambient that the heat brings about.
    pub fn apply(&mut self) -> &[f32] {
        cycle(&mut self.levels);
        &self.levels[0].rise
    }
}

/// Runs one cycle over these levels: finds the rise of the first from its heat.
fn cycle(levels: &mut [Level]) {
    let (finer, coarser) = levels.split_first_mut().expect("there is a level");
    let Some(next) = coarser.first_mut() else { return finer.relax(0, true) };
    finer.descend(next);
    cycle(coarser);
    if coarser[0].is_asked_twice() {
        coarser[0].ask_for_the_rest();
        cycle(coarser);
        coarser[0].add_first();
    }
    finer.ascend(&coarser[0]);
}

/// Says into which coarser columns a network's columns fall, across and along.
///
/// Two become one where they are no wider together than a target, which starts at twice the
/// narrowest. So cells that are wide one way and narrow the other come to be square first.
fn columns_into(network: &Network) -> (Vec<usize>, Vec<usize>) {
    let (widths, depths) = (&network.widths, &network.depths);
    let narrowest = |of: &[f64]| match of.len() {
        1 => f64::INFINITY,
        _ => of.iter().copied().fold(f64::INFINITY, f64::min),
    };
    // A hair more, since equal widths differ by their last digits.
    let mut target = 2.02 * narrowest(widths).min(narrowest(depths));
    loop {
        let (across, along) = (pairs(widths, target), pairs(depths, target));
        let fewer = count(&across) + count(&along);
        let least = widths.len().div_ceil(2) + depths.len().div_ceil(2);
        if fewer * 10 <= TENTHS * (widths.len() + depths.len()) || fewer == least {
            return (across, along);
        }
        target *= 1.5;
    }
}

fn pairs(widths: &[f64], target: f64) -> Vec<usize> {
    let mut into: Vec<usize> = Vec::with_capacity(widths.len());
    while into.len() < widths.len() {
        let (at, coarse) = (into.len(), count(&into));
        into.push(coarse);
        if at + 1 < widths.len() && widths[at] + widths[at + 1] <= target {
            into.push(coarse);
        }
    }
    into
}

/// How many coarse columns there are.
fn count(into: &[usize]) -> usize {
    into.last().map_or(0, |last| last + 1)
}

/// Builds the network of columns taken together.
fn coarsened(finer: &Network, across: &[usize], along: &[usize]) -> Network {
    let (widths, depths) = (summed(&finer.widths, across), summed(&finer.depths, along));
    let to_right = nearer(&finer.widths, &widths, across);
    let to_behind = nearer(&finer.depths, &depths, along);
    let mut coarse = Network::new(widths, depths, finer.shape.z);
    for y in 0..finer.shape.y {
        for z in 0..finer.shape.z {
            let (from, into) = (finer.shape.at(0, y, z), coarse.shape.at(0, along[y], z));
            for x in 0..finer.shape.x {
                let (from, into) = (from + x, into + across[x]);
                coarse.right[into] += to_right[x] * finer.right[from];
                coarse.behind[into] += to_behind[y] * finer.behind[from];
                coarse.above[into] += finer.above[from];
                coarse.ambient[into] += finer.ambient[from];
            }
        }
    }
    coarse
}

fn summed(widths: &[f64], into: &[usize]) -> Vec<f64> {
    let mut sums = vec![0.0; count(into)];
    for (width, into) in widths.iter().zip(into) {
        sums[*into] += width;
    }
    sums
}

/// Divides the distance between the centres of a cell and its next one by the distance between the
/// centres of their coarse cells. It gives zero where both fall into one. It gives at least one
/// half, the value for equal cells. A coarser grid with weaker joins would answer with more than
/// twice the temperatures, and the rounds diverge.
fn nearer(widths: &[f64], coarse: &[f64], into: &[usize]) -> Vec<f32> {
    let ratio = |at: usize| match (into[at], into.get(at + 1).copied()) {
        (a, Some(b)) if a != b => {
            ((widths[at] + widths[at + 1]) / (coarse[a] + coarse[b])).max(LEAST)
        }
        _ => 0.0,
    };
    (0..widths.len()).map(|at| ratio(at) as f32).collect()
}

impl Level {
    fn new(network: Network, across: Vec<usize>, along: Vec<usize>, asked_twice: bool) -> Self {
        let (cells, slab) = (network.shape.cells(), network.shape.slab());
        Self {
            pivot: pivots(&network),
            across,
            along,
            heat: vec![0.0; cells],
            rise: vec![0.0; cells],
            first: vec![0.0; if asked_twice { cells } else { 0 }],
            room: vec![0.0; slab],
            network,
        }
    }

    /// Solves the columns from the front, and hands the heat that is left to the coarser grid.
    fn descend(&mut self, coarser: &mut Self) {
        coarser.heat.fill(0.0);
        for y in 0..self.network.shape.y {
            self.relax(y, true);
            // A slab's rest is known when those around it are solved; all are still in the cache.
            if y > 0 {
                self.hand_on(y - 1, coarser);
            }
        }
        self.hand_on(self.network.shape.y - 1, coarser);
    }

    /// Takes what the coarser grid found, and solves the columns from the back: the transposed map
    /// of [`Self::descend`].
    fn ascend(&mut self, coarser: &Self) {
        let last = self.network.shape.y - 1;
        self.take(last, coarser);
        for y in (0..=last).rev() {
            if y > 0 {
                self.take(y - 1, coarser);
            }
            self.relax(y, false);
        }
    }

    const fn is_asked_twice(&self) -> bool {
        !self.first.is_empty()
    }

    /// Keeps the answer, and puts the heat that it leaves in place of the heat.
    fn ask_for_the_rest(&mut self) {
        self.first.copy_from_slice(&self.rise);
        for y in 0..self.network.shape.y {
            self.leave(y);
            let start = y * self.room.len();
            self.heat[start..start + self.room.len()].copy_from_slice(&self.room);
        }
    }

    fn add_first(&mut self) {
        for (rise, first) in self.rise.iter_mut().zip(&self.first) {
            *rise += first;
        }
    }

    /// Adds the heat that is left of a slab to that of the coarser grid.
    fn hand_on(&mut self, y: usize, coarser: &mut Self) {
        self.leave(y);
        for (z, row) in self.room.chunks(self.network.shape.x).enumerate() {
            let into = coarser.network.shape.at(0, self.along[y], z);
            for (left, x) in row.iter().zip(&self.across) {
                coarser.heat[into + x] += left;
            }
        }
    }

    /// Adds what the coarser grid found to a slab.
    fn take(&mut self, y: usize, coarser: &Self) {
        let Shape { x: row, z: planes, .. } = self.network.shape;
        for z in 0..planes {
            let from = coarser.network.shape.at(0, self.along[y], z);
            let start = self.network.shape.at(0, y, z);
            for (rise, x) in self.rise[start..start + row].iter_mut().zip(&self.across) {
                *rise += coarser.rise[from + x];
            }
        }
    }

    /// Solves a slab's columns, with those beside, before and behind them as they are.
    fn relax(&mut self, y: usize, is_fresh: bool) {
        let (row, slab) = (self.network.shape.x, self.network.shape.slab());
        self.come_in(y, is_fresh);
        let (start, room) = (y * slab, &mut self.room);
        let pivot = &self.pivot[start..start + slab];
        let above = &self.network.above[start..start + slab];
        // The way up takes along the heat that the cells below hand on. The way down finds the
        // temperatures.
        for from in (0..slab - row).step_by(row) {
            let (below, upper) = room[from..from + 2 * row].split_at_mut(row);
            let (pivot, above) = (&pivot[from..from + row], &above[from..from + row]);
            for x in 0..row {
                upper[x] += above[x] * pivot[x] * below[x];
            }
        }
        let rise = &mut self.rise[start..start + slab];
        for x in slab - row..slab {
            rise[x] = pivot[x] * room[x];
        }
        for from in (0..slab - row).step_by(row).rev() {
            let (below, upper) = rise[from..from + 2 * row].split_at_mut(row);
            let (pivot, above) = (&pivot[from..from + row], &above[from..from + row]);
            let room = &room[from..from + row];
            for x in 0..row {
                below[x] = pivot[x] * (room[x] + above[x] * upper[x]);
            }
        }
    }

    /// Puts the heat that the temperatures leave in a slab into the room.
    fn leave(&mut self, y: usize) {
        let (row, slab) = (self.network.shape.x, self.network.shape.slab());
        let (start, network, room) = (y * slab, &self.network, &mut self.room[..]);
        let here = start..start + slab;
        let rise = &self.rise[here.clone()];
        let ambient = &network.ambient[here.clone()];
        for ((room, heat), (ambient, own)) in
            room.iter_mut().zip(&self.heat[here.clone()]).zip(ambient.iter().zip(rise))
        {
            *room = heat - ambient * own;
        }
        let (right, above) = (&network.right[here.clone()], &network.above[here.clone()]);
        come(room, right, rise, &rise[1..]);
        come(&mut room[1..], right, &rise[1..], rise);
        come(room, above, rise, &rise[row..]);
        come(&mut room[row..], above, &rise[row..], rise);
        if y > 0 {
            let front = start - slab..start;
            come(room, &network.behind[front.clone()], rise, &self.rise[front]);
        }
        if y + 1 < network.shape.y {
            come(room, &network.behind[here.clone()], rise, &self.rise[here.end..]);
        }
    }

    /// Puts the heat of a slab's cells, and the heat that comes to them from before, into the room.
    /// Where temperatures are there already, it adds the heat from behind, the right and the left.
    fn come_in(&mut self, y: usize, is_fresh: bool) {
        let (network, room) = (&self.network, &mut self.room);
        let slab = room.len();
        let start = y * slab;
        let here = start..start + slab;
        room.copy_from_slice(&self.heat[here.clone()]);
        if y > 0 {
            let front = start - slab..start;
            add(room, &network.behind[front.clone()], &self.rise[front]);
        }
        if is_fresh {
            return;
        }
        if y + 1 < network.shape.y {
            add(room, &network.behind[here.clone()], &self.rise[here.end..]);
        }
        let (right, rise) = (&network.right[here.clone()], &self.rise[here]);
        for (at, room) in room[..slab - 1].iter_mut().enumerate() {
            *room += right[at] * (rise[at + 1] + DAMPED * rise[at]);
        }
        for (at, room) in room[1..].iter_mut().enumerate() {
            *room += right[at] * (rise[at] + DAMPED * rise[at + 1]);
        }
    }
}

fn add(room: &mut [f32], conductances: &[f32], rise: &[f32]) {
    for ((room, conductance), rise) in room.iter_mut().zip(conductances).zip(rise) {
        *room += conductance * rise;
    }
}

/// Adds the heat that comes to cells from others.
fn come(room: &mut [f32], conductances: &[f32], own: &[f32], others: &[f32]) {
    for (((room, conductance), own), other) in
        room.iter_mut().zip(conductances).zip(own).zip(others)
    {
        *room += conductance * (other - own);
    }
}

/// Returns, inverted, the rest of each cell's conductances when those below it are eliminated.
fn pivots(network: &Network) -> Vec<f32> {
    let Shape { x: row, y: depth, z: planes } = network.shape;
    let slab = network.shape.slab();
    let mut pivot = vec![0.0; network.shape.cells()];
    // This sums the losses of a column's cells so far, except to the one above. All its terms are
    // above zero. A difference would lose the digits of small numbers.
    let mut lost = vec![0.0_f32; row];
    for y in 0..depth {
        lost.fill(0.0);
        for z in 0..planes {
            let start = network.shape.at(0, y, z);
            for (x, lost) in lost.iter_mut().enumerate() {
                let at = start + x;
                let beside = network.right[at] + if at > 0 { network.right[at - 1] } else { 0.0 };
                let before = if y > 0 { network.behind[at - slab] } else { 0.0 };
                *lost += network.ambient[at] + network.behind[at] + before;
                *lost += (1.0 + DAMPED) * beside;
                let whole = *lost + network.above[at];
                pivot[at] = 1.0 / whole;
                *lost *= network.above[at] / whole;
            }
        }
    }
    pivot
}
