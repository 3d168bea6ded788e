//! Converts [`Fields`] to the map of the `http` crate and back.

use http::{HeaderMap, HeaderName, HeaderValue};
use stoop_proto::Fields;

/// Converts fields to a map.
pub(crate) fn into_map(fields: &Fields) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(fields.len());
    for field in fields.iter() {
        let name = HeaderName::from_bytes(field.name().as_bytes());
        if let (Ok(name), Ok(mut value)) = (name, HeaderValue::from_bytes(field.value())) {
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
