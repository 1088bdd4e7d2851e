//! The error bar of a time: how far off the clock was on such systems, for such sizes.
//!
//! `errors.toml` has the errors of predictions for systems that were left out of the fit, by what joins their GPUs and
//! for all systems of a library.

use std::sync::LazyLock;

use serde::Deserialize;

use super::{DECADES, decade};
use crate::collectives::planners::link_graph::{LinkGraphError, check_gpus};
use crate::system::{Deviation, DeviceKind, LinkKind, Residual, System, Wire, Wiring};
use crate::units::Bytes;

/// What an error bar comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorBasis {
    /// Measurements on such systems.
    Measured,
    /// The log that the machine was calibrated by.
    OwnLog,
    /// Nothing was measured there: the error of all systems of the library that were left out of the fit.
    NeverMeasured,
}

impl ErrorBasis {
    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::OwnLog => "own-log",
            Self::NeverMeasured => "never-measured",
        }
    }
}

/// How far off a time is, as a part of what would be measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorBar {
    /// Half of the times were off by no more.
    pub median: f64,
    /// Nine of ten were.
    pub ninetieth: f64,
    /// How many times were measured.
    pub rows: u32,
    /// What it comes from.
    pub basis: ErrorBasis,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Errors {
    kind: Vec<Kind>,
    left_out: Vec<LeftOut>,
}

/// Systems by what joins their GPUs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Kind {
    link: LinkKind,
    switched: bool,
    error: Vec<Residual>,
}

/// Has the errors of predictions for all systems of a library that were left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LeftOut {
    is_rccl: bool,
    from: Bytes,
    ninetieth: Deviation,
}

static ERRORS: LazyLock<Errors> =
    LazyLock::new(|| toml::from_str(include_str!("errors.toml")).expect("the file is tested"));

/// The error bars of a collective's times on these GPUs, by their ids, for some sizes.
///
/// # Errors
/// GPUs that do not fit the system.
pub fn error_bars(
    system: &System,
    gpus: &[usize],
    sizes: &[Bytes],
) -> Result<Vec<ErrorBar>, LinkGraphError> {
    check_gpus(system, gpus)?;
    let wiring = &Wiring::of_gpus(system, gpus);
    let joining = joining(wiring, gpus);
    let is_rccl = wiring.wires().iter().any(|wire| wire.kind.is_some_and(LinkKind::is_xgmi));
    let own = gpus.first().and_then(|gpu| wiring.in_template(*gpu).0.calibration());
    let known = joining.and_then(|(link, switched)| {
        ERRORS.kind.iter().find(|kind| (kind.link, kind.switched) == (link, switched))
    });
    let of_decade = |rows: &[Residual], size: Bytes| {
        rows.iter().find(|row| row.from == DECADES[decade(size)]).copied()
    };
    let bar = |size: &Bytes| {
        let of = |basis, row: Residual| ErrorBar {
            median: row.median.value(),
            ninetieth: row.ninetieth.value(),
            rows: row.rows,
            basis,
        };
        let logged = own.and_then(|own| of_decade(&own.residuals, *size));
        let measured = known.and_then(|kind| of_decade(&kind.error, *size));
        logged
            .map(|row| of(ErrorBasis::OwnLog, row))
            .or_else(|| measured.map(|row| of(ErrorBasis::Measured, row)))
            .unwrap_or_else(|| never_measured(is_rccl, *size))
    };
    Ok(sizes.iter().map(bar).collect())
}

/// Gives the error of predictions of such sizes for a library's systems, else the largest of any size.
fn never_measured(is_rccl: bool, size: Bytes) -> ErrorBar {
    let of_library = || ERRORS.left_out.iter().filter(|row| row.is_rccl == is_rccl);
    let of_size = of_library().filter(|row| row.from == DECADES[decade(size)]);
    let found = of_size.map(|row| row.ninetieth).max();
    let found = found.or_else(|| of_library().map(|row| row.ninetieth).max());
    let found = found.map_or(0.0, Deviation::value);
    let basis = ErrorBasis::NeverMeasured;
    ErrorBar { median: found, ninetieth: found, rows: 0, basis }
}

/// What joins the GPUs of one server: the kind of their links, and whether these lead to switches
/// between GPUs. None between servers.
fn joining(wiring: &Wiring, gpus: &[usize]) -> Option<(LinkKind, bool)> {
    let server = wiring.server_of(*gpus.first()?);
    if gpus.iter().any(|gpu| wiring.server_of(*gpu) != server) {
        return None;
    }
    let wires = |gpu: &usize, is_it: fn(&Wire) -> bool| {
        let own = wiring.gpu(*gpu);
        let mut all = wiring.adjacency()[own].iter().map(|at| &wiring.wires()[*at]);
        all.find(|wire| is_it(wire) && wire.kind.is_some()).and_then(|wire| {
            let switch = wiring.devices()[wire.other_end(own)].kind == DeviceKind::NvSwitch;
            Some((wire.kind?, switch))
        })
    };
    let all = |is_it: fn(&Wire) -> bool| {
        let found: Option<Vec<_>> = gpus.iter().map(|gpu| wires(gpu, is_it)).collect();
        found.filter(|all| all.windows(2).all(|pair| pair[0] == pair[1]))?.first().copied()
    };
    all(Wire::is_gpu_fabric).or_else(|| all(Wire::is_pcie))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::test_support::{alone, on_one_switch};

    #[test]
    fn bars_are_those_of_such_systems_and_else_of_what_was_left_out() {
        let sizes: Vec<Bytes> = DECADES.iter().map(|from| Bytes(from.0 + 8)).collect();
        let all: Vec<usize> = (0..8).collect();
        let bars = |name| error_bars(&alone(name), &all, &sizes).unwrap();
        let basis = |bars: &[ErrorBar]| bars.iter().map(|bar| bar.basis).collect::<Vec<_>>();
        assert_eq!(basis(&bars("hgx-b200")), [ErrorBasis::Measured; 5]);
        use ErrorBasis::{Measured, NeverMeasured};
        assert_eq!(basis(&bars("hgx-h100")), [Measured; 5]);
        let pcie = [NeverMeasured, Measured, Measured, Measured, NeverMeasured];
        assert_eq!(basis(&error_bars(&alone("pcie-tree-4"), &[0, 1], &sizes).unwrap()), pcie);
        assert_eq!(basis(&bars("dgx2")), [NeverMeasured; 5]);
        let servers = on_one_switch("hgx-b200", 2, 100);
        let between = error_bars(&servers, &[0, 8], &sizes).unwrap();
        assert_eq!(basis(&between), [NeverMeasured; 5]);
        assert!(between.iter().all(|bar| bar.rows == 0 && bar.ninetieth > 0.1));
        let known = bars("mi300x-8");
        assert!(known.iter().all(|bar| bar.median <= bar.ninetieth));
        assert!(error_bars(&servers, &[99], &sizes).is_err());
    }
}
