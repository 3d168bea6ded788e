//! What is kept of a redirect.

use http::StatusCode;
use stoop_proto::without_password;
use url::Url;

/// A redirect that was followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastRedirect {
    url: Box<str>,
    status: StatusCode,
}

impl PastRedirect {
    pub(crate) fn new(url: &Url, status: StatusCode) -> Self {
        Self { url: without_password(url.as_str()).into(), status }
    }

    /// The URL that answered by it, without credentials.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }
}
