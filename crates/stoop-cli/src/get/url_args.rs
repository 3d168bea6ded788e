//! The URL as it is typed, and what is added to its query.

use clap::{ArgAction, Args};

/// The URL, and what is added to its query.
#[derive(Args, Debug, Default)]
pub(crate) struct UrlArgs {
    /// The URL to fetch
    #[arg(id = "URL", required_unless_present = "url")]
    typed: Option<String>,

    /// The URL to fetch, as an option
    #[arg(id = "url", long, value_name = "URL", action = ArgAction::Append)]
    named: Vec<String>,

    /// Add DATA to the query of the URL, encoded: CONTENT, NAME=CONTENT, @FILE or NAME@FILE; +TEXT as it is
    #[arg(long, value_name = "DATA", action = ArgAction::Append)]
    pub(super) url_query: Vec<String>,
}

impl UrlArgs {
    /// The URL as it is typed.
    pub(super) fn typed(&self) -> &str {
        self.typed.iter().chain(&self.named).next().map_or("", String::as_str)
    }

    /// Whether there is more than one.
    pub(super) fn are_many(&self) -> bool {
        self.typed.iter().chain(&self.named).count() > 1
    }

    #[cfg(test)]
    pub(super) fn of(url: &str) -> Self {
        Self { typed: Some(url.to_owned()), ..Self::default() }
    }
}
