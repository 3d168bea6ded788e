//! Text that comes in pieces, which is UTF-8 up to where it is (RFC 6455 §8.1).

use crate::machine::fault::Fault;

/// Bytes of the longest character.
const CHARACTER_BYTES_MAX: usize = 4;

/// A text that is put together from pieces, cut anywhere.
///
/// Each piece is checked when it comes, so that a text that cannot become UTF-8 fails at the first byte that shows it.
#[derive(Debug, Default)]
pub(crate) struct TextPieces {
    text: String,
    /// The beginning of a character whose end has not come.
    begun: [u8; CHARACTER_BYTES_MAX],
    begun_len: usize,
}

impl TextPieces {
    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.text.len() + self.begun_len
    }

    /// Makes room for `more` bytes.
    pub(crate) fn reserve(&mut self, more: usize) {
        self.text.reserve(more);
    }

    /// Appends a piece.
    pub(crate) fn push(&mut self, mut piece: &[u8]) -> Result<(), Fault> {
        while self.begun_len > 0 {
            let Some((&next, rest)) = piece.split_first() else { return Ok(()) };
            piece = rest;
            self.begun[self.begun_len] = next;
            self.begun_len += 1;
            match str::from_utf8(&self.begun[..self.begun_len]) {
                Ok(character) => {
                    self.text.push_str(character);
                    self.begun_len = 0;
                }
                Err(error) if error.error_len().is_some() => return Err(Fault::Text),
                Err(_) => {}
            }
        }
        match str::from_utf8(piece) {
            Ok(text) => self.text.push_str(text),
            Err(error) if error.error_len().is_some() => return Err(Fault::Text),
            Err(error) => {
                let (whole, begun) = piece.split_at(error.valid_up_to());
                self.text.push_str(str::from_utf8(whole).map_err(|_| Fault::Text)?);
                self.begun[..begun.len()].copy_from_slice(begun);
                self.begun_len = begun.len();
            }
        }
        Ok(())
    }

    /// The whole text.
    pub(crate) fn finish(self) -> Result<String, Fault> {
        if self.begun_len > 0 { Err(Fault::Text) } else { Ok(self.text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes are taken, one by one, before it fails; or the text.
    fn byte_by_byte(bytes: &[u8]) -> Result<String, usize> {
        let mut pieces = TextPieces::default();
        for (at, byte) in bytes.iter().enumerate() {
            pieces.push(&[*byte]).map_err(|_| at)?;
            assert_eq!(pieces.len(), at + 1);
        }
        pieces.finish().map_err(|_| bytes.len())
    }

    /// RFC 3629 §3, §4: the first byte that no continuation makes right is where it fails.
    #[test]
    fn a_text_fails_at_the_byte_that_makes_it_invalid() {
        let cases: &[(&[u8], usize)] = &[
            (b"\x80", 0),
            (b"ab\xc0\xaf", 2),
            (b"\xe0\x80\xaf", 1),
            (b"\xed\xa0\x80", 1),
            (b"\xf0\x80\x80\xaf", 1),
            (b"\xf4\x90\x80\x80", 1),
            (b"\xf5\x80\x80\x80", 0),
            (b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xf4\x90\x80\x80", 12),
            (b"\xe2\x82", 2),
            (b"\xe2\x82x", 2),
            (b"\xf0\x9f\x98", 3),
        ];
        for (bytes, at) in cases {
            assert_eq!(byte_by_byte(bytes), Err(*at), "{bytes:x?}");
            let whole = TextPieces::default();
            let mut pieces = whole;
            assert!(pieces.push(bytes).and_then(|()| pieces.finish()).is_err(), "{bytes:x?}");
        }
    }

    #[test]
    fn a_text_is_the_same_wherever_it_is_cut() {
        let text = "κόσμε 😀\u{10FFFF}\u{FFFE} end";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let mut pieces = TextPieces::default();
                for piece in [0..first, first..second, second..text.len()] {
                    pieces.push(&text.as_bytes()[piece]).unwrap();
                }
                assert_eq!(pieces.finish().unwrap(), text);
            }
        }
        assert_eq!(byte_by_byte(text.as_bytes()).unwrap(), text);
    }
}
