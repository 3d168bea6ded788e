//! The client for programs without a runtime: the feature `blocking`.
//!
//! [`Client`] does what [`crate::Client`] does, and waits. Requests are run by one thread of this process, `stoop-blocking`,
//! which is started with the first; connections, limits, errors and deadlines are the same. It may be used from any
//! number of threads, and from a task of a runtime too, which it then holds up.
//!
//! ```no_run
//! use std::time::Duration;
//! use stoop::blocking::Client;
//!
//! let client = Client::from(stoop::Client::builder().timeout(Duration::from_secs(10)).build()?);
//! let response = client.get("https://example.com/").header("accept", "text/html").send()?;
//! println!("{} {}", response.status(), response.text()?);
//! # Ok::<(), stoop::Error>(())
//! ```

mod request_builder;
mod response;
mod runtime;
mod upgraded;

use std::sync::mpsc;
use std::time::Duration;

use http::Method;
use stoop_proto::ResponseHead;

use crate::body::Body;
use crate::client::{Client as AsyncClient, ClientStats, ConnectionCounts, Switch as AsyncSwitch};
use crate::error::Error;
use crate::request::Request;

pub use request_builder::RequestBuilder;
pub use response::Response;
pub use upgraded::{Switch, Upgraded};

/// Sends requests and waits for their responses. Cheap to clone; all clones share their connections, with those of the
/// [client](crate::Client) that it was made of as well.
#[derive(Clone, Default)]
pub struct Client(AsyncClient);

impl From<AsyncClient> for Client {
    fn from(client: AsyncClient) -> Self {
        Self(client)
    }
}

impl Client {
    /// A client with the defaults of [`crate::Client::new`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sends a request and waits for the head of its response: see [`crate::Client::send`].
    ///
    /// # Errors
    /// As [`crate::Client::send`], and where the thread cannot be started.
    pub fn send(&self, request: Request) -> Result<Response, Error> {
        response::send(self.0.clone(), request)
    }

    /// Sends a request, and shows interim responses (1xx), such as 103 Early Hints, as they come: see
    /// [`crate::Client::send_with_interim`].
    ///
    /// # Errors
    /// As [`Client::send`].
    pub fn send_with_interim(
        &self,
        request: Request,
        mut interim: impl FnMut(&ResponseHead),
    ) -> Result<Response, Error> {
        let client = self.0.clone();
        let (sender, heads) = mpsc::channel();
        let response = runtime::start(async move {
            let mut show = |head: &ResponseHead| {
                let _ = sender.send(head.clone());
            };
            client.send_with_interim(request, &mut show).await
        })?;
        // The channel ends with the exchange.
        heads.iter().for_each(|head| interim(&head));
        Ok(Response::new(runtime::received(&response)??))
    }

    /// Opens a tunnel or another protocol: see [`crate::Client::switch`].
    ///
    /// # Errors
    /// As there.
    pub fn switch(&self, request: Request) -> Result<Switch, Error> {
        let client = self.0.clone();
        let switched = runtime::wait(async move { client.switch(request).await })??;
        Ok(match switched {
            AsyncSwitch::Accepted(upgraded) => Switch::Accepted(Upgraded::new(upgraded)),
            AsyncSwitch::Declined(response) => Switch::Declined(Response::new(response)),
        })
    }

    /// Describes a request of any method: see [`crate::Client::request`].
    pub fn request(&self, method: Method, url: impl AsRef<str>) -> RequestBuilder {
        RequestBuilder(self.0.request(method, url))
    }

    /// Describes a GET request.
    pub fn get(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::GET, url)
    }

    /// Describes a HEAD request.
    pub fn head(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::HEAD, url)
    }

    /// Describes a POST request.
    pub fn post(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::POST, url)
    }

    /// Describes a PUT request.
    pub fn put(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PUT, url)
    }

    /// Describes a PATCH request.
    pub fn patch(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::PATCH, url)
    }

    /// Describes a DELETE request.
    pub fn delete(&self, url: impl AsRef<str>) -> RequestBuilder {
        self.request(Method::DELETE, url)
    }

    /// What the connections are doing: see [`crate::Client::stats`].
    pub fn stats(&self) -> ClientStats {
        self.0.stats()
    }

    /// How many connections there are now.
    pub fn connections(&self) -> ConnectionCounts {
        self.0.connections()
    }

    /// Closes the client and all its clones: see [`crate::Client::close`].
    pub fn close(&self) {
        self.0.close();
    }

    /// Closes the client and waits until its exchanges are over: see [`crate::Client::drain`].
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn drain(&self, patience: Duration) -> Result<usize, Error> {
        let client = self.0.clone();
        runtime::wait(async move { client.drain(patience).await })
    }
}

/// Content that is read from `reader` as it is sent, on a thread for blocking work. It cannot be sent twice.
///
/// ```no_run
/// use std::io::stdin;
/// use stoop::blocking::{Client, from_reader};
///
/// Client::new().post("https://example.com/lines").body(from_reader(stdin())).send()?;
/// # Ok::<(), stoop::Error>(())
/// ```
pub fn from_reader(reader: impl std::io::Read + Send + 'static) -> Body {
    runtime::from_reader(reader)
}
