//! Writing messages: RFC 9113 §8.1.

use bytes::Bytes;
use http::{Method, StatusCode};

use super::Connection;
use crate::Sink;
use crate::error::Misuse;
use crate::fields::Fields;
use crate::grammar;
use crate::h2::code::ErrorCode;
use crate::h2::encode;
use crate::h2::frame::{HEADER_BYTES, Header, STREAM_MAX, flag, kind};
use crate::h2::settings::Role;
use crate::h2::state::StreamInput;
use crate::h2::streams::{Stream, StreamKey};
use crate::h2::window::{ReceiveWindow, SendWindow};
use crate::message::{BodySize, RequestHead, ResponseParts, TargetForm};

/// Why a stream cannot be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// As many streams are open as the server allows, or we allow ourselves.
    Full,
    /// The server has said that it ends, or the connection is over.
    GoingAway,
    /// All identifiers were used: RFC 9113 §5.1.1.
    Exhausted,
    /// The server does not do what the request asks for: an extended CONNECT, or so large a head.
    Unsupported,
    /// The request is none.
    Misuse(Misuse),
}

impl Connection {
    /// How many streams may be opened now.
    pub fn room(&self) -> usize {
        if !self.may_open() || self.role == Role::Server {
            return 0;
        }
        let ids = (STREAM_MAX.saturating_sub(self.next_own) / 2) as usize + 1;
        let ids = if self.next_own > STREAM_MAX { 0 } else { ids };
        (self.theirs.streams_max as usize).saturating_sub(self.streams.len()).min(ids)
    }

    /// Sends the head of a request on a stream of its own; with [`BodySize::Exact`] of 0 that is all
    /// of it. Host becomes `:authority`; fields that belong to HTTP/1 connections are left out.
    ///
    /// # Errors
    /// The reason; nothing was written then.
    pub fn open(
        &mut self,
        head: &RequestHead,
        scheme: &str,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<StreamKey, Refusal> {
        self.check_request(head).map_err(Refusal::Misuse)?;
        if self.role == Role::Server || !self.may_open() {
            return Err(Refusal::GoingAway);
        }
        if self.next_own > STREAM_MAX {
            return Err(Refusal::Exhausted);
        }
        if self.streams.len() >= self.theirs.streams_max as usize {
            return Err(Refusal::Full);
        }
        let too_large = encode::list_bytes(head) > self.theirs.header_list_bytes_max as usize;
        if too_large || head.protocol.is_some() && !self.theirs.extended_connect {
            return Err(Refusal::Unsupported);
        }
        let end = size == BodySize::Exact(0) && head.method != Method::CONNECT;
        let length = match size {
            BodySize::Exact(0) if !anticipates_content(&head.method) => None,
            BodySize::Exact(length) if head.method != Method::CONNECT => Some(length),
            _ => None,
        };
        let id = self.next_own;
        self.next_own += 2;
        let send = SendWindow::new(self.theirs.initial_window_bytes);
        let mut stream = Stream::new(id, send, ReceiveWindow::new(self.initial_window));
        stream.step(StreamInput::SendHead);
        stream.head_sent = true;
        stream.going = length;
        stream.is_head = head.method == Method::HEAD;
        stream.is_connect = head.method == Method::CONNECT;
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let key = self.streams.insert(stream);
        self.begin_block();
        encode::request(&mut self.encoder, head, scheme, length, &mut self.block);
        self.put_block(id, end, out);
        Ok(key)
    }

    /// As [`crate::h1::Client::send`].
    fn check_request(&self, head: &RequestHead) -> Result<(), Misuse> {
        let mut hosts = head.fields.all("host");
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if !host.is_empty() && grammar::is_host(host) => {}
            (Some(_), None) => return Err(Misuse::HostInvalid),
            _ => return Err(Misuse::Host),
        }
        let is_connect = head.method == Method::CONNECT;
        let fits = match head.form {
            TargetForm::Authority => is_connect && head.protocol.is_none(),
            TargetForm::Asterisk => head.method == Method::OPTIONS,
            TargetForm::Origin | TargetForm::Absolute => is_connect == head.protocol.is_some(),
        };
        if head.target.is_empty() || !fits {
            return Err(Misuse::Target);
        }
        Ok(())
    }

