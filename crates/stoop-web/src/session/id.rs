//! [`SessionId`]: what a visitor's cookie has, and the store finds a session by.

use std::fmt;

/// Bytes of an id. 128 bits cannot be guessed (OWASP asks for 64 of entropy); 160 make the text a round number.
const ID_BYTES: usize = 20;

/// By what a session is found again: 160 random bits, in 40 hexadecimal digits. Who has it has the session: it is not
/// shown in logs, and its `Debug` does not show it either.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// A new one; `None` if the system gives no random numbers.
    ///
    /// [`Sessions`](crate::Sessions) makes those of sessions. It is here for tests of stores, and for what else needs a text
    /// that cannot be guessed, such as a link that is sent by mail.
    pub fn generate() -> Option<Self> {
        let mut bytes = [0; ID_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The id of that text; `None` for what cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 2 * ID_BYTES && text.bytes().all(is_digit)).then(|| Self(text.to_owned()))
    }

    /// The id as a store may key it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_forty_hexadecimal_digits_and_no_two_are_the_same() {
        let [one, other] = [(); 2].map(|()| SessionId::generate().unwrap());
        assert_ne!(one, other);
        assert_eq!(SessionId::parse(one.as_str()), Some(one));
        for text in ["", "a", &"a".repeat(39), &"a".repeat(41), &"A".repeat(40), &"g".repeat(40)] {
            assert_eq!(SessionId::parse(text), None, "{text}");
        }
        assert_eq!(format!("{other:?}"), "SessionId");
    }
}
