//! Range requests (RFC 9110 §14): which bytes of a file a client wants.

use std::ops::Range;

use stoop::Fields;

/// How many ranges a request may name. Viewers of documents ask for dozens at once; more than a hundred only those who
/// want many small parts to cost much (RFC 9110 §17.15).
const RANGES_MAX: usize = 64;

/// How many ranges may stand in another order than that of the file: a client that reads on asks in order.
const UNORDERED_MAX: usize = 8;

/// Which part of a file is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    /// All of it: Range is missing, malformed or of another unit, and then ignored (RFC 9110 §14.2).
    Whole,
    /// These parts, none of which overlap or touch, in the order in which they were asked for; at least one.
    Parts(Vec<Range<u64>>),
    /// 416: nothing of it is there, or it asks for too many parts, or for the same one again and again.
    Refused,
}

/// Reads the field Range for a representation of `len` bytes.
pub(super) fn wanted(fields: &Fields, len: u64) -> Wanted {
    let mut lines = fields.all("range");
    // It is no list: two of them are malformed.
    let (Some(value), None) = (lines.next(), lines.next()) else { return Wanted::Whole };
    let Some(specs) = byte_ranges(value) else { return Wanted::Whole };
    let mut found = Vec::new();
    for (count, spec) in specs.split(|byte| *byte == b',').enumerate() {
        let spec = spec.trim_ascii();
        if spec.is_empty() {
            continue;
        }
        let Some(read) = Spec::read(spec) else { return Wanted::Whole };
        if count >= RANGES_MAX {
            return Wanted::Refused;
        }
        match read.resolve(len) {
            Resolved::Part(range) => found.push(range),
            Resolved::Nothing => {}
            Resolved::Empty => return Wanted::Whole,
        }
    }
    match found.is_empty() {
        // A set without a single range is malformed; one of which nothing is there is not.
        true if specs.iter().all(|byte| matches!(byte, b',' | b' ' | b'\t')) => Wanted::Whole,
        true => Wanted::Refused,
        false => coalesce(found).map_or(Wanted::Refused, Wanted::Parts),
    }
}

/// The set of `bytes=`; a unit's name has no case (RFC 9110 §14.1).
fn byte_ranges(value: &[u8]) -> Option<&[u8]> {
    let (unit, set) = value.split_at_checked(6)?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

/// range-spec = int-range / suffix-range (RFC 9110 §14.1.1).
enum Spec {
    /// first-pos "-" [ last-pos ]
    From(u64, Option<u64>),
    /// "-" suffix-length
    Last(u64),
}

enum Resolved {
    Part(Range<u64>),
    /// No byte of it is there.
    Nothing,
    /// The end of a file without bytes: it can be satisfied, but Content-Range cannot say so (RFC 9110 §14.4).
    Empty,
}

impl Spec {
    fn read(spec: &[u8]) -> Option<Self> {
        let dash = spec.iter().position(|byte| *byte == b'-')?;
        let (first, last) = (&spec[..dash], &spec[dash + 1..]);
        match (first.is_empty(), last.is_empty()) {
            (true, false) => number(last).map(Self::Last),
            (false, true) => Some(Self::From(number(first)?, None)),
            (false, false) => {
                let (first, last) = (number(first)?, number(last)?);
                (first <= last).then_some(Self::From(first, Some(last)))
            }
            (true, true) => None,
        }
    }

    /// RFC 9110 §14.1.2.
    fn resolve(self, len: u64) -> Resolved {
        match self {
            Self::From(first, _) if first >= len => Resolved::Nothing,
            Self::From(first, last) => {
                let end = last.map_or(len, |last| last.saturating_add(1).min(len));
                Resolved::Part(first..end)
            }
            Self::Last(0) => Resolved::Nothing,
            Self::Last(_) if len == 0 => Resolved::Empty,
            Self::Last(count) => Resolved::Part(len.saturating_sub(count)..len),
        }
    }
}

/// 1*DIGIT. What is more than a file can have is as good as the most of it.
fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(number.saturating_mul(10).saturating_add(digit))
    })
}

