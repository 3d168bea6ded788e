//! Objects and strings of JSON; what needs no escapes is copied.

use serde::Serialize;
use serde_json::value::RawValue;

/// An object that is being appended, whose keys are plain.
pub(super) struct JsonObject<'a> {
    into: &'a mut Vec<u8>,
    is_empty: bool,
}

impl<'a> JsonObject<'a> {
    /// Begins an object.
    pub(super) fn begin(into: &'a mut Vec<u8>) -> Self {
        into.push(b'{');
        Self { into, is_empty: true }
    }

    /// Ends the object.
    pub(super) fn end(self) {
        self.into.push(b'}');
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.is_empty) {
            self.into.push(b',');
        }
        self.into.push(b'"');
        self.into.extend_from_slice(key.as_bytes());
        self.into.extend_from_slice(b"\":");
        self.into
    }

    pub(super) fn text(&mut self, key: &str, value: &str) {
        push_text(value, self.key(key));
    }

    pub(super) fn number(&mut self, key: &str, value: impl itoa::Integer) {
        self.key(key).extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    pub(super) fn bool(&mut self, key: &str, value: bool) {
        self.key(key).extend_from_slice(if value { b"true" } else { b"false" });
    }

    /// What is JSON already.
    pub(super) fn raw(&mut self, key: &str, value: &RawValue) {
        self.key(key).extend_from_slice(value.get().as_bytes());
    }

    /// A field that there may be.
    pub(super) fn maybe_text(&mut self, key: &str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.text(key, value.as_ref());
        }
    }

    /// A field that there may be.
    pub(super) fn maybe_number(&mut self, key: &str, value: Option<impl itoa::Integer>) {
        if let Some(value) = value {
            self.number(key, value);
        }
    }

    /// A field of any kind that there may be.
    pub(super) fn maybe<T: Serialize>(&mut self, key: &str, value: Option<T>) {
        if let Some(value) = value {
            serde_json::to_writer(self.key(key), &value).expect("plain data, into memory");
        }
    }

    /// All fields of another object, behind others.
    pub(super) fn fields_of(&mut self, value: &impl Serialize) {
        debug_assert!(!self.is_empty, "the braces become commas");
        let at = self.into.len();
        serde_json::to_writer(&mut *self.into, value).expect("plain data, into memory");
        self.into.pop();
        if self.into.len() == at + 1 {
            self.into.pop();
        } else {
            self.into[at] = b',';
        }
    }
}

/// Appends `text` as a string, in quotes.
pub(super) fn push_text(text: &str, into: &mut Vec<u8>) {
    // All bytes, without an early end, so that many are compared at once.
    let is_special = |byte: &u8| *byte < b' ' || matches!(byte, b'"' | b'\\');
    if text.as_bytes().iter().fold(false, |has, byte| has | is_special(byte)) {
        serde_json::to_writer(into, text).expect("a string, into memory");
        return;
    }
    into.push(b'"');
    into.extend_from_slice(text.as_bytes());
    into.push(b'"');
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_string_is_the_same_as_by_serde() {
        for text in ["", "plain ü", "a\"b", "a\\b", "a\nb", "\u{1f}", "\u{7f}\u{80}"] {
            let mut pushed = Vec::new();
            push_text(text, &mut pushed);
            assert_eq!(pushed, serde_json::to_vec(text).expect("a string"), "{text:?}");
        }
    }

    #[test]
    fn fields_of_another_object_stand_among_the_others() {
        let (none, two) = (BTreeMap::<&str, u8>::new(), BTreeMap::from([("b", 2), ("c", 3)]));
        let mut written = b"before".to_vec();
        let mut object = JsonObject::begin(&mut written);
        object.number("a", 1);
        [&none, &two, &none].into_iter().for_each(|fields| object.fields_of(fields));
        object.bool("d", true);
        object.end();
        assert_eq!(written, br#"before{"a":1,"b":2,"c":3,"d":true}"#);
    }
}
