//! What HTTP services on [`stoop`] are made of: a router, arguments of handlers, middleware, sessions, static files.
//!
//! It uses the public interface of `stoop` alone. A service that needs none of it gives the server a function, and an
//! axum application runs on the server as it is.
//!
//! [`guide`] has pages for those who write services.
//!
//! # Your first service
//!
//! A [`Router`] has patterns of paths, and for each a [`Route`]: functions by method. What a function takes is made of
//! the request, and what it returns is the response. [`build`](Router::build) checks all of it.
//!
//! ```no_run
//! use stoop::{Server, StatusCode};
//! use stoop_web::{Path, Router, get};
//!
//! async fn greet(Path(name): Path<String>) -> String {
//!     format!("Hello, {name}!\n")
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let app = Router::new()
//!     .route("/", get(|| "Who are you?\n"))
//!     .route("/{name}", get(greet))
//!     .fallback(|| (StatusCode::NOT_FOUND, "That is nowhere.\n"))
//!     .build()?;
//! let server = Server::listen("127.0.0.1:8080")?;
//! server.run_blocking(app, |server| println!("listening on {}", server.endpoint()))?;
//! # Ok(()) }
//! ```
//!
//! A test asks it without a socket, through the real machines of both ends:
//!
//! ```
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! use stoop::Client;
//! use stoop_web::{Path, Router, get};
//!
//! let app = Router::new().route("/{name}", get(|Path(name): Path<String>| name)).build()?;
//! let client = Client::builder().handler(app).build()?;
//! assert_eq!(client.get("http://a.test/Ada").await?.text().await?, "Ada");
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! # What a handler takes
//!
//! Any number of [`FromHead`], up to ten with the last one, which may read the content ([`FromContent`]). All of them are tried, so that
//! one answer tells all that is wrong with a request, as text or, where the client would rather have it, as
//! `application/problem+json`: see [`Rejection`].
//!
//! | argument | made of | feature |
//! |---|---|---|
//! | [`Path`] | the parameters of the path | |
//! | [`Query`] | the query | |
//! | [`State`] | what the router was given, for all workers or for each | |
//! | [`Extension`], [`Peer`], [`Authority`], [`Pattern`] | what middleware, the connection, the client and the router know of it | |
//! | [`Draining`](stoop::Draining) | the server: whether it drains, and is ready | |
//! | [`Method`](stoop::Method), [`Version`](stoop::Version), [`Fields`](stoop::Fields) | the head | |
//! | [`User`] | the credentials | `auth` |
//! | [`Cookies`] | the cookies | `cookies` |
//! | [`Session`] | the session | `sessions` |
//! | [`LastEventId`] | where a stream of events was broken off | |
//! | [`Json`], last | JSON | `json` |
//! | [`Form`], last | a form | |
//! | [`Multipart`], last | a form with files, as it comes | `multipart` |
//! | [`Bytes`](bytes::Bytes), `String`, last | the content, whole | |
//! | [`Request`](stoop::Request), [`Body`](stoop::Body), last | everything | |
//! | `Result<_, Rejection>` | any of these, for a handler that answers errors itself | |
//!
//! # What a handler returns
//!
//! What [`IntoResponse`](stoop::IntoResponse) is implemented for: text, bytes, a [`Response`](stoop::Response), a
//! [`StatusCode`](stoop::StatusCode), `()`, tuples with a status or fields in front, such as
//! `(StatusCode::CREATED, [("location", "/7")], "made")`, [`Json`], [`Html`], [`Redirect`], [`NoContent`], [`Sse`],
//! and a `Result` of two of them. [`preferred`] chooses one by Accept.
//!
//! # What is around handlers
//!
//! [`Middleware`]: an `async fn(Request, Next) -> impl IntoResponse`, or [`Cors`], [`Compress`], [`Decompress`],
//! [`BasicAuth`], [`BearerAuth`], [`Sessions`], [`HttpsRedirect`], [`StrictTransport`], [`TrustedProxies`],
//! [`AccessLog`], [`Sight`], on a router or on a route. What blocks runs in a [`BlockingPool`]. [`Sight`] counts by
//! route, and shows the figures to Prometheus and, by [`StatusPage`], in a browser. With the feature `tracing` there is
//! `TraceRequests`, which has a span for each request.
//!
//! # Files
//!
//! [`Files`] (feature `files`, on by default) is a directory as an endpoint: the fallback of a router or of one nested in it,
//! the rest of a path by `{*name}`, or a handler of its own.
//!
//! ```no_run
//! use stoop::Server;
//! use stoop_web::{FileCoding, Files, Router, get};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Names with a hash of their content, made together with `.br` and `.gz` beside them.
//! let assets = Files::new("dist/assets")?
//!     .precompressed([FileCoding::Brotli, FileCoding::Gzip])
//!     .cache_control("max-age=31536000, immutable")?;
//! // The application itself: any path that a browser asks for as a page is its.
//! let pages = Files::new("dist")?.single_page("index.html").cache_control("no-cache")?;
//! let app = Router::new()
//!     .route("/api/health", get(|| "well\n"))
//!     .nest("/assets", Router::new().fallback(assets))
//!     .nest("/downloads", Router::new().fallback(Files::new("downloads")?.listing(1_000)))
//!     .fallback(pages)
//!     .build()?;
//! Server::listen("127.0.0.1:8080")?.run_blocking(app, |_| {})?;
//! # Ok(()) }
//! ```
//!
//! | asked for | answered |
//! |---|---|
//! | a file | 200, with Content-Type by its extension, a strong ETag of length and time, Last-Modified, `nosniff` |
//! | a file, by If-Match, If-None-Match, If-Modified-Since, If-Unmodified-Since | 200, 304 or 412, in the order of RFC 9110 §13.2.2 |
//! | one range of it, or several | 206, the latter as `multipart/byteranges`; 416 for what is not there or costs too much (RFC 9110 §14.2) |
//! | a file that is there in zstd, br or gzip too | the one that Accept-Encoding weighs most, with an ETag of its own: [`Files::precompressed`] |
//! | a directory, without a slash at the end | 308 to the same path with one |
//! | a directory | its index, else a list of its entries if that is on: [`Files::index`], [`Files::listing`] |
//! | what is not there, hidden, or outside by `..` or a link | 404, or a page: [`Files::not_found_page`], [`Files::single_page`] |
//! | any of it, by another method | 405, or 204 to OPTIONS |
//!
//! Each worker remembers for a second what it found at a path, and keeps the content of small files in memory and large ones
//! open: a file that is asked for often costs no call of the file system but the one that sends it. [`FileCache`] says how
//! much, and for how long. Replace files by renaming others over them: then a response is of one file from its first byte
//! to its last.
//!
//! # What it costs
//!
//! A route without parameters is found by one look into a table, whatever their number, and a function that is not async
//! is answered without a future. Beside the same function without a router, a small request takes 3 % more
//! instructions: `examples/router_cost.rs` measures it. A future is allocated for an async function, and one for
//! middleware that is one.
//!
//! # Limits
//!
//! | what | default | beyond it | by |
//! |---|---|---|---|
//! | content that an argument reads | 2 MiB | 413 | [`Router::body_bytes_max`], [`Route::body_bytes_max`] |
//! | time until the response's head | none but the server's | 503 with Retry-After | [`Router::time_limit`], [`Route::time_limit`] |
//! | names of a query or form | 1,000 | 400 | |
//! | parts of a form with files, the fields of each | 1,000, 8 KiB | 413, 400 | |
//! | what an answer tells of wrong arguments | 32 problems, 256 bytes of a name, 1 KiB of a detail | left out | |
//! | content once it is decoded | 16 MiB | 413 | [`Decompress::bytes_max`] |
//! | responses encoded as they are sent, at a time | 64, of 2 MiB each | sent as it is | [`Compress::encoders_max`] |
//! | values of a session | 16 KiB | an error of the handler | [`Sessions::bytes_max`] |
//! | sessions in memory | as given | one makes room, first of those whose cookie has never come back | [`MemoryStore::new`] |
//! | functions that wait for a thread | as given | 503 with Retry-After | [`BlockingPool::new`] |
//! | what is remembered of files, on each worker | 1,024 paths, 128 open files, 4 MiB, 1 s | others are forgotten | [`FileCache`] |
//! | ranges of a request for a file | 64, 8 out of order, 2 that overlap | 416 | |
//! | entries of a directory in its listing | as given | left out, with a note | [`Files::listing`] |
//! | lines of a log that wait for its writer | 1 MiB of each core | they are counted | [`AccessLog::queue_bytes_max`] |
//! | routes that are counted on their own | 1,000 of each core | they are counted as `other` | |
//! | slow exchanges that are kept | 16 of each core, for five minutes | the slowest stay | |
//! | elements of Forwarded | 64 | 400 | |
//! | parameters of a pattern | 12 | the router is not built | |

