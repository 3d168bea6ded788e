//! Writes exchanges to a file.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use stoop_proto::Fields;

use super::exchange::{
    RecordedContent, RecordedError, RecordedExchange, RecordedRequest, RecordedResponse, fields,
    url,
};
use crate::body::{Body, Incoming};
use crate::client::{ClientBuilder, Next};
use crate::error::Error;
use crate::request::Request;
use crate::response::Response;

/// Content that is recorded of a response: beyond it the line has what came up to there.
const CONTENT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Writes each exchange to a file, a line of JSON each, for a [`Recording`](super::Recording):
/// [`ClientBuilder::record`](crate::ClientBuilder::record). Cheap to clone.
///
/// What is recorded is the request as the program made it, and the response after redirects, retries and decoding, up to
/// 16 MiB of its content; or the error. A line is written when the content was read or dropped; one of content that was
/// not read to its end, or is longer, says `"is_cut":true`.
///
/// Masked are the values of Authorization, Cookie and the like, passwords in URLs, parameters of queries such as
/// `access_token` and `api_key`, and what [`mask`](Self::mask) names. Content is not masked: read the file before it is
/// published.
#[derive(Clone)]
pub struct Recorder(Arc<RecorderState>);

struct RecorderState {
    file: Mutex<File>,
    masked: Mutex<Vec<String>>,
}

impl Recorder {
    /// Appends to the file at `path`, which is made if it is not there.
    ///
    /// # Errors
    /// The system's.
    pub fn new(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = Mutex::new(OpenOptions::new().create(true).append(true).open(path)?);
        Ok(Self(Arc::new(RecorderState { file, masked: Mutex::default() })))
    }

    /// Masks the values of fields and query parameters of that name, such as `x-api-key`, from now on.
    pub fn mask(self, name: &str) -> Self {
        self.masked().push(name.to_owned());
        self
    }

    fn masked(&self) -> MutexGuard<'_, Vec<String>> {
        self.0.masked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn recorded(&self, request: &Request) -> RecordedRequest {
        let masked = self.masked();
        RecordedRequest {
            method: request.method().to_string(),
            url: url(request.url().unwrap_or_default(), &masked),
            headers: fields(request.fields(), &masked),
            body: request.body().in_memory().map(RecordedContent::new),
        }
    }

    async fn record(self, request: Request, next: Next) -> Result<Response, Error> {
        let recorded = self.recorded(&request);
        let mut response = match next.run(request).await {
            Ok(response) => response,
            Err(error) => {
                let error_line = Some(RecordedError::new(&error));
                self.write(&RecordedExchange {
                    request: recorded,
                    response: None,
                    error: error_line,
                });
                return Err(error);
            }
        };
        let tape = Tape {
            inner: std::mem::take(response.body_mut()),
            recorder: self.clone(),
            request: Some(recorded),
            status: response.status().as_u16(),
            headers: fields(response.fields(), &self.masked()),
            content: Vec::new(),
            read_bytes: 0,
            error: None,
        };
        *response.body_mut() = Body::incoming(tape);
        Ok(response)
    }

    /// A line that cannot be written is lost: the exchange is not.
    fn write(&self, exchange: &RecordedExchange) {
        let Ok(mut line) = serde_json::to_vec(exchange) else { return };
        line.push(b'\n');
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = file.write_all(&line);
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder").field("masked", &self.masked()).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// Records each exchange: it sees what [middleware](Self::middleware) that was added before it sends.
    pub fn record(self, recorder: &Recorder) -> Self {
        let recorder = recorder.clone();
        self.middleware(move |request, next| recorder.clone().record(request, next))
    }
}

/// Content of a response, kept as it is read.
struct Tape {
    inner: Body,
    recorder: Recorder,
    /// None once the line was written.
    request: Option<RecordedRequest>,
    status: u16,
    headers: Vec<(String, String)>,
    content: Vec<u8>,
    /// How much of the content was read.
    read_bytes: usize,
    error: Option<RecordedError>,
}

impl Tape {
    /// Writes the line. `is_whole` says whether the content has ended.
    fn end(&mut self, is_whole: bool) {
        let Some(request) = self.request.take() else { return };
        let response = RecordedResponse {
            status: self.status,
            headers: std::mem::take(&mut self.headers),
            body: RecordedContent::new(&self.content),
            is_cut: !is_whole || self.read_bytes > self.content.len(),
        };
        let error = self.error.take();
        self.recorder.write(&RecordedExchange { request, response: Some(response), error });
    }
}

impl Incoming for Tape {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        let piece = ready!(self.inner.poll_chunk(cx));
        match &piece {
            Some(Ok(piece)) => {
                let room = CONTENT_BYTES_MAX.saturating_sub(self.content.len());
                self.content.extend_from_slice(&piece[..piece.len().min(room)]);
                self.read_bytes += piece.len();
                if self.inner.len() == Some(0) {
                    self.end(true);
                }
            }
            Some(Err(error)) => {
                self.error = Some(RecordedError::new(error));
                self.end(true);
            }
            None => self.end(true),
        }
        Poll::Ready(piece)
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.inner.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        self.inner.len()
    }

    fn wire_bytes(&self) -> Option<u64> {
        self.inner.wire_bytes()
    }

    fn pause(&mut self) {
        self.inner.pause();
    }

    fn due(&self) -> Option<Instant> {
        self.inner.due()
    }

    fn follows(&mut self, attempts: u32, called: Instant) {
        self.inner.follows(attempts, called);
    }

    fn overdue(&mut self) -> Option<Error> {
        self.inner.overdue()
    }
}

impl Drop for Tape {
    fn drop(&mut self) {
        self.end(self.inner.len() == Some(0));
    }
}
