//! Reads a file of options: all that is wrong in it, each with its place, or the settings.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::iter::once;
use std::ops::Range;

use serde::de::value::MapDeserializer;
use serde::de::{Error as _, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use strsim::levenshtein;
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

use super::args::Settings;

/// Something that is wrong, and where: in bytes of the text.
struct Mistake {
    at: usize,
    what: String,
}

/// The settings that a text has; or a line for each mistake in it, in their order, such as `serve.toml:3:1: unknown name`.
/// `name` is the file's.
pub(super) fn read(text: &str, name: &str) -> Result<Settings, String> {
    let mistakes = match settings(text) {
        Ok(settings) => return Ok(settings),
        Err(mistakes) => mistakes,
    };
    let lines = mistakes.iter().map(|Mistake { at, what }| {
        let (line, column) = place(text, *at);
        format!("{name}:{line}:{column}: {what}")
    });
    Err(lines.collect::<Vec<_>>().join("\n"))
}

fn settings(text: &str) -> Result<Settings, Vec<Mistake>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    let mut mistakes: Vec<_> = errors.iter().map(|error| Mistake::of(error, 0..0)).collect();
    // What is not TOML hides what it was meant to say.
    if mistakes.is_empty() {
        let known = names();
        let mut places = BTreeMap::new();
        for (name, value) in document.get_ref() {
            let at = name.span().start;
            let name: &str = name.get_ref();
            places.insert(name, at);
            match known.iter().find(|known| **known == name) {
                Some(name) => mistakes.extend(check(name, value)),
                None => mistakes.push(Mistake { at, what: unknown(name, known) }),
            }
        }
        if mistakes.is_empty() {
            match toml::from_str(text) {
                Ok(settings) => match excluded(&settings, &places) {
                    None => return Ok(settings),
                    Some(mistake) => mistakes.push(mistake),
                },
                Err(error) => mistakes.push(Mistake::of(&error, 0..0)),
            }
        }
    }
    mistakes.sort_by_key(|mistake| mistake.at);
    Err(mistakes)
}

/// What is wrong in the value of one name.
fn check(name: &'static str, value: &Spanned<DeValue<'_>>) -> Option<Mistake> {
    let alone = MapDeserializer::<_, Error>::new(once((name, value.clone())));
    let settings = match Settings::deserialize(alone) {
        Ok(settings) => settings,
        Err(error) => {
            let mut mistake = Mistake::of(&error, value.span());
            mistake.what = format!("{name}: {}", mistake.what);
            return Some(mistake);
        }
    };
    let is_well = settings.workers.is_none_or(|workers| (1..=1024).contains(&workers));
    let what = || "workers must be a whole number from 1 to 1024".to_owned();
    (!is_well).then(|| Mistake { at: value.span().start, what: what() })
}

/// What is wrong of several names together: told at the later one.
fn excluded(settings: &Settings, places: &BTreeMap<&str, usize>) -> Option<Mistake> {
    let exclude = |one: &str, other: &str| {
        let at = *places.get(one)?.max(places.get(other)?);
        Some(Mistake { at, what: format!("{one} and {other} exclude each other") })
    };
    if !settings.tls.is_empty() && settings.tls_self_signed == Some(true) {
        return exclude("tls", "tls-self-signed");
    }
    if !settings.trust_forwarded.is_empty() && !settings.trust_x_forwarded.is_empty() {
        return exclude("trust-forwarded", "trust-x-forwarded");
    }
    None
}

impl Mistake {
    /// An error of the reader's, or of a value there.
    fn of(error: &Error, value: Range<usize>) -> Self {
        let at = error.span().unwrap_or(value).start;
        // What the reader expects is a type of Rust's.
        let what = error.message().replace("expected usize", "expected a whole number");
        let what = what.replace("expected path string", "expected a string");
        Self { at, what: what.trim_end().replace('\n', ", ") }
    }
}

/// A name that is none, and the one that was meant, if one is like it.
fn unknown(name: &str, known: &[&str]) -> String {
    let written = name.to_lowercase().replace('_', "-");
    let nearest = known.iter().map(|known| (levenshtein(&written, known), known)).min();
    match nearest {
        Some((changes, known)) if changes <= 1 + written.chars().count() / 5 => {
            format!("unknown name {name:?}: did you mean {known:?}?")
        }
        _ => format!("unknown name {name:?}: the names are those of the long options"),
    }
}

/// The line and the column of a byte, from 1 on.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    (line, before[start..].chars().count() + 1)
}

/// The names that a file may have.
fn names() -> &'static [&'static str] {
    match Settings::deserialize(Names) {
        Err(Asked(names)) => names,
        Ok(_) => &[],
    }
}

/// Reads nothing, and fails with the names of the fields that are asked for.
struct Names;

#[derive(Debug)]
struct Asked(&'static [&'static str]);

impl Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.0, f)
    }
}

impl std::error::Error for Asked {}

impl serde::de::Error for Asked {
    fn custom<T: Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Names {
    type Error = Asked;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Asked> {
        Err(Asked::custom(""))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Asked> {
        Err(Asked(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        read(text, "serve.toml").unwrap_err()
    }

    #[test]
    fn several_mistakes_are_told_at_once() {
        let text = "# the site\nlistn = ['1']\nspa = true\nworkers = 'many'\n  tls = ['cert.pem']\n\
                    compress = 1\ntls_self_signed = true\nconnections-per-address = -1\n[site]\na = 1\n";
        let expected = "\
serve.toml:2:1: unknown name \"listn\": did you mean \"listen\"?
serve.toml:4:11: workers: invalid type: string \"many\", expected a whole number
serve.toml:5:9: tls: expected [\"CERT\", \"KEY\"], or a list of such pairs
serve.toml:6:12: compress: invalid type: integer `1`, expected a boolean
serve.toml:7:1: unknown name \"tls_self_signed\": did you mean \"tls-self-signed\"?
serve.toml:8:27: connections-per-address: invalid value: integer `-1`, expected a whole number
serve.toml:9:2: unknown name \"site\": the names are those of the long options";
        assert_eq!(wrong(text), expected);
    }

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        assert_eq!(place("ab\näö = x", 0), (1, 1));
        assert_eq!(place("ab\näö = x", 3), (2, 1));
        assert_eq!(place("ab\näö = x", 7), (2, 3));
        assert_eq!(place("ab", 9), (1, 3));
    }
}
