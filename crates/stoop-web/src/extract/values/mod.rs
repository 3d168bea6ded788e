//! Names with values, as queries, forms and paths have them, made a type: all that is wrong with them is told.
//!
//! A visitor of serde gives up at the first error. Here a value that cannot be read is noted, and the visitor gets one
//! that can; a name that is missing is noted, and the type is read once more with that name. What was made is then
//! thrown away, and all that was noted is told.

/// The methods of a `Deserializer` for types that are other types with a name: a structure is read as a map, a tuple
/// structure as a tuple, a unit structure as nothing, and a structure of one value as that value.
macro_rules! named_types {
    () => {
        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            _: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, ValueError> {
            self.deserialize_map(visitor)
        }

        fn deserialize_tuple_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            length: usize,
            visitor: V,
        ) -> Result<V::Value, ValueError> {
            self.deserialize_tuple(length, visitor)
        }

        fn deserialize_unit_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, ValueError> {
            self.deserialize_unit(visitor)
        }

        fn deserialize_newtype_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            visitor: V,
        ) -> Result<V::Value, ValueError> {
            visitor.visit_newtype_struct(self)
        }
    };
}

mod error;
mod pairs;
mod scalar;

use std::cell::RefCell;

use serde::de::DeserializeOwned;

use crate::extract::problem::{Place, Problem};
use crate::extract::values::error::ValueError;
use crate::extract::values::pairs::Pairs;

pub(crate) use crate::extract::values::pairs::Pair;

/// Names that are missing of one type, after which no more are looked for: as many problems as an answer tells.
const MISSING_MAX: usize = 32;

/// Makes a value of a type of names with values.
pub(crate) fn from_pairs<T: DeserializeOwned>(
    place: Place,
    pairs: &[Pair<'_>],
) -> Result<T, Vec<Problem>> {
    let mut missing: Vec<&'static str> = Vec::new();
    loop {
        let problems = RefCell::new(Vec::new());
        let read = T::deserialize(Pairs::new(place, pairs, &missing, &problems));
        let mut problems = problems.into_inner();
        match read {
            Ok(value) if problems.is_empty() && missing.is_empty() => return Ok(value),
            Err(ValueError::Missing(name))
                if missing.len() < MISSING_MAX && !missing.contains(&name) =>
            {
                missing.push(name);
                continue;
            }
            Err(ValueError::Missing(name)) => missing.push(name),
            Err(ValueError::Other(detail)) => problems.push(Problem::new(place, "", detail)),
            Ok(_) | Err(ValueError::Noted) => {}
        }
        missing.dedup();
        problems.extend(missing.iter().map(|name| Problem::new(place, *name, "it is missing")));
        return Err(problems);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn read<T: DeserializeOwned>(pairs: &[(&'static str, &'static str)]) -> Result<T, String> {
        let pairs: Vec<Pair<'_>> =
            pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        from_pairs(Place::Query, &pairs).map_err(|problems| {
            problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        })
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Order {
        Up,
        Down,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Paging {
        page: u32,
        size: u8,
        order: Order,
        exact: Option<bool>,
        #[serde(default)]
        tag: Vec<String>,
        factor: Option<f32>,
    }

    #[test]
    fn names_become_members_and_repeated_ones_lists() {
        let pairs = [("page", "2"), ("tag", "a"), ("size", "9"), ("order", "down"), ("tag", "b")];
        let paging = Paging {
            page: 2,
            size: 9,
            order: Order::Down,
            exact: None,
            tag: vec!["a".into(), "b".into()],
            factor: None,
        };
        assert_eq!(read(&pairs), Ok(paging));
    }

    #[test]
    fn all_that_is_wrong_is_told_and_not_only_the_first() {
        let pairs = [("size", "300"), ("order", "left"), ("exact", "maybe"), ("x", "y")];
        assert_eq!(
            read::<Paging>(&pairs).unwrap_err(),
            "query `size`: \"300\" is not a whole number of 0 to 255\n\
             query `order`: \"left\" is none of up, down\n\
             query `exact`: \"maybe\" is neither true nor false\n\
             query `page`: it is missing"
        );
        assert_eq!(
            read::<Paging>(&[]).unwrap_err(),
            "query `page`: it is missing\nquery `size`: it is missing\nquery `order`: it is missing"
        );
        let twice = [("page", "1"), ("page", "2"), ("size", "1"), ("order", "up")];
        assert_eq!(read::<Paging>(&twice).unwrap_err(), "query `page`: it is given 2 times");
    }

    #[test]
    fn a_single_value_a_tuple_a_map_and_a_list_of_pairs_are_types_too() {
        assert_eq!(read::<u64>(&[("id", "7")]), Ok(7));
        assert_eq!(read::<(u8, String)>(&[("a", "7"), ("b", "x")]), Ok((7, "x".into())));
        let map: std::collections::BTreeMap<String, u8> = read(&[("a", "7"), ("b", "8")]).unwrap();
        assert_eq!(map["b"], 8);
        let list: Vec<(String, String)> = read(&[("a", "1"), ("a", "2")]).unwrap();
        assert_eq!(list.len(), 2);
        assert_eq!(
            read::<(u8, u8)>(&[("a", "x"), ("b", "y")]).unwrap_err(),
            "query `a`: \"x\" is not a whole number of 0 to 255\n\
             query `b`: \"y\" is not a whole number of 0 to 255"
        );
        assert!(read::<u64>(&[]).is_err() && read::<u64>(&[("a", "1"), ("b", "2")]).is_err());
    }

    #[test]
    fn a_type_that_names_with_values_cannot_be_says_so() {
        #[derive(Debug, Deserialize)]
        #[expect(dead_code, reason = "it is never made")]
        struct Nested {
            inner: Paging,
        }
        let told = read::<Nested>(&[("inner", "x")]).unwrap_err();
        assert_eq!(told, "query `inner`: a value cannot be a structure");
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        #[expect(dead_code, reason = "it is never made")]
        struct Strict {
            a: u8,
        }
        let told = read::<Strict>(&[("b", "x")]).unwrap_err();
        assert_eq!(told, "query: unknown field `b`, expected `a`");
    }
}
