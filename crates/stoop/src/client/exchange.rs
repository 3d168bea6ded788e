//! One exchange of a client, over whichever version of HTTP.

use std::task::{Context, Poll};

use stoop_proto::ResponseHead;

use crate::body::{Body, Kind};
use crate::client::http1::exchange::Http1Exchange;
use crate::client::http2::exchange::Http2Exchange;
use crate::client::response_start::ResponseStart;
use crate::conn::recycle::Recycle;
use crate::error::Error;
use crate::upgrade::Upgraded;

/// An exchange under way. Boxed, because it is large, and moved often until it is the content of a response.
pub(crate) enum Exchange {
    Http1(Box<Http1Exchange>),
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

    /// The content of the response.
    pub(crate) fn into_content(self) -> Body {
        match self {
            Self::Http1(exchange) => Body(Kind::Response(exchange)),
            Self::Http2(exchange) => Body(Kind::Response(exchange)),
        }
    }
}
