//! Servers that others wrote: each of [`Kind`], over TLS by ALPN, and without by prior knowledge.

mod common;
mod go;
mod nghttpd;
mod nginx;
mod restarts;

use std::time::Duration;

use bytes::Bytes;
use stoop::{Client, ClientLimits, Error, Request, Response, Versions};
use tokio::task::JoinSet;

use crate::origins::{LARGE_LEN, OriginKind, OriginServer};

/// A server, and a client of it.
struct OriginClient {
    origin: OriginServer,
    client: Client,
}

impl OriginClient {
    /// To one of a kind, which is told `more`. None where it is missing, which is said.
    async fn to(name: &str, kind: OriginKind, tls: bool, more: &'static str) -> Option<Self> {
        let origin = OriginServer::start_with(name, kind, tls, more).await?;
        // ALPN is to decide where there is some.
        let versions = if tls { Versions::All } else { Versions::Http2 };
        let mut limits = ClientLimits::default();
        limits.time.expect_continue = Duration::from_secs(60);
        let builder = Client::builder().tls(origin.trusted()).versions(versions).limits(limits);
        Some(Self { client: builder.build().unwrap(), origin })
    }

    /// With TLS and without.
    async fn both(name: &str, kind: OriginKind, more: &'static str) -> Vec<Self> {
        let plain = Self::to(name, kind, false, more).await;
        plain.into_iter().chain(Self::to(name, kind, true, more).await).collect()
    }

    /// To each there is.
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

    fn posting(&self, path: &str, content: impl Into<stoop::Body>) -> Request {
        Request::post(&self.origin.url(path), content).unwrap()
    }

    /// The head of a response, which must be of HTTP/2.
    async fn send(&self, request: Request) -> Response {
        let path = request.path().to_owned();
        let response = self.client.send(request).await;
        let response = response.unwrap_or_else(|error| panic!("{path} of {self}: {error}"));
        assert_eq!(response.version(), http::Version::HTTP_2, "{self}");
        response
    }

    /// Status and content.
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

    /// The same of a request that must fail, at its head or later.
    async fn error(&self, request: Request) -> Error {
        match self.client.send(request).await {
            Ok(response) => match response.into_body().bytes(LARGE_LEN).await {
                Ok(content) => panic!("{self}: {content:?}"),
                Err(error) => error,
            },
            Err(error) => error,
        }
    }

    /// Sends so many at once, and expects `hello` for each.
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

    /// How many connections are open.
    fn connections(&self) -> usize {
        self.client.connections().0
    }

    /// Waits until the server has ended all connections, which nothing tells but their number.
    async fn has_ended_all(&self) {
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

/// What `/` is.
fn hello() -> (u16, Bytes) {
    (200, Bytes::from_static(b"hello"))
}
