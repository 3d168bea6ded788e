//! What all requests of a run have in common.

use bytes::Bytes;
use stoop::{Body, Error, Fields, Method, Request};

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

    /// The request for a URL.
    ///
    /// # Errors
    /// Those of [`Request::new`].
    pub(crate) fn request(&self, url: &str) -> Result<Request, Error> {
        let mut request = Request::new(self.method.clone(), url)?;
        if !self.fields.is_empty() {
            *request.fields_mut() = self.fields.clone();
        }
        match self.content.is_empty() {
            true => Ok(request),
            false => Ok(request.with_body(Body::from(self.content.clone()))),
        }
    }
}
