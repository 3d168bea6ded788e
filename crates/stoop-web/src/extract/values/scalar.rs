//! [`Values`]: the deserializer of one name with its values.

use std::cell::RefCell;
use std::fmt;
use std::str::FromStr;

use serde::de::{self, Deserializer, IntoDeserializer, SeqAccess, Visitor};

use crate::extract::problem::{Place, Problem};
use crate::extract::values::error::ValueError;

/// One name with its values.
#[derive(Clone, Copy)]
pub(super) struct Values<'a> {
    pub(super) place: Place,
    pub(super) name: &'a str,
    /// `None` for a name that is missing: it becomes whatever the type asks for.
    pub(super) values: Option<&'a [&'a str]>,
    pub(super) problems: &'a RefCell<Vec<Problem>>,
}

impl<'a> Values<'a> {
    pub(super) fn note(&self, detail: impl Into<String>) {
        // What a stand-in cannot be is no fault of the client's.
        if self.values.is_some() {
            let problem = Problem::new(self.place, self.name, detail);
            self.problems.borrow_mut().push(problem);
        }
    }

    /// The one value; of several the first, which is noted.
    fn one(&self) -> &'a str {
        let values = self.values.unwrap_or_default();
        if values.len() > 1 {
            self.note(format!("it is given {} times", values.len()));
        }
        values.first().copied().unwrap_or_default()
    }

    fn number<T: FromStr + Default>(&self, expected: impl fmt::Display) -> T {
        let value = self.one();
        value.parse().unwrap_or_else(|_| {
            self.note(format!("{} is not {expected}", Problem::shown(value)));
            T::default()
        })
    }

    fn structure<T>(&self) -> Result<T, ValueError> {
        self.note("a value cannot be a structure");
        Err(ValueError::Noted)
    }
}

macro_rules! whole_numbers {
    ($($method:ident $visit:ident $type:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            let range = format_args!("a whole number of {} to {}", $type::MIN, $type::MAX);
            visitor.$visit(self.number(range))
        }
    )*};
}

impl<'de> Deserializer<'de> for Values<'_> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_str(self.one())
    }

    named_types! {}

    whole_numbers! {
        deserialize_i8 visit_i8 i8
        deserialize_i16 visit_i16 i16
        deserialize_i32 visit_i32 i32
        deserialize_i64 visit_i64 i64
        deserialize_i128 visit_i128 i128
        deserialize_u8 visit_u8 u8
        deserialize_u16 visit_u16 u16
        deserialize_u32 visit_u32 u32
        deserialize_u64 visit_u64 u64
        deserialize_u128 visit_u128 u128
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_f32(self.number("a number"))
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_f64(self.number("a number"))
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        let value = self.one();
        visitor.visit_bool(value.parse().unwrap_or_else(|_| {
            self.note(format!("{} is neither true nor false", Problem::shown(value)));
            false
        }))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_char(self.number("one character"))
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_bytes(self.one().as_bytes())
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_bytes(self.one().as_bytes())
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.values {
            Some(_) => visitor.visit_some(self),
            None => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_seq(Each(self))
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_seq(Each(self))
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ValueError> {
        self.structure()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let value = self.one();
        let variant = variants.iter().find(|variant| **variant == value).or_else(|| {
            let all = variants.join(", ");
            self.note(format!("{} is none of {all}", Problem::shown(value)));
            variants.first()
        });
        match variant {
            Some(variant) => visitor.visit_enum((*variant).into_deserializer()),
            None => Err(ValueError::Noted),
        }
    }

    serde::forward_to_deserialize_any! { str string identifier ignored_any }
}

/// The values of a name, one by one.
struct Each<'a>(Values<'a>);

impl<'de> SeqAccess<'de> for Each<'_> {
    type Error = ValueError;

    fn next_element_seed<T: de::DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some((first, rest)) = self.0.values.and_then(<[_]>::split_first) else {
            return Ok(None);
        };
        let one = Values { values: Some(std::slice::from_ref(first)), ..self.0 };
        self.0.values = Some(rest);
        seed.deserialize(one).map(Some)
    }
}
