//! Responses with a status and fields in front: `(StatusCode, T)` and its like.

use http::StatusCode;

use crate::response::{IntoResponse, Response};

/// The response of `T`, with this status.
///
/// ```
/// use stoop::{IntoResponse, StatusCode};
///
/// let response = (StatusCode::CREATED, "it is there").into_response();
/// assert_eq!(response.status(), 201);
/// ```
impl<T: IntoResponse> IntoResponse for (StatusCode, T) {
    type Body = T::Body;
    fn into_response(self) -> Response<T::Body> {
        self.1.into_response().with_status(self.0)
    }
}

/// The response of `T`, with these fields in place of those of the same names. A value that no field can have is
/// answered 500.
///
/// ```
/// use stoop::IntoResponse;
///
/// let response = ([("cache-control", "no-store")], "secret").into_response();
/// assert_eq!(response.field("cache-control"), Some(&b"no-store"[..]));
/// ```
impl<N, V, T, const COUNT: usize> IntoResponse for ([(N, V); COUNT], T)
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
    T: IntoResponse,
{
    type Body = T::Body;
    fn into_response(self) -> Response<T::Body> {
        let mut response = self.1.into_response();
        // All of them go before the first comes, so that two of one name stay two.
        for (name, _) in &self.0 {
            response.fields_mut().remove(name.as_ref());
        }
        for (name, value) in &self.0 {
            if response.fields_mut().push(name.as_ref(), value.as_ref()).is_err() {
                let why = "500 Internal Server Error: a field of the answer is malformed\n";
                return Response::refusal(StatusCode::INTERNAL_SERVER_ERROR, why);
            }
        }
        response
    }
}

/// The response of `T`, with this status and these fields, as the shorter tuples have them.
impl<N, V, T, const COUNT: usize> IntoResponse for (StatusCode, [(N, V); COUNT], T)
where
    N: AsRef<str>,
    V: AsRef<[u8]>,
    T: IntoResponse,
{
    type Body = T::Body;
    fn into_response(self) -> Response<T::Body> {
        let (status, fields, rest) = self;
        (fields, (status, rest)).into_response()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    #[test]
    fn a_tuple_is_status_fields_and_content() {
        let fields = [("x", "1"), ("Content-Type", "text/csv"), ("x", "2")];
        let response = (StatusCode::CREATED, fields, "a,b").into_response();
        assert_eq!(response.status(), 201);
        assert_eq!(response.fields().all("x").collect::<Vec<_>>(), [b"1", b"2"]);
        assert_eq!(response.field("content-type"), Some(&b"text/csv"[..]));
        assert_eq!(response.into_body().len(), Some(3));
    }

    #[test]
    fn a_field_that_would_split_the_message_is_answered_500() {
        for (name, value) in [("x", "a\r\nb"), ("x y", "a"), ("", "a")] {
            let response: Response<Body> = (StatusCode::OK, [(name, value)], "").into_response();
            assert_eq!((response.status().as_u16(), response.field("x")), (500, None), "{name}");
        }
    }
}
