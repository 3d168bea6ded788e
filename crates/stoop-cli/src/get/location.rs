//! Where a redirect leads that is not followed.

use stoop::{Error, Response};

/// Where the redirect leads that a response is, if it is one.
pub(super) fn of_response(response: &Response) -> String {
    let location = response.field("location").filter(|_| response.status().is_redirection());
    let location = location.filter(|location| !location.is_empty());
    joined(response.url(), location)
}

/// Where the redirect leads that was one too many.
pub(super) fn of_error(error: &Error) -> String {
    joined(error.url(), error.location())
}

fn joined(base: Option<&str>, location: Option<&[u8]>) -> String {
    let (Some(location), Some(base)) = (location, base) else { return String::new() };
    let base = url::Url::parse(base).ok();
    let joined = base.and_then(|base| base.join(&String::from_utf8_lossy(location)).ok());
    joined.map(String::from).unwrap_or_default()
}
