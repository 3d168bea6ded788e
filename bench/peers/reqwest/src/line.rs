//! Writes a line of output, quoted by RFC 4180 where the URL needs it.

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use jiff::Timestamp;

/// The line of a URL.
pub(crate) struct FetchLine {
    pub(crate) url: String,
    pub(crate) code: String,
    pub(crate) started_at: Timestamp,
    pub(crate) duration: Duration,
    pub(crate) length: u64,
}

impl FetchLine {
    pub(crate) fn write_to(&self, output: &mut impl Write) -> io::Result<()> {
        let Self { code, started_at, length, .. } = self;
        let duration_ms = self.duration.as_millis();
        writeln!(output, "{},{code},{started_at:.3},{duration_ms},{length}", quoted(&self.url))
    }
}

fn quoted(field: &str) -> Cow<'_, str> {
    if field.contains([',', '"', '\r', '\n']) {
        Cow::Owned(format!("\"{}\"", field.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(field)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_comma_is_quoted() {
        assert_eq!(quoted("http://a/"), "http://a/");
        assert_eq!(quoted("http://a/1,2\"3"), "\"http://a/1,2\"\"3\"");
    }
}
