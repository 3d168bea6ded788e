//! A line as it is read: an object whose names of the URL and the identifier are the caller's to choose.

use std::collections::BTreeMap;
use std::fmt::{self, Formatter};

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use super::fields::JsonFields;

/// The names that are not the caller's, in the order of [`JsonLine`].
const OTHERS: [&str; 6] = ["meta", "method", "headers", "body", "body_base64", "json"];

/// The names of a line, and what becomes of others.
#[derive(Debug)]
pub(super) struct Names {
    pub(super) url: String,
    pub(super) id: String,
    /// All names but these two are metadata, whatever they are.
    pub(super) keeps_others: bool,
}

/// A line.
#[derive(Default)]
pub(super) struct JsonLine {
    pub(super) url: String,
    pub(super) id: Option<JsonId>,
    pub(super) meta: Option<Box<RawValue>>,
    pub(super) method: Option<String>,
    pub(super) headers: JsonFields,
    pub(super) body: Option<String>,
    pub(super) body_base64: Option<String>,
    pub(super) json: Option<Box<RawValue>>,
    /// Names that are metadata, with their values.
    pub(super) kept: JsonKept,
}

/// Names and values, in their order.
#[derive(Default)]
pub(super) struct JsonKept(pub(super) Vec<(String, Box<RawValue>)>);

impl Serialize for JsonKept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// An identifier: a text, or a number as it is written, whose digits may be more than those of any type of numbers.
pub(super) struct JsonId(String);

impl JsonId {
    pub(super) fn into_text(self) -> String {
        self.0
    }
}

impl<'de> Deserialize<'de> for JsonId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Box::<RawValue>::deserialize(deserializer)?;
        let text = value.get();
        match text.as_bytes().first() {
            Some(b'"') => serde_json::from_str(text).map(Self).map_err(D::Error::custom),
            Some(b'-' | b'0'..=b'9') => Ok(Self(text.to_owned())),
            _ => Err(D::Error::custom("an identifier is a text or a number")),
        }
    }
}

impl Names {
    /// Reads a line.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn read(&self, line: &[u8]) -> serde_json::Result<JsonLine> {
        let mut deserializer = serde_json::Deserializer::from_slice(line);
        let line = deserializer.deserialize_map(LineVisitor(self))?;
        deserializer.end()?;
        Ok(line)
    }

    /// The URL and the identifier of a line that is no job, so that it is found again.
    pub(super) fn identity(&self, line: &[u8]) -> (String, Option<String>) {
        let object: BTreeMap<String, &RawValue> = serde_json::from_slice(line).unwrap_or_default();
        let value = |name| object.get(name).map(|value| value.get()).unwrap_or_default();
        let url = serde_json::from_str(value(&self.url)).unwrap_or_default();
        let id = serde_json::from_str::<JsonId>(value(&self.id)).ok();
        (url, id.map(JsonId::into_text))
    }
}

/// What a name stands for.
pub(super) enum Name {
    /// One that has a meaning, by its place in [`Names::known`].
    Known(usize),
    Kept(String),
}

impl Names {
    /// The names that have a meaning, in the order of those of a [`JsonLine`].
    fn known(&self) -> impl Iterator<Item = &str> {
        let others = OTHERS.iter().copied().filter(|_| !self.keeps_others);
        [self.url.as_str(), self.id.as_str()].into_iter().chain(others)
    }
}

impl<'de> DeserializeSeed<'de> for &Names {
    type Value = Name;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Name, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for &Names {
    type Value = Name;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Name, E> {
        match self.known().position(|known| known == name) {
            Some(index) => Ok(Name::Known(index)),
            None if self.keeps_others => Ok(Name::Kept(name.to_owned())),
            None => {
                let known: Vec<_> = self.known().map(|known| format!("`{known}`")).collect();
                let known = known.join(", ");
                Err(E::custom(format_args!("unknown field `{name}`, expected one of {known}")))
            }
        }
    }
}

struct LineVisitor<'a>(&'a Names);

impl<'de> Visitor<'de> for LineVisitor<'_> {
    type Value = JsonLine;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonLine, A::Error> {
        let Self(names) = self;
        let mut line = JsonLine::default();
        let mut seen = 0_u8;
        while let Some(name) = map.next_key_seed(names)? {
            let index = match name {
                Name::Known(index) => index,
                Name::Kept(name) => {
                    line.kept.0.push((name, map.next_value()?));
                    continue;
                }
            };
            if seen & 1 << index != 0 {
                let name = names.known().nth(index).unwrap_or_default();
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            seen |= 1 << index;
            match index {
                0 => line.url = map.next_value()?,
                1 => line.id = map.next_value()?,
                2 => line.meta = map.next_value()?,
                3 => line.method = map.next_value()?,
                4 => line.headers = map.next_value()?,
                5 => line.body = map.next_value()?,
                6 => line.body_base64 = map.next_value()?,
                _ => line.json = map.next_value()?,
            }
        }
        let missing = || A::Error::custom(format_args!("missing field `{}`", names.url));
        if seen & 1 == 0 { Err(missing()) } else { Ok(line) }
    }
}
