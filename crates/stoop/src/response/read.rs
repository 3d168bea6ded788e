//! Reading a received response: all of its content at once, within a bound, or as a stream.

use std::time::{Duration, Instant};

use bytes::Bytes;
use stoop_io::{PeerAddress, now};

use super::Response;
use crate::body::Body;
use crate::error::{Error, ErrorKind, Hop, Phase, RequestFacts};

impl Response {
    /// Sets how many bytes of content [`bytes`](Self::bytes), [`text`](Self::text) and `json` may collect, and
    /// [`save`](Self::save) may write. The former collect up to
    /// [`collect_bytes_max`](crate::ClientLimits::collect_bytes_max) without this; the latter has no bound.
    pub fn limit(mut self, bytes: u64) -> Self {
        (self.collect_max, self.save_max) = (bytes, bytes);
        self
    }

    /// All content.
    ///
    /// # Errors
    /// [`BodyTooLarge`](ErrorKind::BodyTooLarge) beyond the [limit](Self::limit), and those of
    /// [`Body::chunk`].
    pub async fn bytes(self) -> Result<Bytes, Error> {
        let asked = self.asked();
        let max = usize::try_from(self.collect_max).unwrap_or(usize::MAX);
        let read = self.into_body().bytes(max).await;
        read.map_err(|error| asked.explain(error))
    }

    /// All content as text, in the encoding that Content-Type names, or else that a byte order mark does,
    /// or else UTF-8. Bytes that are invalid in it become U+FFFD. Without the feature `charset`, all text
    /// is taken for UTF-8.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes).
    pub async fn text(self) -> Result<String, Error> {
        let label = self.field("content-type").and_then(charset);
        Ok(decode(self.bytes().await?, label.as_deref()))
    }

    /// All content, parsed as JSON (RFC 8259), whatever its Content-Type.
    ///
    /// # Errors
    /// [`Decode`](ErrorKind::Decode) if it is not the JSON of a `T`, and as [`bytes`](Self::bytes).
    #[cfg(feature = "json")]
    pub async fn json<T: serde::de::DeserializeOwned>(self) -> Result<T, Error> {
        let asked = self.asked();
        parse_json(&self.bytes().await?).map_err(|error| asked.explain(error))
    }

    /// The same, where no content stands for `null`.
    #[cfg(feature = "json")]
    pub(crate) async fn json_or_null<T: serde::de::DeserializeOwned>(self) -> Result<T, Error> {
        let asked = self.asked();
        let bytes = self.bytes().await?;
        let parsed = parse_json(if bytes.is_empty() { b"null" } else { &bytes });
        parsed.map_err(|error| asked.explain(error))
    }

    /// The content as a stream, which is not bounded: an [`http_body::Body`], with the feature `stream` a
    /// `futures_core::Stream` too, and [`Body::chunk`] without either trait.
    pub fn stream(self) -> Body {
        self.into_body()
    }