#![forbid(unsafe_code)]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

mod accept;
mod access_log;
mod blocking;
#[cfg(any(feature = "compression", feature = "files"))]
mod coding;
#[cfg(feature = "cookies")]
mod cookies;
mod date;
#[cfg(any(feature = "compression", feature = "files"))]
mod etag;
mod exchange;
mod extract;
#[cfg(feature = "files")]
mod files;
mod forwarded;
pub mod guide;
mod json_text;
mod late;
mod layer;
mod limit;
#[cfg(feature = "multipart")]
mod multipart;
mod respond;
mod route;
mod router;
#[cfg(feature = "sessions")]
mod session;
mod shards;
mod sight;
mod sse;
#[cfg(feature = "tracing")]
mod trace;

pub use accept::preferred;
pub use access_log::{AccessLog, LogEntry, LogHandle};
pub use blocking::{BlockingError, BlockingPool};
#[cfg(feature = "cookies")]
pub use cookies::{Cookie, CookieKey, Cookies, SameSite};
pub use extract::{
    Authority, Extension, Form, FromContent, FromHead, Head, Immediate, IntoEndpoint, Path,
    Pattern, Peer, Place, Problem, Query, Rejection, State, ViaContent, ViaHead,
};
#[cfg(feature = "files")]
pub use files::{FileCache, FileCoding, Files, FilesHandler, FilesKind};
pub use forwarded::ForwardedClient;
#[cfg(feature = "auth")]
pub use layer::{BasicAuth, BearerAuth, User, same_secret};
#[cfg(feature = "compression")]
pub use layer::{Compress, Decompress};
pub use layer::{Cors, HttpsRedirect, StrictTransport, TrustedProxies};
#[cfg(feature = "multipart")]
pub use multipart::{Multipart, MultipartError, Part};
#[cfg(feature = "json")]
pub use respond::Json;
pub use respond::{Html, NoContent, Redirect};
pub use route::endpoint::Endpoint;
pub use route::middleware::{IntoLayer, Middleware, Next};
pub use route::mode::{Local, Mode, Shared};
pub use route::states::Needs;
pub use router::{
    App, AppHandler, AppKind, LocalRouter, Route, Router, RouterError, RouterProblem,
    TrailingSlash, any, connect, delete, get, head, on, options, patch, post, put,
};
#[cfg(feature = "sessions")]
pub use session::{
    MemoryStore, Session, SessionError, SessionId, SessionRecord, SessionStore, Sessions,
    StoreFuture,
};
pub use sight::{Sight, StatusPage};
pub use sse::{Event, EventSender, LastEventId, Sse};
#[cfg(feature = "tracing")]
pub use trace::TraceRequests;

/// The README's examples are compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// That of this crate.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
