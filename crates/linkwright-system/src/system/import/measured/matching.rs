//! Which GPU of a machine each GPU of a file is.

use super::{Cell, Matrix, MeasuredEnd, Measurements, PciPlace};
use crate::diagnostic::{InputError, Position};
use crate::system::server::Server;

/// The GPU of the machine that each GPU of the file is, by its id.
///
/// # Errors
/// A GPU that the machine has not got.
pub(super) fn gpus_of(
    measurements: &Measurements,
    server: &Server,
) -> Result<Vec<usize>, InputError> {
    let place = |gpu: &usize| {
        let address = server.devices()[*gpu].locality.pci_address.as_deref();
        address.and_then(PciPlace::parse)
    };
    let own: Option<Vec<PciPlace>> = server.gpus().iter().map(place).collect();
    let said: Option<Vec<&PciPlace>> =
        (0..measurements.gpus).map(|gpu| measurements.places.get(&gpu)).collect();
    if let (Some(own), Some(said)) = (own, said) {
        let find = |(number, place): (usize, &PciPlace)| {
            let at = own.iter().position(|it| it.is_at(place));
            at.ok_or_else(|| {
                let problem = format!("`{}` has no GPU at {place}", server.name());
                let remedy = "give what was measured on this machine";
                refuse(measurements, problem, &format!("GPU {number}"), remedy)
            })
        };
        return said.into_iter().enumerate().map(find).collect();
    }
    let count = server.gpus().len();
    if measurements.gpus > count {
        let of = measurements.gpus;
        let problem = format!("the file is of {of} GPUs, and `{}` has {count}", server.name());
        let remedy =
            "give what was measured on this machine, or the machine that it was measured on";
        return Err(refuse(measurements, problem, "", remedy));
    }
    Ok((0..measurements.gpus).collect())
}

fn refuse(measurements: &Measurements, problem: String, value: &str, remedy: &str) -> InputError {
    let first = measurements.matrices.first();
    let position = first.map_or(Position { line: 1, column: 1 }, |matrix| matrix.position);
    InputError::at(&measurements.file, position, problem, value, remedy)
}

/// A number of a file between ends of the machine: GPUs by their ids.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) from: MeasuredEnd,
    pub(super) to: MeasuredEnd,
    pub(super) value: f64,
    pub(super) position: Position,
}

/// The numbers of a matrix that are of two ends which reach each other's memory.
pub(super) fn between<'a>(
    measurements: &'a Measurements,
    matrix: &'a Matrix,
    gpus: &'a [usize],
) -> impl Iterator<Item = Measured> + 'a {
    let of = |end: MeasuredEnd| match end {
        MeasuredEnd::Gpu(number) => gpus.get(number).copied().map(MeasuredEnd::Gpu),
        host => Some(host),
    };
    let is_apart = |cell: &Cell| match (cell.from, cell.to) {
        (MeasuredEnd::Gpu(a), MeasuredEnd::Gpu(b)) => {
            let apart = &measurements.without_access;
            a == b || apart.contains(&(a, b)) || apart.contains(&(b, a))
        }
        _ => false,
    };
    let cells = matrix.cells.iter().filter(move |cell| !is_apart(cell));
    cells.filter_map(move |cell| {
        let (from, to) = (of(cell.from)?, of(cell.to)?);
        Some(Measured { from, to, value: cell.value, position: cell.position })
    })
}
