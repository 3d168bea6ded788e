//! Sending requests: the sending half of [`Client`].

use http::Method;

use super::Client;
use crate::Sink;
use crate::error::Misuse;
use crate::fields::Fields;
use crate::grammar::is_name;
use crate::h1::framing::RequestContext;
use crate::h1::state::{Half, Input};
use crate::h1::writer::{BodyWriter, announce, is_managed_field, put_field};
use crate::message::{BodySize, RequestHead};
use crate::persistence::CloseReason;
use crate::semantics::{check_host, check_target};

impl Client {
    /// Sends the head of a request. Content-Length, Transfer-Encoding and Connection are decided
    /// here: the caller's Content-Length is used for content of [`BodySize::Unknown`], of its Connection
    /// only `close` is used, and Upgrade and TE are listed. An Expect is left out if there is no content.
    ///
    /// # Errors
    /// [`Misuse::Host`] unless there is exactly one Host, [`Misuse::HostInvalid`] if it is malformed;
    /// [`Misuse::Target`] without a target, or if its form does not fit the method; [`Misuse::ExtendedConnect`] for
    /// one of those;
    /// [`Misuse::ContentLength`] if the caller's is malformed, or not that of the content;
    /// [`Misuse::Order`] during another exchange. Nothing was written then.
    pub fn send(
        &mut self,
        head: &RequestHead,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let summary = FieldSummary::of(&head.fields);
        let announced = self.check(head, &summary, size)?;
        let has_content = size != BodySize::Exact(0);
        let closes = summary.has_connection && head.fields.lists("connection", "close");
        self.close = closes.then_some(CloseReason::CallerCloses);
        self.request = RequestContext {
            head_only: head.method == Method::HEAD,
            connect: head.method == Method::CONNECT,
            upgrade: summary.upgrade,
        };
        (self.interim_count, self.interim_bytes) = (0, 0);
        self.in_flight = true;
        self.trailers = None;
        self.awaiting_continue = has_content && head.expects_continue() == Ok(true);
        out.put(head.method.as_str().as_bytes());
        out.put(b" ");
        out.put(head.target.as_bytes());
        out.put(b" HTTP/1.1\r\n");
        for field in head.fields.iter() {
            if !is_managed_field(field.name_bytes()) && (has_content || !field.is("expect")) {
                put_field(field, out);
            }
        }
        if self.close.is_some() || self.request.upgrade || summary.te {
            self.put_connection(summary.te, out);
        }
        self.writer = match announced {
            Some(size) => announce(size, true, out),
            None => BodyWriter::Length(0),
        };
        out.put(b"\r\n");
        self.sending = self.sending.next(Input::Head).unwrap_or(Half::Closed);
        Ok(())
    }

    /// Checks whether a request may be sent; returns the size that it announces of its content.
    fn check(
        &self,
        head: &RequestHead,
        summary: &FieldSummary<'_>,
        size: BodySize,
    ) -> Result<Option<BodySize>, Misuse> {
        check_host(summary.host, summary.hosts)?;
        check_target(head)?;
        if head.protocol.is_some() {
            return Err(Misuse::ExtendedConnect);
        }
        if !self.is_reusable() {
            return Err(Misuse::Order);
        }
        size.announced_by_request(&head.method, &head.fields, summary.has_length)
    }

    /// Writes Connection, which lists the fields that are meant for this connection (RFC 9110 §7.6.1).
    /// There is at least one option.
    fn put_connection(&self, te: bool, out: &mut impl Sink) {
        let options =
            [(self.close.is_some(), "close"), (self.request.upgrade, "upgrade"), (te, "te")];
        let mut separator: &[u8] = b"connection: ";
        for (_, option) in options.iter().filter(|(is_due, _)| *is_due) {
            out.put(separator);
            out.put(option.as_bytes());
            separator = b", ";
        }
        out.put(b"\r\n");
    }

    /// Sends content of the current request.
    ///
    /// # Errors
    /// [`Misuse::Order`] if there is none; [`Misuse::BodyTooLong`] if it is more than was announced, and
    /// then the connection can only be closed.
    pub fn data(&mut self, data: bytes::Bytes, out: &mut impl Sink) -> Result<(), Misuse> {
        self.sending = self.sending.next(Input::Data).ok_or(Misuse::Order)?;
        self.awaiting_continue = false;
        self.writer.data(data, out).inspect_err(|_| self.abort())
    }

    /// Sends `len` bytes of content that `write` puts into the output: those of a file, which are no buffer.
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
        self.awaiting_continue = false;
        self.writer.data_by(len, out, write).inspect_err(|_| self.abort())
    }

    /// Ends the current request.
    ///
    /// # Errors
    /// [`Misuse::Order`] if there is none; [`Misuse::BodyTooShort`] if less was sent than announced, and
    /// then the connection can only be closed.
    pub fn finish(&mut self, trailers: Option<&Fields>, out: &mut impl Sink) -> Result<(), Misuse> {
        let ended = self.sending.next(Input::End).ok_or(Misuse::Order)?;
        self.writer.finish(trailers, out).inspect_err(|_| self.abort())?;
        self.sending = ended;
        Ok(())
    }
}

/// The fields of a request that decide how it is sent, found in one pass.
#[derive(Default)]
struct FieldSummary<'a> {
    host: Option<&'a [u8]>,
    hosts: u32,
    has_connection: bool,
    has_length: bool,
    te: bool,
    upgrade: bool,
}

impl<'a> FieldSummary<'a> {
    fn of(fields: &'a Fields) -> Self {
        let mut summary = Self::default();
        for field in fields.iter() {
            let name = field.name_bytes();
            match name.len() {
                2 => summary.te |= is_name(name, b"te"),
                4 if is_name(name, b"host") => {
                    summary.host = Some(field.value());
                    summary.hosts += 1;
                }
                7 => summary.upgrade |= is_name(name, b"upgrade"),
                10 => summary.has_connection |= is_name(name, b"connection"),
                14 => summary.has_length |= is_name(name, b"content-length"),
                _ => {}
            }
        }
        summary
    }
}
