//! Sending responses: the sending half of [`Server`].

use http::StatusCode;

use super::{ResponseContext, Server};
use crate::Sink;
use crate::error::{Misuse, Violation};
use crate::fields::Fields;
use crate::grammar;
use crate::h1::state::{Half, Input};
use crate::h1::writer::{BodyWriter, announce, is_managed_field, put_field, put_length};
use crate::message::{BodySize, ResponseParts};
use crate::persistence::CloseReason;
use crate::semantics::{AddedFields, PresentFields, check_final, check_interim};

impl Server {
    /// Sends 100 Continue, if the client waits for it and no response was begun (RFC 9110 §10.1.1).
    pub fn send_continue(&mut self, out: &mut impl Sink) {
        if self.continue_owed && self.sending == Half::Idle && self.in_flight == 1 {
            self.continue_owed = false;
            out.put(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
    }

    /// Sends an interim response, such as 103, ahead of the final one. An HTTP/1.0 client gets none.
    ///
    /// # Errors
    /// [`Misuse::Status`] if the status is not 1xx or is 101; [`Misuse::Order`] if no response is
    /// due or it was begun.
    pub fn send_interim(
        &mut self,
        answer: ResponseContext,
        status: StatusCode,
        fields: &Fields,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        check_interim(status)?;
        if self.in_flight == 0 {
            return Err(Misuse::Order);
        }
        self.sending = self.sending.next(Input::Interim).ok_or(Misuse::Order)?;
        if answer.is_http_10 {
            return Ok(());
        }
        self.continue_owed &= status != StatusCode::CONTINUE;
        put_status_line(status, out);
        let allowed = fields.iter().filter(|field| !is_managed_field(field.name_bytes()));
        allowed.for_each(|field| put_field(field, out));
        out.put(b"\r\n");
        Ok(())
    }

    /// Begins the response to the oldest request in flight.
    ///
    /// # Errors
    /// [`Misuse::Order`] if no response is due; [`Misuse::Status`] for 1xx; [`Misuse::Tunnel`] for a
    /// 2xx to CONNECT (call [`switch`](Self::switch)); [`Misuse::FieldValue`] if the parts have a
    /// control character in them; [`Misuse::ContentLength`] if the one in the fields is malformed, or not
    /// that of the content. Nothing was written then.
    pub fn respond(
        &mut self,
        answer: ResponseContext,
        parts: &ResponseParts<'_>,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        check_final(parts.status)?;
        if answer.connect && parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        if self.in_flight == 0 {
            return Err(Misuse::Order);
        }
        parts.check()?;
        let size = parts.announced_size(answer.head_only, size)?;
        let close = self.decide_close(answer, parts, size);
        let last = close.is_some();
        let begun = self.sending.next(if last { Input::LastHead } else { Input::Head });
        self.sending = begun.ok_or(Misuse::Order)?;
        if let Some(reason) = close {
            self.stop_receiving(reason);
            self.close = Some(reason);
        }
        put_status_line(parts.status, out);
        let upgrade = put_fields(parts, out);
        self.writer = match (parts.may_have_content(answer.head_only), size) {
            (true, size) => announce(size, !answer.is_http_10, out),
            (false, size) => {
                if let BodySize::Exact(length) = size {
                    put_length(length, out);
                }
                BodyWriter::Nothing
            }
        };
        // RFC 9110 §7.8: an Upgrade, which a 426 must have, is listed.
        out.put(match (last, answer.is_http_10, upgrade) {
            (false, false, false) => b"\r\n",
            (false, false, true) => b"connection: upgrade\r\n\r\n",
            (false, true, false) => b"connection: keep-alive\r\n\r\n",
            (false, true, true) => b"connection: keep-alive, upgrade\r\n\r\n",
            (true, _, false) => b"connection: close\r\n\r\n",
            (true, _, true) => b"connection: close, upgrade\r\n\r\n",
        });
        Ok(())
    }

    /// Decides why the connection ends with this response, if it does: RFC 9112 §9.3, §9.6. All reasons
    /// are decided here; the driver's own are in `parts`.
    fn decide_close(
        &self,
        answer: ResponseContext,
        parts: &ResponseParts<'_>,
        size: BodySize,
    ) -> Option<CloseReason> {
        if let Some(reason) = answer.close.or(parts.close) {
            return Some(reason);
        }
        // The machine writes the field itself, but honours it if the caller passes it.
        if parts.fields.is_some_and(|fields| fields.lists("connection", "close")) {
            return Some(CloseReason::CallerCloses);
        }
        // The bytes behind a declined CONNECT were meant for the tunnel, by a client that did not wait
        // for it: they may be chosen by a third party, and must not be read as requests.
        if answer.connect {
            return Some(CloseReason::TunnelDeclined);
        }
        // After a final response the client may not send the content that it announced: then the
        // beginning of the next request is not known (RFC 9110 §10.1.1).
        let is_alone = self.in_flight == 1;
        if self.continue_owed && (is_alone || self.unread_max.is_some()) {
            return Some(CloseReason::ContentInDoubt);
        }
        if let Some(max) = self.unread_max
            && self.body_remaining().is_some_and(|remaining| remaining > max)
        {
            return Some(CloseReason::UnreadContent);
        }
        if answer.is_http_10
            && size == BodySize::Unknown
            && parts.may_have_content(answer.head_only)
        {
            return Some(CloseReason::UntilClose);
        }
        // A violation in the next head is still to be answered.
        if is_alone && !self.is_receiving() && !self.head_refused {
            return Some(self.close.unwrap_or(CloseReason::PeerClosed));
        }
        None
    }

    /// Sends content of the current response.
    ///
    /// # Errors
    /// [`Misuse::Order`] if there is none; [`Misuse::BodyTooLong`] if it is more than was announced, and
    /// then the connection can only be closed.
    pub fn data(&mut self, data: bytes::Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        self.sending = self.sending.next(Input::Data).ok_or(Misuse::Order)?;
        self.writer.data(data, out).inspect_err(|_| self.abort())
    }

    /// Sends `len` bytes of content that `write` puts into the output: those of a file, which are no buffer. It is
    /// not called where the response has no content.
    ///
    /// # Errors
    /// As [`data`](Self::data); then nothing was written.
    pub fn data_by<S: Sink>(
        &mut self,
        len: u64,
        out: &mut S,
        write: impl FnOnce(&mut S),
    ) -> Result<(), Misuse> {
        self.sending = self.sending.next(Input::Data).ok_or(Misuse::Order)?;
        self.writer.data_by(len, out, write).inspect_err(|_| self.abort())
    }

    /// Ends the current response. Trailers are sent if the body is chunked, without those that RFC 9110
    /// §6.5.1 forbids.
    ///
    /// # Errors
    /// [`Misuse::Order`] if there is none; [`Misuse::BodyTooShort`] if less was sent than announced, and
    /// then the connection can only be closed.
    pub fn finish(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) -> Result<(), Misuse> {
        let ended = self.sending.next(Input::End).ok_or(Misuse::Order)?;
        self.writer.finish(trailers, out).inspect_err(|_| self.abort())?;
        self.sending = ended;
        self.in_flight = self.in_flight.saturating_sub(1);
        Ok(())
    }

    /// Switches to another protocol: 101 with its Upgrade field, or a 2xx to CONNECT. From here on
    /// the bytes belong to the tunnel.
    ///
    /// # Errors
    /// [`Misuse::Tunnel`] if the request did not offer it or the status does not fit;
    /// [`Misuse::Order`] if the request's body was not read to its end or earlier requests are
    /// unanswered; [`Misuse::FieldValue`] as with [`respond`](Self::respond).
    pub fn switch(
        &mut self,
        answer: ResponseContext,
        parts: &ResponseParts<'_>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let fits = match parts.status {
            StatusCode::SWITCHING_PROTOCOLS => {
                answer.upgrade && parts.fields.is_some_and(|fields| fields.contains("upgrade"))
            }
            status => answer.connect && status.is_success(),
        };
        if !fits {
            return Err(Misuse::Tunnel);
        }
        if self.in_flight != 1 || self.sending != Half::Idle || self.receiving != Half::Idle {
            return Err(Misuse::Order);
        }
        parts.check()?;
        self.receive_step(Input::Switch);
        self.sending = Half::Switched;
        self.in_flight = 0;
        self.close = Some(CloseReason::Switched);
        put_status_line(parts.status, out);
        put_fields(parts, out);
        out.put(match parts.status {
            StatusCode::SWITCHING_PROTOCOLS => b"connection: upgrade\r\n\r\n",
            _ => b"\r\n",
        });
        Ok(())
    }

    /// Answers a violation and ends the connection: `true`. While requests before it are unanswered,
    /// nothing happens, since the client would take the answer for the response to one of them: `false`,
    /// and the caller calls again once they are answered. No answer is sent if the response to the same
    /// message was begun.
    pub fn refuse(
        &mut self,
        violation: Violation,
        date: Option<&[u8; 29]>,
        out: &mut impl Sink,
    ) -> bool {
        // The request of a violation in a body is in flight; a violation in a head has none.
        let refused_requests = u32::from(!self.head_refused);
        if self.in_flight > refused_requests && self.sending != Half::Closed {
            return false;
        }
        let Some(status) = violation.answer() else {
            self.abort();
            return true;
        };
        self.refuse_with(status, format!("{status}: {violation}\n").into(), date, out);
        true
    }

    /// Ends the connection with a final response of the server's own, such as a 408. It is not sent if a
    /// response was begun: the client would take it for content. To HEAD it is sent without `text`.
    pub fn refuse_with(
        &mut self,
        status: StatusCode,
        text: bytes::Bytes,
        date: Option<&[u8; 29]>,
        out: &mut impl Sink,
    ) {
        if self.sending == Half::Idle {
            let parts = ResponseParts {
                content_type: Some("text/plain; charset=utf-8"),
                date: date.filter(|date| grammar::is_date(date)),
                ..ResponseParts::new(status)
            };
            // RFC 9110 §9.3.2: not even if the rest of the head is invalid, or never comes.
            let omits_text = match self.in_flight {
                0 => self.method_is_head,
                _ => self.answer.head_only,
            };
            put_status_line(status, out);
            put_fields(&parts, out);
            put_length(text.len() as u64, out);
            out.put(b"connection: close\r\n\r\n");
            if !omits_text {
                out.share(text);
            }
        }
        self.abort();
    }

    /// Whether the current response has content at all: one to HEAD, a 204 or a 304 has none.
    pub fn sends_content(&self) -> bool {
        !matches!(self.writer, BodyWriter::Nothing)
    }
}

/// Writes the caller's fields, without those that the machine decides; returns whether one is Upgrade.
#[inline]
fn put_fields(parts: &ResponseParts<'_>, out: &mut impl Sink) -> bool {
    let (mut present, mut upgrade) = (PresentFields::default(), false);
    for field in parts.fields.into_iter().flat_map(Fields::iter) {
        if is_managed_field(field.name_bytes()) {
            continue;
        }
        present.note(field);
        upgrade |= field.is("upgrade");
        put_field(field, out);
    }
    let AddedFields { content_type, date } = parts.added_fields(present);
    if let Some(content_type) = content_type {
        out.put(b"content-type: ");
        out.put(content_type.as_bytes());
        out.put(b"\r\n");
    }
    if let Some(date) = date {
        out.put(b"date: ");
        out.put(date);
        out.put(b"\r\n");
    }
    upgrade
}

/// Writes `HTTP-version SP status-code SP [ reason-phrase ] CRLF`. The version is always 1.1: that of
/// the server, not of the request (RFC 9110 §2.5).
#[inline]
fn put_status_line(status: StatusCode, out: &mut impl Sink) {
    match status.as_u16() {
        200 => out.put(b"HTTP/1.1 200 OK\r\n"),
        304 => out.put(b"HTTP/1.1 304 Not Modified\r\n"),
        404 => out.put(b"HTTP/1.1 404 Not Found\r\n"),
        _ => {
            out.put(b"HTTP/1.1 ");
            out.put(status.as_str().as_bytes());
            out.put(b" ");
            out.put(status.canonical_reason().unwrap_or_default().as_bytes());
            out.put(b"\r\n");
        }
    }
}
