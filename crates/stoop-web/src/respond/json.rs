//! [`Json`]: JSON as an argument of a handler, and as its response.

use serde::Serialize;
use stoop::{Body, IntoResponse, Response, StatusCode};

use crate::respond::text::text;

/// JSON: as a response a 200 with a value as `application/json`, as an extractor the content of a request.
///
/// A value that cannot be JSON, such as a map whose keys are no strings, is answered 500.
///
/// As an extractor it needs a Content-Type of `application/json` or `application/…+json`, and content in no content coding
/// unless [`Decompress`](crate::Decompress) is around it, else the answer is 415; content
/// that is no JSON, or not that of the type, is answered 400 with line, column and the path of what is wrong first, and, of
/// content of up to 16 KiB, with the paths of what else is wrong, as far as the type tells; more than 2 MiB is 413, unless [`body_bytes_max`](crate::Router::body_bytes_max) says otherwise.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use serde::{Deserialize, Serialize};
/// use stoop::Client;
/// use stoop_web::{Json, Router, post};
///
/// #[derive(Serialize, Deserialize)]
/// struct Sum { a: i64, b: i64 }
///
/// let app = Router::new().route("/sum", post(|Json(sum): Json<Sum>| Json(sum.a + sum.b))).build()?;
/// let client = Client::builder().handler(app).build()?;
/// let request = client.post("http://a.test/sum").json(&Sum { a: 1, b: 2 });
/// assert_eq!(request.await?.text().await?, "3");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    type Body = Body;
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => Response::from_json(bytes),
            Err(_) => text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "500 Internal Server Error: the answer cannot be written as JSON\n",
            ),
        }
    }
}
