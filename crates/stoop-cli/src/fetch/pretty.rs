//! Records for people: `[code] url: Nms`, coloured as the comparison does.

use std::io::Write as _;

use stoop_fetch::Record;
use stoop_fetch::format::{Printable, RecordFormat};
use stoop_fetch::summary::ResultCode;

/// Lines for a terminal: 2xx green, any other status yellow, errors red.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pretty {
    pub(super) is_coloured: bool,
}

impl RecordFormat for Pretty {
    fn format(&mut self, record: &Record<'_>, line: &mut Vec<u8>) {
        let (colour, code) = match &record.outcome.code {
            ResultCode::Status(status @ 200..=299) => ("\x1b[32m", status.to_string()),
            ResultCode::Status(status) => ("\x1b[33m", status.to_string()),
            ResultCode::Error(kind) => ("\x1b[31m", (*kind).to_owned()),
        };
        let (colour, plain) = if self.is_coloured { (colour, "\x1b[0m") } else { ("", "") };
        let shown = record.shown_url();
        let url = String::from_utf8_lossy(&shown);
        let ms = record.duration_ms();
        writeln!(line, "{colour}[{code}] {}: {ms}ms{plain}", Printable(&url))
            .expect("memory takes all");
    }

    fn needs_details(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stoop_fetch::Outcome;

    use super::*;

    fn answered(status: u16) -> Outcome {
        Outcome::new(ResultCode::Status(status))
    }

    fn failed(kind: &'static str) -> Outcome {
        Outcome::new(ResultCode::Error(kind))
    }

    fn record<'a>(url: &'a [u8], outcome: &'a Outcome) -> Record<'a> {
        Record::new(url, 1_795_294_495_007, Duration::from_micros(49_999), outcome)
    }

    fn line(is_coloured: bool, record: Record<'_>) -> String {
        let mut line = Vec::new();
        Pretty { is_coloured }.format(&record, &mut line);
        String::from_utf8(line).expect("text")
    }

    #[test]
    fn pretty_lines_are_the_comparisons_and_cannot_drive_the_terminal() {
        assert_eq!(line(false, record(b"a", &answered(200))), "[200] a: 49ms\n");
        let green = line(true, record(b"a", &answered(200)));
        assert_eq!(green, "\x1b[32m[200] a: 49ms\x1b[0m\n");
        let moved = answered(301);
        assert!(line(true, record(b"a", &moved)).starts_with("\x1b[33m[301]"));
        let error = failed("reset");
        assert!(line(true, record(b"a", &error)).starts_with("\x1b[31m[reset]"));
        let evil = line(false, record(b"\x1b[2J", &answered(200)));
        assert_eq!(evil, "[200] \\u{1b}[2J: 49ms\n");
    }
}
