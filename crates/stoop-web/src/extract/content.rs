//! Arguments that take the whole content of a request.

use std::future::Future;

use bytes::Bytes;
use stoop::{Body, IntoResponse, Request, StatusCode};

use crate::extract::argument::FromContent;
use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;

/// The content of a request, if it is at most that many bytes.
pub(crate) async fn read(body: Body, max: u64) -> Result<Bytes, Rejection> {
    let bytes = body.bytes(usize::try_from(max).unwrap_or(usize::MAX)).await;
    bytes.map_err(|error| unread(error, max))
}

/// The answer to content that could not be read.
pub(crate) fn unread(error: stoop::Error, max: u64) -> Rejection {
    let status = error.into_response().status();
    let detail = match status {
        StatusCode::PAYLOAD_TOO_LARGE => format!("it has more than {max} bytes"),
        StatusCode::REQUEST_TIMEOUT => "it did not come in time".to_owned(),
        StatusCode::BAD_REQUEST => "it is incomplete or malformed".to_owned(),
        _ => "it could not be read".to_owned(),
    };
    Rejection::new(status, Problem::new(Place::Content, "", detail))
}

/// The content as it was sent, of any type and in any coding, of at most 2 MiB unless
/// [`body_bytes_max`](crate::Router::body_bytes_max) says otherwise.
impl FromContent for Bytes {
    const IS_TRIED_ALWAYS: bool = true;

    fn from_content(
        request: Request,
        body_bytes_max: u64,
    ) -> impl Future<Output = Result<Self, Rejection>> + Send + 'static {
        read(request.into_body(), body_bytes_max)
    }
}

/// The content, of any type, of at most as much; what is not UTF-8 is answered 400, and what is in a content coding 415,
/// unless [`Decompress`](crate::Decompress) is around it.
impl FromContent for String {
    const IS_TRIED_ALWAYS: bool = true;

    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        plain_content(&request)?;
        let bytes = read(request.into_body(), body_bytes_max).await?;
        Self::from_utf8(bytes.into()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            let detail = format!("it is not UTF-8 from byte {at} on");
            Rejection::new(StatusCode::BAD_REQUEST, Problem::new(Place::Content, "", detail))
        })
    }
}

/// Whether the content of a request is in a content coding (RFC 9110 §8.4).
pub(crate) fn is_encoded(request: &Request) -> bool {
    let names = request.fields().all("content-encoding");
    let mut names = names.flat_map(|line| line.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii);
    names.any(|name| !name.is_empty() && !name.eq_ignore_ascii_case(b"identity"))
}

/// Expects content that is in no coding: [`Decompress`](crate::Decompress) around this has decoded what is in one.
///
/// # Errors
/// 415 with an Accept-Encoding that says so (RFC 9110 §12.5.3, §15.5.16).
pub(crate) fn plain_content(request: &Request) -> Result<(), Rejection> {
    if !is_encoded(request) {
        return Ok(());
    }
    let coding = request.field("content-encoding").unwrap_or_default();
    let coding = Problem::shown(&String::from_utf8_lossy(coding));
    let detail = format!("it is in the content coding {coding}, and none is read here");
    let problem = Problem::new(Place::Content, "", detail);
    let rejection = Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem);
    Err(rejection.with_field("accept-encoding", "identity"))
}

/// The media type of a request's content, without parameters; empty if it has none.
pub(crate) fn media_type(request: &Request) -> &str {
    let value = request.field("content-type").unwrap_or_default();
    let value = std::str::from_utf8(value).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim_matches([' ', '\t'])
}

/// 415 for content of another type than is read here (RFC 9110 §15.5.16).
pub(crate) fn wrong_type(found: &str, expected: &str) -> Rejection {
    let detail = match found {
        "" => format!("it has no Content-Type, and {expected} is expected"),
        found => format!("it is {}, and {expected} is expected", Problem::shown(found)),
    };
    let problem = Problem::new(Place::Content, "", detail);
    Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, problem)
}
