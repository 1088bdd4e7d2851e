//! Skips the matrix of `nvidia-smi topo -p2p`: which GPUs may reach each other's memory. It says
//! nothing of the links that join them. So it is passed over beside a matrix and named alone.

use crate::system::import::paste::{self, Line};

/// Lists the possible cells of that matrix.
const CELLS: [&str; 7] = ["OK", "CNS", "GNS", "TNS", "NS", "DR", "U"];

/// Returns the lines that belong to no such matrix, by their indices.
pub(super) fn without(lines: &[Line]) -> Vec<usize> {
    let filled = |from: usize| (from..lines.len()).find(|at| !lines[*at].tokens.is_empty());
    let is_header = |at: usize| {
        let names = lines[at].tokens.iter().all(|token| paste::is_gpu_name(&token.text));
        names && filled(at + 1).is_some_and(|next| is_row(&lines[next]))
    };
    (0..lines.len()).filter(|at| !is_row(&lines[*at]) && !is_header(*at)).collect()
}

/// Whether a line is a row of that matrix.
pub(super) fn is_row(line: &Line) -> bool {
    let Some((name, cells)) = line.tokens.split_first() else { return false };
    let is_cell = |word: &str| CELLS.contains(&word);
    paste::is_gpu_name(&name.text)
        && cells.iter().all(|cell| cell.text == "X" || is_cell(&cell.text))
        && cells.iter().any(|cell| is_cell(&cell.text))
}
