//! One column of a row group, some rows at a time, and what is in its cells.

use jiff::civil::{Date, Time};
use jiff::{SignedDuration, Span, Timestamp};
use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::ColumnReader;
use parquet::data_type::{ByteArray, Int96};
use parquet::errors::{ParquetError, Result};
use parquet::file::reader::RowGroupReader;
use parquet::schema::types::ColumnDescPtr;
use serde::ser::{Serialize, Serializer};

/// A column of a row group.
pub(super) struct Cells {
    /// The definition level of a value.
    definition: i16,
    meaning: Option<LogicalType>,
    reader: ColumnReader,
    values: Values,
    /// For each row whether there is a value; empty where there always is.
    definitions: Vec<i16>,
    /// The value and the row that come next.
    next: (usize, usize),
}

enum Values {
    Booleans(Vec<bool>),
    Numbers(Vec<i32>),
    LongNumbers(Vec<i64>),
    Times(Vec<Int96>),
    Floats(Vec<f32>),
    Doubles(Vec<f64>),
    Bytes(Vec<ByteArray>),
}

/// What a cell has.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Cell {
    Null,
    Boolean(bool),
    Number(i64),
    Unsigned(u64),
    Float(f64),
    Bytes(ByteArray),
    /// What JSON has no type for.
    Text(String),
}

/// Whether cells of a column can be given as values of JSON.
pub(super) fn has_value(descriptor: &ColumnDescPtr) -> bool {
    let is_text = || is_text(descriptor);
    descriptor.max_rep_level() == 0
        && match descriptor.physical_type() {
            Type::FIXED_LEN_BYTE_ARRAY => false,
            Type::BYTE_ARRAY => is_text(),
            _ => true,
        }
}

fn is_text(descriptor: &ColumnDescPtr) -> bool {
    let meaning = meaning(descriptor);
    matches!(meaning, Some(LogicalType::String | LogicalType::Enum | LogicalType::Json))
}

/// What the values of a column mean. Old writers say so in another way, which new readers take for the same
/// ([LogicalTypes.md](https://github.com/apache/parquet-format/blob/master/LogicalTypes.md)).
fn meaning(descriptor: &ColumnDescPtr) -> Option<LogicalType> {
    let (scale, precision) = (descriptor.type_scale(), descriptor.type_precision());
    descriptor.logical_type_ref().cloned().or_else(|| {
        Some(match descriptor.converted_type() {
            ConvertedType::UTF8 => LogicalType::String,
            ConvertedType::ENUM => LogicalType::Enum,
            ConvertedType::JSON => LogicalType::Json,
            ConvertedType::DATE => LogicalType::Date,
            ConvertedType::DECIMAL => LogicalType::decimal(scale, precision),
            ConvertedType::TIME_MILLIS => LogicalType::time(true, TimeUnit::MILLIS),
            ConvertedType::TIME_MICROS => LogicalType::time(true, TimeUnit::MICROS),
            ConvertedType::TIMESTAMP_MILLIS => LogicalType::timestamp(true, TimeUnit::MILLIS),
            ConvertedType::TIMESTAMP_MICROS => LogicalType::timestamp(true, TimeUnit::MICROS),
            ConvertedType::UINT_8 => LogicalType::integer(8, false),
            ConvertedType::UINT_16 => LogicalType::integer(16, false),
            ConvertedType::UINT_32 => LogicalType::integer(32, false),
            ConvertedType::UINT_64 => LogicalType::integer(64, false),
            _ => return None,
        })
    })
}

/// Whether cells of a column can be URLs: texts, and bytes of which nothing is said.
pub(super) fn may_be_url(descriptor: &ColumnDescPtr) -> bool {
    descriptor.max_rep_level() == 0
        && descriptor.physical_type() == Type::BYTE_ARRAY
        && (is_text(descriptor) || meaning(descriptor).is_none())
}

