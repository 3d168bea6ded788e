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
    pub(super) fn generate() -> Option<Self> {
        let mut bytes = [0; ID_BYTES];
        getrandom::fill(&mut bytes).ok()?;
        Some(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// The id that a client sent, if it can be one of ours.
    pub(super) fn parse(text: &str) -> Option<Self> {
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
