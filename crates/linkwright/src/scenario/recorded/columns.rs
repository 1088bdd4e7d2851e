//! Which column of a file of recorded jobs says what, and the fields of a row.

use super::format::{AccountEntry, AccountedJob, NotPlayed};
use super::lines::{BAR, Line};
use super::values::{GpuCount, Moment, PartOfGpu, duration, gpus_of, servers_of};
use crate::diagnostic::fields::Field;
use crate::diagnostic::{InputError, instead_of};
use crate::units::Picoseconds;

/// Says which fact a column tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Job,
    /// It has this name from its user.
    Title,
    Submit,
    Start,
    End,
    /// How long it ran; the lower number is the better known.
    Duration(usize),
    /// How many GPUs it had; so, too.
    Gpus(usize),
    /// Counts thousandths of a GPU, beside a number of whole ones.
    Thousandths,
    State,
    Workload,
    /// On how many servers it was; the lower number is the better known.
    Servers(usize),
    /// Whether it had its servers for itself.
    Exclusive,
    /// The command that submitted it, which says so, too.
    Command,
}

/// The names of columns, in small letters: those of `sacct`, and those of comma-separated values.
const NAMES: [(&str, Role); 24] = [
    ("jobid", Role::Job),
    ("job", Role::Job),
    ("jobname", Role::Title),
    ("submit", Role::Submit),
    ("start", Role::Start),
    ("end", Role::End),
    ("elapsedraw", Role::Duration(0)),
    ("elapsed", Role::Duration(1)),
    ("duration", Role::Duration(2)),
    ("alloctres", Role::Gpus(0)),
    ("reqtres", Role::Gpus(1)),
    ("gpus", Role::Gpus(2)),
    ("state", Role::State),
    ("workload", Role::Workload),
    ("nnodes", Role::Servers(0)),
    ("allocnodes", Role::Servers(1)),
    ("reqnodes", Role::Servers(2)),
    ("exclusive", Role::Exclusive),
    ("submitline", Role::Command),
    // Other schedulers and people write the following names.
    ("id", Role::Job),
    ("submitted", Role::Submit),
    ("run_time", Role::Duration(3)),
    ("gpu_count", Role::Gpus(3)),
    // The traces of Alibaba's PAI.
    ("gpu_milli", Role::Thousandths),
];
/// Of how many parts a GPU is in columns of these names: PAI's thousandths and hundredths.
const PARTS: [(&str, u32); 2] = [("gpu_milli", 1000), ("plan_gpu", 100)];

impl Role {
    /// Returns the role of a column of this name; None of a name that says nothing here.
    pub(super) fn of(name: &str) -> Option<Self> {
        let name = name.to_lowercase();
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, role)| *role)
    }

    const fn is_moment(self) -> bool {
        matches!(self, Self::Submit | Self::Start | Self::End)
    }
}

/// Holds a scenario's names for the columns of its file, where the file has names of its own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    /// Names the column of the job's id.
    pub job: Option<String>,
    /// It has this name from its user.
    pub name: Option<String>,
    /// When it was submitted.
    pub submit: Option<String>,
    /// Names the column that says when it started.
    pub start: Option<String>,
    /// Names the column that says when it ended.
    pub end: Option<String>,
    /// Names the column that says how long it ran.
    pub duration: Option<String>,
    /// How many GPUs it had: a number, or Slurm's list of resources.
    pub gpus: Option<String>,
    /// Names the column that says how it ended.
    pub state: Option<String>,
    /// Names the column that says which workload it ran.
    pub workload: Option<String>,
}

impl Columns {
    fn each(&self) -> [(&Option<String>, Role); 9] {
        [
            (&self.job, Role::Job),
            (&self.name, Role::Title),
            (&self.submit, Role::Submit),
            (&self.start, Role::Start),
            (&self.end, Role::End),
            (&self.duration, Role::Duration(0)),
            (&self.gpus, Role::Gpus(0)),
            (&self.state, Role::State),
            (&self.workload, Role::Workload),
        ]
    }

    /// Whether any has a name of its own.
    pub(super) fn are_given(&self) -> bool {
        self.each().iter().any(|(name, _)| name.is_some())
    }
}