/// Makes one of those that overlap or touch. `None` for what RFC 9110 §14.2 and §17.15 take for an attack or a defect: more
/// than two that overlap, and many out of order.
fn coalesce(found: Vec<Range<u64>>) -> Option<Vec<Range<u64>>> {
    if let [only] = &found[..] {
        return Some(vec![only.clone()]);
    }
    if found.len() > UNORDERED_MAX && !found.is_sorted_by_key(|range| range.start) {
        return None;
    }
    let mut sorted: Vec<(usize, Range<u64>)> = found.into_iter().enumerate().collect();
    sorted.sort_by_key(|(_, range)| range.start);
    let mut merged: Vec<(usize, Range<u64>)> = Vec::new();
    let mut overlapping = 0;
    for (place, range) in sorted {
        match merged.last_mut() {
            Some((first_place, last)) if range.start <= last.end => {
                overlapping += usize::from(range.start < last.end);
                if overlapping > 1 {
                    return None;
                }
                *first_place = place.min(*first_place);
                last.end = last.end.max(range.end);
            }
            _ => {
                overlapping = 0;
                merged.push((place, range));
            }
        }
    }
    // RFC 9110 §15.3.7.2: parts come in the order in which they were asked for.
    merged.sort_by_key(|(place, _)| *place);
    Some(merged.into_iter().map(|(_, range)| range).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(value: &str, len: u64) -> Wanted {
        let mut fields = Fields::new();
        fields.push("range", value.as_bytes()).unwrap();
        wanted(&fields, len)
    }

    fn parts(ranges: &[(u64, u64)]) -> Wanted {
        Wanted::Parts(ranges.iter().map(|(start, end)| *start..*end).collect())
    }

    /// RFC 9110 §14.1.2, whose examples are of 10,000 bytes.
    #[test]
    fn a_range_is_from_a_byte_to_another_or_the_end_or_the_last_ones() {
        for (value, expected) in [
            ("bytes=0-499", parts(&[(0, 500)])),
            ("bytes=500-999", parts(&[(500, 1000)])),
            ("bytes=-500", parts(&[(9500, 10_000)])),
            ("bytes=9500-", parts(&[(9500, 10_000)])),
            ("bytes=0-0,-1", parts(&[(0, 1), (9999, 10_000)])),
            ("bytes= 0-999, 4500-5499, -1000", parts(&[(0, 1000), (4500, 5500), (9000, 10_000)])),
            ("BYTES=1-1", parts(&[(1, 2)])),
            ("bytes=0-99999999999999999999999", parts(&[(0, 10_000)])),
            ("bytes=-99999999999999999999999", parts(&[(0, 10_000)])),
            ("bytes=9999-9999", parts(&[(9999, 10_000)])),
            ("bytes=20000-, 1-2", parts(&[(1, 3)])),
            ("bytes=,1-2 ,\t,", parts(&[(1, 3)])),
        ] {
            assert_eq!(of(value, 10_000), expected, "{value}");
        }
    }

    /// RFC 9110 §14.2.
    #[test]
    fn what_is_malformed_is_ignored() {
        for value in [
            "",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=a-b",
            "bytes=2-1",
            "bytes=1",
            "bytes=1-2x",
            "bytes=1-2-3",
            "bytes=+1-2",
            "bytes=--1",
            "bytes=1 -2",
            "bytes 1-2",
            "lines=1-2",
            "bytes=0-1, 5-4",
            "bytes=20000-, x",
        ] {
            assert_eq!(of(value, 10_000), Wanted::Whole, "{value}");
        }
        let mut twice = Fields::new();
        twice.push("range", b"bytes=0-1").unwrap();
        twice.push("range", b"bytes=0-1").unwrap();
        assert_eq!(wanted(&twice, 10), Wanted::Whole);
    }

    /// RFC 9110 §14.1.2, §15.5.17.
    #[test]
    fn what_is_not_there_cannot_be_sent() {
        for (value, len) in
            [("bytes=10-", 10), ("bytes=10-20, 30-", 10), ("bytes=-0", 10), ("bytes=0-", 0)]
        {
            assert_eq!(of(value, len), Wanted::Refused, "{value}");
        }
        assert_eq!(of("bytes=-5", 0), Wanted::Whole, "no Content-Range says that");
    }

    /// RFC 9110 §15.3.7.2.
    #[test]
    fn what_overlaps_or_touches_is_one_and_the_order_is_kept() {
        for (value, expected) in [
            ("bytes=0-4,5-9", parts(&[(0, 10)])),
            ("bytes=0-4,3-9", parts(&[(0, 10)])),
            ("bytes=3-9,0-4", parts(&[(0, 10)])),
            ("bytes=50-59,0-9", parts(&[(50, 60), (0, 10)])),
            ("bytes=50-59,0-9,60-69", parts(&[(50, 70), (0, 10)])),
            ("bytes=0-9,2-3,50-59,50-59", parts(&[(0, 10), (50, 60)])),
        ] {
            assert_eq!(of(value, 100), expected, "{value}");
        }
    }

    /// RFC 9110 §14.2, §17.15.
    #[test]
    fn sets_that_cost_more_than_they_are_worth_are_refused() {
        assert_eq!(of("bytes=0-,0-,0-", 100), Wanted::Refused);
        assert_eq!(of("bytes=0-9,5-14,10-19", 100), Wanted::Refused);
        let many = |count: u64| {
            let set: Vec<_> = (0..count).map(|at| format!("{}-{}", at * 10, at * 10)).collect();
            format!("bytes={}", set.join(","))
        };
        let Wanted::Parts(all) = of(&many(64), 10_000) else { panic!("64 are allowed") };
        assert_eq!(all.len(), 64);
        assert_eq!(of(&many(65), 10_000), Wanted::Refused);
        let backwards = |count: u64| {
            let set: Vec<_> =
                (0..count).rev().map(|at| format!("{}-{}", at * 10, at * 10)).collect();
            format!("bytes={}", set.join(","))
        };
        assert!(matches!(of(&backwards(8), 1_000), Wanted::Parts(_)));
        assert_eq!(of(&backwards(9), 1_000), Wanted::Refused);
    }
}
