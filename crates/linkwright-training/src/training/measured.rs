//! Reads measured times of layers, which replace the model's.
//!
//! ```text
//! # V100-SXM2-16GB, cuDNN 9.1
//! layer,samples,forward,backward,update
//! conv1,32,412.5,0.9 ms,11
//! conv1.relu,32,60,61,
//! ```
//!
//! The header names the columns, in any order; `samples` and `update` may be left out. A time is
//! a number of microseconds, or a number with its unit; an empty one is nothing. Layers that are not
//! named keep the model's times. Lines that start with `#`, and blank ones, are skipped.

use std::collections::BTreeMap;

use super::error::TrainingError;
use super::network::Network;
use super::roofline::LayerTime;
use crate::diagnostic::fields::{Field, split};
use crate::diagnostic::{InputError, Position, instead_of};
use crate::units::Picoseconds;

/// The names of the columns.
const COLUMNS: [&str; 5] = ["layer", "samples", "forward", "backward", "update"];
/// Those that must be there.
const REQUIRED: [&str; 3] = ["layer", "forward", "backward"];
/// Limits the time of a layer to an hour.
const LONGEST: Picoseconds = Picoseconds(3600 * Picoseconds::SECOND.0);
const MICROSECOND: u64 = Picoseconds::SECOND.0 / 1_000_000;

/// Holds measured times of some of a network's layers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MeasuredLayers {
    /// How many samples the GPU computed at once; unknown where the file does not say.
    pub samples: Option<u64>,
    /// Gives the times by the layer's place in the network.
    pub layers: BTreeMap<usize, LayerTime>,
}

/// A line of the file, which places its errors.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    fn refuse(self, column: usize, problem: &str, value: &str, remedy: &str) -> InputError {
        let position = Position { line: self.number, column };
        InputError::at(self.file, position, problem, value, remedy)
    }

    fn refuse_field(self, field: &Field<'_>, problem: &str, remedy: &str) -> InputError {
        self.refuse(field.column, problem, &field.value, remedy)
    }

    fn refuse_end(self, problem: &str, remedy: &str) -> InputError {
        self.refuse(self.text.chars().count() + 1, problem, self.text, remedy)
    }

    fn fields(self) -> Result<Vec<Field<'a>>, InputError> {
        split(self.text)
            .map_err(|error| self.refuse(error.column, error.problem, error.value, error.remedy))
    }

    /// The column that each field of this line, a header, names.
    fn header(self) -> Result<Vec<usize>, InputError> {
        let mut header = Vec::new();
        for field in self.fields()? {
            let name: &str = &field.value;
            let Some(column) = COLUMNS.iter().position(|known| *known == name) else {
                let remedy = instead_of(name, &COLUMNS);
                return Err(self.refuse_field(&field, "unknown column", &remedy));
            };
            if header.contains(&column) {
                let problem = "a column is named twice";
                return Err(self.refuse_field(&field, problem, "name each column once"));
            }
            header.push(column);
        }
        for name in REQUIRED {
            if !header.iter().any(|column| COLUMNS[*column] == name) {
                let remedy = format!("add the column `{name}`");
                return Err(self.refuse_end("the header lacks a column", &remedy));
            }
        }
        Ok(header)
    }

    fn time(self, field: &Field<'_>) -> Result<Picoseconds, InputError> {
        let text = field.value.trim();
        if text.is_empty() {
            return Ok(Picoseconds(0));
        }
        let time = match text.parse::<f64>() {
            Ok(number) if (0.0..=1e12).contains(&number) => {
                Some(Picoseconds((number * MICROSECOND as f64).round() as u64))
            }
            Ok(_) => None,
            Err(_) => text.parse().ok(),
        };
        time.filter(|time| *time <= LONGEST).ok_or_else(|| {
            let remedy = "write microseconds, such as 12.5, or a time with its unit, such as 0.9 ms, \
                          up to an hour";
            self.refuse_field(field, "this is no time of a layer", remedy)
        })
    }
}

