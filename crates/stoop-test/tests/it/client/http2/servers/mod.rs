//! Our client and the servers of other projects: each [`OriginKind`], over TLS by ALPN, and without TLS by
//! prior knowledge.

mod common;
mod go;
mod nghttpd;
mod nginx;
mod restarts;

use std::time::Duration;

use bytes::Bytes;
use stoop::{Client, ClientLimits, Error, Request, Response, Versions};
use tokio::task::JoinSet;

use crate::client::kit::counts;
use crate::origins::{LARGE_LEN, OriginKind, OriginServer};

/// A server of another project, and a client of it.
struct OriginClient {
    origin: OriginServer,
    client: Client,
}

impl OriginClient {
    /// Starts a server of that kind with the further settings `more`. `None` if its program is missing,
    /// which is reported.
    async fn to(name: &str, kind: OriginKind, tls: bool, more: &'static str) -> Option<Self> {
        let origin = OriginServer::start_with(name, kind, tls, more).await?;
        // With TLS, ALPN decides the version.
        let versions = if tls { Versions::All } else { Versions::Http2 };
        let mut limits = ClientLimits::default();
        limits.time.expect_continue = Duration::from_secs(60);
        let builder = Client::builder().tls(origin.trusted()).versions(versions).limits(limits);
        Some(Self { client: builder.build().unwrap(), origin })
    }

    /// The same without TLS and with it.
    async fn both(name: &str, kind: OriginKind, more: &'static str) -> Vec<Self> {
        let plain = Self::to(name, kind, false, more).await;
        plain.into_iter().chain(Self::to(name, kind, true, more).await).collect()
    }

    /// Each kind of server, without TLS and with it.
    async fn each(name: &str) -> Vec<Self> {
        let mut all = Vec::new();
        for kind in OriginKind::ALL {
            all.extend(Self::both(name, kind, "").await);
        }
        all
    }

    fn request(&self, path: &str) -> Request {
        Request::get(&self.origin.url(path)).unwrap()
    }

    fn post(&self, path: &str, content: impl Into<stoop::Body>) -> Request {
        Request::post(&self.origin.url(path), content.into()).unwrap()
    }

    /// Sends a request. The response must be of HTTP/2.
    async fn send(&self, request: Request) -> Response {
        let path = request.path().to_owned();
        let response = self.client.send(request).await;
        let response = response.unwrap_or_else(|error| panic!("{path} of {self}: {error}"));
        assert_eq!(response.version(), http::Version::HTTP_2, "{self}");
        response
    }

    /// Sends a request, and reads the status and content of the response.
    async fn whole(&self, request: Request) -> (u16, Bytes) {
        let path = request.path().to_owned();
        let response = self.send(request).await;
        let status = response.status().as_u16();
        let content = response.into_body().bytes(LARGE_LEN).await;
        (status, content.unwrap_or_else(|error| panic!("{path} of {self}: {error}")))
    }

    async fn get(&self, path: &str) -> (u16, Bytes) {
        self.whole(self.request(path)).await
    }

    /// The error of a request that must fail, at its head or later.
    async fn error(&self, request: Request) -> Error {
        match self.client.send(request).await {
            Ok(response) => match response.into_body().bytes(LARGE_LEN).await {
                Ok(content) => panic!("{self}: {content:?}"),
                Err(error) => error,
            },
            Err(error) => error,
        }
    }

    /// Sends `n` requests at once, and expects `hello` for each.
    async fn at_once(&self, n: usize) {
        let mut all = JoinSet::new();
        for _ in 0..n {
            let (client, url) = (self.client.clone(), self.origin.url("/"));
            all.spawn(async move {
                let response = client.get(&url).await?;
                Ok((response.status().as_u16(), response.into_body().bytes(LARGE_LEN).await?))
            });
        }
        for answer in all.join_all().await {
            let answer: Result<_, Error> = answer;
            assert_eq!(answer.map_err(|error| error.to_string()), Ok(hello()), "{self}");
        }
    }

    /// How many connections the client has.
    fn connections(&self) -> usize {
        counts(&self.client).0
    }

    /// Waits until the client has seen that the server ended all connections.
    async fn all_connections_ended(&self) {
        let wait = async {
            while self.connections() > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        assert!(waited.is_ok(), "{self} keeps {} connections", self.connections());
    }
}

impl std::fmt::Display for OriginClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.origin)
    }
}

/// The response to `/`.
fn hello() -> (u16, Bytes) {
    (200, Bytes::from_static(b"hello"))
}
