//! Which columns of a table are needed, and where they are.

use std::io::{self, ErrorKind};

use parquet::basic::{ConvertedType, LogicalType};
use parquet::schema::types::{SchemaDescriptor, Type};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::cells::{Cell, has_value, may_be_url};
use crate::source::Column;
use crate::source::csv_jobs::position;

/// The columns that are asked for.
#[derive(Debug)]
pub(super) struct WantedColumns {
    pub(super) url: Column,
    pub(super) id: Option<Column>,
    pub(super) keeps_others: bool,
}

impl Default for WantedColumns {
    fn default() -> Self {
        Self { url: Column::from("url"), id: None, keeps_others: false }
    }
}

/// Where the columns are, by the number of their values in the file.
pub(super) struct Columns {
    pub(super) url: usize,
    pub(super) id: Option<usize>,
    /// All others, if they are kept, and their names.
    pub(super) kept: Vec<(usize, String)>,
}

impl WantedColumns {
    /// Where they are in a file with this schema.
    ///
    /// # Errors
    /// One is not there, or has another type.
    pub(super) fn find(&self, schema: &SchemaDescriptor) -> io::Result<Columns> {
        let fields = schema.root_schema().get_fields();
        let names: Vec<_> = fields.iter().map(|field| field.name()).collect();
        let find = |column: &Column| position(column, &names, true);
        let url = find(&self.url)?;
        let id = match &self.id {
            Some(column) => Some(find(column)?),
            None => find(&Column::from("id")).ok(),
        };
        let leaf = |field: usize| {
            let is_it = |column: &usize| schema.get_column_root_idx(*column) == field;
            (0..schema.num_columns()).find(is_it).filter(|_| fields[field].is_primitive())
        };
        let typed = |field: usize, what: &str, is_good: &dyn Fn(usize) -> bool| {
            leaf(field).filter(|column| is_good(*column)).ok_or_else(|| {
                let (name, kind) = (names[field], described(&fields[field]));
                let text = format!("column {name:?} is {kind}, and no {what}");
                io::Error::new(ErrorKind::InvalidInput, text)
            })
        };
        let is_value = |column: usize| has_value(&schema.column(column));
        let is_text = |column: usize| may_be_url(&schema.column(column));
        let is_id = |column: usize| is_value(column) || is_text(column);
        // One that was not asked for and cannot be an identifier is none.
        let is_id_asked = self.id.is_some();
        let id_column = match id {
            Some(field) if is_id_asked => Some(typed(field, "text or number", &is_id)?),
            Some(field) => leaf(field).filter(|column| is_id(*column)),
            None => None,
        };
        let others = (0..fields.len())
            .filter(|field| self.keeps_others && *field != url && Some(*field) != id)
            .filter_map(|field| leaf(field).filter(|column| is_value(*column)).zip(Some(field)))
            .map(|(column, field)| (column, names[field].to_owned()));
        Ok(Columns { url: typed(url, "text", &is_text)?, id: id_column, kept: others.collect() })
    }
}

/// What a column has, for people.
fn described(field: &Type) -> String {
    let about = field.get_basic_info();
    let is_list = matches!(about.logical_type_ref(), Some(LogicalType::List))
        || about.converted_type() == ConvertedType::LIST;
    let is_map = matches!(about.logical_type_ref(), Some(LogicalType::Map))
        || about.converted_type() == ConvertedType::MAP;
    match field {
        _ if is_list => "a list".to_owned(),
        _ if is_map => "a map".to_owned(),
        Type::GroupType { .. } => "a structure".to_owned(),
        Type::PrimitiveType { physical_type, .. } => match about.converted_type() {
            ConvertedType::NONE => format!("of the type {physical_type}"),
            converted => format!("of the type {physical_type} ({converted})"),
        },
    }
}

/// Columns and their cells, in their order.
pub(super) struct Kept<'a>(pub(super) Vec<(&'a str, Cell)>);

impl Serialize for Kept<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, cell) in &self.0 {
            map.serialize_entry(name, cell)?;
        }
        map.end()
    }
}