impl Cells {
    /// Column `index` of a row group, of which nothing is read yet.
    pub(super) fn new(group: &dyn RowGroupReader, index: usize) -> Result<Self> {
        let descriptor = group.metadata().schema_descr().column(index);
        let reader = group.get_column_reader(index)?;
        let values = match reader {
            ColumnReader::BoolColumnReader(_) => Values::Booleans(Vec::new()),
            ColumnReader::Int32ColumnReader(_) => Values::Numbers(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::LongNumbers(Vec::new()),
            ColumnReader::Int96ColumnReader(_) => Values::Times(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Floats(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Doubles(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Bytes(Vec::new()),
            ColumnReader::FixedLenByteArrayColumnReader(_) => {
                return Err(ParquetError::General("a column of bytes of one length".to_owned()));
            }
        };
        Ok(Self {
            definition: descriptor.max_def_level(),
            meaning: meaning(&descriptor),
            reader,
            values,
            definitions: Vec::new(),
            next: (0, 0),
        })
    }

    /// Reads up to `rows` rows in place of those that were read before; says how many.
    pub(super) fn read(&mut self, rows: usize) -> Result<usize> {
        self.next = (0, 0);
        self.definitions.clear();
        let definitions = (self.definition > 0).then_some(&mut self.definitions);
        let read = match (&mut self.values, &mut self.reader) {
            (Values::Booleans(values), ColumnReader::BoolColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::Numbers(values), ColumnReader::Int32ColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::LongNumbers(values), ColumnReader::Int64ColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::Times(values), ColumnReader::Int96ColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::Floats(values), ColumnReader::FloatColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::Doubles(values), ColumnReader::DoubleColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            (Values::Bytes(values), ColumnReader::ByteArrayColumnReader(reader)) => {
                values.clear();
                reader.read_records(rows, definitions, None, values)
            }
            _ => Err(ParquetError::General("a column of another type".to_owned())),
        };
        read.map(|(records, ..)| records)
    }

    /// The cell of the next row. None where a value is missing, against what the column says.
    pub(super) fn next(&mut self) -> Option<Cell> {
        let (value, row) = self.next;
        self.next.1 += 1;
        if self.definition > 0 && *self.definitions.get(row)? < self.definition {
            return Some(Cell::Null);
        }
        self.next.0 += 1;
        let meaning = self.meaning.as_ref();
        Some(match &self.values {
            Values::Booleans(values) => Cell::Boolean(*values.get(value)?),
            Values::Numbers(values) => number(i64::from(*values.get(value)?), 32, meaning),
            Values::LongNumbers(values) => number(*values.get(value)?, 64, meaning),
            Values::Times(values) => time(i128::from(values.get(value)?.to_nanos()), true),
            Values::Floats(values) => Cell::Float(f64::from(*values.get(value)?)),
            Values::Doubles(values) => Cell::Float(*values.get(value)?),
            Values::Bytes(values) => Cell::Bytes(values.get(value)?.clone()),
        })
    }
}

/// A number by what it means.
fn number(value: i64, bits: u32, meaning: Option<&LogicalType>) -> Cell {
    match meaning {
        Some(LogicalType::Integer(about)) if !about.is_signed => match bits {
            32 => Cell::Unsigned(u64::from(value as u32)),
            _ => Cell::Unsigned(value as u64),
        },
        Some(LogicalType::Date) => Date::constant(1970, 1, 1)
            .checked_add(SignedDuration::from_hours(value.saturating_mul(24)))
            .map_or(Cell::Number(value), |date| Cell::Text(date.to_string())),
        Some(LogicalType::Timestamp(about)) => {
            time(i128::from(value) * nanoseconds(&about.unit), about.is_adjusted_to_u_t_c)
        }
        Some(LogicalType::Time(about)) => {
            let nanoseconds = i128::from(value) * nanoseconds(&about.unit);
            let span = i64::try_from(nanoseconds).map(|n| Span::new().try_nanoseconds(n));
            match span {
                Ok(Ok(span)) => Time::midnight()
                    .checked_add(span)
                    .map_or(Cell::Number(value), |time| Cell::Text(time.to_string())),
                _ => Cell::Number(value),
            }
        }
        Some(LogicalType::Decimal(about)) => Cell::Text(decimal(value, about.scale)),
        _ => Cell::Number(value),
    }
}

fn nanoseconds(unit: &TimeUnit) -> i128 {
    match unit {
        TimeUnit::MILLIS => 1_000_000,
        TimeUnit::MICROS => 1_000,
        TimeUnit::NANOS => 1,
    }
}

/// A time in nanoseconds of Unix time, by RFC 3339; without a zone if that is not known.
fn time(nanoseconds: i128, is_utc: bool) -> Cell {
    match Timestamp::from_nanosecond(nanoseconds) {
        Ok(time) if is_utc => Cell::Text(time.to_string()),
        Ok(time) => Cell::Text(time.to_string().trim_end_matches('Z').to_owned()),
        Err(_) => Cell::Null,
    }
}

fn decimal(value: i64, scale: i32) -> String {
    // A number of 64 bits has no more digits.
    let Some(scale) = usize::try_from(scale).ok().filter(|scale| (1..=19).contains(scale)) else {
        return value.to_string();
    };
    let digits = format!("{:0width$}", value.unsigned_abs(), width = scale + 1);
    let (whole, part) = digits.split_at(digits.len() - scale);
    format!("{}{whole}.{part}", if value < 0 { "-" } else { "" })
}

impl Cell {
    /// As an identifier, which is a text; none for null.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub(super) fn into_id(self) -> std::result::Result<Option<String>, std::str::Utf8Error> {
        Ok(Some(match self {
            Self::Null => return Ok(None),
            Self::Boolean(value) => value.to_string(),
            Self::Number(value) => value.to_string(),
            Self::Unsigned(value) => value.to_string(),
            Self::Float(value) => value.to_string(),
            Self::Bytes(value) => std::str::from_utf8(value.data())?.to_owned(),
            Self::Text(value) => value,
        }))
    }
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Boolean(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_i64(*value),
            Self::Unsigned(value) => serializer.serialize_u64(*value),
            Self::Float(value) => serializer.serialize_f64(*value),
            Self::Bytes(value) => match std::str::from_utf8(value.data()) {
                Ok(text) => serializer.serialize_str(text),
                Err(_) => Err(serde::ser::Error::custom("it is not UTF-8")),
            },
            Self::Text(value) => serializer.serialize_str(value),
        }
    }
}
