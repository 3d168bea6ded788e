//! One exchange of a client, over whichever version of HTTP.

use std::task::{Context, Poll};

use bytes::Bytes;
use stoop_proto::{Fields, ResponseHead};

use crate::body::Incoming;
use crate::client::http1::exchange::Http1Exchange;
use crate::client::http2::exchange::Http2Exchange;
use crate::client::response_start::ResponseStart;
use crate::conn::recycle::Recycle;
use crate::error::Error;
use crate::upgrade::Upgraded;

/// An exchange under way.
pub(crate) enum Exchange {
    Http1(Http1Exchange),
    Http2(Box<Http2Exchange>),
}

impl Exchange {
    /// Waits for the final head of the response.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut Recycle<ResponseHead>,
        interim: &mut dyn FnMut(&ResponseHead),
    ) -> Poll<Result<ResponseStart, Error>> {
        match self {
            Self::Http1(exchange) => exchange.poll_head(cx, head, interim),
            Self::Http2(exchange) => exchange.poll_head(cx, head, interim),
        }
    }

    /// The connection, after [`ResponseStart::Switched`].
    pub(crate) fn into_upgraded(self) -> Result<Upgraded, Error> {
        match self {
            Self::Http1(exchange) => exchange.into_upgraded(),
            Self::Http2(exchange) => exchange.into_upgraded(),
        }
    }

    /// Whether a part of the response has come: then the request was processed, or may have been.
    pub(crate) fn has_received(&self) -> bool {
        match self {
            Self::Http1(exchange) => exchange.has_received(),
            Self::Http2(exchange) => exchange.has_received(),
        }
    }

    /// Whether all content has been given out.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Http1(exchange) => exchange.has_ended(),
            Self::Http2(exchange) => exchange.has_ended(),
        }
    }
}

impl Incoming for Exchange {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        match self {
            Self::Http1(exchange) => exchange.poll_chunk(cx),
            Self::Http2(exchange) => exchange.poll_chunk(cx),
        }
    }

    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        match self {
            Self::Http1(exchange) => exchange.poll_all(cx, look),
            Self::Http2(exchange) => exchange.poll_all(cx, look),
        }
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        match self {
            Self::Http1(exchange) => exchange.take_trailers(),
            Self::Http2(exchange) => exchange.take_trailers(),
        }
    }

    fn remaining(&self) -> Option<u64> {
        match self {
            Self::Http1(exchange) => exchange.content_remaining(),
            Self::Http2(exchange) => exchange.remaining(),
        }
    }
}