/// Says how a header is wrong whose columns neither commas nor bars part, and gives the remedy.
pub(super) fn other_separator(header: &str) -> Option<(&'static str, &'static str)> {
    if header.contains([BAR, ',']) {
        return None;
    }
    let is_known = |name: &str| Role::of(name.trim().trim_matches('"')).is_some();
    if header.contains([';', '\t']) && header.split([';', '\t']).any(is_known) {
        let problem = "semicolons or tabs part the columns";
        return Some((problem, "write commas between them, or what `sacct --parsable2` prints"));
    }
    let mut words = header.split_whitespace();
    if words.clone().nth(1).is_none() || !words.any(is_known) {
        return None;
    }
    let remedy = "run `sacct` with `--parsable2`, or write commas between them";
    Some(("blanks part the columns", remedy))
}

/// Says where the fields of a row stand.
#[derive(Debug)]
pub(super) struct Header {
    /// Of each column its roles: several where the scenario says so.
    roles: Vec<Vec<Role>>,
    names: Vec<String>,
    has_bars: bool,
    /// Whether a bar ends each line, too, as with `--parsable`.
    ends_with_bar: bool,
}

impl Header {
    pub(super) fn read(line: Line<'_>, columns: &Columns) -> Result<Self, InputError> {
        if let Some((problem, remedy)) = other_separator(line.text) {
            return Err(line.refuse_all(problem, remedy));
        }
        let mut fields = line.fields()?;
        let ends_with_bar = line.text.ends_with(BAR);
        fields.truncate(fields.len() - usize::from(ends_with_bar));
        let names: Vec<String> = fields.iter().map(|field| field.value.to_lowercase()).collect();
        let mut roles: Vec<Vec<Role>> =
            fields.iter().map(|field| Role::of(&field.value).into_iter().collect()).collect();
        let mut given: Vec<usize> = Vec::new();
        for (name, role) in columns.each() {
            let Some(name) = name else { continue };
            let Some(at) = names.iter().position(|known| *known == name.to_lowercase()) else {
                let known: Vec<&str> = fields.iter().map(|field| field.value.as_ref()).collect();
                let problem = format!("the header lacks the column `{name}`");
                return Err(line.refuse_all(&problem, instead_of(name, &known)));
            };
            // The scenario's names count before the file's own.
            let of = std::mem::discriminant(&role);
            for other in &mut roles {
                other.retain(|other| std::mem::discriminant(other) != of);
            }
            // A time may be that of several things; any other meaning of its name is taken back.
            if !given.contains(&at) {
                roles[at].retain(|own| own.is_moment() && role.is_moment());
            }
            given.push(at);
            roles[at].push(role);
        }
        for (at, own) in roles.iter().enumerate() {
            if own.iter().any(|role| roles[..at].iter().flatten().any(|other| other == role)) {
                let problem = "two columns say the same";
                let remedy = "print it once, or name one of them in `[jobs.columns]`";
                return Err(line.refuse(&fields[at], problem, remedy));
            }
        }
        let header = Self { roles, names, has_bars: line.text.contains(BAR), ends_with_bar };
        let has = |is: fn(&Role) -> bool| header.roles.iter().flatten().any(is);
        let needed = [
            (has(|it| *it == Role::Submit), "when jobs were submitted", "Submit", "submit"),
            (
                has(|it| matches!(it, Role::Duration(_)))
                    || has(|it| *it == Role::Start) && has(|it| *it == Role::End),
                "how long jobs ran",
                "ElapsedRaw",
                "duration",
            ),
            (has(|it| matches!(it, Role::Gpus(_))), "how many GPUs jobs had", "AllocTRES", "gpus"),
        ];
        for (is_there, what, of_slurm, key) in needed {
            if !is_there {
                let problem = format!("no column says {what}");
                let remedy = format!(
                    "print `{of_slurm}` with `sacct --format`, add a column `{key}`, or say which \
                     it is as `columns.{key}` in `[jobs]`"
                );
                return Err(line.refuse_all(&problem, remedy));
            }
        }
        Ok(header)
    }

