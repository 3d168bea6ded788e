//! When content was modified last, as its response says, for the file that has it.

use std::path::Path;
use std::time::SystemTime;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};

/// The forms of a date in HTTP (RFC 9110 §5.6.7) behind the weekday, which may be wrong.
const FORMS: [&str; 3] = ["%d %b %Y %H:%M:%S GMT", "%d-%b-%y %H:%M:%S GMT", "%b %d %H:%M:%S %Y"];

/// What a field Last-Modified says, unless that is to come yet: a clock is wrong then (RFC 9110 §8.8.2.1).
pub(super) fn last_modified(field: &[u8]) -> Option<SystemTime> {
    let text = std::str::from_utf8(field).ok()?.trim_ascii();
    let (_, date) = text.split_once([',', ' '])?;
    let at = FORMS.iter().find_map(|form| DateTime::strptime(form, date.trim_ascii()).ok())?;
    let at = SystemTime::from(at.to_zoned(TimeZone::UTC).ok()?.timestamp());
    (at <= SystemTime::now()).then_some(at)
}

/// Has a file that time. One that its file system cannot have stays as it was: the content is there all the same.
pub(super) fn set(path: &Path, at: SystemTime) {
    let Ok(at) = jiff::Timestamp::try_from(at) else { return };
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let modified = Timespec { tv_sec: at.as_second(), tv_nsec: 0 };
    let times = Timestamps { last_access: omitted, last_modification: modified };
    let _ = utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW);
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_date_has_three_forms() {
        let at = UNIX_EPOCH + Duration::from_secs(784_111_777);
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            " Mon, 06 Nov 1994 08:49:37 GMT ",
        ] {
            assert_eq!(last_modified(text.as_bytes()), Some(at), "{text}");
        }
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(last_modified(b"Wed, 31 Dec 1969 23:59:59 GMT"), Some(before));
    }

    #[test]
    fn what_is_no_date_or_is_to_come_is_none() {
        for text in [
            "",
            "then",
            "0",
            "Sun, 06 Nov 1994 08:49:37",
            "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Fri, 01 Jan 9999 00:00:00 GMT",
        ] {
            assert_eq!(last_modified(text.as_bytes()), None, "{text}");
        }
        assert_eq!(last_modified(b"\xff"), None);
    }
}
