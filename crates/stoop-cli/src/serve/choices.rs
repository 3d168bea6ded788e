//! Options whose value is one of several words.

use std::fmt;

use clap::ValueEnum;
use serde::de::{Error, IntoDeserializer, Visitor};
use serde::{Deserialize, Deserializer};

/// What becomes of symbolic links.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum LinkPolicy {
    /// They are followed within the directory, by relative paths, and through hidden names only with --hidden
    Within,
    /// A path with a link in it is 404
    Refuse,
}

/// The form of the access log.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// The Common Log Format
    Common,
    /// The same with Referer and User-Agent, as Apache and nginx write it
    Combined,
    /// JSON, one object a line, with the time of each phase
    Json,
    /// No log, also where the file of options has one
    None,
}

/// Who is shown the status.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum StatusFor {
    /// Clients of this machine, which ask for localhost or a loopback address
    Local,
    /// Every client
    All,
    /// No client, also where the file of options shows it to some
    None,
}

/// In a file, `true` is what the option is without a value, and `false` none.
pub(super) fn shown_to<'de, D: Deserializer<'de>>(value: D) -> Result<Option<StatusFor>, D::Error> {
    struct Given;

    impl Visitor<'_> for Given {
        type Value = StatusFor;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("true, false, or \"local\", \"all\" or \"none\"")
        }

        fn visit_bool<E: Error>(self, is_on: bool) -> Result<StatusFor, E> {
            Ok(if is_on { StatusFor::Local } else { StatusFor::None })
        }

        fn visit_str<E: Error>(self, who: &str) -> Result<StatusFor, E> {
            StatusFor::deserialize(who.into_deserializer())
        }
    }

    value.deserialize_any(Given).map(Some)
}
