//! An input that may be compressed.

mod members;

use std::fmt::{self, Formatter};
use std::io::{self, BufReader, Chain, Cursor, Read};

use self::members::Members;

/// The first bytes of gzip (RFC 1952 §2.3.1), and of a frame of zstd (RFC 8878 §3.1.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// The first bytes of a frame of zstd that is skipped, such as one of a table for seeking, behind a first one of 0x50 to 0x5f
/// (RFC 8878 §3.1.2).
const ZSTD_SKIPPED: &[u8] = &[0x2a, 0x4d, 0x18];

/// Reads what gzip or zstd compressed, by its first bytes, and all else as it is. Several members or frames, one after
/// the other, are one input; frames of zstd that are to be skipped are, and so are zeros behind a member of gzip, with which
/// tapes and block devices are filled up. It takes memory for a window and not for what is in it, however much that is.
///
/// What breaks off is an error of the kind [`UnexpectedEof`](io::ErrorKind::UnexpectedEof). Bytes behind a member of gzip
/// that are neither gzip nor zeros are one of the kind [`InvalidData`](io::ErrorKind::InvalidData). What was before them has
/// been read then.
///
/// ```
/// use std::io::Read;
/// use stoop_fetch::source::Decompressed;
///
/// let mut list = String::new();
/// Decompressed::new(&b"http://a/\n"[..]).read_to_string(&mut list)?;
/// assert_eq!(list, "http://a/\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decompressed<R: Read>(State<R>);

/// A reader whose first bytes were looked at.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

