//! [`Decompress`]: decodes the content of requests that is in a content coding.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use stoop::body::ContentCoding;
use stoop::{Answer, Body, Error, Request, Response, StatusCode};

use crate::extract::is_encoded;
use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// Bytes that content may have once it is decoded: eight times what extractors read of it, for handlers that stream.
const BYTES_MAX: u64 = 16 * 1024 * 1024;

/// How many times as large content may become, beyond 16 MiB. What gzip makes of zeros is 1,032.
const RATIO_MAX: u32 = 1000;

/// Decodes the content of requests in gzip, deflate, Brotli and zstd as it is read, within bounds: 413 beyond them.
///
/// Content in another coding, or in more than three, is answered 415, with an Accept-Encoding of what would be read
/// (RFC 9110 §12.5.3); malformed content is a 400 where the handler passes the error on. A
/// [`body_bytes_max`](crate::Router::body_bytes_max) counts the decoded content.
///
/// ```
/// use stoop_web::{Decompress, Router, post};
///
/// let app = Router::new()
///     .route("/", post(async |text: String| text))
///     .layer(Decompress::new().bytes_max(1 << 20))
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Decompress {
    bytes_max: u64,
    ratio_max: u32,
}

impl Default for Decompress {
    fn default() -> Self {
        Self::new()
    }
}

impl Decompress {
    /// At most 16 MiB.
    pub fn new() -> Self {
        Self { bytes_max: BYTES_MAX, ratio_max: RATIO_MAX }
    }

    /// How many bytes the content may have, decoded.
    pub fn bytes_max(mut self, bytes: u64) -> Self {
        self.bytes_max = bytes;
        self
    }

    /// How many times as large the content may become, where that is more than 16 MiB; by default 1,000 times.
    pub fn ratio_max(mut self, times: u32) -> Self {
        self.ratio_max = times;
        self
    }
}

impl<M: Mode> Middleware<M> for Decompress {
    fn handle(&self, mut request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        if !is_encoded(&request) {
            return next.answer(request);
        }
        let Some(codings) = ContentCoding::listed(request.fields()) else {
            return Answer::Now(unknown());
        };
        let fields = request.fields_mut();
        fields.remove("content-encoding");
        fields.remove("content-length");
        let body = std::mem::take(request.body_mut());
        let body = body.decoded(&codings, self.bytes_max, self.ratio_max);
        *request.body_mut() = Body::stream(OfRequest(body));
        next.answer(request)
    }
}

/// RFC 9110 §15.5.16.
fn unknown() -> Response {
    let why = "415 Unsupported Media Type: the content is in a coding that is not read here\n";
    let response = text(StatusCode::UNSUPPORTED_MEDIA_TYPE, why);
    let response = response.with_field("accept-encoding", "gzip, deflate, br, zstd");
    response.unwrap_or_else(|_| Response::from_status(StatusCode::UNSUPPORTED_MEDIA_TYPE))
}

/// Decoded content of a request, whose errors are the client's.
struct OfRequest(Body);

impl http_body::Body for OfRequest {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let frame = Pin::new(&mut self.0).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map_err(Error::of_request)))
    }
}
