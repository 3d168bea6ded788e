//! Converts [`Fields`] to the map of the `http` crate and back.

mod digest;
mod repeated;
mod targets;

use std::cell::RefCell;

use bytes::Bytes;
use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use stoop_proto::{Field, Fields};

use self::repeated::with_repeated;

/// Bytes of a target and of values that share an allocation with what counts their users.
const SHORT_BYTES: usize = 240;

/// Maps that a thread keeps, and the fields that one of them has room for at most.
const KEPT_MAX: usize = 16;
const KEPT_CAPACITY_MAX: usize = 64;

thread_local! {
    /// Empty maps, whose memory serves again.
    static MAPS: RefCell<Vec<HeaderMap>> = const { RefCell::new(Vec::new()) };
}

/// An empty map with room for so many fields.
fn empty_map(len: usize) -> HeaderMap {
    let kept = MAPS.try_with(|maps| maps.borrow_mut().pop_if(|map| map.capacity() >= len));
    kept.ok().flatten().unwrap_or_else(|| HeaderMap::with_capacity(len))
}

/// Keeps the memory of a map that is not needed any more.
pub(crate) fn recycle(mut map: HeaderMap) {
    // What further values of a name take up is not counted in the capacity.
    let is_small = map.capacity().max(map.len()) <= KEPT_CAPACITY_MAX;
    if !is_small || map.capacity() == 0 {
        return;
    }
    // Not while the list is borrowed: the owners of values may run any code as they are dropped.
    map.clear();
    let _ = MAPS.try_with(|maps| {
        let mut maps = maps.borrow_mut();
        if maps.len() < KEPT_MAX {
            maps.push(map);
        }
    });
}

/// Fields of a request whose values are looked for among those that clients repeat. Those behind them are rare.
const LOOKED_FOR_MAX: usize = 32;

/// Stands for a value that is not among those.
const NOT_KEPT: u8 = u8::MAX;

/// Converts fields to a map. Its values share one allocation.
pub(crate) fn into_map(fields: &Fields) -> HeaderMap {
    let mut values = shared("", fields.iter());
    let mut map = empty_map(fields.len());
    fields.iter().for_each(|field| append(&mut map, field, &mut values));
    map
}

/// Converts the target of a request and its fields. The URI shares one allocation with the values, but for what clients
/// repeat, which is shared with other requests.
pub(crate) fn into_uri_and_map(
    target: &str,
    fields: &Fields,
) -> Result<(Uri, HeaderMap), InvalidUri> {
    with_repeated(|repeated| {
        let mut places = [NOT_KEPT; LOOKED_FOR_MAX];
        let mut kept = 0;
        for (field, place) in fields.iter().zip(&mut places) {
            if let Some(found) = repeated.find(field) {
                (*place, kept) = (found, kept + 1);
            }
        }
        let place = |at: usize| places.get(at).copied().unwrap_or(NOT_KEPT);
        let others = fields.iter().enumerate().filter(|(at, _)| place(*at) == NOT_KEPT);
        let (known, copied) = match repeated.targets.uri(target) {
            Some(uri) => (Some(uri), ""),
            None => (None, target),
        };
        let mut values = match (kept == fields.len(), copied) {
            (true, "") => Bytes::new(),
            (true, _) => Bytes::copy_from_slice(copied.as_bytes()),
            (false, _) => shared(copied, others.map(|(_, field)| field)),
        };
        let uri = match known {
            Some(uri) => uri,
            None => Uri::from_maybe_shared(values.split_to(target.len()))?,
        };
        let mut map = empty_map(fields.len());
        for (at, field) in fields.iter().enumerate() {
            match place(at) {
                NOT_KEPT => append(&mut map, field, &mut values),
                place => {
                    if let Some((name, value)) = repeated.at(place) {
                        map.append(name, value);
                    }
                }
            }
        }
        Ok((uri, map))
    })
}

/// A copy of `target`, and of the values of these fields behind it.
fn shared<'a>(target: &'a str, fields: impl Iterator<Item = Field<'a>> + Clone) -> Bytes {
    let len = target.len() + fields.clone().map(|field| field.value().len()).sum::<usize>();
    let parts = [target.as_bytes()].into_iter().chain(fields.map(|field| field.value()));
    if len > SHORT_BYTES {
        let mut bytes = Vec::with_capacity(len);
        parts.for_each(|part| bytes.extend_from_slice(part));
        return bytes.into();
    }
    let mut bytes = [0; SHORT_BYTES];
    let mut free = &mut bytes[..];
    for part in parts {
        let (place, rest) = free.split_at_mut(part.len());
        place.copy_from_slice(part);
        free = rest;
    }
    // A vector would have its users counted in an allocation of its own.
    let mut bytes = Bytes::from_owner(bytes);
    bytes.truncate(len);
    bytes
}