enum State<R: Read> {
    Unread(R),
    Plain(Seen<R>),
    Gzip(Box<Members<BufReader<Seen<R>>>>),
    Zstd(Box<zstd::Decoder<'static, BufReader<Seen<R>>>>),
    /// The first read failed.
    Failed,
}

impl<R: Read> Decompressed<R> {
    /// Reads `input`, and not before it is read itself.
    pub fn new(input: R) -> Self {
        Self(State::Unread(input))
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let State::Unread(_) = &self.0
            && let State::Unread(input) = std::mem::replace(&mut self.0, State::Failed)
        {
            self.0 = State::of(input)?;
        }
        match &mut self.0 {
            State::Plain(input) => input.read(into),
            State::Gzip(input) => input.read(into),
            State::Zstd(input) => input.read(into),
            State::Unread(_) | State::Failed => Ok(0),
        }
    }
}

impl<R: Read> State<R> {
    /// Looks at the first bytes of `input`, as few as tell what it is: more may be long in coming.
    fn of(mut input: R) -> io::Result<Self> {
        let mut begin = Vec::with_capacity(ZSTD.len());
        while begin.is_empty()
            || is_part(&begin, GZIP)
            || is_part(&begin, ZSTD)
            || is_skipped(&begin) && begin.len() < ZSTD.len()
        {
            let mut byte = [0];
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => begin.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let is_gzip = begin == GZIP;
        let is_zstd = begin == ZSTD || is_skipped(&begin) && begin.len() == ZSTD.len();
        let seen = Cursor::new(begin).chain(input);
        Ok(match (is_gzip, is_zstd) {
            (true, _) => Self::Gzip(Box::new(Members::new(BufReader::new(seen)))),
            (_, true) => Self::Zstd(Box::new(zstd::Decoder::with_buffer(BufReader::new(seen))?)),
            _ => Self::Plain(seen),
        })
    }
}

/// Whether an input that begins with these four bytes or more is compressed, as [`Decompressed`] knows it.
pub fn is_compressed(begin: &[u8]) -> bool {
    let is_skipped = begin.len() >= ZSTD.len() && is_skipped(&begin[..ZSTD.len()]);
    begin.starts_with(GZIP) || begin.starts_with(ZSTD) || is_skipped
}

/// Whether up to four bytes are the beginning of a frame of zstd that is skipped.
fn is_skipped(begin: &[u8]) -> bool {
    let Some((first, rest)) = begin.split_first() else { return false };
    (0x50..=0x5f).contains(first) && ZSTD_SKIPPED.starts_with(rest)
}

/// Whether `begin` is a part of `whole` and not all of it.
fn is_part(begin: &[u8], whole: &[u8]) -> bool {
    begin.len() < whole.len() && whole.starts_with(begin)
}

impl<R: Read> fmt::Debug for Decompressed<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            State::Unread(_) => "Decompressed::Unread",
            State::Plain(_) => "Decompressed::Plain",
            State::Gzip(_) => "Decompressed::Gzip",
            State::Zstd(_) => "Decompressed::Zstd",
            State::Failed => "Decompressed::Failed",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).and_then(|()| encoder.finish()).expect("memory")
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::encode_all(text, 1).expect("memory")
    }

    fn read(input: &[u8]) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        Decompressed::new(input).read_to_end(&mut all).map(|_| all)
    }

    #[test]
    fn what_is_not_compressed_is_read_as_it_is() {
        for text in [
            &b""[..],
            b"h",
            b"http://a/",
            b"\x1f",
            b"\x1f\x8a",
            b"(",
            b"(\xb5/",
            b"(\xb5/x",
            b"P",
            b"P*M",
            b"URL\n",
        ] {
            assert_eq!(read(text).expect("readable"), text);
        }
    }

    #[test]
    fn gzip_and_zstd_are_known_by_their_first_bytes_and_go_on_with_the_next_member() {
        let text = b"http://a/\n".repeat(100_000);
        for compress in [gzip, zstd] {
            assert!(read(&compress(&text)).expect("readable") == text);
            let two = [compress(b"http://a/\n"), compress(b"http://b/\n")].concat();
            assert_eq!(read(&two).expect("readable"), b"http://a/\nhttp://b/\n");
            assert_eq!(read(&compress(b"")).expect("readable"), b"");
        }
    }

    #[test]
    fn what_breaks_off_is_an_error_after_what_was_there() {
        for compress in [gzip, zstd] {
            let whole = compress(&b"http://a/\n".repeat(100_000));
            let mut reader = Decompressed::new(&whole[..whole.len() - 5]);
            let mut all = Vec::new();
            assert!(reader.read_to_end(&mut all).is_err());
            assert!(all.starts_with(b"http://a/\n"));
        }
    }

    #[test]
    fn what_is_no_gzip_is_damaged_also_behind_a_whole_member() {
        let behind = |bytes: &[u8]| [gzip(b"http://a/\n"), bytes.to_vec()].concat();
        for bytes in [
            b"\x1f\x8b not gzip".to_vec(),
            behind(b"not gzip either"),
            behind(b"\0\0\0not gzip either"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{error}");
        }
    }

    #[test]
    fn what_follows_gzip_and_is_none_was_told_as_a_head_or_an_end_without_a_place() {
        for behind in
            [&b"x"[..], b"\0\0x", b"\x1f", b"\x1f\x8c", b"not gzip either, and longer than a head"]
        {
            let bytes = [&gzip(b"http://a/\n"), behind].concat();
            let mut reader = Decompressed::new(&bytes[..]);
            let mut all = Vec::new();
            let error = reader.read_to_end(&mut all).unwrap_err();
            let text = error.to_string();
            assert_eq!((&all[..], error.kind()), (&b"http://a/\n"[..], io::ErrorKind::InvalidData));
            assert!(text.starts_with("bytes follow the end of what gzip compressed"), "{text}");
        }
        let whole = gzip(b"http://a/\n");
        for cut in [12, whole.len() - 1] {
            let error = read(&whole[..cut]).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
            assert!(error.to_string().starts_with("it breaks off"), "{error}");
        }
        let mut damaged = whole.clone();
        let at = damaged.len() - 6;
        damaged[at] ^= 1;
        let error = read(&damaged).unwrap_err();
        assert!(error.to_string().starts_with("it is damaged gzip"), "{error}");
    }

    #[test]
    fn zeros_behind_a_member_of_gzip_are_no_part_of_it() {
        for zeros in [1, 20, 100_000] {
            let padded = [gzip(b"http://a/\n"), vec![0; zeros]].concat();
            assert_eq!(read(&padded).expect("readable"), b"http://a/\n");
            let two = [padded.clone(), padded].concat();
            assert_eq!(read(&two).expect("readable"), b"http://a/\nhttp://a/\n");
        }
    }

    #[test]
    fn frames_of_zstd_that_are_to_be_skipped_are() {
        let skipped = |first: u8| [&[first, 0x2a, 0x4d, 0x18, 5, 0, 0, 0][..], b"other"].concat();
        let page = zstd(b"http://a/\n");
        for first in [0x50, 0x5e, 0x5f] {
            let input = [skipped(first), page.clone(), skipped(first), page.clone()].concat();
            assert_eq!(read(&input).expect("readable"), b"http://a/\nhttp://a/\n");
            assert!(is_compressed(&input[..4]));
        }
        assert_eq!(read(&skipped(0x50)).expect("readable"), b"");
        assert!(!is_compressed(b"P*M") && !is_compressed(b"P*Mx") && !is_compressed(b"`*M\x18"));
    }

    #[test]
    fn no_more_is_waited_for_than_tells_what_it_is() {
        /// Gives one byte, and must not be read again.
        struct OneByte(bool);
        impl Read for OneByte {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                assert!(!std::mem::replace(&mut self.0, true), "a terminal would be waited for");
                into[0] = b'h';
                Ok(1)
            }
        }
        let mut reader = Decompressed::new(OneByte(false));
        assert_eq!(reader.read(&mut [0; 64]).expect("readable"), 1);
    }
}
