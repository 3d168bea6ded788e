//! [`HandlerPanic`]: a panic of a handler on its way to the server, with fields for the answer in its place.

use std::any::Any;
use std::fmt;
use std::panic::resume_unwind;

use stoop_proto::Fields;

/// A panic of a handler, with fields for the 500 that the server answers in its place.
///
/// Middleware that catches a panic adds what its client needs to read that answer, and [resumes](Self::resume) it, so that the
/// server counts it and tells its observers of it as of any other.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::panic::{AssertUnwindSafe, catch_unwind};
/// use stoop::{Client, HandlerPanic, Request, Response};
///
/// fn broken(_: Request) -> Response {
///     panic!("a defect");
/// }
///
/// let readable = |request: Request| {
///     catch_unwind(AssertUnwindSafe(|| broken(request))).unwrap_or_else(|payload| {
///         let mut panic = HandlerPanic::caught(payload);
///         let _ = panic.fields_mut().push("access-control-allow-origin", b"*");
///         panic.resume()
///     })
/// };
/// let client = Client::builder().handler(readable).build()?;
/// let response = client.get("http://a.test/").await?;
/// assert_eq!(response.status(), 500);
/// assert_eq!(response.field("access-control-allow-origin"), Some(&b"*"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct HandlerPanic {
    payload: Box<dyn Any + Send>,
    fields: Fields,
}

impl HandlerPanic {
    /// What was caught; with its fields, if it is one of these already.
    pub fn caught(payload: Box<dyn Any + Send>) -> Self {
        match payload.downcast::<Self>() {
            Ok(panic) => *panic,
            Err(payload) => Self { payload, fields: Fields::new() },
        }
    }

    /// The fields that the answer will have beside its own.
    pub fn fields_mut(&mut self) -> &mut Fields {
        &mut self.fields
    }

    /// Panics on, without the program's hook, which has shown the message already.
    pub fn resume(self) -> ! {
        resume_unwind(Box::new(self))
    }

    /// The fields of what was caught, if it has some.
    pub(super) fn fields_of(payload: &(dyn Any + Send)) -> Option<&Fields> {
        payload.downcast_ref::<Self>().map(|panic| &panic.fields)
    }

    /// What the handler panicked with.
    pub(super) fn payload_of(payload: &(dyn Any + Send)) -> &(dyn Any + Send) {
        payload.downcast_ref::<Self>().map_or(payload, |panic| &*panic.payload)
    }
}

impl fmt::Debug for HandlerPanic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HandlerPanic").field("fields", &self.fields).finish_non_exhaustive()
    }
}
