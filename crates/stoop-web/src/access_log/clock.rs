//! Dates of log lines. Each thread reads the clock on the wall some times a second, and formats a second once.

use std::cell::RefCell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::date::{common, rfc3339};
use crate::exchange::now;

/// For how long after the clock on the wall was read, and before, the time there is told from the monotonic clock. A clock
/// that is set shows in lines after that.
const READING_KEPT: Duration = Duration::from_millis(100);

/// `10/Oct/2000:13:55:36 +0000`
pub(super) type CommonDate = [u8; 26];
/// `{"time":"2000-10-10T13:55:36.123Z","method":` (RFC 3339): what a line of JSON begins with.
pub(super) type JsonBegin = [u8; 44];

const JSON_BEGIN: JsonBegin = *b"{\"time\":\"0000-00-00T00:00:00.000Z\",\"method\":";

/// A reading of both clocks, and the last second that was formatted.
struct Wall {
    from: Instant,
    at: Instant,
    until: Instant,
    /// Microseconds since 1970 at that reading.
    unix_micros: u64,
    second: u64,
    common: CommonDate,
    json: JsonBegin,
}

thread_local! {
    static WALL: RefCell<Option<Wall>> = const { RefCell::new(None) };
}

impl Wall {
    fn read() -> Self {
        let (at, unix) = (now(), SystemTime::now().duration_since(UNIX_EPOCH));
        Self {
            from: at.checked_sub(READING_KEPT).unwrap_or(at),
            at,
            until: at + READING_KEPT,
            unix_micros: micros(unix.unwrap_or(Duration::ZERO)),
            second: u64::MAX,
            common: [b' '; 26],
            json: JSON_BEGIN,
        }
    }

    /// Microseconds since 1970 at a time.
    fn unix_micros(&self, time: Instant) -> u64 {
        match time.checked_duration_since(self.at) {
            Some(later) => self.unix_micros.saturating_add(micros(later)),
            None => self.unix_micros.saturating_sub(micros(self.at - time)),
        }
    }

    /// The milliseconds of a time, whose second is the formatted one then.
    fn format(&mut self, unix_micros: u64) -> u64 {
        let millis = unix_micros / 1_000;
        let second = millis / 1_000;
        if second != self.second {
            self.second = second;
            // Every date of the forms has that length.
            self.common.copy_from_slice(common(second).as_bytes());
            self.json[9..28].copy_from_slice(rfc3339(second).as_bytes());
        }
        millis % 1_000
    }
}

fn micros(duration: Duration) -> u64 {
    match duration.as_secs() {
        0 => duration.subsec_micros().into(),
        seconds => {
            seconds.saturating_mul(1_000_000).saturating_add(duration.subsec_micros().into())
        }
    }
}

/// Has the clocks of this thread, read not long before `present` or behind it.
fn with_wall<T>(present: Instant, look: impl FnOnce(&mut Wall) -> T) -> T {
    WALL.with_borrow_mut(|wall| {
        let wall = match wall {
            Some(wall) if wall.from <= present && present <= wall.until => wall,
            other => {
                let mut read = Wall::read();
                if let Some(last) = other {
                    (read.second, read.common, read.json) = (last.second, last.common, last.json);
                }
                other.insert(read)
            }
        };
        look(wall)
    })
}

/// The time on the wall at a time, of what has ended at `present`.
pub(super) fn wall_time(time: Instant, present: Instant) -> SystemTime {
    with_wall(present, |wall| UNIX_EPOCH + Duration::from_micros(wall.unix_micros(time)))
}

/// The same as `10/Oct/2000:13:55:36 +0000`.
pub(super) fn common_date(time: Instant, present: Instant) -> CommonDate {
    with_wall(present, |wall| {
        wall.format(wall.unix_micros(time));
        wall.common
    })
}

/// Writes what a line of JSON begins with.
pub(super) fn put_json_begin(time: Instant, present: Instant, out: &mut Vec<u8>) {
    with_wall(present, |wall| {
        let millis = wall.format(wall.unix_micros(time)) as u16;
        for (place, number) in [(29, millis / 100), (30, millis / 10), (31, millis)] {
            wall.json[place] = b'0' + (number % 10) as u8;
        }
        out.extend_from_slice(&wall.json);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json_begin(time: Instant, present: Instant) -> String {
        let mut out = Vec::new();
        put_json_begin(time, present, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_time_is_written_in_the_second_that_it_is_in() {
        let mut wall = Wall::read();
        for (millis, common, json) in [
            (971_186_136_007, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.007Z"),
            (971_186_136_999, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.999Z"),
            (971_186_137_000, "10/Oct/2000:13:55:37 +0000", "2000-10-10T13:55:37.000Z"),
            (971_186_136_120, "10/Oct/2000:13:55:36 +0000", "2000-10-10T13:55:36.120Z"),
        ] {
            wall.unix_micros = millis * 1_000;
            WALL.with_borrow_mut(|kept| *kept = Some(Wall { ..wall }));
            let time = wall.at;
            assert_eq!(std::str::from_utf8(&common_date(time, time)).unwrap(), common);
            let begin = format!("{{\"time\":\"{json}\",\"method\":");
            assert_eq!(json_begin(time, time), begin);
            assert_eq!(wall_time(time, time), UNIX_EPOCH + Duration::from_millis(millis));
        }
        // Of what began before the clocks were read, and of what ended behind that.
        let (early, late) = (Duration::from_millis(70), Duration::from_millis(30));
        let time = wall.at.checked_sub(early).unwrap();
        let began = json_begin(time, wall.at + late);
        assert!(began.contains("\"2000-10-10T13:55:36.050Z\""), "{began}");
        let time = wall_time(wall.at + late, wall.at + late);
        assert_eq!(time, UNIX_EPOCH + Duration::from_millis(971_186_136_150));
    }

    #[test]
    fn the_clock_on_the_wall_is_read_again_after_a_while() {
        for seconds in [0, 1, 100] {
            let Some(present) = now().checked_sub(Duration::from_secs(seconds)) else { return };
            let mut wall = Wall::read();
            wall.unix_micros = 0;
            (wall.from, wall.until) = (present, present);
            WALL.with_borrow_mut(|kept| *kept = Some(wall));
            let before = SystemTime::now();
            let time = wall_time(now(), now());
            let took = before.elapsed().unwrap();
            let slack = Duration::from_millis(1);
            assert!(time + slack >= before && time <= before + took + slack, "{seconds}");
        }
    }
}
