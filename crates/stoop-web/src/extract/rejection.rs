//! [`Rejection`]: everything that is wrong with the arguments of a request, and the response that says it.

use std::fmt::Write;

use stoop::{Body, IntoResponse, Request, Response, StatusCode};

use crate::accept::prefers_json;
use crate::extract::problem::Problem;
use crate::json_text::put_json;
use crate::respond::text::with_type;

/// Problems that one answer tells. A request can have as many as it has fields, and the rest would help no reader.
const TOLD_MAX: usize = 32;

/// Why a request is not answered as it wishes: a status, and all that was wrong.
///
/// The answer is text, or JSON by RFC 9457 (`application/problem+json`) where Accept says that the client would
/// rather have that. The problems are then its member `errors`, each with `in`, `name` and `detail`.
///
/// ```
/// use stoop::{IntoResponse, StatusCode};
/// use stoop_web::{Place, Problem, Rejection};
///
/// let problem = Problem::new(Place::Query, "page", "it is not a number");
/// let response = Rejection::new(StatusCode::BAD_REQUEST, problem).into_response();
/// assert_eq!(response.status(), 400);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    status: StatusCode,
    problems: Vec<Problem>,
    fields: Vec<(&'static str, String)>,
}

impl Rejection {
    /// A rejection for one problem.
    pub fn new(status: StatusCode, problem: Problem) -> Self {
        Self { status, problems: vec![problem], fields: Vec::new() }
    }

    /// A rejection for several problems.
    pub fn of(status: StatusCode, problems: Vec<Problem>) -> Self {
        Self { status, problems, fields: Vec::new() }
    }

    /// A rejection without a reason.
    pub(crate) fn none() -> Self {
        Self::of(StatusCode::INTERNAL_SERVER_ERROR, Vec::new())
    }

    /// Adds a field to the answer, such as WWW-Authenticate to a 401. One whose value no field can have is left out.
    pub fn with_field(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((name, value.into()));
        self
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// All that is wrong.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// Both in one answer, with the status that comes first in [`rank`].
    pub(crate) fn and(mut self, other: Self) -> Self {
        if rank(other.status) < rank(self.status) {
            self.status = other.status;
        }
        self.problems.extend(other.problems);
        self.fields.extend(other.fields);
        self
    }

    /// Whether the rest of the request is of no interest: a client that may not ask is not told what else is wrong,
    /// and a defect of the service is not the client's to read.
    pub(crate) fn is_final(&self) -> bool {
        self.status.is_server_error()
            || matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN)
    }

    /// The answer to `request`, in the form that its Accept prefers.
    pub fn answer(self, request: &Request) -> Response {
        self.write(prefers_json(request.fields()))
    }

    pub(crate) fn write(self, as_json: bool) -> Response {
        let reason = self.status.canonical_reason().unwrap_or("Error");
        let response = match as_json {
            true => with_type(Response::from_json(self.json(reason)), "application/problem+json"),
            false => Response::from_text(self.text(reason)),
        };
        let mut response = response.with_status(self.status);
        for (name, value) in self.fields {
            let _ = response.fields_mut().push(name, value.as_bytes());
        }
        response
    }

    fn text(&self, reason: &str) -> String {
        let mut text = format!("{} {reason}\n", self.status.as_u16());
        for problem in self.problems.iter().take(TOLD_MAX) {
            let _ = writeln!(text, "{problem}");
        }
        text
    }

    /// RFC 9457 §3.1.
    fn json(&self, reason: &str) -> Vec<u8> {
        let status = self.status.as_u16();
        let begin = r#"{"type":"about:blank","title":""#;
        let mut json = format!(r#"{begin}{reason}","status":{status},"errors":["#).into_bytes();
        for (index, problem) in self.problems.iter().take(TOLD_MAX).enumerate() {
            if index > 0 {
                json.push(b',');
            }
            json.extend_from_slice(br#"{"in":""#);
            json.extend_from_slice(problem.place().as_str().as_bytes());
            json.push(b'"');
            let (name, detail) = problem.told();
            for (key, value) in [(&br#","name":"#[..], name), (br#","detail":"#, detail)] {
                if !value.is_empty() {
                    json.extend_from_slice(key);
                    put_json(value.as_bytes(), &mut json);
                }
            }
            json.push(b'}');
        }
        json.extend_from_slice(b"]}");
        json
    }
}

/// Which status an answer has that could have several: what is the service's fault first, then who may ask,
/// then what the content is, then the rest.
fn rank(status: StatusCode) -> u8 {
    match status {
        _ if status.is_server_error() => 0,
        StatusCode::UNAUTHORIZED => 1,
        StatusCode::FORBIDDEN => 2,
        StatusCode::REQUEST_TIMEOUT => 3,
        StatusCode::PAYLOAD_TOO_LARGE => 4,
        StatusCode::UNSUPPORTED_MEDIA_TYPE => 5,
        StatusCode::BAD_REQUEST => 6,
        _ => 7,
    }
}

/// As text; [`Rejection::answer`] looks at the request's Accept.
impl IntoResponse for Rejection {
    type Body = Body;
    fn into_response(self) -> Response {
        self.write(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extract::problem::Place;

    fn rejection() -> Rejection {
        let first = Problem::new(Place::Path, "id", "not \"a\" number");
        let second = Problem::new(Place::Content, "", "at line 1\n");
        Rejection::new(StatusCode::BAD_REQUEST, first)
            .and(Rejection::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, second))
            .with_field("x", "y")
    }

    fn answered(accept: &str) -> (u16, String, Vec<u8>) {
        let request = Request::get("/").unwrap().with_field("accept", accept).unwrap();
        let mut response = rejection().answer(&request);
        assert_eq!(response.field("x"), Some(&b"y"[..]));
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let body = std::pin::Pin::new(response.body_mut());
        let frame = match http_body::Body::poll_frame(body, &mut cx) {
            std::task::Poll::Ready(Some(Ok(frame))) => frame.into_data().unwrap(),
            other => panic!("{other:?}"),
        };
        let content_type = response.field("content-type").unwrap();
        let content_type = String::from_utf8(content_type.to_vec()).unwrap();
        (response.status().as_u16(), content_type, frame.to_vec())
    }

    #[test]
    fn an_answer_tells_all_that_is_wrong_as_text_or_as_rfc_9457_has_it() {
        let (status, content_type, text) = answered("*/*");
        assert_eq!((status, &*content_type), (415, "text/plain; charset=utf-8"));
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "415 Unsupported Media Type\npath `id`: not \"a\" number\nbody: at line 1\n\n"
        );
        let (status, content_type, json) = answered("application/json");
        assert_eq!((status, &*content_type), (415, "application/problem+json"));
        assert_eq!(
            String::from_utf8(json).unwrap(),
            r#"{"type":"about:blank","title":"Unsupported Media Type","status":415,"errors":[{"in":"path","name":"id","detail":"not \"a\" number"},{"in":"body","detail":"at line 1\n"}]}"#
        );
    }

    /// Serde repeats what it does not take, whatever its length.
    #[test]
    fn an_answer_is_short_however_long_what_is_wrong_is() {
        let problem = || Problem::new(Place::Content, "ä".repeat(2_000), "x".repeat(2_000));
        let rejection =
            Rejection::of(StatusCode::BAD_REQUEST, (0..100).map(|_| problem()).collect());
        for length in [rejection.text("").len(), rejection.json("").len()] {
            assert!(length < TOLD_MAX * 1_500, "{length}");
        }
    }
}
