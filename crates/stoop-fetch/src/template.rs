//! What all requests of a run have in common.

use bytes::Bytes;
use stoop::{Body, Error, Fields, Method, Request};

use crate::job::JobOptions;

/// The method, fields and content of each request.
#[derive(Clone, Debug)]
pub(crate) struct Template {
    pub(crate) method: Method,
    pub(crate) fields: Fields,
    pub(crate) content: Bytes,
}

impl Default for Template {
    fn default() -> Self {
        Self { method: Method::GET, fields: Fields::new(), content: Bytes::new() }
    }
}

impl Template {
    /// Whether it is a GET without fields and content of its own.
    pub(crate) fn is_plain(&self) -> bool {
        self.method == Method::GET && self.fields.is_empty() && self.content.is_empty()
    }

    /// The request for a URL, with what its job has in place of it.
    ///
    /// # Errors
    /// Those of [`Request::new`], and a field that may not be sent.
    pub(crate) fn request(&self, url: &str, job: Option<&JobOptions>) -> Result<Request, Error> {
        let method = job.and_then(|job| job.method.as_ref()).unwrap_or(&self.method);
        let mut request = Request::new(method.clone(), url)?;
        if let Some(job) = job.filter(|job| !job.fields.is_empty()) {
            *request.fields_mut() = job.fields.clone();
            request.fields_mut().push_missing(&self.fields)?;
        } else if !self.fields.is_empty() {
            *request.fields_mut() = self.fields.clone();
        }
        let content = job.and_then(|job| job.content.as_ref()).unwrap_or(&self.content);
        match content.is_empty() {
            true => Ok(request),
            false => Ok(request.with_body(Body::from(content.clone()))),
        }
    }

    /// The request for a robots.txt file: with the User-Agent of the run. Its other fields are meant for what the run
    /// fetches, and stay behind.
    pub(crate) fn robots_request(&self, url: &str) -> Result<Request, Error> {
        let mut request = Request::get(url)?;
        for agent in self.fields.all("user-agent") {
            request.fields_mut().push("user-agent", agent)?;
        }
        Ok(request)
    }
}
