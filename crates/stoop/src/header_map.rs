//! Converts [`Fields`] to the map of the `http` crate and back.

use std::cell::RefCell;

use bytes::Bytes;
use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use stoop_proto::Fields;

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

/// Converts fields to a map. Its values share one allocation.
pub(crate) fn into_map(fields: &Fields) -> HeaderMap {
    map_of(fields, &mut shared("", fields))
}

/// Converts the target of a request and its fields. The URI and the values share one allocation.
pub(crate) fn into_uri_and_map(
    target: &str,
    fields: &Fields,
) -> Result<(Uri, HeaderMap), InvalidUri> {
    let mut shared = shared(target, fields);
    let uri = Uri::from_maybe_shared(shared.split_to(target.len()))?;
    Ok((uri, map_of(fields, &mut shared)))
}

/// A copy of `target`, and of the values of all fields behind it.
fn shared(target: &str, fields: &Fields) -> Bytes {
    let len = target.len() + fields.iter().map(|field| field.value().len()).sum::<usize>();
    let parts = [target.as_bytes()].into_iter().chain(fields.iter().map(|field| field.value()));
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

/// Makes the map whose values are in `values`, one behind the other.
fn map_of(fields: &Fields, values: &mut Bytes) -> HeaderMap {
    let mut map = empty_map(fields.len());
    for field in fields.iter() {
        let value = values.split_to(field.value().len());
        let name = HeaderName::from_bytes(field.name_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_maybe_shared(value)) {
            value.set_sensitive(field.is_secret());
            map.append(name, value);
        }
    }
    map
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
            let (uri, map) = into_uri_and_map(&target, &fields).unwrap();
            assert_eq!((uri.to_string(), map.len()), (target, 5));
            assert_eq!(map.get_all("accept").iter().collect::<Vec<_>>(), [&*value, &value]);
            assert!(map["x-y"] == value && map["last"] == "6 bytes");
            assert!(map["authorization"].is_sensitive() && !map["last"].is_sensitive());
            assert_eq!(map, into_map(&fields));
        }
    }
}
