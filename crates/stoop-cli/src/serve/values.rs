//! Values of options: how they are parsed, as typed and as written in a file.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

use crate::units;

/// Permissions of a file, in octal digits.
pub(super) fn permissions(text: &str) -> Result<u32, String> {
    let is_octal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| is_octal && *mode <= 0o777);
    mode.ok_or_else(|| "permissions are octal digits, from 000 to 777, such as 660".to_owned())
}

/// A time; `none` is [`Duration::MAX`].
pub(super) fn time_limit(text: &str) -> Result<Duration, String> {
    match text.trim().eq_ignore_ascii_case("none") {
        true => Ok(Duration::MAX),
        false => units::duration(text).map_err(|allowed| format!("{allowed}, or is 'none'")),
    }
}

/// A time, which may be none at all.
pub(super) fn time_or_zero(text: &str) -> Result<Duration, String> {
    match text.trim() {
        "0" => Ok(Duration::ZERO),
        text => units::duration(text).map_err(|allowed| format!("{allowed}, or is 0")),
    }
}

/// In a file, one of what can be given several times needs no list.
pub(super) fn one_or_several<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string, or a list of strings")]
    enum Given {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Given::deserialize(value)? {
        Given::One(one) => vec![one],
        Given::Several(several) => several,
    })
}

/// In a file, a list is written as one, or as on the command line.
pub(super) fn separated<'de, T, D>(value: D) -> Result<Vec<T>, D::Error>
where
    T: FromStr<Err: fmt::Display>,
    D: Deserializer<'de>,
{
    let given = one_or_several(value)?;
    let all = given.iter().flat_map(|one| one.split(','));
    all.map(|one| one.trim().parse().map_err(D::Error::custom)).collect()
}

/// In a file, a certificate and its key are a list, and several of them a list of such lists.
pub(super) fn certificates<'de, D: Deserializer<'de>>(value: D) -> Result<Vec<PathBuf>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected [\"CERT\", \"KEY\"], or a list of such pairs")]
    enum Given {
        One([PathBuf; 2]),
        Several(Vec<[PathBuf; 2]>),
    }
    Ok(match Given::deserialize(value)? {
        Given::One(one) => one.into(),
        Given::Several(several) => several.into_iter().flatten().collect(),
    })
}

/// In a file, permissions are a string: a number would be one to the base of ten.
pub(super) fn written_permissions<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<u32>, D::Error> {
    struct Given;

    impl Visitor<'_> for Given {
        type Value = u32;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a string of octal digits, such as \"660\"")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
            permissions(text).map_err(E::custom)
        }
    }

    value.deserialize_str(Given).map(Some)
}

/// In a file, a time limit is a number of seconds, or a string as on the command line.
pub(super) fn written_limit<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Duration>, D::Error> {
    value.deserialize_any(Seconds(time_limit)).map(Some)
}

/// In a file, a time that may be none at all is a number of seconds, or a string.
pub(super) fn written_time_or_zero<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<Duration>, D::Error> {
    value.deserialize_any(Seconds(time_or_zero)).map(Some)
}

/// What a time may be in a file, and how its text is parsed.
struct Seconds(fn(&str) -> Result<Duration, String>);

impl Visitor<'_> for Seconds {
    type Value = Duration;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number of seconds, or a string such as \"500ms\"")
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<Duration, E> {
        self.visit_str(&seconds.to_string())
    }

    fn visit_f64<E: Error>(self, seconds: f64) -> Result<Duration, E> {
        self.visit_str(&seconds.to_string())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Duration, E> {
        (self.0)(text).map_err(E::custom)
    }
}
