//! The client and nginx over HTTP/1.1, without TLS and with it: its limits, its settings, and its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use stoop::body::ContentCoding;
use stoop::{
    Body, Client, ClientBuilder, Error, ErrorKind, RequestBuilder, Retries, StatusCode, Versions,
};
use tokio::task::JoinSet;

use super::kit::{counts, limited};
use crate::origins::{BIG_LEN, LARGE_LEN, OriginKind, OriginServer, big, large};

const MS: Duration = Duration::from_millis(1);

/// nginx, and a client to which its paths are URLs.
struct Nginx {
    origin: OriginServer,
    client: Client,
}

impl Nginx {
    /// Without TLS and with it, with further settings. None where nginx is missing.
    async fn both(name: &str, more: &'static str) -> Vec<Self> {
        let mut all = Vec::new();
        for tls in [false, true] {
            all.extend(Self::start(name, tls, more).await);
        }
        all
    }

    async fn start(name: &str, tls: bool, more: &'static str) -> Option<Self> {
        let name = format!("client::nginx::{name}");
        let kind = OriginKind::NginxHttp1;
        let origin = OriginServer::start_with(&name, kind, tls, more).await?;
        let client = client_of(&origin, limited(|_| {}));
        Some(Self { origin, client })
    }

    async fn get(&self, path: &str) -> (u16, Bytes) {
        whole(self.client.get(path)).await.unwrap_or_else(|error| panic!("{self}: {error}"))
    }

    /// How many connections the client has.
    fn connections(&self) -> usize {
        counts(&self.client).0
    }

    /// How many connections the client has made.
    fn connected(&self) -> u64 {
        self.client.stats().total.connected
    }
}

impl std::fmt::Display for Nginx {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.origin)
    }
}

fn client_of(origin: &OriginServer, builder: ClientBuilder) -> Client {
    let builder = builder.tls(origin.trusted()).versions(Versions::Http1);
    builder.base_url(origin.url("/")).build().unwrap()
}

async fn whole(request: RequestBuilder) -> Result<(u16, Bytes), Error> {
    let response = request.await?;
    assert_eq!(response.version(), http::Version::HTTP_11);
    let status = response.status().as_u16();
    Ok((status, response.into_body().bytes(LARGE_LEN).await?))
}

fn hello() -> (u16, Bytes) {
    (200, Bytes::from_static(b"hello"))
}

fn took() -> (u16, Bytes) {
    (200, Bytes::from_static(b"took"))
}

/// The server announces the end of a connection with the third response, so that no request meets it.
#[tokio::test]
async fn connections_that_end_after_three_requests_lose_none() {
    const MORE: &str = "keepalive_requests 3; location = /took { return 200 'took'; }";
    for nginx in Nginx::both("keepalive_requests", MORE).await {
        for n in 0..100 {
            assert_eq!(nginx.get("/").await, hello(), "{nginx}: GET {n}");
            let posted = whole(nginx.client.post("/took").body("content")).await;
            assert_eq!(posted.unwrap(), took(), "{nginx}: POST {n}");
        }
        let connected = nginx.connected();
        assert!((67..=80).contains(&connected), "{nginx}: {connected} for 200 requests");
        let mut all = JoinSet::new();
        for n in 0..200 {
            let request = match n % 2 {
                0 => nginx.client.get("/took"),
                _ => nginx.client.post("/took").body("content"),
            };
            all.spawn(whole(request));
        }
        for outcome in all.join_all().await {
            assert_eq!(outcome.unwrap(), took(), "{nginx}");
        }
    }
}

#[tokio::test]
async fn an_idle_connection_that_nginx_ends_is_replaced() {
    for nginx in Nginx::both("keepalive_timeout", "keepalive_timeout 100ms;").await {
        for n in 1..=3 {
            assert_eq!(nginx.get("/").await, hello(), "{nginx}");
            assert_eq!(nginx.connected(), n, "{nginx}");
            let ended = async {
                while nginx.connections() > 0 {
                    tokio::time::sleep(5 * MS).await;
                }
            };
            let ended = tokio::time::timeout(30_000 * MS, ended).await;
            assert!(ended.is_ok(), "{nginx} keeps {}", nginx.connections());
        }
    }
}

/// A GET is sent again; a POST, which may have been processed, fails if it is not sure that it was not.
#[tokio::test]
async fn a_request_that_crosses_the_end_of_its_connection_fails_only_where_it_must() {
    const MORE: &str = "keepalive_timeout 20ms; location = /took { return 200 'took'; }";
    for nginx in Nginx::both("crossing", MORE).await {
        for n in 0..40 {
            let pause = Duration::from_micros(18_500 + n * 100);
            assert_eq!(nginx.get("/").await, hello(), "{nginx}");
            tokio::time::sleep(pause).await;
            match whole(nginx.client.post("/took").body("content")).await {
                Ok(answer) => assert_eq!(answer, took(), "{nginx}"),
                Err(error) => {
                    let kinds = [ErrorKind::ClosedEarly, ErrorKind::Reset];
                    assert!(kinds.contains(&error.kind()), "{nginx}: {error}");
                    assert!(!error.is_repeatable(), "{nginx} it should have been: {error}");
                }
            }
            tokio::time::sleep(pause).await;
        }
    }
}

