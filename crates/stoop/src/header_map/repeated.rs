//! Values of fields that clients repeat with each request, each made a value of the `http` crate once for a thread.

use std::cell::Cell;

use http::header::{
    ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, CACHE_CONTROL, CONNECTION, CONTENT_TYPE, DNT, HOST,
    ORIGIN, PRAGMA, TE, UPGRADE_INSECURE_REQUESTS, USER_AGENT,
};
use http::{HeaderName, HeaderValue};
use stoop_proto::Field;

use super::digest::digest;
use super::targets::RepeatedTargets;

/// Values that a thread keeps: those of some ten clients that alternate. A power of two, and a bit of a `u64` for each.
const PLACES: usize = 64;

/// Bytes of a value that is kept. Those of browsers have up to 140.
const VALUE_BYTES_MAX: usize = 240;

/// The fields whose values are kept.
const REPEATED: [HeaderName; 13] = [
    HOST,
    USER_AGENT,
    ACCEPT,
    ACCEPT_ENCODING,
    ACCEPT_LANGUAGE,
    CONNECTION,
    CACHE_CONTROL,
    CONTENT_TYPE,
    ORIGIN,
    PRAGMA,
    TE,
    DNT,
    UPGRADE_INSECURE_REQUESTS,
];

/// The values of a thread, by what their bytes begin and end with. A value that comes a second time with none of its place
/// between takes the place: what is different each time takes none.
pub(super) struct RepeatedValues {
    places: [Place; PLACES],
    pub(super) targets: RepeatedTargets,
    /// A bit for each place whose value the message in hand has.
    used: u64,
}

#[derive(Default)]
struct Place {
    /// The digest of what came last.
    last: u64,
    kept: Option<Kept>,
}

struct Kept {
    /// The name as it came.
    spelled: Box<[u8]>,
    name: HeaderName,
    value: HeaderValue,
}

impl Default for RepeatedValues {
    fn default() -> Self {
        let places = std::array::from_fn(|_| Place::default());
        Self { places, targets: RepeatedTargets::default(), used: 0 }
    }
}

thread_local! {
    static VALUES: Cell<Option<Box<RepeatedValues>>> = const { Cell::new(None) };
}

/// Lends the values of the thread for a message.
#[inline]
pub(super) fn with_repeated<R>(work: impl FnOnce(&mut RepeatedValues) -> R) -> R {
    // Taken, not borrowed. A thread that ends has none any more.
    let mut values = VALUES.try_with(Cell::take).ok().flatten().unwrap_or_default();
    values.used = 0;
    let result = work(&mut values);
    let _ = VALUES.try_with(|kept| kept.set(Some(values)));
    result
}

impl RepeatedValues {
    /// Finds the place of a field's value. There is none of a long value, and of most fields: their values differ from one
    /// request to the next, or are secrets.
    #[inline]
    pub(super) fn find(&mut self, field: Field<'_>) -> Option<u8> {
        let digest = digest(field.name_bytes(), field.value());
        let at = digest >> 58;
        let place = &mut self.places[at as usize % PLACES];
        let is_kept = match &place.kept {
            Some(kept) => {
                kept.value.as_bytes() == field.value() && *kept.spelled == *field.name_bytes()
            }
            None => false,
        };
        let was_last = std::mem::replace(&mut place.last, digest) == digest;
        // A value may not take the place of another one that the message in hand has.
        if !is_kept && (!was_last || self.used & (1 << at) != 0 || !keep(place, field)) {
            return None;
        }
        self.used |= 1 << at;
        Some(at as u8)
    }

    /// The name and the value of a place that was found.
    #[inline]
    pub(super) fn at(&self, place: u8) -> Option<(HeaderName, HeaderValue)> {
        let kept = self.places[usize::from(place) % PLACES].kept.as_ref()?;
        Some((kept.name.clone(), kept.value.clone()))
    }
}

