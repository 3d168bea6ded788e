//! Which of the requests of an exchange failed: redirects make several of one.

use http::StatusCode;
use stoop_proto::ResponseHead;
use url::Url;

use super::Error;

/// The request that failed, and what it was answered with if that is why.
#[derive(Clone, Debug)]
pub(crate) struct Hop {
    url: Box<str>,
    redirects: u16,
    answer: Option<(StatusCode, Option<Box<[u8]>>)>,
}

impl Hop {
    pub(crate) fn new(url: &Url, redirects: u16) -> Self {
        Self { url: url.as_str().into(), redirects, answer: None }
    }

    /// The same, answered with that status.
    pub(crate) fn with_status(mut self, status: StatusCode) -> Self {
        self.answer = Some((status, None));
        self
    }

    /// The same, answered by a redirect that is not followed.
    pub(crate) fn answered(mut self, head: &ResponseHead) -> Self {
        let location = head.fields().first("location").map(Box::from);
        self.answer = Some((head.status(), location));
        self
    }
}

impl Error {
    /// The URL of the request that failed, without credentials: where there were redirects, of the
    /// last one that was sent. None for what failed before any was, and in reading content.
    pub fn url(&self) -> Option<&str> {
        self.hop().map(|hop| &*hop.url)
    }

    /// How many redirects were followed to get to that request.
    pub fn redirects(&self) -> u16 {
        self.hop().map_or(0, |hop| hop.redirects)
    }

    /// The status of the response, where that is the error: of a redirect that was not followed, or of
    /// [`Response::error_for_status`](crate::Response::error_for_status).
    pub fn status(&self) -> Option<StatusCode> {
        Some(self.hop()?.answer.as_ref()?.0)
    }

    /// Where that redirect leads, as the server wrote it: it may have
    /// [credentials](crate::without_password) in it.
    pub fn location(&self) -> Option<&[u8]> {
        self.hop()?.answer.as_ref()?.1.as_deref()
    }
}
