//! Opening streams with requests: RFC 9113 §8.3.1, §8.5.

use http::Method;

use super::Connection;
use crate::Sink;
use crate::error::Misuse;
use crate::h2::encode;
use crate::h2::settings::Role;
use crate::h2::state::StreamInput;
use crate::h2::streams::{StreamEntry, StreamKey};
use crate::h2::window::SendWindow;
use crate::message::{BodySize, RequestHead};
use crate::semantics::{check_host, check_target};

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many streams are open as the server, or our own limit, allows.
    Full,
    /// The server has sent GOAWAY, or the connection is closed.
    GoingAway,
    /// All identifiers were used: RFC 9113 §5.1.1.
    Exhausted,
    /// The server does not accept extended CONNECT (RFC 8441 §3).
    ExtendedConnect,
    /// The head is larger than this many bytes, the server's SETTINGS_MAX_HEADER_LIST_SIZE: RFC 9113
    /// §6.5.2.
    TooLarge(u32),
    /// The request is invalid.
    Misuse(Misuse),
}

impl Connection {
    /// The number of streams that may be opened now.
    pub fn room(&self) -> usize {
        if !self.shutdown.may_open() || self.role == Role::Server {
            return 0;
        }
        self.streams_max().saturating_sub(self.streams.len()).min(self.ids.left())
    }

    fn streams_max(&self) -> usize {
        self.settings.peer().streams_max.min(self.limits.http2.streams_max) as usize
    }

    /// Opens a stream and sends the head of a request; with [`BodySize::Exact`] of 0 the request is then
    /// complete. Host becomes `:authority`; fields that belong to HTTP/1 connections are left out. The
    /// caller's Content-Length is used for content of [`BodySize::Unknown`].
    ///
    /// # Errors
    /// Why the stream cannot be opened; nothing was written then.
    pub fn open(
        &mut self,
        head: &RequestHead,
        scheme: &str,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<StreamKey, Refusal> {
        let mut hosts = head.fields.all("host");
        let first = hosts.next();
        let count = first.map_or(0, |_| 1 + hosts.count() as u32);
        check_host(first, count).map_err(Refusal::Misuse)?;
        // It becomes the authority, which must not be empty (RFC 9113 §8.3.1).
        if first.is_some_and(<[u8]>::is_empty) {
            return Err(Refusal::Misuse(Misuse::HostInvalid));
        }
        check_target(head).map_err(Refusal::Misuse)?;
        if self.role == Role::Server || !self.shutdown.may_open() {
            return Err(Refusal::GoingAway);
        }
        let id = self.ids.next_local().ok_or(Refusal::Exhausted)?;
        if self.streams.len() >= self.streams_max() {
            return Err(Refusal::Full);
        }
        if head.protocol.is_some() && !self.settings.peer().extended_connect {
            return Err(Refusal::ExtendedConnect);
        }
        let list_bytes_max = self.settings.peer().header_list_bytes_max;
        if encode::list_bytes(head) > list_bytes_max as usize {
            return Err(Refusal::TooLarge(list_bytes_max));
        }
        let has_content = size != BodySize::Exact(0);
        let end = !has_content && head.method != Method::CONNECT;
        let declares = head.fields.contains("content-length");
        let announced = size.announced_by_request(&head.method, &head.fields, declares);
        let length = match announced.map_err(Refusal::Misuse)? {
            Some(BodySize::Exact(length)) if head.method != Method::CONNECT => Some(length),
            _ => None,
        };
        self.ids.use_local();
        let send = SendWindow::new(self.settings.peer().initial_window_bytes);
        let mut stream = StreamEntry::new(id, send, self.flow.stream_window());
        stream.step(StreamInput::SendHead);
        stream.head_sent = true;
        stream.content_to_send = length;
        stream.is_head = head.method == Method::HEAD;
        stream.is_connect = head.method == Method::CONNECT;
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let key = self.streams.insert(stream);
        self.send_headers(id, end, out, |encoder, block| {
            encode::request(encoder, head, scheme, (length, has_content), block);
        });
        Ok(key)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::h2::Event;
    use crate::h2::frame::STREAM_MAX;
    use crate::limits::Limits;

    fn open(client: &mut Connection, out: &mut Vec<u8>) -> Result<StreamKey, Refusal> {
        let mut head = RequestHead::new(Method::GET, "/").unwrap();
        head.fields_mut().push("host", b"a").unwrap();
        client.open(&head, "https", BodySize::Exact(0), out)
    }

    /// RFC 9113 §5.1.1: "A client that is unable to establish a new stream identifier can establish a
    /// new connection for new streams." Open ones go on.
    #[test]
    fn open_streams_go_on_when_all_identifiers_are_used() {
        let (mut client, mut out) = (Connection::client(Limits::client()), Vec::new());
        client.ids.set_next_local(STREAM_MAX - 2);
        assert_eq!(client.room(), 2);
        open(&mut client, &mut out).unwrap();
        let last = open(&mut client, &mut out).unwrap();
        assert_eq!((client.stream_id(last), client.room()), (Some(STREAM_MAX), 0));
        let written = out.len();
        assert_eq!(open(&mut client, &mut out), Err(Refusal::Exhausted));
        assert_eq!(out.len(), written);

        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        let response = [0, 0, 1, 1, 5, 0x7f, 0xff, 0xff, 0xff, 0x88];
        for (wire, event) in [
            (&settings[..], Event::Settings),
            (&response, Event::Response { key: last, end: true }),
        ] {
            assert_eq!(client.receive(Instant::now(), wire, true).event, event);
        }
        assert_eq!((client.streams(), client.room(), client.fault()), (1, 0, None));
        assert_eq!(open(&mut client, &mut out), Err(Refusal::Exhausted));
    }
}