/// Appends a field whose value is what `values` begins with.
#[inline]
fn append(map: &mut HeaderMap, field: Field<'_>, values: &mut Bytes) {
    let value = values.split_to(field.value().len());
    let name = HeaderName::from_bytes(field.name_bytes());
    if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_maybe_shared(value)) {
        value.set_sensitive(field.is_secret());
        map.append(name, value);
    }
}

/// Appends the fields of a map.
pub(crate) fn from_map(map: &HeaderMap, fields: &mut Fields) {
    for (name, value) in map {
        // A name with a quote in it is left out: it could not be sent.
        let _ = fields.push_header(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_map_that_is_used_again_is_empty() {
        let mut fields = Fields::new();
        fields.push("x", b"y").unwrap();
        let mut map = into_map(&fields);
        map.append("x", HeaderValue::from_static("z"));
        recycle(map);
        // Too small for these.
        let mut many = Fields::new();
        (0..30).for_each(|n| many.push(&format!("n{n}"), b"v").unwrap());
        assert_eq!(into_map(&many).len(), 30);
        assert_eq!(MAPS.with_borrow(Vec::len), 1);
        assert_eq!(
            into_map(&fields),
            HeaderMap::from_iter([("x".parse().unwrap(), "y".parse().unwrap())])
        );
        assert_eq!(MAPS.with_borrow(Vec::len), 0);
    }

    #[test]
    fn few_maps_are_kept_and_none_that_is_large() {
        recycle(HeaderMap::new());
        recycle(HeaderMap::with_capacity(KEPT_CAPACITY_MAX * 2));
        let mut repeated = HeaderMap::new();
        (0..KEPT_CAPACITY_MAX * 2).for_each(|_| {
            repeated.append("x", HeaderValue::from_static("y"));
        });
        recycle(repeated);
        assert_eq!(MAPS.with_borrow(Vec::len), 0);
        (0..KEPT_MAX * 2).for_each(|_| recycle(HeaderMap::with_capacity(1)));
        assert_eq!(MAPS.with_borrow(Vec::len), KEPT_MAX);
    }

    #[test]
    fn target_and_values_are_the_same_however_long_they_are() {
        for (path, value) in [(1, 0), (1, 5), (117, 117), (118, 117), (400, 3_000)] {
            let (target, value) = (format!("/{}", "p".repeat(path - 1)), "v".repeat(value));
            let mut fields = Fields::new();
            for name in ["Accept", "x-Y", "Authorization", "accept"] {
                fields.push(name, value.as_bytes()).unwrap();
            }
            fields.push("last", b"6 bytes").unwrap();
            // The third time, values that are repeated are kept.
            for _ in 0..3 {
                let (uri, map) = into_uri_and_map(&target, &fields).unwrap();
                assert_eq!((uri.to_string(), map.len()), (target.clone(), 5));
                assert_eq!(map.get_all("accept").iter().collect::<Vec<_>>(), [&*value, &value]);
                assert!(map["x-y"] == value && map["last"] == "6 bytes");
                assert!(map["authorization"].is_sensitive() && !map["last"].is_sensitive());
                assert_eq!(map, into_map(&fields));
            }
        }
    }

    #[test]
    fn fields_keep_their_order_whether_their_values_are_kept_or_not() {
        let lines = |n: usize| {
            let mut fields = Fields::new();
            fields.push("User-Agent", b"agent").unwrap();
            fields.push("x-count", n.to_string().as_bytes()).unwrap();
            fields.push("accept", format!("number/{n}").as_bytes()).unwrap();
            fields.push("Accept", b"text/plain").unwrap();
            (0..LOOKED_FOR_MAX).for_each(|_| fields.push("accept", b"many").unwrap());
            fields.push("host", b"a.test").unwrap();
            fields
        };
        for n in 0..4 {
            let fields = lines(n);
            let (_, map) = into_uri_and_map("/", &fields).unwrap();
            let names: Vec<_> = map.keys().map(HeaderName::as_str).collect();
            assert_eq!(names, ["user-agent", "x-count", "accept", "host"]);
            assert_eq!(map, into_map(&fields));
            let accepted: Vec<_> = map.get_all("accept").iter().take(3).collect();
            assert_eq!(accepted, [&*format!("number/{n}"), "text/plain", "many"]);
        }
    }
}