    /// Reads the fields of a row.
    pub(super) fn row<'h, 'a>(&'h self, line: Line<'a>) -> Result<Row<'h, 'a>, InputError> {
        // A text between commas may have bars.
        let mut fields = if self.has_bars { line.fields()? } else { line.fields_between_commas()? };
        if self.ends_with_bar && line.text.ends_with(BAR) {
            fields.pop();
        }
        let count = self.names.len();
        let hint =
            if self.has_bars { "; leave out `JobName`, whose text may have bars" } else { "" };
        if let Some(missing) = self.names.get(fields.len()) {
            let remedy = format!("give each column of the header a field; `{missing}` has none");
            return Err(line.refuse_all("the row is too short", remedy));
        }
        if let Some(extra) = fields.get(count) {
            let remedy = format!("the header has {count} columns{hint}");
            return Err(line.refuse(extra, "the row is too long", remedy));
        }
        Ok(Row { line, header: self, fields })
    }
}

/// Holds a row.
pub(super) struct Row<'h, 'a> {
    line: Line<'a>,
    header: &'h Header,
    fields: Vec<Field<'a>>,
}

/// Lists the words that `sacct` and pandas write for a missing value.
const NOTHING: [&str; 8] = ["", "unknown", "none", "n/a", "invalid", "nan", "nat", "null"];

/// Whether a word stands for no value, as `sacct` and makers of tables write it.
pub(super) fn says_nothing(word: &str) -> bool {
    NOTHING.iter().any(|known| known.eq_ignore_ascii_case(word))
}

pub(super) fn is_nothing(field: &Field<'_>) -> bool {
    says_nothing(&field.value)
}

