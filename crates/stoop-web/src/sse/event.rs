//! [`Event`]: one event, and how it is written.

use std::fmt::Write;
use std::time::Duration;

/// One server-sent event: data of any number of lines, and with it a name, an id, and how long a client waits before it
/// connects again.
///
/// ```
/// use std::time::Duration;
/// use stoop_web::Event;
///
/// let event = Event::data("two\nlines").event("news").id("7").retry(Duration::from_secs(5));
/// assert_eq!(event.as_str(), "data: two\ndata: lines\nevent: news\nid: 7\nretry: 5000\n\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event(String);

impl Event {
    /// An event with data, whose lines end in CR LF, LF or CR. The client reads them with LF between them.
    pub fn data(data: impl AsRef<str>) -> Self {
        Self("\n".to_owned()).lines("data: ", data.as_ref())
    }

    /// JSON as the data of an event.
    ///
    /// # Errors
    /// If the value cannot be JSON, such as a map whose keys are no strings.
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize>(value: &T) -> Result<Self, stoop::BoxError> {
        Ok(Self::data(serde_json::to_string(value)?))
    }

    /// A comment, which clients read past.
    pub fn comment(text: impl AsRef<str>) -> Self {
        Self("\n".to_owned()).lines(": ", text.as_ref())
    }

    /// Names the event: without, it is a `message`. Line ends are left out of a name, which cannot have them.
    pub fn event(self, name: impl AsRef<str>) -> Self {
        self.line("event: ", name.as_ref())
    }

    /// Gives it an id, which a client that connects again sends as [`LastEventId`](crate::LastEventId). Line ends and
    /// NUL are left out: a client reads past an id with a NUL in it.
    pub fn id(self, id: impl AsRef<str>) -> Self {
        self.line("id: ", id.as_ref())
    }

    /// How long the client waits before it connects again, from now on; in whole milliseconds.
    pub fn retry(self, delay: Duration) -> Self {
        self.line("retry: ", &delay.as_millis().to_string())
    }

    /// The event as it is sent, with the empty line behind it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn line(self, name: &str, value: &str) -> Self {
        let value: String = value.chars().filter(|of| !matches!(of, '\r' | '\n' | '\0')).collect();
        self.lines(name, &value)
    }

    /// Adds a line for each of `text`, before the empty one at the end.
    fn lines(mut self, name: &str, text: &str) -> Self {
        self.0.pop();
        let mut rest = text;
        loop {
            let end = rest.find(['\r', '\n']);
            let (line, behind) = end.map_or((rest, None), |end| (&rest[..end], Some(&rest[end..])));
            let _ = writeln!(self.0, "{name}{line}");
            let Some(behind) = behind else { break };
            rest = behind.strip_prefix("\r\n").unwrap_or(&behind[1..]);
        }
        self.0.push('\n');
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HTML standard §9.2.5: end-of-line = ( cr lf / cr / lf ).
    #[test]
    fn data_is_a_line_for_each_of_its_lines() {
        for (data, written) in [
            ("", "data: \n\n"),
            ("a", "data: a\n\n"),
            ("a\n", "data: a\ndata: \n\n"),
            ("a\r\nb\rc\n\nd", "data: a\ndata: b\ndata: c\ndata: \ndata: d\n\n"),
            ("\r", "data: \ndata: \n\n"),
            (" a: b", "data:  a: b\n\n"),
            ("x\nevent: y", "data: x\ndata: event: y\n\n"),
        ] {
            assert_eq!(Event::data(data).as_str(), written, "{data:?}");
        }
    }

    #[test]
    fn a_name_or_an_id_cannot_begin_another_line() {
        let event = Event::data("a").event("b\ndata: c").id("d\r\n\0e");
        assert_eq!(event.as_str(), "data: a\nevent: bdata: c\nid: de\n\n");
        assert_eq!(Event::comment("a\nb").as_str(), ": a\n: b\n\n");
    }
}
