//! Sending the heads of responses: RFC 9113 §8.1, §8.3.2.

use http::StatusCode;

use super::Connection;
use crate::Sink;
use crate::error::Misuse;
use crate::fields::Fields;
use crate::h2::encode;
use crate::h2::settings::Role;
use crate::h2::state::StreamInput;
use crate::h2::streams::StreamKey;
use crate::message::{BodySize, ResponseParts};
use crate::semantics::{check_final, check_interim};

impl Connection {
    /// Begins the response on a stream. True if content is to follow: [`data`](Self::data) and
    /// [`finish`](Self::finish); if not, the response is complete, whatever its `size`, as it is to HEAD.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is due; [`Misuse::Status`] for 1xx; [`Misuse::Tunnel`] for a 2xx to
    /// CONNECT (call [`open_tunnel`](Self::open_tunnel)); [`Misuse::FieldValue`] if the parts have
    /// a control character in them; [`Misuse::ContentLength`] if the one in the fields is malformed, or
    /// not that of the content. Nothing was written then.
    pub fn respond(
        &mut self,
        key: StreamKey,
        parts: &ResponseParts<'_>,
        size: BodySize,
        out: &mut impl Sink,
    ) -> Result<bool, Misuse> {
        check_final(parts.status)?;
        parts.check()?;
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if stream.head_sent || !stream.state.may_send() || self.role == Role::Client {
            return Err(Misuse::Order);
        }
        if stream.is_connect && parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        let end = size == BodySize::Exact(0) || !parts.may_have_content(stream.is_head);
        let length = match parts.announced_size(stream.is_head, size)? {
            BodySize::Exact(length) => Some(length),
            BodySize::Unknown => None,
        };
        stream.head_sent = true;
        stream.is_connect = false;
        stream.content_to_send = length.filter(|_| !end);
        stream.step(StreamInput::SendHead);
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let (id, state) = (stream.id, stream.state);
        self.send_headers(id, end, out, |encoder, block| {
            encode::response(encoder, parts, length, block);
        });
        match end {
            true => self.remove_if_closed(key, state),
            false => self.streams.update_queue(key),
        }
        Ok(!end)
    }

    /// Accepts a CONNECT with a 2xx: from here on DATA belongs to the tunnel, in both directions.
    ///
    /// # Errors
    /// [`Misuse::Tunnel`] if the request is not a CONNECT or the status does not fit; else as
    /// [`respond`](Self::respond).
    pub fn open_tunnel(
        &mut self,
        key: StreamKey,
        parts: &ResponseParts<'_>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        parts.check()?;
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.is_connect || !parts.status.is_success() {
            return Err(Misuse::Tunnel);
        }
        if stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        stream.head_sent = true;
        stream.content_to_receive = None;
        stream.step(StreamInput::SendHead);
        let id = stream.id;
        self.send_headers(id, false, out, |encoder, block| {
            encode::response(encoder, parts, None, block);
        });
        self.streams.update_queue(key);
        Ok(())
    }

    /// Sends an interim response ahead of the final one.
    ///
    /// # Errors
    /// [`Misuse::Status`] if the status is not 1xx or is 101, which HTTP/2 does not have (§8.6);
    /// [`Misuse::Order`] if the response was begun.
    pub fn send_interim(
        &mut self,
        key: StreamKey,
        status: StatusCode,
        fields: &Fields,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        check_interim(status)?;
        let Some(stream) = self.streams.get(key) else { return Err(Misuse::Order) };
        if stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        let id = stream.id;
        let parts = ResponseParts { fields: Some(fields), ..ResponseParts::new(status) };
        self.send_headers(id, false, out, |encoder, block| {
            encode::response(encoder, &parts, None, block);
        });
        Ok(())
    }
}
