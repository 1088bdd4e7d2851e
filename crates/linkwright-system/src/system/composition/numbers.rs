//! Numbers of the parts of equal things in a row.

use crate::system::error::SystemError;

/// How many parts of each sort a server has, or all servers before one have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    pub(super) gpus: u32,
    pub(super) nics: u32,
    pub(super) devices: u32,
    pub(super) channels: u32,
}

impl Counts {
    /// Adds `times` times the other counts to these; None beyond 31 bits, which leaves indices a
    /// flag.
    fn plus(self, other: Self, times: u32) -> Option<Self> {
        let sum = |a: u32, b: u32| {
            let sum = u64::from(a) + u64::from(b) * u64::from(times);
            u32::try_from(sum).ok().filter(|sum| *sum < 1 << 31)
        };
        Some(Self {
            gpus: sum(self.gpus, other.gpus)?,
            nics: sum(self.nics, other.nics)?,
            devices: sum(self.devices, other.devices)?,
            channels: sum(self.channels, other.channels)?,
        })
    }
}

/// Where a part of a server is: in which server of the system, and its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServerPlace {
    /// Gives the number of the server.
    pub server: u32,
    /// Gives the part's number in the server.
    pub index: u32,
}

/// Describes equal servers in a row.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    kind: u32,
    first_server: u32,
    /// Counts the parts of all servers before these together.
    before: Counts,
    each: Counts,
}

/// Numbers all parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Numbers {
    runs: Vec<Run>,
    servers: u32,
    total: Counts,
}

impl Numbers {
    /// Of servers in a row: the kind, how many, what each has; `others` are channels that stand
    /// before all of theirs.
    pub(super) fn new(rows: &[(u32, u32, Counts)], others: usize) -> Result<Self, SystemError> {
        let mut numbers =
            Self { runs: Vec::with_capacity(rows.len()), servers: 0, total: Counts::default() };
        for (kind, count, each) in rows {
            let (first_server, before) = (numbers.servers, numbers.total);
            numbers.runs.push(Run { kind: *kind, first_server, before, each: *each });
            let servers = numbers.servers.checked_add(*count);
            let total = before.plus(*each, *count);
            let (Some(servers), Some(total)) = (servers, total) else {
                return Err(SystemError::TooManyParts);
            };
            (numbers.servers, numbers.total) = (servers, total);
        }
        if numbers.servers == 0 {
            return Err(SystemError::NoServer);
        }
        if numbers.total.channels as usize + others >= 1 << 31 {
            return Err(SystemError::TooManyParts);
        }
        Ok(numbers)
    }

    pub(super) fn servers(&self) -> u32 {
        self.servers
    }

    pub(super) fn total(&self) -> Counts {
        self.total
    }

    fn run_of(&self, server: u32) -> &Run {
        assert!(server < self.servers, "there is no server {server}");
        let after = self.runs.partition_point(|run| run.first_server <= server);
        &self.runs[after - 1]
    }

    pub(super) fn kind_of(&self, server: u32) -> u32 {
        self.run_of(server).kind
    }

    /// Returns the number of a server's first part of one sort.
    pub(super) fn first(&self, server: u32, sort: impl Fn(&Counts) -> u32) -> u32 {
        let run = self.run_of(server);
        sort(&run.before) + sort(&run.each) * (server - run.first_server)
    }

    /// Returns the server of a part of one sort.
    pub(super) fn place(&self, number: u32, sort: impl Fn(&Counts) -> u32) -> ServerPlace {
        assert!(number < sort(&self.total), "there is no part {number}");
        let after = self.runs.partition_point(|run| sort(&run.before) <= number);
        // Servers without such a part begin where the next begins.
        let run = self.runs[..after].iter().rev().find(|run| sort(&run.each) > 0);
        let run = run.expect("some server has the part");
        let inside = number - sort(&run.before);
        let each = sort(&run.each);
        ServerPlace { server: run.first_server + inside / each, index: inside % each }
    }

    /// Lists each row of equal servers: its first server, how many, and the counts of each.
    pub(super) fn rows(&self) -> impl Iterator<Item = (u32, u32, Counts)> {
        self.runs.iter().enumerate().map(|(at, run)| {
            let end = self.runs.get(at + 1).map_or(self.servers, |next| next.first_server);
            (run.first_server, end - run.first_server, run.each)
        })
    }
}
