//! `--header`: fields that responses have beside their own.

use std::sync::Arc;

use stoop::{Answer, Body, Fields, Request, Response};
use stoop_web::{Middleware, Mode, Next, Shared};

use crate::failure::CommandFailure;

/// Fields that say how a response is sent, or what its content is: the server's to write.
const OWN: [&str; 15] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "content-type",
    "date",
    "etag",
    "keep-alive",
    "last-modified",
    "location",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Middleware that adds fields to responses that do not have them.
pub(super) struct Headers(Arc<Fields>);

impl Headers {
    /// The fields that were given, each `NAME: VALUE`; none without any.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for a text that is no field, and for one that the server writes itself.
    pub(super) fn parse(given: &[String]) -> Result<Option<Self>, CommandFailure> {
        let mut fields = Fields::new();
        for text in given {
            let wrong = |why: &str| {
                Err(CommandFailure::Usage(format!("--header {}: {why}", text.escape_debug())))
            };
            let Some((name, value)) = text.split_once(':').filter(|(_, value)| {
                // One without a value is none of those that are meant to be sent.
                !value.trim().is_empty()
            }) else {
                return wrong("write 'NAME: VALUE', such as 'X-Frame-Options: DENY'");
            };
            if OWN.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return wrong("the server writes that field itself");
            }
            if fields.push(name, value.as_bytes()).is_err() {
                return wrong("no field has that name, or that value");
            }
        }
        Ok(Some(fields).filter(|fields| !fields.is_empty()).map(|fields| Self(Arc::new(fields))))
    }
}

fn with(fields: &Fields, mut response: Response) -> Response {
    // It fails for fields of gigabytes alone.
    let _ = response.fields_mut().push_missing(fields);
    response
}

impl Middleware<Shared> for Headers {
    fn handle(&self, request: Request, next: Next) -> Answer<<Shared as Mode>::Future, Body> {
        let fields = self.0.clone();
        match next.answer(request) {
            Answer::Now(response) => Answer::Now(with(&fields, response)),
            Answer::Later(future) => {
                Answer::Later(Box::pin(async move { with(&fields, future.await) }))
            }
        }
    }
}
