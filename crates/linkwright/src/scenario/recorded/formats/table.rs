//! Reads the print of Slurm's `sacct --parsable2`, and comma-separated values with a column of durations.

use crate::diagnostic::{Diagnosis, InputError, Registered};
use crate::scenario::recorded::columns::{Columns, Header, Role, other_separator};
use crate::scenario::recorded::format::{AccountingFormat, Entries};
use crate::scenario::recorded::lines::{BAR, Line, lines};
use crate::simulation::other_format;

/// Takes a header, and a line for each job.
#[derive(Debug)]
pub struct Table;

impl Registered for Table {
    fn name(&self) -> &'static str {
        "table"
    }
}

impl AccountingFormat for Table {
    /// Has bars, a column of how long a job ran, or columns that are parted as no file's may be.
    fn is_of(&self, text: &str) -> bool {
        let Some(header) = lines("", text).next() else { return false };
        header.text.contains(BAR)
            || other_separator(header.text).is_some()
            || header.fields().is_ok_and(|fields| {
                fields.iter().any(|field| matches!(Role::of(&field.value), Some(Role::Duration(_))))
            })
    }

    fn entries<'a>(&self, file: &'a str, text: &'a str) -> Result<Entries<'a>, InputError> {
        entries_of(file, text, &Columns::default())
    }
}

/// The entries of a table, some of whose columns have names that are given.
pub fn entries_of<'a>(
    file: &'a str,
    text: &'a str,
    columns: &Columns,
) -> Result<Entries<'a>, InputError> {
    let mut lines = lines(file, text);
    let Some(first) = lines.next() else {
        let line = Line { file, number: 1, text: "" };
        let remedy = "begin with a header such as `submit,gpus,duration`, or give what `sacct \
                      --parsable2` prints";
        return Err(line.refuse_all("the file has no header", remedy));
    };
    if let Some(Diagnosis { problem, remedy }) = other_format(text) {
        return Err(first.refuse_all(&problem, remedy.unwrap_or_default()));
    }
    let header = Header::read(first, columns)?;
    Ok(Box::new(lines.map(move |line| header.row(line)?.entry())))
}
