//! Reads the files that are taken as a whole, since they are short: machines, graphs and matrices of pairs.

use std::io::BufRead;
use std::sync::Arc;

use super::Source;
use super::format::Told;
use super::lines::Lines;
use crate::collectives::graph_file;
use crate::diagnostic::{Diagnose as _, InputError, Position};
use crate::doctor::evidence::{Evidence, Format, PairMatrices};
use crate::system::import::detect;
use crate::system::{ImportOptions, System, SystemError, import, importers};

/// The longest text that is kept whole, in bytes.
const LONGEST: usize = 4 << 20;

/// Reads the rest of a file behind its head.
pub(super) fn text(
    told: Told,
    source: &Source<'_>,
    lines: &mut Lines<impl BufRead>,
    head: &[(u64, String)],
) -> Result<String, InputError> {
    let mut whole = String::new();
    for (_, text) in head {
        whole.push_str(text);
        whole.push('\n');
    }
    lines.up_to(LONGEST);
    while let Some(line) = lines.next(source)? {
        if whole.len() + line.text.len() > LONGEST {
            let what = match told {
                Told::Machine => "a description of a machine",
                Told::Graphs => "a dump of graphs",
                _ => "a file of matrices",
            };
            let problem = format!("{what} of more than {} MiB", LONGEST >> 20);
            let number = line.number;
            return Err(source.error(number, &problem, "", "give the part of one job"));
        }
        whole.push_str(line.text);
        whole.push('\n');
    }
    Ok(whole)
}

/// Whether a text is one of those that describe a machine.
pub(super) fn looks_like_machine(text: &str) -> bool {
    detect(text, &importers()).is_some()
}

/// Reads a whole text.
pub(super) fn read(
    told: Told,
    text: &str,
    source: &mut Source<'_>,
    into: &mut Evidence,
) -> Result<Format, InputError> {
    if told == Told::Machine {
        let server = import(source.name, text, None, &ImportOptions::default())
            .map_err(|error| input_error(source.name, error))?;
        let system = System::of_server(Arc::new(server));
        into.machines.push((source.name.to_owned(), Arc::new(system)));
        return Ok(Format::Machine);
    }
    if told == Told::Graphs {
        into.graphs.push((source.name.to_owned(), graph_file::read(source.name, text)?));
        return Ok(Format::Graphs);
    }
    into.pairs.push(PairMatrices { file: source.name.to_owned(), text: text.to_owned() });
    Ok(Format::Pairs)
}

/// An error of the importer, with its place where it has one.
fn input_error(file: &str, error: SystemError) -> InputError {
    match error {
        SystemError::Input(error) => error,
        other => {
            let diagnosis = other.diagnosis();
            let remedy = diagnosis.remedy.unwrap_or_else(|| "mend the file".to_owned());
            InputError::at(file, Position { line: 1, column: 1 }, diagnosis.problem, "", remedy)
        }
    }
}
