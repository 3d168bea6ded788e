//! The fields of a request as a JSON object: each value is a text, or a list of texts.

use std::fmt::{self, Formatter};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Names and values, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JsonFields(pub(super) Vec<(String, String)>);

/// The values of a name.
#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Values {
    One(String),
    Several(Vec<String>),
}

impl<'de> Deserialize<'de> for JsonFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = JsonFields;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object of texts or lists of texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<JsonFields, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, values)) = map.next_entry::<String, Values>()? {
            match values {
                Values::One(value) => fields.push((name, value)),
                Values::Several(values) => {
                    fields.extend(values.into_iter().map(|value| (name.clone(), value)));
                }
            }
        }
        Ok(JsonFields(fields))
    }
}