    /// The next piece of content; `None` at its end.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        let piece = self.body_mut().chunk().await;
        piece.map_err(|error| self.asked().explain(error))
    }

    /// The response itself, or an error if its status is one of an error (4xx, 5xx).
    ///
    /// # Errors
    /// [`HttpStatus`](ErrorKind::HttpStatus), with the status as [`Error::status`].
    pub fn error_for_status(self) -> Result<Self, Error> {
        match self.status_error() {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The same, without taking the response, whose content may say more.
    ///
    /// # Errors
    /// As [`error_for_status`](Self::error_for_status).
    pub fn error_for_status_ref(&self) -> Result<&Self, Error> {
        self.status_error().map_or(Ok(self), Err)
    }

    fn status_error(&self) -> Option<Error> {
        let status = self.status();
        let is_error = status.is_client_error() || status.is_server_error();
        is_error.then(|| self.unexpected_status())
    }

    /// The error that its status is.
    pub(crate) fn unexpected_status(&self) -> Error {
        let status = self.status();
        let error = Error::new(ErrorKind::HttpStatus, Phase::Wait).with_detail(status);
        let mut asked = self.asked();
        asked.hop = asked.hop.map(|hop| hop.with_status(status));
        asked.explain(error)
    }

    /// It answers a request that was called for then, and sent in so many attempts before.
    pub(crate) fn after(mut self, attempts: u32, called: Instant) -> Self {
        if let Some(sent) = &mut self.sent {
            (sent.attempts, sent.called) = (sent.attempts + attempts, Some(called));
        }
        self
    }

    /// What its errors tell of the request that it answers.
    pub(crate) fn asked(&self) -> Asked {
        let Some(sent) = &self.sent else { return Asked::default() };
        Asked {
            hop: sent.url.as_ref().map(|url| Hop::new(url, self.redirects)),
            peer: sent.peer,
            facts: sent.called.map(|called| {
                (called, RequestFacts::new(sent.head.method(), sent.attempts, Duration::ZERO))
            }),
        }
    }
}

/// What is known of the request that a response answers, for its errors.
#[derive(Clone, Default)]
pub(crate) struct Asked {
    hop: Option<Hop>,
    peer: Option<PeerAddress>,
    /// When the request was called for, and the rest that is known of it.
    facts: Option<(Instant, RequestFacts)>,
}

impl Asked {
    /// Adds it to an error, which may know some of it.
    pub(crate) fn explain(self, mut error: Error) -> Error {
        if let Some(peer) = self.peer {
            error = error.with_peer(peer);
        }
        if let Some((called, facts)) = self.facts {
            let elapsed = now().saturating_duration_since(called);
            error = error.with_facts(RequestFacts { elapsed, ..facts });
        }
        error.with_hop(self.hop)
    }
}

#[cfg(feature = "json")]
fn parse_json<T: serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::new(ErrorKind::Decode, Phase::Receive).with_detail("JSON").with_source(error)
    })
}

/// The parameter `charset` of a Content-Type (RFC 9110 §8.3.2).
fn charset(content_type: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(content_type).ok()?;
    let mut is_quoted = false;
    let parameters = text.split(|c| {
        is_quoted ^= c == '"';
        c == ';' && !is_quoted
    });
    parameters.skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches('"');
        name.trim().eq_ignore_ascii_case("charset").then(|| value.to_owned())
    })
}

#[cfg(feature = "charset")]
fn decode(bytes: Bytes, label: Option<&str>) -> String {
    use encoding_rs::{Encoding, UTF_8};
    use std::borrow::Cow;

    let named = label.and_then(|label| Encoding::for_label(label.as_bytes()));
    let (text, encoding, _) = named.unwrap_or(UTF_8).decode(&bytes);
    match text {
        // It is what was received, without a byte order mark perhaps.
        Cow::Borrowed(text) if encoding == UTF_8 && text.len() == bytes.len() => {
            String::from_utf8(bytes.into()).unwrap_or_default()
        }
        text => text.into_owned(),
    }
}

#[cfg(not(feature = "charset"))]
fn decode(bytes: Bytes, _: Option<&str>) -> String {
    let bytes =
        bytes.strip_prefix(b"\xef\xbb\xbf").map(|rest| bytes.slice_ref(rest)).unwrap_or(bytes);
    String::from_utf8(bytes.into())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charset_of_a_content_type_is_its_parameter() {
        for (content_type, found) in [
            ("text/html", None),
            ("text/html; charset=utf-8", Some("utf-8")),
            ("text/html;Charset=\"ISO-8859-1\"", Some("ISO-8859-1")),
            ("text/x; a=\"; charset=no\" ; CHARSET = koi8-r ", Some("koi8-r")),
            ("charset=utf-8", None),
        ] {
            assert_eq!(charset(content_type.as_bytes()).as_deref(), found, "{content_type}");
        }
    }

    #[test]
    fn text_is_decoded_by_its_label_by_its_mark_or_as_utf_8() {
        let text = |bytes: &'static [u8], label| decode(Bytes::from_static(bytes), label);
        assert_eq!(text("ä€".as_bytes(), None), "ä€");
        assert_eq!(text(b"\xef\xbb\xbfa", None), "a");
        assert_eq!(text(b"a\xff", None), "a\u{fffd}");
        if cfg!(feature = "charset") {
            assert_eq!(text(b"\xe4\x80", Some("latin1")), "ä€");
            assert_eq!(text(b"\xfe\xff\0a", Some("utf-8")), "a");
            assert_eq!(text(b"\xe4", Some("no such")), "\u{fffd}");
        }
    }
}
