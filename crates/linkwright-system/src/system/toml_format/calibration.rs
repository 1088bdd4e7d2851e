//! Reads and writes the measurements of a machine, in its file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;

use crate::diagnostic::{InputError, Position};
use crate::system::calibration::{
    Calibration, LaunchProcesses, MeasuredLaunch, PeakShare, Residual,
};
use crate::system::kinds::LinkKind;
use crate::system::server::Link;
use crate::units::Picoseconds;

/// Limits the time of a launch.
const LONGEST_LAUNCH: Picoseconds = Picoseconds::SECOND;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    #[serde(default)]
    source: String,
    #[serde(default)]
    reached: BTreeMap<Spanned<LinkKind>, PeakShare>,
    #[serde(default)]
    in_switch: BTreeMap<Spanned<LinkKind>, PeakShare>,
    #[serde(default)]
    launch: Launch,
    #[serde(default)]
    residual: Vec<Spanned<Residual>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    processes: Option<LaunchProcesses>,
    alone: Option<Spanned<Picoseconds>>,
    each: Option<Spanned<Picoseconds>>,
    group: Option<Spanned<Picoseconds>>,
}

impl File {
    /// Reads the calibration of a machine with these links.
    ///
    /// # Errors
    /// Refuses links that the machine has not got, and switches that do not reduce. Refuses a
    /// launch of more than a second, and residuals out of order. Each error has its place.
    pub(super) fn read(
        self,
        file: &str,
        text: &str,
        links: &[Link],
    ) -> Result<Calibration, InputError> {
        let refuse = |span: Range<usize>, problem: String, remedy: &str| {
            let value = text.get(span.clone()).unwrap_or_default();
            let position = Position::of_offset(text, span.start);
            InputError::at(file, position, problem, value, remedy)
        };
        for kind in self.reached.keys() {
            // A network's links join the machine where it stands on a fabric.
            let has = |link: &Link| link.kind == *kind.get_ref();
            if !kind.get_ref().is_network() && !links.iter().any(has) {
                let problem = format!("the machine has no {} link", kind.get_ref().name());
                return Err(refuse(
                    kind.span(),
                    problem,
                    "leave it out, or name a kind of its links",
                ));
            }
        }
        for kind in self.in_switch.keys() {
            let has = |link: &Link| link.kind == *kind.get_ref();
            if kind.get_ref().reached_in_switch().is_none() || !links.iter().any(has) {
                let problem =
                    format!("no switch of the machine reduces over {}", kind.get_ref().name());
                let remedy = "leave it out; NVSwitches reduce over NVLink 4 and 5";
                return Err(refuse(kind.span(), problem, remedy));
            }
        }
        let Launch { processes, alone, each, group } = self.launch;
        let time = |launch: Option<Spanned<Picoseconds>>| match launch {
            Some(time) if *time.get_ref() > LONGEST_LAUNCH => {
                let problem = "a launch takes no more than a second".to_owned();
                Err(refuse(time.span(), problem, "write such as \"8.4 us\""))
            }
            launch => Ok(launch.map(Spanned::into_inner)),
        };
        let (alone, each, group) = (time(alone)?, time(each)?, time(group)?);
        let launch = MeasuredLaunch { processes, alone, each, group };
        for pair in self.residual.windows(2) {
            if pair[0].get_ref().from >= pair[1].get_ref().from {
                let problem = "the residuals' sizes do not ascend".to_owned();
                return Err(refuse(pair[1].span(), problem, "list them by `from`, each once"));
            }
        }
        if let Some(bad) =
            self.residual.iter().find(|it| it.get_ref().median > it.get_ref().ninetieth)
        {
            let problem = "half of the times cannot be further off than nine of ten".to_owned();
            return Err(refuse(bad.span(), problem, "write the median below the ninetieth"));
        }
        let shares = |kinds: BTreeMap<Spanned<LinkKind>, PeakShare>| {
            kinds.into_iter().map(|(kind, share)| (kind.into_inner(), share)).collect()
        };
        Ok(Calibration {
            source: self.source,
            reached: shares(self.reached),
            in_switch: shares(self.in_switch),
            launch,
            residuals: self.residual.into_iter().map(Spanned::into_inner).collect(),
        })
    }
}

/// Writes what [`File`] reads.
pub(super) fn write(text: &mut String, calibration: &Calibration) {
    let Calibration { source, reached, in_switch, launch, residuals } = calibration;
    let source = toml::Value::String(source.clone());
    let _ = writeln!(text, "\n[calibration]\nsource = {source}");
    for (name, shares) in [("reached", reached), ("in_switch", in_switch)] {
        if !shares.is_empty() {
            let _ = writeln!(text, "\n[calibration.{name}]");
        }
        for (kind, share) in shares {
            let _ = writeln!(text, "{} = {share}", kind.name());
        }
    }
    let MeasuredLaunch { processes, alone, each, group } = launch;
    if *launch != MeasuredLaunch::default() {
        let _ = writeln!(text, "\n[calibration.launch]");
    }
    if let Some(processes) = processes {
        let _ = writeln!(text, "processes = \"{}\"", processes.name());
    }
    for (name, time) in [("alone", alone), ("each", each), ("group", group)] {
        if let Some(time) = time {
            let _ = writeln!(text, "{name} = \"{time}\"");
        }
    }
    for Residual { from, rows, median, ninetieth } in residuals {
        let _ = writeln!(text, "\n[[calibration.residual]]\nfrom = \"{from}\"\nrows = {rows}");
        let _ = writeln!(text, "median = {median}\nninetieth = {ninetieth}");
    }
}
