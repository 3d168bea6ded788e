//! Converts [`Fields`] to the map of the `http` crate and back.

use bytes::Bytes;
use http::uri::InvalidUri;
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use stoop_proto::Fields;

/// Bytes of a target and of values that share an allocation with what counts their users.
const SHORT_BYTES: usize = 240;

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
    let mut map = HeaderMap::with_capacity(fields.len());
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