/// Keeps a value that came twice. Returns whether it is one that is kept.
#[cold]
fn keep(place: &mut Place, field: Field<'_>) -> bool {
    let value = field.value();
    let name = repeated_name(field.name_bytes()).filter(|_| value.len() <= VALUE_BYTES_MAX);
    let (Some(name), Ok(value)) = (name, HeaderValue::from_bytes(value)) else { return false };
    place.kept = Some(Kept { spelled: field.name_bytes().into(), name, value });
    true
}

/// The name of a field whose value is mostly the same in all requests of a client, and is no secret.
fn repeated_name(name: &[u8]) -> Option<HeaderName> {
    REPEATED.into_iter().find(|known| name.eq_ignore_ascii_case(known.as_str().as_bytes()))
}

#[cfg(test)]
mod tests {
    use stoop_proto::Fields;

    use super::*;

    fn fields(lines: &[(&str, &str)]) -> Fields {
        let mut fields = Fields::new();
        lines.iter().for_each(|(name, value)| fields.push(name, value.as_bytes()).unwrap());
        fields
    }

    /// What is found of each field of a message.
    fn find(values: &mut RepeatedValues, lines: &[(&str, &str)]) -> Vec<Option<String>> {
        values.used = 0;
        let fields = fields(lines);
        let places: Vec<_> = fields.iter().map(|field| values.find(field)).collect();
        let text = |place| {
            let (name, value) = values.at(place).unwrap();
            format!("{name}: {}", value.to_str().unwrap())
        };
        places.into_iter().map(|place| place.map(text)).collect()
    }

    #[test]
    fn a_value_is_kept_from_its_second_time_on() {
        let mut values = RepeatedValues::default();
        let lines = [("Host", "a.test"), ("USER-AGENT", "agent/1.0 (of some length)"), ("te", "")];
        assert_eq!(find(&mut values, &lines), [None, None, None]);
        let found = ["host: a.test", "user-agent: agent/1.0 (of some length)", "te: "];
        for _ in 0..2 {
            assert_eq!(find(&mut values, &lines), found.map(|text| Some(text.to_owned())));
        }
    }

    #[test]
    fn what_is_different_or_secret_or_long_is_not_kept() {
        let mut values = RepeatedValues::default();
        let long = "x".repeat(VALUE_BYTES_MAX + 1);
        for _ in 0..3 {
            for line in [
                ("cookie", "a=b"),
                ("authorization", "Basic x"),
                ("x-key", "y"),
                ("accept", &long),
                ("hast", "z"),
            ] {
                assert_eq!(find(&mut values, &[line]), [None], "{line:?}");
            }
        }
        for n in 0..1_000 {
            assert_eq!(find(&mut values, &[("origin", &format!("http://{n}.test"))]), [None]);
        }
        for name in REPEATED {
            let fields = fields(&[(name.as_str(), "")]);
            assert!(!fields.iter().next().unwrap().is_secret(), "{name}");
        }
    }

    #[test]
    fn values_of_one_place_do_not_take_each_others() {
        let mut values = RepeatedValues::default();
        let value = |n: u32| format!("agent/{n}");
        let place = |value: &str| digest(b"user-agent", value.as_bytes()) >> 58;
        let other = (1..).map(value).find(|other| place(other) == place(&value(0))).unwrap();
        let (one, found) = (value(0), |value: &str| Some(format!("user-agent: {value}")));
        // Both in each message: the second waits while the first has the place.
        let lines = [("user-agent", &*one), ("user-agent", &*other)];
        for _ in 0..5 {
            assert_eq!(find(&mut values, &lines), [None, None]);
        }
        for (line, times) in [(&one, 2), (&other, 3)] {
            for time in 1..=times {
                let is_found = time >= times.min(2);
                let expected = is_found.then(|| found(line)).flatten();
                assert_eq!(find(&mut values, &[("user-agent", line)]), [expected], "{line} {time}");
            }
        }
        let lines = [("user-agent", &*other), ("user-agent", &*one), ("user-agent", &*one)];
        assert_eq!(find(&mut values, &lines), [found(&other), None, None]);
    }
}
