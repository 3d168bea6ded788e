//! [`BlockingError`]: why a function in a pool gave no result.

use std::fmt;

use stoop::{Body, IntoResponse, Response, StatusCode};

use crate::respond::text::text;

/// What a client that found the pool full is told to wait, in seconds: the shortest that Retry-After can say.
const RETRY_AFTER: &str = "1";

/// Why a function in a pool gave no result. As an answer it is 503 with Retry-After, or 500 after a panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockingError {
    /// All threads are busy, and the queue is full.
    Full,
    /// It panicked.
    Panicked,
    /// A thread is needed, and cannot be started.
    NoThread,
}

impl fmt::Display for BlockingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "all threads are busy, and the queue is full",
            Self::Panicked => "the function panicked",
            Self::NoThread => "no thread can be started",
        })
    }
}

impl std::error::Error for BlockingError {}

impl IntoResponse for BlockingError {
    type Body = Body;
    fn into_response(self) -> Response {
        match self {
            Self::Panicked => {
                let why = "500 Internal Server Error: the handler failed\n";
                text(StatusCode::INTERNAL_SERVER_ERROR, why)
            }
            Self::Full | Self::NoThread => {
                let why = "503 Service Unavailable: too much is waiting\n";
                let response = text(StatusCode::SERVICE_UNAVAILABLE, why);
                ([("retry-after", RETRY_AFTER)], response).into_response()
            }
        }
    }
}
