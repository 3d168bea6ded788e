//! Converts [`Fields`] to the map of the `http` crate and back.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use stoop_proto::Fields;

/// Converts fields to a map. Its values share one allocation.
pub(crate) fn into_map(fields: &Fields) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(fields.len());
    let mut values = Vec::with_capacity(fields.iter().map(|field| field.value().len()).sum());
    fields.iter().for_each(|field| values.extend_from_slice(field.value()));
    let mut values = Bytes::from(values);
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
        // What `http` accepts, `Fields` does: the rules are the same.
        let _ = fields.push(name.as_str(), value.as_bytes());
    }
}
