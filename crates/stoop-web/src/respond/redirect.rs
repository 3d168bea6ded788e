//! [`Redirect`]: a response that sends the client to another URL.

use stoop::{Body, IntoResponse, Response, StatusCode};

use crate::respond::text::text;

/// Sends the client elsewhere, by a Location that is a URL or a reference such as `/login` (RFC 9110 §10.2.2).
///
/// A target with a control character or a space in it is no field value, and answered 500. A target that
/// comes from the client may lead to any host: check it, or let it begin with one slash and no second.
///
/// ```
/// use stoop::IntoResponse;
/// use stoop_web::Redirect;
///
/// let response = Redirect::to("/thanks").into_response();
/// assert_eq!((response.status().as_u16(), response.field("location")), (303, Some(&b"/thanks"[..])));
/// ```
#[derive(Clone, Debug)]
pub struct Redirect {
    status: StatusCode,
    location: String,
}

impl Redirect {
    fn new(status: StatusCode, location: impl Into<String>) -> Self {
        Self { status, location: location.into() }
    }

    /// 303: the client asks for it by GET, after a form was sent, for example (RFC 9110 §15.4.4).
    pub fn to(location: impl Into<String>) -> Self {
        Self::new(StatusCode::SEE_OTHER, location)
    }

    /// 307: for now it is there, with the same method and content (RFC 9110 §15.4.8).
    pub fn temporary(location: impl Into<String>) -> Self {
        Self::new(StatusCode::TEMPORARY_REDIRECT, location)
    }

    /// 308: it is there for good, with the same method and content (RFC 9110 §15.4.9). Clients keep that.
    pub fn permanent(location: impl Into<String>) -> Self {
        Self::new(StatusCode::PERMANENT_REDIRECT, location)
    }
}

impl IntoResponse for Redirect {
    type Body = Body;
    fn into_response(self) -> Response {
        let response = Response::from_status(self.status);
        match self.location.bytes().all(|byte| byte.is_ascii_graphic()) {
            true => response.with_field("location", self.location).unwrap_or_else(|_| malformed()),
            false => malformed(),
        }
    }
}

fn malformed() -> Response {
    let why = "500 Internal Server Error: the target of a redirect is no URL\n";
    text(StatusCode::INTERNAL_SERVER_ERROR, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_has_its_status_and_its_location() {
        for (redirect, status) in [
            (Redirect::to("/a"), 303),
            (Redirect::temporary("/a"), 307),
            (Redirect::permanent("/a"), 308),
        ] {
            let response = redirect.into_response();
            assert_eq!(response.status(), status);
            assert_eq!(response.field("location"), Some(&b"/a"[..]));
        }
    }

    #[test]
    fn a_target_that_would_split_the_message_is_refused() {
        for target in ["/a\r\nset-cookie: x=y", "/a b", "/\u{e4}", "/a\0"] {
            let response = Redirect::to(target).into_response();
            assert_eq!((response.status().as_u16(), response.field("location")), (500, None));
        }
    }
}