    /// Begins the response on a stream. True if content is to follow: [`data`](Self::data) and
    /// [`finish`](Self::finish); if not, the response is complete, whatever was said of content, as
    /// it is to HEAD.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is due; [`Misuse::Status`] for 1xx; [`Misuse::Tunnel`] for a 2xx to
    /// CONNECT: that is [`open_tunnel`](Self::open_tunnel); [`Misuse::FieldValue`] if the parts have
    /// a control character in them. Nothing was written then.
    pub fn respond(
        &mut self,
        key: StreamKey,
        parts: &ResponseParts<'_>,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<bool, Misuse> {
        if parts.status.is_informational() {
            return Err(Misuse::Status);
        }
        check(parts)?;
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if stream.head_sent || !stream.state.may_send() || self.role == Role::Client {
            return Err(Misuse::Order);
        }
        if stream.is_connect && parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        let no_content = matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let end = size == BodySize::Exact(0) || stream.is_head || no_content;
        let length = match size {
            // What the caller's fields say of content that is not sent is kept: RFC 9110 §8.6.
            BodySize::Exact(0) if stream.is_head || no_content => None,
            BodySize::Exact(length) if parts.status != StatusCode::NO_CONTENT => Some(length),
            _ => None,
        };
        stream.head_sent = true;
        stream.going = length.filter(|_| !end);
        stream.step(StreamInput::SendHead);
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let (id, state) = (stream.id, stream.state);
        self.begin_block();
        encode::response(&mut self.encoder, parts, length, &mut self.block);
        self.put_block(id, end, out);
        if end {
            self.settle(key, state);
        }
        Ok(!end)
    }

    /// Accepts a CONNECT with a 2xx: from here on DATA is the tunnel's, in both directions.
    ///
    /// # Errors
    /// [`Misuse::Tunnel`] if the request was none or the status does not fit; else as
    /// [`respond`](Self::respond).
    pub fn open_tunnel(
        &mut self,
        key: StreamKey,
        parts: &ResponseParts<'_>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        check(parts)?;
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.is_connect || !parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        if stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        stream.head_sent = true;
        stream.coming = None;
        stream.step(StreamInput::SendHead);
        let id = stream.id;
        self.begin_block();
        encode::response(&mut self.encoder, parts, None, &mut self.block);
        self.put_block(id, false, out);
        Ok(())
    }

    /// Sends an interim response ahead of the final one.
    ///
    /// # Errors
    /// [`Misuse::Status`] if the status is not 1xx or is 101, which HTTP/2 does not have (§8.6);
    /// [`Misuse::Order`] if the response was begun.
    pub fn inform(
        &mut self,
        key: StreamKey,
        status: StatusCode,
        fields: &Fields,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        if !status.is_informational() || status == StatusCode::SWITCHING_PROTOCOLS {
            return Err(Misuse::Status);
        }
        let Some(stream) = self.streams.get(key) else { return Err(Misuse::Order) };
        if stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        let id = stream.id;
        let parts = ResponseParts { fields: Some(fields), ..ResponseParts::new(status) };
        self.begin_block();
        encode::response(&mut self.encoder, &parts, None, &mut self.block);
        self.put_block(id, false, out);
        Ok(())
    }

    /// How much content a stream may send now.
    #[inline]
    pub fn sendable(&self, key: StreamKey) -> usize {
        let Some(stream) = self.streams.get(key) else { return 0 };
        if !stream.head_sent || !stream.state.may_send() {
            return 0;
        }
        let windows = stream.send.available().min(self.send.available());
        windows.min(self.theirs.frame_bytes_max) as usize
    }

    /// Says whether a stream has content to send: only then does it get a turn.
    #[inline]
    pub fn want_to_send(&mut self, key: StreamKey, wants: bool) {
        self.streams.set_wants(key, wants);
    }

    /// The stream whose turn it is, and how much it may send: by urgency, and fairly among those of
    /// one (RFC 9218 §10). It has its turn until it sends, or says that it has nothing to send.
    #[inline]
    pub fn next_to_send(&mut self) -> Option<(StreamKey, usize)> {
        if self.send.available() == 0 {
            return None;
        }
        let key = self.streams.next_to_send()?;
        Some((key, self.sendable(key)))
    }

    /// Whether content waits for the peer to open the connection's window.
    pub fn is_blocked(&self) -> bool {
        self.send.available() == 0
    }

