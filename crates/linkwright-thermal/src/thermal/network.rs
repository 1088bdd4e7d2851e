//! Holds cells as a network of thermal conductances, and sums the heat that flows in it.

/// How many cells there are each way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shape {
    /// Counts from left to right.
    pub x: usize,
    /// Counts from front to back.
    pub y: usize,
    /// Counts from the board up.
    pub z: usize,
}

impl Shape {
    /// Counts all of them.
    pub const fn cells(self) -> usize {
        self.x * self.y * self.z
    }

    /// How many have the same `y`; these lie together: `z` by `z`, and in each by `x`.
    pub const fn slab(self) -> usize {
        self.x * self.z
    }

    /// Where a cell is in every array of cells.
    pub const fn at(self, x: usize, y: usize, z: usize) -> usize {
        (y * self.z + z) * self.x + x
    }
}

/// Holds conductances in W/K between cells and their next ones, and from cells to ambient.
///
/// A conductance beyond the grid's end, or to where there is no matter, is zero. A cell without
/// matter has a very small one to ambient alone, and so stays at it. They are of single precision, an error of
/// a ten-millionth, since reading them takes most of the time.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub shape: Shape,
    /// How wide the cells are from left to right, in m.
    pub widths: Vec<f64>,
    /// How deep they are from front to back, in m.
    pub depths: Vec<f64>,
    /// Leads to the next cell to the right.
    pub right: Vec<f32>,
    /// Leads to the next cell behind.
    pub behind: Vec<f32>,
    /// Leads to the next cell above.
    pub above: Vec<f32>,
    /// Leads to ambient.
    pub ambient: Vec<f32>,
}

impl Network {
    /// A network in which nothing is joined.
    pub fn new(widths: Vec<f64>, depths: Vec<f64>, planes: usize) -> Self {
        let shape = Shape { x: widths.len(), y: depths.len(), z: planes };
        let none = || vec![0.0; shape.cells()];
        let (right, behind, above, ambient) = (none(), none(), none(), none());
        Self { shape, widths, depths, right, behind, above, ambient }
    }

    /// Puts the heat that leaves each cell into `out`, in W, at temperatures over ambient in K.
    ///
    /// Returns the sum over cells of heat times temperature, in W K.
    ///
    /// The heat that leaves one cell for another arrives there to the last digit, so that no heat
    /// is lost.
    pub fn outflow(&self, rise: &[f64], out: &mut [f64]) -> f64 {
        let (shape, row) = (self.shape, self.shape.x);
        let (slab, cells) = (shape.slab(), shape.cells());
        let mut product = 0.0;
        for start in (0..cells).step_by(row) {
            let place = start % slab;
            let own = &rise[start..start + row];
            let heat = &mut out[start..start + row];
            let ambient = &self.ambient[start..start + row];
            for x in 0..row {
                heat[x] = f64::from(ambient[x]) * own[x];
            }
            if place > 0 {
                add(heat, own, &self.above[start - row..start], &rise[start - row..start]);
            }
            if place + row < slab {
                add(heat, own, &self.above[start..], &rise[start + row..start + 2 * row]);
            }
            if start >= slab {
                let front = start - slab;
                add(heat, own, &self.behind[front..front + row], &rise[front..front + row]);
            }
            if start + slab < cells {
                let back = start + slab;
                add(heat, own, &self.behind[start..], &rise[back..back + row]);
            }
            let right = &self.right[start..start + row - 1];
            add(&mut heat[..row - 1], &own[..row - 1], right, &own[1..]);
            add(&mut heat[1..], &own[1..], right, &own[..row - 1]);
            product += dot(heat, own);
        }
        product
    }
}

/// Adds the heat that leaves cells for others.
fn add(heat: &mut [f64], own: &[f64], conductances: &[f32], others: &[f64]) {
    for (((heat, own), conductance), other) in
        heat.iter_mut().zip(own).zip(conductances).zip(others)
    {
        *heat += f64::from(*conductance) * (own - other);
    }
}

/// The sum of products, in four sums that a processor keeps at once.
pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 4];
    let (a_fours, b_fours) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a_fours.remainder().iter().zip(b_fours.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in a_fours.zip(b_fours) {
        for lane in 0..4 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}