/// RFC 9112 §9.6: the server answers and closes before it has read the content.
#[tokio::test]
async fn a_refused_upload_gets_its_response() {
    const MORE: &str = "client_max_body_size 10k; location = /took { return 200 'took'; }";
    for nginx in Nginx::both("too_large", MORE).await {
        for _ in 0..10 {
            let refused = whole(nginx.client.post("/took").body(large())).await;
            assert_eq!(refused.unwrap().0, 413, "{nginx}");
            // The next request is answered all the same.
            let answered = whole(nginx.client.post("/took").body("some")).await;
            assert_eq!(answered.unwrap(), took(), "{nginx}");
        }
    }
}

/// A body of these pieces, whose length is not known, and how many of them were taken.
fn pieces(content: Vec<u8>, size: usize) -> (Body, Arc<AtomicUsize>) {
    let (sender, body) = Body::channel(1);
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = taken.clone();
    tokio::spawn(async move {
        for piece in content.chunks(size) {
            if sender.send(piece.to_vec()).await.is_err() {
                return;
            }
            counted.fetch_add(1, Ordering::Relaxed);
        }
        let _ = sender.finish().await;
    });
    (body, taken)
}

const PUT: &str = "client_max_body_size 20m;
    location /put { dav_methods PUT DELETE; create_full_put_path on; }";

#[tokio::test]
async fn uploads_with_a_length_and_in_chunks_are_stored_unchanged() {
    for nginx in Nginx::both("put", PUT).await {
        let client = &nginx.client;
        let sized = whole(client.put("/put/sized").body(large())).await.unwrap();
        assert_eq!(sized.0, 201, "{nginx}");
        assert!(nginx.get("/put/sized").await.1 == large(), "{nginx}");
        for size in [1, 1_000, 100_000] {
            let content = big()[..size * 10].to_vec();
            let path = format!("/put/chunked-{size}");
            let (body, _) = pieces(content.clone(), size);
            assert_eq!(whole(client.put(&path).body(body)).await.unwrap().0, 201, "{nginx}");
            let stored = nginx.get(&path).await;
            assert!(stored == (200, content.into()), "{nginx}: {path}");
            let deleted = client.delete(&path).await.unwrap();
            assert_eq!(deleted.status(), StatusCode::NO_CONTENT, "{nginx}");
        }
        assert_eq!(nginx.connected(), 1, "{nginx}: one connection serves all of it");
    }
}

/// RFC 9110 §10.1.1: the content is sent after the 100, and not at all after a final status.
#[tokio::test]
async fn content_waits_for_the_continue() {
    for nginx in Nginx::both("expect", PUT).await {
        let request = nginx.client.put("/put/expected").header("expect", "100-continue");
        let mut interim = Vec::new();
        let request = request.body(big()).build().unwrap();
        let response =
            nginx.client.send_with_interim(request, |head| interim.push(head.status().as_u16()));
        assert_eq!(response.await.unwrap().status(), StatusCode::CREATED, "{nginx}");
        assert_eq!(interim, [100], "{nginx}");
        assert!(nginx.get("/put/expected").await.1 == big(), "{nginx}");
    }
    const SMALL: &str = "client_max_body_size 10k; location = /took { return 200 'took'; }";
    for nginx in Nginx::both("expect_refused", SMALL).await {
        let content = Body::sized(BIG_LEN as u64, pieces(big(), 1_000).0);
        let request = nginx.client.post("/took").header("expect", "100-continue").body(content);
        assert_eq!(request.await.unwrap().status().as_u16(), 413, "{nginx}");
    }
}

#[tokio::test]
async fn ranges_are_parts_of_the_whole() {
    for nginx in Nginx::both("ranges", "").await {
        let all = large();
        let etag = nginx.client.head("/large").await.unwrap();
        let etag = etag.field("etag").unwrap().to_vec();
        for (range, from, to) in [
            ("bytes=0-15", 0, 16),
            ("bytes=1000000-2000000", 1_000_000, 2_000_001),
            ("bytes=-16", LARGE_LEN - 16, LARGE_LEN),
            ("bytes=10485000-", 10_485_000, LARGE_LEN),
        ] {
            let request = nginx.client.get("/large").header("range", range);
            let response = request.header("if-range", &etag).await.unwrap();
            let said = format!("bytes {from}-{}/{LARGE_LEN}", to - 1);
            assert_eq!(response.field("content-range"), Some(said.as_bytes()), "{nginx}");
            assert_eq!(response.status(), 206, "{nginx}");
            assert!(response.bytes().await.unwrap() == all[from..to], "{nginx}: {range}");
        }
        let changed = nginx.client.get("/large").header("range", "bytes=0-15");
        let changed = whole(changed.header("if-range", "\"other\"")).await.unwrap();
        assert!(changed == (200, all.into()), "{nginx}");
        let beyond = nginx.client.get("/big").header("range", "bytes=99999999-").await.unwrap();
        assert_eq!(beyond.status().as_u16(), 416, "{nginx}");
        let several = nginx.client.get("/big").header("range", "bytes=0-3,16-19").await.unwrap();
        let kind = several.field("content-type").unwrap().to_vec();
        assert!(kind.starts_with(b"multipart/byteranges"), "{nginx}");
        let text = several.text().await.unwrap();
        assert_eq!(text.matches("\r\n0123\r\n").count(), 2, "{nginx}: {text}");
    }
}

