//! Names of hosts, failures and durations as short texts.

use std::time::Duration;

use stoop_fetch::format::Printable;
use stoop_fetch::summary::ResultCode;

/// A longer name is cut: the tables of the report have all of it.
const NAME_CHARS_MAX: usize = 40;

/// A name of a host as it is shown.
pub(super) fn name(host: &str) -> String {
    let host = Printable(host).to_string();
    match host.char_indices().nth(NAME_CHARS_MAX) {
        Some((at, _)) => format!("{}...", &host[..at]),
        None => host,
    }
}

/// What a host failed by: the status, or the kind of error.
pub(super) fn failure_name(failure: ResultCode<'_>) -> String {
    match failure {
        ResultCode::Status(status) => status.to_string(),
        ResultCode::Error(kind) => kind.to_owned(),
    }
}

/// A duration in two or three digits.
pub(super) fn short(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1000.0;
    match ms {
        _ if ms < 1.0 => format!("{ms:.2} ms"),
        _ if ms < 10.0 => format!("{ms:.1} ms"),
        _ if ms < 1000.0 => format!("{ms:.0} ms"),
        _ if ms < 100_000.0 => format!("{:.1} s", ms / 1000.0),
        _ => format!("{:.0} s", ms / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_names_are_short() {
        for (micros, text) in [
            (0, "0.00 ms"),
            (12, "0.01 ms"),
            (9_940, "9.9 ms"),
            (12_500, "12 ms"),
            (1_049_000, "1.0 s"),
            (123_400_000, "123 s"),
        ] {
            assert_eq!(short(Duration::from_micros(micros)), text);
        }
        assert_eq!(name("a.example"), "a.example");
        assert_eq!(name(&"a".repeat(50)), format!("{}...", "a".repeat(40)));
    }
}