    /// Sends content, in one frame; `end` if it is the last.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is due; [`Misuse::BodyTooLong`] if it is more than
    /// [`sendable`](Self::sendable) or was announced, [`Misuse::BodyTooShort`] if it ends before:
    /// then the stream can only be reset.
    pub fn data(
        &mut self,
        key: StreamKey,
        data: Bytes,
        end: bool,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let len = data.len();
        if len > self.sendable(key) {
            return Err(Misuse::BodyTooLong);
        }
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        if let Some(going) = &mut stream.going {
            *going = going.checked_sub(len as u64).ok_or(Misuse::BodyTooLong)?;
            if end && *going > 0 {
                return Err(Misuse::BodyTooShort);
            }
        }
        let (id, bytes) = (stream.id, len as u32);
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let state = stream.state;
        self.send.take(bytes);
        self.streams.sent(key, bytes);
        self.odd_bucket.give_back(1 + (bytes >> 10));
        self.put_control(out);
        let flags = if end { flag::END_STREAM } else { 0 };
        Header { len: bytes, kind: kind::DATA, flags, stream: id }.put(out);
        if len > 0 {
            out.share(data);
        }
        if end {
            self.streams.set_wants(key, false);
            self.settle(key, state);
        }
        Ok(())
    }

    /// Ends a message whose content was sent, with a trailer section if there is one.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is under way; [`Misuse::BodyTooShort`] if less was sent than
    /// announced: then the stream can only be reset.
    pub fn finish(
        &mut self,
        key: StreamKey,
        trailers: Option<&Fields>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        if stream.going.is_some_and(|going| going > 0) {
            return Err(Misuse::BodyTooShort);
        }
        stream.step(StreamInput::SendEnd);
        let (id, state) = (stream.id, stream.state);
        match trailers.filter(|fields| !fields.is_empty()) {
            Some(fields) => {
                self.begin_block();
                encode::trailers(&mut self.encoder, fields, &mut self.block);
                self.put_block(id, true, out);
            }
            None => {
                self.put_control(out);
                Header { len: 0, kind: kind::DATA, flags: flag::END_STREAM, stream: id }.put(out);
            }
        }
        self.streams.set_wants(key, false);
        self.settle(key, state);
        Ok(())
    }

    /// Gives a stream up. What of its content was not used up is allowed again at once.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        if let Some(stream) = self.streams.get(key) {
            let id = stream.id;
            self.put_reset(id, code);
            self.forget(key);
        }
    }

    fn begin_block(&mut self) {
        self.block.clear();
        // Where the frame's header will be.
        self.block.resize(HEADER_BYTES, 0);
    }

    /// Sends the block that was encoded: HEADERS, and CONTINUATION for what is beyond one frame.
    fn put_block(&mut self, stream: u32, end: bool, out: &mut impl Sink) {
        self.put_control(out);
        let max = self.theirs.frame_bytes_max as usize;
        let len = self.block.len() - HEADER_BYTES;
        let end = if end { flag::END_STREAM } else { 0 };
        let whole = if len <= max { flag::END_HEADERS } else { 0 };
        let first = len.min(max);
        let header = Header { len: first as u32, kind: kind::HEADERS, flags: end | whole, stream };
        self.block[..HEADER_BYTES].copy_from_slice(&header.bytes());
        out.put(&self.block[..HEADER_BYTES + first]);
        let mut rest = &self.block[HEADER_BYTES + first..];
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.len().min(max));
            let flags = if more.is_empty() { flag::END_HEADERS } else { 0 };
            Header { len: piece.len() as u32, kind: kind::CONTINUATION, flags, stream }.put(out);
            out.put(piece);
            rest = more;
        }
        self.block.clear();
        self.block.shrink_to(super::BUFFER_KEPT_MAX);
    }
}

/// What the parts have that is not of a type that rules it out.
fn check(parts: &ResponseParts<'_>) -> Result<(), Misuse> {
    let type_fits = parts.content_type.is_none_or(|text| grammar::is_field_value(text.as_bytes()));
    let date_fits = parts.date.is_none_or(grammar::is_date);
    if type_fits && date_fits { Ok(()) } else { Err(Misuse::FieldValue) }
}

/// RFC 9110 §8.6: methods whose requests say their length even if there is no content.
fn anticipates_content(method: &Method) -> bool {
    matches!(*method, Method::POST | Method::PUT | Method::PATCH)
}
