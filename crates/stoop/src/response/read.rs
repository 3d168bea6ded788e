//! Reading a received response: all of its content at once, within a bound, or as a stream.

use std::time::{Duration, Instant};

use bytes::Bytes;
use stoop_io::{PeerAddress, now};

use super::Response;
use crate::body::Body;
#[cfg(feature = "charset")]
use crate::charset::Charset;
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
        #[cfg(feature = "charset")]
        let decode = {
            let named = self.field("content-type").and_then(Charset::from_content_type);
            move |bytes| named.unwrap_or(Charset::UTF_8).decode_bytes(bytes)
        };
        Ok(decode(self.bytes().await?))
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
        if self.is_streamed() {
            self.body_mut().follows(attempts, called);
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

/// The text of content in UTF-8.
#[cfg(not(feature = "charset"))]
fn decode(bytes: Bytes) -> String {
    let bytes =
        bytes.strip_prefix(b"\xef\xbb\xbf").map(|rest| bytes.slice_ref(rest)).unwrap_or(bytes);
    String::from_utf8(bytes.into())
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(all(test, not(feature = "charset")))]
mod tests {
    use super::*;

    #[test]
    fn text_is_decoded_as_utf_8() {
        let text = |bytes: &'static [u8]| decode(Bytes::from_static(bytes));
        assert_eq!(text("ä€".as_bytes()), "ä€");
        assert_eq!(text(b"\xef\xbb\xbfa"), "a");
        assert_eq!(text(b"a\xff"), "a\u{fffd}");
    }
}
