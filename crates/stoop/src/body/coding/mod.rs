//! Content codings (RFC 9110 §8.4.1): content of responses is decoded as it is read, content of requests
//! encoded as it is sent. The codings themselves are libraries; what is here bounds and drives them.

mod buffer;
mod decoded;
mod decoder;
mod encoded;

use std::fmt;

use stoop_proto::Fields;

pub(crate) use decoded::{DecodeLimits, decode};

/// A content coding (RFC 9110 §8.4.1).
///
/// ```
/// use stoop::body::ContentCoding;
///
/// assert_eq!(ContentCoding::Brotli.to_string(), "br");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ContentCoding {
    /// `gzip`: RFC 1952.
    Gzip,
    /// `deflate`: the zlib format, RFC 1950. Content that is deflate (RFC 1951) without it, as some servers
    /// send, is decoded too.
    Deflate,
    /// `br`: RFC 7932.
    Brotli,
    /// `zstd`: RFC 8878, with windows of up to 8 MiB (RFC 9659).
    Zstd,
}

/// The value of Accept-Encoding by which all of them are asked for.
pub(crate) const ACCEPT_ENCODING: &[u8] = b"gzip, deflate, br, zstd";

/// Codings of one message that are decoded. Each has a window of its own in memory, and no server that means well
/// applies more than two.
const LISTED_MAX: usize = 3;

impl ContentCoding {
    /// The name in Content-Encoding.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
            Self::Brotli => "br",
            Self::Zstd => "zstd",
        }
    }

    /// The codings that Content-Encoding lists, in the order in which they were applied. `None` if there are none,
    /// more than three, or one that is not known: then the content cannot be decoded here.
    ///
    /// ```
    /// use stoop::body::ContentCoding;
    ///
    /// let mut fields = stoop::Fields::new();
    /// fields.push("content-encoding", b"gzip")?;
    /// assert_eq!(ContentCoding::listed(&fields), Some(vec![ContentCoding::Gzip]));
    /// # Ok::<(), stoop::Misuse>(())
    /// ```
    pub fn listed(fields: &Fields) -> Option<Vec<Self>> {
        listed(fields)
    }

    fn from_name(name: &[u8]) -> Option<Self> {
        let all = [
            (&b"gzip"[..], Self::Gzip),
            // RFC 9110 §8.4.1.3: taken for gzip.
            (b"x-gzip", Self::Gzip),
            (b"deflate", Self::Deflate),
            (b"br", Self::Brotli),
            (b"zstd", Self::Zstd),
        ];
        all.into_iter()
            .find_map(|(known, coding)| known.eq_ignore_ascii_case(name).then_some(coding))
    }
}

impl fmt::Display for ContentCoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The codings that Content-Encoding lists, in the order in which they were applied. None if there are none,
/// more than are decoded, or one that is not known: then the content is left as it is.
pub(crate) fn listed(fields: &Fields) -> Option<Vec<ContentCoding>> {
    fields.first("content-encoding")?;
    let mut codings = Vec::new();
    for name in fields.all("content-encoding").flat_map(|value| value.split(|byte| *byte == b',')) {
        let name = name.trim_ascii();
        if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            continue;
        }
        if codings.len() == LISTED_MAX {
            return None;
        }
        codings.push(ContentCoding::from_name(name)?);
    }
    (!codings.is_empty()).then_some(codings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_encoding_is_a_list_of_known_codings_or_is_left_alone() {
        use ContentCoding::*;
        for (lines, codings) in [
            (&["gzip"][..], Some(vec![Gzip])),
            (&["X-GZip"], Some(vec![Gzip])),
            (&["deflate, br"], Some(vec![Deflate, Brotli])),
            (&["deflate", " ,zstd,"], Some(vec![Deflate, Zstd])),
            (&["identity, gzip"], Some(vec![Gzip])),
            (&["identity"], None),
            (&[""], None),
            (&["gzip, compress"], None),
            (&["gzip,gzip,gzip,gzip"], None),
            (&[], None),
        ] {
            let mut fields = Fields::new();
            lines.iter().for_each(|line| {
                fields.push("Content-Encoding", line.as_bytes()).unwrap();
            });
            assert_eq!(listed(&fields), codings, "{lines:?}");
        }
    }
}
