//! Answers from a file of exchanges.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use http::StatusCode;

use super::exchange::{
    RecordedContent, RecordedExchange, RecordedRequest, RecordedResponse, is_same_url,
};
use crate::body::Body;
use crate::client::ClientBuilder;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::Request;
use crate::response::Response;

/// The exchanges of a file that a [`Recorder`](super::Recorder) wrote, in place of all servers:
/// [`ClientBuilder::replay`](crate::ClientBuilder::replay). Cheap to clone.
///
/// Each request takes the next exchange that was recorded of its method, URL and content; after the last of them, that
/// one is taken again. A line without `body` in its request fits any content, and a value that was masked in a query
/// fits any value. A recorded error fails again, with its kind and phase; content of which the file has only the
/// beginning ends in [`ErrorKind::ClosedEarly`]. A request that was not recorded fails with
/// [`ErrorKind::InvalidMessage`].
#[derive(Clone)]
pub struct Recording(Arc<Mutex<Vec<(RecordedExchange, bool)>>>);

impl Recording {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// The system's, and [`io::ErrorKind::InvalidData`] for a line that is no exchange, with its number.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let text = fs::read_to_string(path)?;
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let exchanges = lines.map(|(at, line)| {
            let invalid = |why: String| {
                io::Error::new(io::ErrorKind::InvalidData, format!("line {}: {why}", at + 1))
            };
            let exchange: RecordedExchange =
                serde_json::from_str(line).map_err(|error| invalid(error.to_string()))?;
            match &exchange.error {
                Some(error) if !error.is_known() => Err(invalid(format!(
                    "no error has the kind {:?} and the phase {:?}",
                    error.kind, error.phase
                ))),
                _ => Ok((exchange, false)),
            }
        });
        Ok(Self(Arc::new(Mutex::new(exchanges.collect::<io::Result<_>>()?))))
    }

    fn answer(&self, request: &Request) -> Result<Response, Error> {
        let not_recorded = || {
            let error = Error::new(ErrorKind::InvalidMessage, Phase::Request);
            let url = stoop_proto::without_password(request.url().unwrap_or_default());
            error.with_detail(format_args!("{} {url} was not recorded", request.method()))
        };
        let exchange = self.find(request).ok_or_else(not_recorded)?;
        match (exchange.response, exchange.error) {
            (Some(response), error) => response.response(error.map(|error| error.error())),
            (None, Some(error)) => Err(error.error()),
            (None, None) => Err(not_recorded()),
        }
    }

    fn find(&self, request: &Request) -> Option<RecordedExchange> {
        let mut exchanges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |exchange: &RecordedExchange| exchange.request.is_of(request);
        let next = exchanges.iter().position(|(exchange, was_used)| !was_used && fits(exchange));
        let at = next.or_else(|| exchanges.iter().rposition(|(exchange, _)| fits(exchange)))?;
        let (exchange, was_used) = exchanges.get_mut(at)?;
        *was_used = true;
        Some(exchange.clone())
    }
}

impl RecordedRequest {
    fn is_of(&self, request: &Request) -> bool {
        let url = stoop_proto::without_password(request.url().unwrap_or_default());
        let is_same_content = |recorded: &RecordedContent| {
            request.body().in_memory().map(RecordedContent::new).as_ref() == Some(recorded)
        };
        self.method == request.method().as_str()
            && is_same_url(&self.url, &url)
            && self.body.as_ref().is_none_or(is_same_content)
    }
}

impl RecordedResponse {
    /// The response again, whose content fails in the end if it did.
    fn response(&self, error: Option<Error>) -> Result<Response, Error> {
        let invalid = |what: &str| {
            Error::new(ErrorKind::InvalidMessage, Phase::Request)
                .with_detail(format_args!("the recording has {what}"))
        };
        let status = StatusCode::from_u16(self.status).map_err(|_| invalid("no status"))?;
        let content = self.body.bytes().ok_or_else(|| invalid("content that is not base64"))?;
        let is_cut = self.is_cut.then(|| {
            let error = Error::new(ErrorKind::ClosedEarly, Phase::Receive);
            error.with_detail("the recording has only the beginning of this content")
        });
        let body = match error.or(is_cut) {
            None => Body::from(content),
            Some(error) => {
                let (sender, body) = Body::channel(2);
                let _ = sender
                    .0
                    .try_send(crate::body::ChannelItem::Frame(http_body::Frame::data(content)));
                let _ = sender.0.try_send(crate::body::ChannelItem::Failed(error.into()));
                body
            }
        };
        let mut response = Response::new(body).with_status(status);
        for (name, value) in &self.headers {
            response = response.with_field(name, value)?;
        }
        Ok(response)
    }
}

impl ClientBuilder {
    /// Answers everything from a [`Recording`], and sends nothing.
    pub fn replay(self, recording: &Recording) -> Self {
        let recording = recording.clone();
        self.middleware(move |request, _| {
            let answer = recording.answer(&request);
            async move { answer }
        })
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exchanges = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        write!(f, "Recording({} exchanges)", exchanges.len())
    }
}