impl MeasuredLayers {
    /// Reads measured times of a network's layers from their comma-separated values; `file` names
    /// the text in errors.
    ///
    /// # Errors
    /// Refuses unknown columns and layers, and names the nearest. It refuses layers that are named
    /// twice, and texts that are no times. It refuses rows that say another number of samples than
    /// the first. Each error has line and column.
    pub fn read(file: &str, text: &str, network: &Network) -> Result<Self, InputError> {
        let lines = text.lines().enumerate().map(|(at, text)| Line { file, number: at + 1, text });
        let mut lines =
            lines.filter(|line| !line.text.trim().is_empty() && !line.text.starts_with('#'));
        let Some(first) = lines.next() else {
            let end = Line { file, number: text.lines().count().max(1), text: "" };
            return Err(end.refuse_end("no header", "write layer,forward,backward"));
        };
        let header = first.header()?;
        let mut measured = Self::default();
        for line in lines {
            measured.read_row(line, &header, network)?;
        }
        if measured.layers.is_empty() {
            return Err(first.refuse_end("no layers", "write a row for each layer"));
        }
        Ok(measured)
    }

    fn read_row(
        &mut self,
        line: Line<'_>,
        header: &[usize],
        network: &Network,
    ) -> Result<(), InputError> {
        let fields = line.fields()?;
        if let Some(missing) = header.get(fields.len()) {
            let remedy = format!("give `{}` a field, if an empty one", COLUMNS[*missing]);
            return Err(line.refuse_end("the row is too short", &remedy));
        }
        if let Some(extra) = fields.get(header.len()) {
            let remedy = format!("the header has {} columns", header.len());
            return Err(line.refuse_field(extra, "the row is too long", &remedy));
        }
        let (mut place, mut time) = (0, LayerTime::default());
        for (column, field) in header.iter().zip(&fields) {
            match COLUMNS[*column] {
                "layer" => place = self.place(line, field, network)?,
                "samples" => self.agree(line, field)?,
                "forward" => time.forward = line.time(field)?,
                "backward" => time.backward = line.time(field)?,
                _ => time.update = line.time(field)?,
            }
        }
        self.layers.insert(place, time);
        Ok(())
    }

    fn place(
        &self,
        line: Line<'_>,
        field: &Field<'_>,
        network: &Network,
    ) -> Result<usize, InputError> {
        let name: &str = &field.value;
        let Some(place) = network.layers.iter().position(|layer| layer.name == name) else {
            let known: Vec<&str> = network.layers.iter().map(|it| it.name.as_str()).collect();
            let problem = format!("{} has no layer of this name", network.full_name());
            return Err(line.refuse_field(field, &problem, &instead_of(name, &known)));
        };
        if self.layers.contains_key(&place) {
            let problem = "a layer is named twice";
            return Err(line.refuse_field(field, problem, "give each layer one row"));
        }
        Ok(place)
    }

    /// Takes a row's number of samples, which all rows share.
    fn agree(&mut self, line: Line<'_>, field: &Field<'_>) -> Result<(), InputError> {
        let number = field.value.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let Some(number) = number else {
            let remedy = "write how many samples the GPU computed at once";
            return Err(line.refuse_field(field, "this is no number of samples", remedy));
        };
        match self.samples {
            Some(other) if other != number => {
                let problem = format!("the rows before were measured with {other} samples");
                let remedy = "write one file for each number of samples";
                Err(line.refuse_field(field, &problem, remedy))
            }
            _ => {
                self.samples = Some(number);
                Ok(())
            }
        }
    }

    /// Returns the times, for a GPU that computes `samples` samples at once.
    ///
    /// # Errors
    /// Another number of samples than they were measured with.
    pub fn of(&self, samples: u64) -> Result<&BTreeMap<usize, LayerTime>, TrainingError> {
        match self.samples {
            Some(measured) if measured != samples => {
                Err(TrainingError::MeasuredSamples { measured, samples })
            }
            _ => Ok(&self.layers),
        }
    }
}

#[cfg(test)]
mod tests;
