//! The schema as Arrow has it, in the metadata of a file: it says what the types of Parquet cannot, that content is
//! to be read with offsets of 64 bits, since those of 32 end at 2 GiB.
//!
//! It is a message of Arrow's IPC format with a table `Schema`, as
//! [Schema.fbs](https://github.com/apache/arrow/blob/main/format/Schema.fbs) describes it, in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parquet::basic::{LogicalType, Repetition, Type as PhysicalType};
use parquet::schema::types::Type;

use super::schema::{BODY, list_element};

/// `MetadataVersion.V5`, and `MessageHeader.Schema`.
const VERSION_5: i16 = 4;
const HEADER_SCHEMA: u8 = 1;

/// What stands before each message: a mark, then the length.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The values of the union `Type`.
mod kind {
    pub(super) const INT: u8 = 2;
    pub(super) const UTF8: u8 = 5;
    pub(super) const BOOL: u8 = 6;
    pub(super) const TIMESTAMP: u8 = 10;
    pub(super) const LIST: u8 = 12;
    pub(super) const STRUCT: u8 = 13;
    pub(super) const LARGE_BINARY: u8 = 19;
}

/// `TimeUnit.MILLISECOND`.
const MILLISECOND: i16 = 1;

/// The value of `ARROW:schema` for a schema.
pub(super) fn arrow_schema(schema: &Type) -> String {
    let mut flat = FlatBuffer(vec![0; 4]);
    let message =
        flat.table(&[Slot::I16(VERSION_5), Slot::U8(HEADER_SCHEMA), Slot::Offset, Slot::I64(0)]);
    flat.point(0, message.start);
    let table = flat.table(&[Slot::Absent, Slot::Offset]);
    flat.point(message.slots[2], table.start);
    push_fields(&mut flat, table.slots[1], schema.get_fields().iter().map(AsRef::as_ref));
    flat.align();
    let length = u32::try_from(flat.0.len()).unwrap_or_default();
    STANDARD.encode([&CONTINUATION[..], &length.to_le_bytes(), &flat.0].concat())
}

/// Appends fields, and has the offset at `from` point to their list.
fn push_fields<'a>(
    flat: &mut FlatBuffer,
    from: usize,
    fields: impl ExactSizeIterator<Item = &'a Type>,
) {
    let places = flat.vector(from, fields.len());
    for (place, field) in places.into_iter().zip(fields) {
        push_field(flat, place, field);
    }
}

fn push_field(flat: &mut FlatBuffer, from: usize, field: &Type) {
    let about = field.get_basic_info();
    let kind = kind_of(field);
    let nullable = u8::from(about.repetition() == Repetition::OPTIONAL);
    let table = flat.table(&[
        Slot::Offset,
        Slot::U8(nullable),
        Slot::U8(kind),
        Slot::Offset,
        Slot::Absent,
        Slot::Offset,
    ]);
    flat.point(from, table.start);
    flat.string(table.slots[0], field.name());
    push_type(flat, table.slots[3], kind, field);
    let children: Vec<&Type> = match list_element(field) {
        Some(element) => vec![element],
        None if field.is_group() => field.get_fields().iter().map(AsRef::as_ref).collect(),
        None => Vec::new(),
    };
    push_fields(flat, table.slots[5], children.into_iter());
}

/// Appends what is to be said of a type beside its kind.
fn push_type(flat: &mut FlatBuffer, from: usize, kind: u8, field: &Type) {
    let slots = match kind {
        kind::INT => {
            let is_long = field.get_physical_type() == PhysicalType::INT64;
            vec![Slot::I32(if is_long { 64 } else { 32 }), Slot::U8(1)]
        }
        kind::TIMESTAMP => vec![Slot::I16(MILLISECOND), Slot::Offset],
        _ => Vec::new(),
    };
    let table = flat.table(&slots);
    flat.point(from, table.start);
    if kind == kind::TIMESTAMP {
        flat.string(table.slots[1], "UTC");
    }
}

fn kind_of(field: &Type) -> u8 {
    let logical = field.get_basic_info().logical_type_ref();
    match logical {
        Some(LogicalType::List) => kind::LIST,
        Some(LogicalType::Timestamp(_)) => kind::TIMESTAMP,
        Some(LogicalType::String) => kind::UTF8,
        _ if field.is_group() => kind::STRUCT,
        _ if field.name() == BODY => kind::LARGE_BINARY,
        _ if field.get_physical_type() == PhysicalType::BOOLEAN => kind::BOOL,
        _ => kind::INT,
    }
}

/// A field of a table.
#[derive(Clone, Copy)]
enum Slot {
    Absent,
    U8(u8),
    I16(i16),
    I32(i32),
    I64(i64),
    /// To what is appended later.
    Offset,
}

impl Slot {
    fn bytes(self) -> Vec<u8> {
        match self {
            Self::Absent => Vec::new(),
            Self::U8(value) => vec![value],
            Self::I16(value) => value.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::I64(value) => value.to_le_bytes().to_vec(),
            Self::Offset => vec![0; 4],
        }
    }
}

/// A table in a buffer: where it begins, and each of its fields.
struct Table {
    start: usize,
    slots: Vec<usize>,
}

/// A buffer in the [binary format of FlatBuffers](https://flatbuffers.dev/internals/). Everything stands behind what
/// points to it, as offsets have no sign.
struct FlatBuffer(Vec<u8>);

impl FlatBuffer {
    fn align(&mut self) {
        self.0.resize(self.0.len().next_multiple_of(8), 0);
    }

    /// Has the offset at `from` point to `to`.
    fn point(&mut self, from: usize, to: usize) {
        let distance = u32::try_from(to - from).unwrap_or_default();
        self.0[from..from + 4].copy_from_slice(&distance.to_le_bytes());
    }

    /// Appends a table after the table of where its fields are.
    fn table(&mut self, slots: &[Slot]) -> Table {
        let mut fields = vec![0; 4];
        let mut places = Vec::new();
        for slot in slots {
            let bytes = slot.bytes();
            fields.resize(fields.len().next_multiple_of(bytes.len().max(1)), 0);
            places.push(if bytes.is_empty() { 0 } else { fields.len() });
            fields.extend(bytes);
        }
        let lengths = [4 + 2 * slots.len(), fields.len()];
        self.align();
        let directory = self.0.len();
        for number in lengths.iter().chain(&places) {
            let number = u16::try_from(*number).unwrap_or_default();
            self.0.extend(number.to_le_bytes());
        }
        self.align();
        let start = self.0.len();
        let back = i32::try_from(start - directory).unwrap_or_default();
        fields[..4].copy_from_slice(&back.to_le_bytes());
        self.0.extend(fields);
        Table { start, slots: places.iter().map(|place| start + place).collect() }
    }

    /// Appends a list of offsets, and says where they are.
    fn vector(&mut self, from: usize, length: usize) -> Vec<usize> {
        self.align();
        self.point(from, self.0.len());
        self.0.extend(u32::try_from(length).unwrap_or_default().to_le_bytes());
        let start = self.0.len();
        self.0.resize(start + 4 * length, 0);
        (0..length).map(|number| start + 4 * number).collect()
    }

    fn string(&mut self, from: usize, text: &str) {
        self.align();
        self.point(from, self.0.len());
        self.0.extend(u32::try_from(text.len()).unwrap_or_default().to_le_bytes());
        self.0.extend(text.as_bytes());
        self.0.push(0);
    }
}
