//! Answers what a test expects.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::Fields;

use crate::client::ClientBuilder;
use crate::request::Request;
use crate::response::Response;

/// Content of a request that is kept: what is beyond it is refused.
const CONTENT_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Servers that answer what a test expects of them, in place of all others:
/// [`ClientBuilder::mock`](crate::ClientBuilder::mock). Cheap to clone.
///
/// An expectation is met by a request of its method and URL, and of the fields and content that it names. The first
/// that fits and has not been met as often as it is to be answers. A request that none fits is answered by 501, and
/// told by [`verify`](Self::verify).
#[derive(Clone, Default)]
pub struct Mock(Arc<Mutex<MockState>>);

#[derive(Default)]
struct MockState {
    expected: Vec<Expected>,
    seen: Vec<MockedRequest>,
    unexpected: Vec<String>,
}

struct Expected {
    method: Method,
    /// Host, path and query.
    target: String,
    fields: Vec<(String, Vec<u8>)>,
    content: Option<Bytes>,
    delay: Option<Duration>,
    times: ExpectedTimes,
    met: usize,
    answer: Option<MockAnswer>,
}

/// How often an expectation is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExpectedTimes {
    Exactly(usize),
    Any,
}

type MockAnswer = Arc<dyn Fn(&MockedRequest) -> Response + Send + Sync>;

/// A request that a [`Mock`] got.
#[derive(Clone)]
pub struct MockedRequest {
    method: Method,
    target: String,
    fields: Fields,
    content: Bytes,
}

impl MockedRequest {
    /// The method.
    pub fn method(&self) -> &Method {
        &self.method
    }

    /// The host, the port if it is not the scheme's, the path and the query of the URL: `api.example/users?page=2`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The fields.
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        self.fields.first(name)
    }

    /// The content.
    pub fn content(&self) -> &Bytes {
        &self.content
    }
}

impl Mock {
    /// Nothing is expected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Expects a request, once unless [`times`](Expectation::times) says otherwise. The scheme of the URL is of no
    /// matter, and neither is the part behind `#`.
    pub fn expect(&self, method: Method, url: &str) -> Expectation {
        // As a request for it would have it.
        let parsed = crate::url::parse(url).ok();
        let url = parsed.as_ref().map_or(url, |url| &url[url::Position::BeforeHost..]);
        let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
        let bare = bare.split('#').next().unwrap_or_default();
        let target = match bare.find(['/', '?']) {
            Some(at) if bare[at..].starts_with('?') => format!("{}/{}", &bare[..at], &bare[at..]),
            Some(_) => bare.to_owned(),
            None => format!("{bare}/"),
        };
        let mut state = self.state();
        let index = state.expected.len();
        state.expected.push(Expected {
            method,
            target,
            fields: Vec::new(),
            content: None,
            delay: None,
            times: ExpectedTimes::Exactly(1),
            met: 0,
            answer: None,
        });
        Expectation { mock: self.clone(), index }
    }

    /// The requests that came, in their order.
    pub fn requests(&self) -> Vec<MockedRequest> {
        self.state().seen.clone()
    }