impl<'a> Row<'_, 'a> {
    fn columns(&self) -> impl Iterator<Item = (Role, &Field<'a>)> {
        let columns = self.header.roles.iter().zip(&self.fields);
        columns.flat_map(|(roles, field)| roles.iter().map(move |role| (*role, field)))
    }

    fn field(&self, role: Role) -> Option<&Field<'a>> {
        self.columns().find(|(known, _)| *known == role).map(|(_, field)| field)
    }

    /// The field of a role that says something, the best known first; the first of them otherwise.
    fn best(&self, rank: fn(Role) -> Option<usize>) -> Option<&Field<'a>> {
        let mut ranked: Vec<(usize, &Field<'a>)> =
            self.columns().filter_map(|(role, field)| Some((rank(role)?, field))).collect();
        ranked.sort_by_key(|(rank, _)| *rank);
        let said = ranked.iter().find(|(_, field)| !is_nothing(field));
        said.or(ranked.first()).map(|(_, field)| *field)
    }

    fn gpus_field(&self) -> &Field<'a> {
        let rank = |role| if let Role::Gpus(rank) = role { Some(rank) } else { None };
        self.best(rank).unwrap_or(&self.fields[0])
    }

    fn submit_field(&self) -> &Field<'a> {
        self.field(Role::Submit).unwrap_or(&self.fields[0])
    }

    fn moment(&self, field: &Field<'_>) -> Result<Moment, InputError> {
        Moment::read(&field.value).ok_or_else(|| {
            let remedy = "write one such as 2024-03-01T08:15:30, with a zone or without (Z, +01:00), \
                          or seconds";
            self.line.refuse(field, "not a time", remedy)
        })
    }

    /// How long it ran, and where that is said; None where it is not said yet.
    fn duration(&self) -> Result<Option<(Picoseconds, &Field<'a>)>, InputError> {
        let rank = |role| if let Role::Duration(rank) = role { Some(rank) } else { None };
        if let Some(field) = self.best(rank) {
            if is_nothing(field) {
                return Ok(None);
            }
            let found = duration(&field.value).ok_or_else(|| {
                let remedy = "write seconds, or D-HH:MM:SS, below 213 days";
                self.line.refuse(field, "not a duration", remedy)
            })?;
            return Ok(Some((found, field)));
        }
        let (Some(start), Some(end)) = (self.field(Role::Start), self.field(Role::End)) else {
            return Ok(None);
        };
        if is_nothing(start) || is_nothing(end) {
            return Ok(None);
        }
        let (from, to) = (self.moment(start)?, self.moment(end)?);
        let lasted = to.picoseconds.checked_sub(from.picoseconds).filter(|_| to.is_like(&from));
        let lasted = lasted.and_then(|it| u64::try_from(it).ok()).ok_or_else(|| {
            let remedy = "write an end less than 213 days after the start, in the same way";
            self.line.refuse(end, "not a time after the job's start", remedy)
        })?;
        Ok(Some((Picoseconds(lasted), end)))
    }

    /// Reads its GPUs.
    fn gpus(&self) -> Result<GpuCount, InputError> {
        let field = self.gpus_field();
        let place = self.fields.iter().position(|other| other.column == field.column);
        let name = place.map_or("", |place| &*self.header.names[place]);
        let parts = PARTS.iter().find(|(known, _)| *known == name).map_or(1, |(_, parts)| *parts);
        let gpus = gpus_of(&field.value, parts).ok_or_else(|| {
            let remedy = "write a number of GPUs, or Slurm's list of resources, such as \
                          cpu=8,gres/gpu=4";
            self.line.refuse(field, "not a number of GPUs", remedy)
        })?;
        let thousandths = self.field(Role::Thousandths).and_then(|field| field.value.parse().ok());
        let is_part = thousandths.is_some_and(|it: u32| (1..1000).contains(&it));
        let part = gpus.part.or((is_part && gpus.gpus > 0).then_some(PartOfGpu::Fraction));
        Ok(GpuCount { part, ..gpus })
    }

    /// On how many servers it was, where a column or the list of its resources says so.
    fn servers(&self) -> Result<Option<u32>, InputError> {
        let rank = |role| if let Role::Servers(rank) = role { Some(rank) } else { None };
        let Some(field) = self.best(rank).filter(|field| !is_nothing(field)) else {
            return Ok(servers_of(&self.gpus_field().value));
        };
        let count = field.value.parse().ok().filter(|count| *count > 0);
        let refused = || {
            let remedy = "write how many servers the job was on, at least 1";
            self.line.refuse(field, "not a number of servers", remedy)
        };
        count.map(Some).ok_or_else(refused)
    }

    /// Whether it had its servers for itself.
    fn is_exclusive(&self) -> Result<bool, InputError> {
        let submitted = self.field(Role::Command).is_some_and(|command| {
            let mut words = command.value.split_whitespace();
            words.any(|word| word == "--exclusive" || word == "--exclusive=exclusive")
        });
        let Some(field) = self.field(Role::Exclusive).filter(|field| !is_nothing(field)) else {
            return Ok(submitted);
        };
        match &*field.value.to_lowercase() {
            "true" | "yes" | "1" => Ok(true),
            "false" | "no" | "0" => Ok(false),
            _ => Err(self.line.refuse(field, "neither true nor false", "write `true` or `false`")),
        }
    }

    /// The job, or why there is none to play.
    pub(super) fn entry(&self) -> Result<AccountEntry<'a>, InputError> {
        let left_out = |why| Ok(AccountEntry::LeftOut(why));
        let name = self.field(Role::Job);
        if self.header.has_bars && name.is_some_and(|it| it.value.contains('.')) {
            return left_out(NotPlayed::Step);
        }
        let state = self.field(Role::State).map(|it| it.value.to_uppercase()).unwrap_or_default();
        let is_begun = self.field(Role::Start).is_none_or(|start| !is_nothing(start));
        if !is_begun || state.starts_with("PENDING") {
            return left_out(NotPlayed::NeverStarted);
        }
        let is_over = self.field(Role::End).is_none_or(|end| !is_nothing(end));
        let lives = ["RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "REQUEUED"];
        let duration = self.duration()?;
        let Some((duration, at)) = duration.filter(|_| is_over && !lives.contains(&&*state)) else {
            return left_out(NotPlayed::Unfinished);
        };
        let gpus = self.gpus()?;
        if duration.0 == 0 {
            return left_out(match state.starts_with("CANCELLED") {
                true => NotPlayed::NeverStarted,
                false => NotPlayed::WithoutLength,
            });
        }
        if gpus.gpus == 0 {
            return left_out(NotPlayed::WithoutGpus);
        }
        let workload = self.field(Role::Workload).filter(|field| !is_nothing(field));
        Ok(AccountEntry::Job(Box::new(AccountedJob {
            id: name.filter(|it| !it.value.is_empty()).map(|it| self.line.written_in(it)),
            title: self
                .field(Role::Title)
                .filter(|title| !title.value.is_empty())
                .map(|title| self.line.written_in(title)),
            submit: self.moment(self.submit_field())?,
            submitted: self.line.written_in(self.submit_field()),
            gpus,
            duration,
            lasted: self.line.position(at.column),
            workload: workload.map(|field| self.line.written_in(field)),
            servers: self.servers()?,
            exclusive: self.is_exclusive()?,
            row: self.line.written(),
        })))
    }
}