#[tokio::test]
async fn content_that_nginx_compresses_is_decoded() {
    const MORE: &str = "gzip on; gzip_types *; gzip_min_length 1;";
    for nginx in Nginx::both("gzip", MORE).await {
        let response = nginx.client.get("/large").await.unwrap();
        assert_eq!(response.decoded_from(), [ContentCoding::Gzip], "{nginx}");
        assert!(response.field("content-length").is_none(), "{nginx}");
        let mut body = response.into_body();
        let (mut content, mut wire) = (Vec::new(), 0);
        while let Some(piece) = body.chunk().await.unwrap() {
            content.extend_from_slice(&piece);
            wire = body.wire_bytes().unwrap();
        }
        assert!(content == large(), "{nginx}");
        assert!(wire > 1_000 && wire < LARGE_LEN as u64 / 2, "{nginx}: {wire} bytes");
        let plain = nginx.client.get("/big").decode_content(false).await.unwrap();
        assert!(plain.decoded_from().is_empty());
    }
}

#[tokio::test]
async fn a_dead_upstream_is_a_502_and_is_retried_where_that_is_wanted() {
    // A port that is closed again: 127.0.0.1:1 has no server.
    const MORE: &str = "location = /dead { proxy_pass http://127.0.0.1:1; }";
    for nginx in Nginx::both("dead_upstream", MORE).await {
        let (status, text) = nginx.get("/dead").await;
        assert_eq!(status, 502, "{nginx}");
        assert!(String::from_utf8_lossy(&text).contains("502 Bad Gateway"), "{nginx}");
        let error = nginx.client.get("/dead").await.unwrap().error_for_status().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HttpStatus, "{nginx}");
        let retries = Retries::up_to(3).delay(MS, 2 * MS).budget_percent(500);
        let client = client_of(&nginx.origin, limited(|_| {}).retries(retries));
        assert_eq!(client.get("/dead").await.unwrap().status(), 502, "{nginx}");
        // The connection to nginx itself is as good as before.
        assert_eq!(nginx.get("/").await, hello(), "{nginx}");
        assert_eq!(nginx.connected(), 1, "{nginx}");
    }
}

#[tokio::test]
async fn responses_without_content_keep_the_connection() {
    for nginx in Nginx::both("no_content", "").await {
        let head = nginx.client.head("/large").await.unwrap();
        assert_eq!(head.field("content-length"), Some(LARGE_LEN.to_string().as_bytes()));
        let (etag, date) = (head.field("etag"), head.field("last-modified"));
        let (etag, date) = (etag.unwrap().to_vec(), date.unwrap().to_vec());
        assert_eq!(head.bytes().await.unwrap(), "", "{nginx}");
        for _ in 0..20 {
            for (name, value) in [("if-none-match", &etag), ("if-modified-since", &date)] {
                let same = whole(nginx.client.get("/large").header(name, value)).await.unwrap();
                assert_eq!(same, (304, Bytes::new()), "{nginx}: {name}");
            }
            let head = whole(nginx.client.head("/large")).await.unwrap();
            assert_eq!(head, (200, Bytes::new()), "{nginx}");
            assert_eq!(nginx.get("/missing").await.0, 404, "{nginx}");
        }
        assert_eq!(nginx.connected(), 1, "{nginx}");
    }
}

/// What a reload ends are idle connections and those whose request is answered: each is replaced.
#[tokio::test]
async fn reloads_under_load_lose_no_request() {
    const MORE: &str = "location = /took { return 200 'took'; }";
    for nginx in Nginx::both("reload", MORE).await {
        let answered = Arc::new(AtomicUsize::new(0));
        let mut all = JoinSet::new();
        // Ten at a time, two hundred in all.
        for _ in 0..10 {
            let (client, answered) = (nginx.client.clone(), answered.clone());
            all.spawn(async move {
                for _ in 0..20 {
                    let answer = whole(client.get("/")).await?;
                    assert_eq!(answer, hello());
                    answered.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(10 * MS).await;
                }
                Ok::<_, Error>(())
            });
        }
        let mut reloads = 0;
        while answered.load(Ordering::Relaxed) < 160 && !all.is_empty() && reloads < 5 {
            tokio::time::sleep(30 * MS).await;
            let origin = &nginx.origin;
            assert!(origin.signal("reload"), "{nginx}");
            reloads += 1;
        }
        assert!(reloads > 0);
        for outcome in all.join_all().await {
            assert_eq!(outcome.map_err(|error| error.to_string()), Ok(()), "{nginx}");
        }
        assert_eq!(answered.load(Ordering::Relaxed), 200, "{nginx}");
        assert_eq!(nginx.get("/").await, hello(), "{nginx}");
    }
}
