//! The client: requests to any origin, over connections that are kept and shared.

mod backoff;
mod builder;
mod connect;
mod connect_target;
#[cfg(feature = "cookies")]
mod cookies;
pub(crate) mod deadlines;
mod descriptor_wait;
mod dial;
mod events;
mod exchange;
mod hsts;
mod http1;
mod http2;
mod middleware;
mod names;
mod netrc;
mod observe;
pub(crate) mod outgoing;
mod pace;
mod pool;
mod promote;
#[cfg(feature = "proxy")]
mod proxy;
mod redirect;
mod request_builder;
#[cfg(feature = "json")]
mod resource;
mod response_start;
mod retries;
mod retry;
mod send;
mod shared;
mod stats;
mod switch;
mod terms;
mod validators;

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use stoop_proto::Fields;

use crate::error::Error;
use crate::request::Request;
use crate::response::Response;

pub use builder::ClientBuilder;
pub(crate) use connect::Connecting;
pub use connect_target::ConnectTarget;
#[cfg(feature = "cookies")]
pub use cookies::CookieJar;
pub use events::{EventSource, ServerEvent};
pub use hsts::Hsts;
pub use netrc::Netrc;
pub use observe::ClientEvent;
pub use pace::FollowUp;
#[cfg(feature = "proxy")]
pub use proxy::{NoProxy, Proxies, Proxy};
pub use redirect::{RedirectAction, RedirectAttempt, Redirects};
pub use request_builder::RequestBuilder;
#[cfg(feature = "json")]
pub use resource::Resource;
pub use retries::{Retries, RetryAction, RetryAttempt, RetryBudget};
use shared::ClientShared;
pub use shared::Next;
pub use stats::{ClientStats, ConnectionStats, OriginStats};
pub use switch::Switch;
pub use validators::Validators;

/// Sends requests. Cheap to clone; all clones share their connections. Works on any tokio runtime,
/// and on several.
///
/// ```no_run
/// # async fn example() -> Result<(), stoop::Error> {
/// let client = stoop::Client::new();
/// let response = client.get("https://example.com/").await?;
/// println!("{} {}", response.status(), response.into_body().bytes(1 << 20).await?.len());
/// # Ok(()) }
/// ```
///
/// For bulk work, make one client for each core and send all requests of an origin to the same one.
#[derive(Clone)]
pub struct Client(Arc<ClientShared>);