    /// Checks that everything that was expected came, and nothing else.
    ///
    /// # Panics
    /// If not, saying what was missing and what came besides.
    pub fn verify(&self) {
        let state = self.state();
        let missing = state.expected.iter().filter_map(|expected| match expected.times {
            ExpectedTimes::Exactly(times) if expected.met != times => Some(format!(
                "expected {} {} {times} times, and it came {} times",
                expected.method, expected.target, expected.met
            )),
            ExpectedTimes::Exactly(_) | ExpectedTimes::Any => None,
        });
        let unexpected = state.unexpected.iter().map(|what| format!("did not expect {what}"));
        let wrong: Vec<_> = missing.chain(unexpected).collect();
        drop(state);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    async fn answer(self, request: Request) -> Response {
        let host = request.field("host").map(String::from_utf8_lossy).unwrap_or_default();
        let (method, target) = (request.method().clone(), format!("{host}{}", request.target()));
        let fields = request.fields().clone();
        let content = match request.into_body().bytes(CONTENT_BYTES_MAX).await {
            Ok(content) => content,
            Err(_) => return Response::from_status(StatusCode::BAD_REQUEST),
        };
        let request = MockedRequest { method, target, fields, content };
        let Some((delay, answer)) = self.find(&request) else {
            let text = format!("no expectation fits {request:?}");
            return Response::from_text(text).with_status(StatusCode::NOT_IMPLEMENTED);
        };
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        answer.map_or_else(|| Response::from_status(StatusCode::OK), |answer| answer(&request))
    }

    /// The delay and the answer of the expectation that a request meets.
    fn find(&self, request: &MockedRequest) -> Option<(Option<Duration>, Option<MockAnswer>)> {
        let mut state = self.state();
        state.seen.push(request.clone());
        let found = state.expected.iter_mut().find(|expected| expected.fits(request));
        if let Some(expected) = found {
            expected.met += 1;
            return Some((expected.delay, expected.answer.clone()));
        }
        state.unexpected.push(format!("{request:?}"));
        None
    }

    fn state(&self) -> MutexGuard<'_, MockState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Expected {
    fn fits(&self, request: &MockedRequest) -> bool {
        let is_due = match self.times {
            ExpectedTimes::Exactly(times) => self.met < times,
            ExpectedTimes::Any => true,
        };
        is_due
            && self.method == request.method
            && self.target == request.target
            && self.content.as_ref().is_none_or(|content| *content == request.content)
            && self.fields.iter().all(|(name, value)| {
                request.fields.all(name).any(|known| known == value.as_slice())
            })
    }
}

/// What a [`Mock`] is to expect, and how it answers.
pub struct Expectation {
    mock: Mock,
    index: usize,
}

impl Expectation {
    fn change(self, change: impl FnOnce(&mut Expected)) -> Self {
        if let Some(expected) = self.mock.state().expected.get_mut(self.index) {
            change(expected);
        }
        self
    }

    /// Only with a field of this value.
    pub fn header(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let field = (name.to_owned(), value.as_ref().to_vec());
        self.change(|expected| expected.fields.push(field))
    }

    /// Only with this content.
    pub fn body(self, content: impl Into<Bytes>) -> Self {
        let content = content.into();
        self.change(|expected| expected.content = Some(content))
    }

    /// So many times.
    pub fn times(self, times: usize) -> Self {
        self.change(|expected| expected.times = ExpectedTimes::Exactly(times))
    }

    /// As often as it comes, or never.
    pub fn any_times(self) -> Self {
        self.change(|expected| expected.times = ExpectedTimes::Any)
    }

    /// Answers after this time, which is tokio's. With [`Duration::MAX`] it never does.
    pub fn delay(self, delay: Duration) -> Self {
        self.change(|expected| expected.delay = Some(delay))
    }

    /// Answers so; by an empty 200 without this. Content that fails, of [`Body::channel`](crate::Body::channel),
    /// breaks the connection off.
    pub fn respond(
        self,
        answer: impl Fn(&MockedRequest) -> Response + Send + Sync + 'static,
    ) -> Self {
        self.change(|expected| expected.answer = Some(Arc::new(answer)))
    }
}

impl ClientBuilder {
    /// Sends everything to a [`Mock`], and nothing to the network.
    pub fn mock(self, mock: &Mock) -> Self {
        let mock = mock.clone();
        self.handler(move |request: Request| mock.clone().answer(request))
    }
}

impl fmt::Debug for MockedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.method, self.target, self.fields)?;
        match std::str::from_utf8(&self.content) {
            Ok("") => Ok(()),
            Ok(text) if text.len() <= 200 => write!(f, " {text:?}"),
            _ => write!(f, " and {} bytes", self.content.len()),
        }
    }
}

impl fmt::Debug for Mock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        write!(f, "Mock({} expected, {} seen)", state.expected.len(), state.seen.len())
    }
}

impl fmt::Debug for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expectation({})", self.index)
    }
}
