//! [`Pairs`]: the deserializer of all names with their values.

use std::borrow::Cow;
use std::cell::RefCell;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use crate::extract::problem::{Place, Problem};
use crate::extract::values::error::ValueError;
use crate::extract::values::scalar::Values;

/// A name and its value, decoded.
pub(crate) type Pair<'a> = (Cow<'a, str>, Cow<'a, str>);

/// All names with their values, each name once, in the order in which they came.
pub(super) struct Pairs<'a> {
    place: Place,
    pairs: &'a [Pair<'a>],
    missing: &'a [&'static str],
    problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Pairs<'a> {
    pub(super) fn new(
        place: Place,
        pairs: &'a [Pair<'a>],
        missing: &'a [&'static str],
        problems: &'a RefCell<Vec<Problem>>,
    ) -> Self {
        Self { place, pairs, missing, problems }
    }

    fn values<'b>(&self, name: &'b str, values: Option<&'b [&'b str]>) -> Values<'b>
    where
        'a: 'b,
    {
        Values { place: self.place, name, values, problems: self.problems }
    }

    /// Has `read` make a type of a single value, if there is just one.
    fn single<T>(
        self,
        read: impl FnOnce(Values<'_>) -> Result<T, ValueError>,
    ) -> Result<T, ValueError> {
        match self.pairs {
            [(name, value)] => read(self.values(name, Some(&[&**value]))),
            pairs => Err(de::Error::custom(format_args!(
                "one value is expected, and there are {}",
                pairs.len()
            ))),
        }
    }
}

macro_rules! single {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.single(|value| value.$method(visitor))
        }
    )*};
}

impl<'de> Deserializer<'de> for Pairs<'_> {
    type Error = ValueError;

    named_types! {}

    single! {
        deserialize_bool deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_identifier
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let mut names: Vec<(&str, Vec<&str>)> = Vec::with_capacity(self.pairs.len());
        let mut places = std::collections::HashMap::with_capacity(self.pairs.len());
        for (name, value) in self.pairs {
            let place = *places.entry(&**name).or_insert(names.len());
            match names.get_mut(place) {
                Some((_, values)) => values.push(value),
                None => names.push((name, vec![value])),
            }
        }
        visitor.visit_map(Members { of: &self, names: &names, missing: self.missing, value: None })
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_seq(Elements { left: self.pairs, of: &self })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.pairs.is_empty() {
            true => visitor.visit_none(),
            false => visitor.visit_some(self),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.single(|value| value.deserialize_enum(name, variants, visitor))
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }
}

/// The members of a map or structure: what came, and then what is missing.
struct Members<'a> {
    of: &'a Pairs<'a>,
    names: &'a [(&'a str, Vec<&'a str>)],
    missing: &'a [&'static str],
    value: Option<Values<'a>>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, ValueError> {
        let (name, values) = if let Some(((name, values), rest)) = self.names.split_first() {
            self.names = rest;
            (*name, Some(&**values))
        } else if let Some((name, rest)) = self.missing.split_first() {
            self.missing = rest;
            (*name, None)
        } else {
            return Ok(None);
        };
        self.value = Some(self.of.values(name, values));
        seed.deserialize(StrDeserializer::new(name)).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<T::Value, ValueError> {
        let Some(value) = self.value.take() else { return Err(ValueError::Noted) };
        seed.deserialize(value).map_err(|error| match error {
            // The type's own words, of a value with this name.
            ValueError::Other(detail) => {
                value.note(detail);
                ValueError::Noted
            }
            other => other,
        })
    }
}

/// The values in their order, or the names with them.
struct Elements<'a> {
    left: &'a [Pair<'a>],
    of: &'a Pairs<'a>,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(((name, value), rest)) = self.left.split_first() else { return Ok(None) };
        self.left = rest;
        let pair: &[&str] = &[name, value];
        seed.deserialize(Element { value: self.of.values(name, Some(&pair[1..])), pair }).map(Some)
    }
}

/// A value, or a pair of its name and it, as the type asks for.
struct Element<'a> {
    value: Values<'a>,
    pair: &'a [&'a str],
}

macro_rules! element {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            self.value.$method(visitor)
        }
    )*};
}

impl<'de> Deserializer<'de> for Element<'_> {
    type Error = ValueError;

    named_types! {}

    element! {
        deserialize_any deserialize_bool deserialize_char deserialize_str deserialize_string
        deserialize_bytes deserialize_byte_buf deserialize_identifier deserialize_ignored_any
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_option deserialize_unit deserialize_seq
        deserialize_map
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        length: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        Values { values: Some(self.pair), ..self.value }.deserialize_tuple(length, visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.value.deserialize_enum(name, variants, visitor)
    }
}