impl Client {
    /// Sends a request and waits for the head of its final response; content follows as it is read.
    ///
    /// Deadlines (see [`ClientTime`](crate::ClientTime)) count from here. A request may have its own:
    /// [`Request::timeout`], [`Request::without_deadlines`]. Dropping the future, or the response, gives
    /// the exchange up.
    ///
    /// # Errors
    /// See [`ErrorKind`](crate::ErrorKind). A status such as 404 is not an error.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        if self.0.calls_directly() {
            let mut ignored = |_: &stoop_proto::ResponseHead| {};
            // Polled where it stands: a large future that is awaited is copied.
            return pin!(send::send(&self.0, request, &mut ignored)).await;
        }
        Box::pin(middleware::send_through(&self.0, request, None)).await
    }

    /// Sends a request as [`send`](Self::send) does, and shows interim responses (1xx), such as 103 Early Hints, as they
    /// come.
    ///
    /// # Errors
    /// As [`Client::send`].
    pub async fn send_with_interim(
        &self,
        request: Request,
        mut interim: impl FnMut(&stoop_proto::ResponseHead) + Send,
    ) -> Result<Response, Error> {
        if self.0.calls_directly() {
            return send::send(&self.0, request, &mut interim).await;
        }
        Box::pin(middleware::send_through(&self.0, request, Some(&mut interim))).await
    }

    /// Sends the request of a response again whose content failed with this error, if the client's
    /// [`retries`](ClientBuilder::retries) have that: by the rules for an attempt that failed, with their number, delay and
    /// budget, and within the deadline of the request, which [`Body::pause`](crate::Body::pause) holds back. What comes is
    /// the response of the next attempt, or of those that follow, and its content begins anew. `None` where there is no
    /// further attempt: then the error is the outcome.
    ///
    /// The response must be the one that was received, and has no content any more once there is a further attempt. There
    /// is none with [middleware](ClientBuilder::middleware), which would not see it.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) -> Result<Vec<u8>, stoop::Error> {
    /// let mut response = client.get("http://example.com/large").await?;
    /// let mut content = Vec::new();
    /// loop {
    ///     match response.chunk().await {
    ///         Ok(Some(piece)) => content.extend_from_slice(&piece),
    ///         Ok(None) => return Ok(content),
    ///         Err(error) => {
    ///             let Some(again) = client.retry(&mut response, &error) else { return Err(error) };
    ///             content.clear();
    ///             response = again.await?;
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    pub fn retry<'a>(
        &'a self,
        response: &mut Response,
        error: &Error,
    ) -> Option<impl Future<Output = Result<Response, Error>> + Send + use<'a>> {
        retry::after_content(&self.0, response, error, None)
    }

    /// The same as [`retry`](Self::retry), with these fields in the request in place of its own of the same names: Range and
    /// If-Range ask for the rest of content of which a part has come (RFC 9110 §14.2, §13.1.5). The attempts that follow
    /// because of its status or error have them, too; another call for the response that comes has the request as it was.
    ///
    /// A server may answer with all of the content (200) all the same, and a 206 may have another part than was asked for:
    /// its Content-Range says which. It may refuse the range (416): no attempt follows because of that status, whatever the
    /// policy. Such a response is of no use, whatever content it has, and [`retry`](Self::retry) with the error from before
    /// sends the request as it was.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) -> Result<Vec<u8>, stoop::Error> {
    /// use stoop::{Fields, StatusCode};
    ///
    /// let mut response = client.get("http://example.com/large").await?;
    /// let etag = response.field("etag").map(<[u8]>::to_vec);
    /// let mut content = Vec::new();
    /// loop {
    ///     match response.chunk().await {
    ///         Ok(Some(piece)) => content.extend_from_slice(&piece),
    ///         Ok(None) => return Ok(content),
    ///         Err(error) => {
    ///             let Some(etag) = &etag else { return Err(error) };
    ///             let mut fields = Fields::new();
    ///             fields.push("range", format!("bytes={}-", content.len()).as_bytes())?;
    ///             fields.push("if-range", etag)?;
    ///             let Some(again) = client.retry_with(&mut response, &error, fields) else { return Err(error) };
    ///             response = again.await?;
    ///             let first = format!("bytes {}-", content.len());
    ///             let range = response.field("content-range").unwrap_or_default();
    ///             match response.status() {
    ///                 StatusCode::PARTIAL_CONTENT if range.starts_with(first.as_bytes()) => {}
    ///                 StatusCode::OK => content.clear(),
    ///                 _ => return Err(error),
    ///             }
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    pub fn retry_with<'a>(
        &'a self,
        response: &mut Response,
        error: &Error,
        fields: Fields,
    ) -> Option<impl Future<Output = Result<Response, Error>> + Send + use<'a>> {
        retry::after_content(&self.0, response, error, Some(Box::new(fields)))
    }

    /// Opens a tunnel or another protocol: sends a request that offers an Upgrade, or a CONNECT to
    /// `authority` through the proxy at `url`, and returns the switched connection. An Upgrade is sent
    /// over HTTP/1.1, which alone has it, also to servers that would speak HTTP/2; a CONNECT, and an
    /// [extended one](Request::extended_connect), open a stream of HTTP/2 where that is spoken.
    ///
    /// # Errors
    /// As [`Client::send`]. A server that does not switch makes no error: see [`Switch`].
    pub async fn switch(&self, request: Request) -> Result<Switch, Error> {
        send::switch(&self.0, request).await
    }

    /// What the connections are doing now, by origin, and what became of them. Costs time for each origin that
    /// is connected to: for a page of figures, not for each request.
    ///
    /// ```
    /// # async fn example(client: stoop::Client) {
    /// let stats = client.stats();
    /// println!("{} waiting, {} connected", stats.total.waiting, stats.total.connected);
    /// for origin in stats.origins {
    ///     println!("{}: {:?}", origin.origin, origin.connections);
    /// }
    /// # }
    /// ```
    pub fn stats(&self) -> ClientStats {
        self.0.pool.stats()
    }

    /// Closes the client and all its clones: further requests fail with
    /// [`ErrorKind::Cancelled`](crate::ErrorKind::Cancelled), and so do those that wait for a connection.
    /// Idle connections are closed at once, the others when their exchanges are over.
    pub fn close(&self) {
        self.0.pool.close();
    }

    /// [Closes](Self::close) the client, and waits until its exchanges are over, for `patience` at most. Then
    /// it ends those over HTTP/2, whose owners read `Cancelled`; a response over HTTP/1 holds its connection
    /// until its owner drops it. Returns how many connections were open when the time was over.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use stoop::Client;
    ///
    /// let client = Client::builder().handler(|_: stoop::Request| "hello").build()?;
    /// client.get("http://here/").await?.text().await?;
    /// assert_eq!(client.drain(Duration::from_secs(5)).await, 0);
    /// assert!(client.get("http://here/").await.is_err());
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    pub async fn drain(&self, patience: Duration) -> usize {
        self.close();
        let drained = poll_fn(|cx| self.0.pool.poll_drained(cx));
        let over = tokio::time::timeout(patience, drained).await.is_ok();
        let open = if over { 0 } else { self.connections().open };
        if !over {
            self.0.pool.abort_shared();
        }
        open
    }

    /// How many connections there are now.
    pub fn connections(&self) -> ConnectionCounts {
        let (open, idle) = self.0.pool.counts();
        ConnectionCounts { open, idle }
    }
}

/// The connections of a [`Client`] at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectionCounts {
    /// Those that are open, idle ones included; one that is being opened counts as well.
    pub open: usize,
    /// Those that no exchange uses.
    pub idle: usize,
}

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ConnectionCounts { open, idle } = self.connections();
        write!(f, "Client({open} connections, {idle} idle)")
    }
}
