//! For tests of programs that use a [`Client`](crate::Client): the feature `testing`.
//!
//! Nothing here needs a network. What is sent goes through the real client, with its redirects, cookies, retries and
//! decoding, and over the real machines at both ends.
//!
//! - [`ClientBuilder::handler`](crate::ClientBuilder::handler) and [`LocalServer`](crate::LocalServer) ask a handler of the
//!   program's own, or of a test.
//! - [`Mock`] answers what a test expects, and tells what was asked besides.
//! - [`Recorder`] writes exchanges with real servers to a file, and [`Recording`] answers from it.
//!
//! Time is tokio's: in a test with `#[tokio::test(start_paused = true)]` a deadline of a minute passes at once, and so
//! does the delay before a retry.
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap().block_on(async {
//! use std::time::Duration;
//! use stoop::testing::Mock;
//! use stoop::{Client, ErrorKind, Method, Response};
//!
//! let mock = Mock::new();
//! mock.expect(Method::GET, "https://api.example/users/17").respond(|_| Response::from_json("{\"id\":17}"));
//! mock.expect(Method::GET, "https://api.example/slow").delay(Duration::from_secs(90)).respond(|_| Response::from_text("late"));
//!
//! let client = Client::builder().mock(&mock).timeout(Duration::from_secs(60)).build()?;
//! assert_eq!(client.get("https://api.example/users/17").await?.text().await?, "{\"id\":17}");
//! let error = client.get("https://api.example/slow").await.unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::TotalTimeout);
//! mock.verify();
//! # Ok::<(), stoop::Error>(()) }).unwrap();
//! ```

mod exchange;
mod mock;
mod recorder;
mod recording;

pub use mock::{Expectation, Mock, MockedRequest};
pub use recorder::Recorder;
pub use recording::Recording;
