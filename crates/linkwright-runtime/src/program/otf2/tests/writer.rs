//! Writes small archives, in either byte order and with chunks of any size.

use std::collections::BTreeMap;

/// Says in which order the bytes of a number stand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    BigEndian,
    LittleEndian,
}

/// Describes a part of a record.
pub(super) enum Field<'a> {
    /// Holds one byte.
    Byte(u8),
    /// Holds a compressed number.
    Number(u64),
    /// Holds a number of eight bytes.
    Fixed(u64),
    /// Holds a text and its end.
    Text(&'a str),
}

/// Writes a number of fixed size.
pub(super) fn fixed(order: Order, size: usize, value: u64) -> Vec<u8> {
    match order {
        Order::BigEndian => value.to_be_bytes()[8 - size..].to_vec(),
        Order::LittleEndian => value.to_le_bytes()[..size].to_vec(),
    }
}

fn field(order: Order, field: &Field) -> Vec<u8> {
    match field {
        Field::Byte(value) => vec![*value],
        Field::Number(u64::MAX) => vec![u8::MAX],
        Field::Number(value) => {
            let size = (u64::BITS - value.leading_zeros()).div_ceil(8) as usize;
            [vec![size as u8], fixed(order, size, *value)].concat()
        }
        Field::Fixed(value) => fixed(order, 8, *value),
        Field::Text(text) => [text.as_bytes(), &[0]].concat(),
    }
}

/// Writes a record with its length.
pub(super) fn record(order: Order, kind: u8, fields: &[Field]) -> Vec<u8> {
    let body: Vec<u8> = fields.iter().flat_map(|one| field(order, one)).collect();
    assert!(body.len() < 255, "short records only");
    [vec![kind, body.len() as u8], body].concat()
}

/// Writes a record without a length.
pub(super) fn bare(order: Order, kind: u8, one: &Field) -> Vec<u8> {
    [vec![kind], field(order, one)].concat()
}

fn header(order: Order) -> Vec<u8> {
    vec![3, if order == Order::BigEndian { 0x23 } else { 0x42 }]
}

/// A file of records, in as many chunks as they take.
pub(super) fn file(order: Order, chunk_size: usize, records: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let start = |bytes: &mut Vec<u8>| {
        bytes.extend(header(order));
        bytes.extend([0; 16]);
    };
    start(&mut bytes);
    for record in records.iter().chain([&vec![2, 1]]) {
        if bytes.len() % chunk_size + record.len() + 1 > chunk_size {
            bytes.resize(bytes.len().next_multiple_of(chunk_size), 0);
            start(&mut bytes);
        }
        bytes.extend(record);
    }
    bytes
}

/// An archive of two ranks, at the locations 9 and 5, to be changed and written.
pub(super) struct Sample {
    pub(super) order: Order,
    pub(super) anchor_format: u8,
    pub(super) trace_format: u8,
    pub(super) substrate: u8,
    pub(super) compression: u8,
    pub(super) event_chunk: u64,
    pub(super) definition_chunk: u64,
    /// Counts the locations that the anchor file announces.
    pub(super) locations: u64,
    /// Definitions beyond those that there are, for the anchor file to announce.
    pub(super) missing_definitions: u64,
    pub(super) definitions: Vec<Vec<u8>>,
    /// Holds the local definitions of both locations.
    pub(super) local: Vec<Vec<u8>>,
    /// Holds the events of both locations.
    pub(super) events: Vec<Vec<u8>>,
}

impl Sample {
    pub(super) fn new(order: Order) -> Self {
        use Field::{Byte, Fixed, Number, Text};
        let record = |kind, fields: &[Field]| record(order, kind, fields);
        let time = |time| bare(order, 5, &Fixed(time));
        let undefined = u64::MAX;
        let mut definitions =
            vec![record(5, &[Number(1_000_000), Number(70_000), Number(400), Fixed(1)])];
        for (id, text) in [(0, "world"), (1, "MPI_Send"), (300, "loop")] {
            definitions.push(record(10, &[Number(id), Text(text)]));
        }
        for (id, name, role, paradigm) in [(0, 1, 28, 4), (70_000, 300, 3, 1)] {
            let place = [Number(0), Byte(0), Number(0), Number(0), Number(0)];
            let head = [Number(id), Number(name)];
            let role = [Number(name), Byte(role), Byte(paradigm), Number(1)];
            let fields: Vec<Field> = head.into_iter().chain(place).chain(role).collect();
            definitions.push(record(15, &fields));
        }
        for id in [9, 5] {
            definitions.push(record(14, &[Number(id), Number(0), Byte(1), Number(5), Number(0)]));
        }
        let members = [Number(2), Number(9), Number(5)];
        let group = |id, kind, members: [Field; 3]| {
            let head = [Number(id), Number(0), Byte(0)];
            let tail = [Byte(kind), Byte(4), Number(0)];
            record(18, &head.into_iter().chain(members).chain(tail).collect::<Vec<_>>())
        };
        definitions.push(group(1, 4, members));
        definitions.push(group(2, 5, [Number(2), Number(1), Number(0)]));
        definitions
            .push(record(22, &[Number(7), Number(0), Number(2), Number(undefined), Number(0)]));
        let local = vec![
            record(5, &[Byte(3), Number(2), Byte(0), Number(70_000), Number(0)]),
            record(5, &[Byte(6), Number(1), Byte(1), Number(1000), Number(7)]),
            record(6, &[Fixed(70_000), Number(10), Fixed(0)]),
            record(6, &[Fixed(71_000), Number(30), Fixed(0)]),
        ];
        let send = [Number(1), Number(1000), Number(3), Number(1 << 40)];
        let events = vec![
            time(70_000),
            bare(order, 12, &Number(0)),
            bare(order, 12, &Number(1)),
            time(70_500),
            record(14, &send),
            record(200, &[Number(3)]),
            time(71_100),
            bare(order, 13, &Number(1)),
        ];
        Self {
            order,
            anchor_format: 3,
            trace_format: 2,
            substrate: 1,
            compression: 1,
            event_chunk: 4096,
            definition_chunk: 4096,
            locations: 2,
            missing_definitions: 0,
            definitions,
            local,
            events,
        }
    }

    /// Makes the archive's files, by name.
    pub(super) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let order = self.order;
        let mut anchor = header(order);
        anchor.extend(b"OTF2\0");
        anchor.extend([self.anchor_format, self.trace_format, 3, 1, 1]);
        anchor.extend(fixed(order, 8, self.event_chunk));
        anchor.extend(fixed(order, 8, self.definition_chunk));
        anchor.extend([self.substrate, self.compression]);
        anchor.extend(fixed(order, 8, self.locations));
        let count = self.definitions.len() as u64 + self.missing_definitions;
        anchor.extend(fixed(order, 8, count));
        anchor.extend(b"machine\0creator\0description\0");
        anchor.extend(fixed(order, 4, 1));
        anchor.extend(b"name\0value\0");
        anchor.extend([0; 16]);
        anchor.extend([2, 1]);
        let (events, definitions) = (self.event_chunk as usize, self.definition_chunk as usize);
        let local = file(order, definitions, &self.local);
        let event = file(order, events, &self.events);
        let global = file(order, definitions, &self.definitions);
        let mut files =
            BTreeMap::from([("traces.otf2".to_owned(), anchor), ("traces.def".to_owned(), global)]);
        for id in [9, 5] {
            files.insert(format!("traces/{id}.def"), local.clone());
            files.insert(format!("traces/{id}.evt"), event.clone());
        }
        files
    }
}
