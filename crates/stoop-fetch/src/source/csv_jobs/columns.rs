//! Which columns of a table are needed, and where they are.

use std::io;

use super::rows::Row;
use crate::mask;
use crate::source::nearest::nearest;

/// So many columns of a header are listed in an error, each by so many characters.
const LISTED_MAX: usize = 20;
const LISTED_CHARS_MAX: usize = 40;

/// A column of a table, by its name in the header or its number, from 1 on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Column {
    /// By name.
    Name(String),
    /// By number.
    Number(usize),
}

impl From<&str> for Column {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

impl From<String> for Column {
    fn from(name: String) -> Self {
        Self::Name(name)
    }
}

impl From<usize> for Column {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

/// The columns that are asked for.
#[derive(Debug)]
pub(super) struct WantedColumns {
    pub(super) has_header: bool,
    pub(super) url: Option<Column>,
    pub(super) id: Option<Column>,
    pub(super) keeps_others: bool,
}

/// Where the columns are, from 0 on.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) url: usize,
    pub(super) id: Option<usize>,
    /// All others, if they are kept, and their names.
    pub(super) kept: Vec<(usize, String)>,
    /// How many fields a row has.
    pub(super) count: usize,
    pub(super) has_header: bool,
}

impl Default for WantedColumns {
    fn default() -> Self {
        Self { has_header: true, url: None, id: None, keeps_others: false }
    }
}

impl WantedColumns {
    /// Where they are in a table with this first row.
    ///
    /// # Errors
    /// One is not there, or the row is no header.
    pub(super) fn find(&self, first: &Row<'_>) -> io::Result<Columns> {
        let count = first.fields();
        let names = match (self.has_header, first.fault) {
            (true, Some(fault)) => {
                let text = format!("the header of the table (line {}): {fault}", first.line);
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            (true, None) => names(first)?,
            (false, _) => vec![""; count],
        };
        let find = |column: &Column| position(column, &names, self.has_header);
        let default_url =
            if self.has_header { Column::Name("url".into()) } else { Column::Number(1) };
        let url = find(self.url.as_ref().unwrap_or(&default_url))?;
        let id = match &self.id {
            Some(column) => Some(find(column)?),
            None if self.has_header => find(&Column::Name("id".into())).ok(),
            None => None,
        };
        let mut kept: Vec<(usize, String)> = Vec::new();
        for (column, name) in names.iter().enumerate().filter(|_| self.keeps_others) {
            if column != url && Some(column) != id {
                let is_taken = names[..column].contains(name);
                let name = match name.is_empty() || is_taken {
                    true => (column + 1).to_string(),
                    false => (*name).to_owned(),
                };
                kept.push((column, name));
            }
        }
        Ok(Columns { url, id, kept, count, has_header: self.has_header })
    }
}

/// The names of a header, without blanks around them.
fn names<'a>(header: &Row<'a>) -> io::Result<Vec<&'a str>> {
    let names = (0..header.fields()).map(|index| {
        let name = std::str::from_utf8(header.field(index)).map_err(|_| {
            let text = format!("the header of the table: name {} is not UTF-8", index + 1);
            io::Error::new(io::ErrorKind::InvalidData, text)
        })?;
        Ok(name.trim())
    });
    names.collect()
}

/// The place of a column.
pub(in crate::source) fn position(
    wanted: &Column,
    names: &[&str],
    has_header: bool,
) -> io::Result<usize> {
    let missing = |text: String| Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    let name = match wanted {
        Column::Number(number) if (1..=names.len()).contains(number) => return Ok(number - 1),
        Column::Number(number) => {
            let last = names.len();
            return missing(format!("there is no column {number}: they are 1 to {last}"));
        }
        Column::Name(name) if !has_header => {
            return missing(format!(
                "there is no column {name:?}: without a header they have numbers"
            ));
        }
        Column::Name(name) => name.trim(),
    };
    let all = |is_it: &dyn Fn(&str) -> bool| -> Vec<usize> {
        (0..names.len()).filter(|index| is_it(names[*index])).collect()
    };
    let exact = all(&|other| other == name);
    let alike = || all(&|other| other.to_lowercase() == name.to_lowercase());
    let found = if exact.is_empty() { alike() } else { exact };
    match found[..] {
        [index] => Ok(index),
        [] => {
            let meant = nearest(name, names.iter().copied());
            let meant = meant.map(|name| format!("; did you mean {}?", shown(name)));
            let listed: Vec<_> = names.iter().take(LISTED_MAX).map(|name| shown(name)).collect();
            let rest = names.len().saturating_sub(LISTED_MAX);
            let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let (listed, meant) = (listed.join(", "), meant.unwrap_or_default());
            missing(format!("there is no column {}: they are {listed}{rest}{meant}", shown(name)))
        }
        [first, second, ..] => missing(format!(
            "columns {} and {} are both named {}: give a number",
            first + 1,
            second + 1,
            shown(name)
        )),
    }
}

/// A name as an error has it. Where there is no header it is a field, and may be a URL with a password.
fn shown(name: &str) -> String {
    let begin: String = name.chars().take(LISTED_CHARS_MAX).collect();
    let dots = if begin.len() < name.len() { "\u{2026}" } else { "" };
    let is_whole = begin.len() == name.len();
    let begin = String::from_utf8_lossy(&mask::line(begin.as_bytes(), is_whole)).into_owned();
    format!("{:?}", begin + dots)
}
