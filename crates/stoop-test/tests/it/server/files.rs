//! Responses and requests whose content is a file: over each version, with TLS and without, and in memory.

use std::fs::File;
use std::sync::Arc;

use stoop::{
    Body, Client, ClientTls, ContentError, CutShort, ErrorKind, Request, Response, Server,
    ServerHandle, ServerLimits, ServerTls, Versions,
};
use tokio::task::JoinSet;

use super::{dial, listen};
use crate::programs::TestFolder;

/// A pattern that no part of is like another nearby.
pub(super) fn content(len: usize) -> Vec<u8> {
    (0..len).map(|n| (n % 251) as u8 ^ (n >> 12) as u8).collect()
}

/// Answers with the range that the target names: `/FROM-TO`.
fn ranges(file: &Arc<File>) -> impl Fn(Request) -> Response + Clone + Send + Sync + use<> {
    let file = Arc::clone(file);
    move |request: Request| {
        let (from, to) = request.path()[1..].split_once('-').unwrap();
        let range = from.parse().unwrap()..to.parse().unwrap();
        Response::new(Body::from_file(Arc::clone(&file), range))
    }
}

/// A client and an origin for each way that content can go.
pub(super) struct Ways {
    pub(super) ways: Vec<(&'static str, Client, String)>,
    _servers: Vec<ServerHandle>,
}

impl Ways {
    pub(super) fn to(
        handler: impl Fn(Request) -> Response + Clone + Send + Sync + 'static,
    ) -> Self {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
        let plain = Server::listen("127.0.0.1:0").unwrap().run_here(handler.clone()).unwrap();
        let secure = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
        let secure = secure.run_here(handler.clone()).unwrap();
        let client = |versions| {
            let tls = ClientTls::builder().ca_pem(certificate.as_str()).build().unwrap();
            Client::builder().tls(tls).versions(versions).build().unwrap()
        };
        let memory = Client::builder().handler(handler).build().unwrap();
        let (http, https) = (plain.endpoint().to_string(), secure.endpoint().to_string());
        let ways = vec![
            ("HTTP/1", client(Versions::Http1), http.clone()),
            ("HTTP/1 over TLS", client(Versions::Http1), https.clone()),
            ("HTTP/2", client(Versions::Http2), http),
            ("HTTP/2 over TLS", client(Versions::Http2), https),
            ("memory", memory, "http://memory".to_owned()),
        ];
        Self { ways, _servers: vec![plain, secure] }
    }
}

#[tokio::test]
async fn each_part_of_a_file_arrives_whichever_way_it_goes() {
    let folder = TestFolder::new("file-parts");
    let content = content(3_000_000);
    let file = Arc::new(File::open(folder.write("f", &content)).unwrap());
    for (name, client, origin) in Ways::to(ranges(&file)).ways {
        for (from, to) in [
            (0, 0),
            (5, 3),
            (0, 1),
            (17, 837),
            (0, 16_384),
            (1, 32_768),
            (0, 32_768),
            (0, 65_537),
            (99, 524_387),
            (0, 524_289),
            (0, 3_000_000),
            (1_000_000, 2_500_000),
        ] {
            let response = client.get(format!("{origin}/{from}-{to}")).await.unwrap();
            let expected = content.get(from..to).unwrap_or_default();
            let length = expected.len().to_string();
            assert_eq!(response.field("content-length"), Some(length.as_bytes()), "{name}");
            let got = response.into_body().bytes(1 << 22).await.unwrap();
            assert!(got == expected, "{from} to {to} over {name}");
        }
    }
}

/// What is not in the page cache is read on another thread.
#[tokio::test]
async fn a_file_that_is_not_in_memory_arrives_too() {
    let folder = TestFolder::new("file-cold");
    let content = content(1_500_000);
    let path = folder.write("f", &content);
    let file = Arc::new(File::open(&path).unwrap());
    file.sync_all().unwrap();
    for (name, client, origin) in Ways::to(ranges(&file)).ways {
        // dd tells the kernel that it needs the pages no more.
        let evict = [format!("if={path}"), "iflag=nocache".to_owned(), "count=0".to_owned()];
        crate::programs::run("dd", &evict, b"").await;
        let response = client.get(format!("{origin}/0-1500000")).await.unwrap();
        let got = response.into_body().bytes(1 << 22).await.unwrap();
        assert!(got == content, "over {name}");
    }
}

#[tokio::test]
async fn heads_and_files_of_pipelined_requests_leave_in_their_order() {
    let folder = TestFolder::new("file-order");
    let content = content(200_000);
    let file = Arc::new(File::open(folder.write("f", &content)).unwrap());
    let server = listen(ServerLimits::default(), ranges(&file));
    let mut peer = dial(&server).await;
    let get = |range: &str| format!("GET /{range} HTTP/1.1\r\nhost: a\r\n\r\n");
    let head = "HEAD /0-200000 HTTP/1.1\r\nhost: a\r\n\r\n";
    let all = [&get("0-200000"), &get("3-7"), head, &get("1-100001"), &get("9-9")].concat();
    peer.send(all).await;
    for (method, from, to) in [
        ("GET", 0, 200_000),
        ("GET", 3, 7),
        ("HEAD", 0, 200_000),
        ("GET", 1, 100_001),
        ("GET", 9, 9),
    ] {
        let response = peer.response_to(method).await.unwrap();
        assert_eq!(response.field("content-length"), Some((to - from).to_string().as_str()));
        let expected = if method == "HEAD" { &[][..] } else { &content[from..to] };
        assert!(response.body == expected, "{method} {from} to {to}");
    }
    peer.finish().await;
    assert!(peer.is_closed().await);
}

#[tokio::test]
async fn a_file_that_is_cut_breaks_its_response_off() {
    let folder = TestFolder::new("file-cut");
    let path = folder.write("f", content(64 << 20));
    let file = Arc::new(File::options().read(true).write(true).open(path).unwrap());
    let (ways, mut kinds) = (Ways::to(ranges(&file)), Vec::new());
    for (name, client, origin) in &ways.ways {
        file.set_len(64 << 20).unwrap();
        let response = client.get(format!("{origin}/0-{}", 64 << 20)).await.unwrap();
        file.set_len(1000).unwrap();
        let mut body = response.into_body();
        assert_eq!(body.len(), Some(64 << 20));
        let error = body.discard().await.unwrap_err();
        kinds.push((*name, error.kind()));
    }
    let expected = [
        ("HTTP/1", ErrorKind::ClosedEarly),
        ("HTTP/1 over TLS", ErrorKind::ClosedEarly),
        ("HTTP/2", ErrorKind::Reset),
        ("HTTP/2 over TLS", ErrorKind::Reset),
        ("memory", ErrorKind::ClosedEarly),
    ];
    assert_eq!(kinds, expected);
}

/// It is not the client that has left.
#[tokio::test]
async fn a_file_that_is_cut_is_told_as_content_that_failed() {
    let folder = TestFolder::new("file-cut-told");
    let path = folder.write("f", content(64 << 20));
    let file = Arc::new(File::options().read(true).write(true).open(path).unwrap());
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let respond = ranges(&file);
    let handler = move |request: Request| {
        let tell = tell.clone();
        respond(request).on_sent(move |sent| {
            let error = ContentError::current().map(|error| error.to_string());
            tell.send((sent.cut_short(), error)).unwrap();
        })
    };
    for (name, client, origin) in &Ways::to(handler).ways {
        file.set_len(64 << 20).unwrap();
        let response = client.get(format!("{origin}/0-{}", 64 << 20)).await.unwrap();
        file.set_len(1000).unwrap();
        response.into_body().discard().await.unwrap_err();
        let (why, error) = told.recv().await.unwrap();
        assert_eq!(why, Some(CutShort::Content), "over {name}");
        let error = error.unwrap();
        assert!(error.contains("the file became shorter while it was sent"), "{name}: {error}");
    }
}

/// As long as nothing is sent, the failure can be said.
#[tokio::test]
async fn a_small_file_that_was_cut_before_is_answered_500() {
    let folder = TestFolder::new("file-small");
    let file = Arc::new(File::open(folder.write("f", "hello")).unwrap());
    for (name, client, origin) in Ways::to(ranges(&file)).ways {
        let response = client.get(format!("{origin}/5-10")).await.unwrap();
        assert_eq!(response.status(), 500, "over {name}");
        let response = client.get(format!("{origin}/0-5")).await.unwrap();
        assert_eq!(response.text().await.unwrap(), "hello", "over {name}");
    }
}

#[tokio::test]
async fn a_thousand_responses_are_sent_at_once_from_one_descriptor() {
    let folder = TestFolder::new("file-shared");
    let content = Arc::new(content(300_000));
    let file = Arc::new(File::open(folder.write("f", &*content)).unwrap());
    let server = listen(ServerLimits::default(), ranges(&file));
    let mut peers = Vec::new();
    for n in 0..1_000 {
        let mut peer = dial(&server).await;
        peer.send(format!("GET /{n}-{} HTTP/1.1\r\nhost: a\r\n\r\n", 299_000 + n)).await;
        peers.push(peer);
    }
    let mut readers = JoinSet::new();
    for (n, mut peer) in peers.into_iter().enumerate() {
        let content = Arc::clone(&content);
        readers.spawn(async move {
            let response = peer.response().await.unwrap();
            assert!(response.body == content[n..299_000 + n], "response {n}");
        });
    }
    while let Some(read) = readers.join_next().await {
        read.unwrap();
    }
}

/// Answers with the length and the sum of the content.
async fn sum(request: Request) -> Result<Response, stoop::Error> {
    let (mut body, mut sum) = (request.into_body(), 0u64);
    let announced = body.len();
    let bytes =
        body.for_each(|piece| sum += piece.iter().map(|byte| u64::from(*byte)).sum::<u64>());
    let bytes = bytes.await?;
    Ok(Response::from_text(format!("{announced:?} {bytes} {sum}")))
}

#[tokio::test]
async fn an_upload_of_a_file_arrives_and_one_that_is_cut_is_the_callers_failure() {
    let folder = TestFolder::new("file-upload");
    let content = content(2_000_000);
    let file =
        Arc::new(File::options().read(true).write(true).open(folder.write("f", &content)).unwrap());
    let server = listen(ServerLimits::default(), sum);
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        let url = format!("{}/", server.endpoint());
        let upload = Body::from_file(Arc::clone(&file), 1..1_999_999);
        let expected: u64 = content[1..1_999_999].iter().map(|byte| u64::from(*byte)).sum();
        let response = client.put(&url).body(upload).await.unwrap();
        let text = response.text().await.unwrap();
        assert_eq!(text, format!("Some(1999998) 1999998 {expected}"), "{versions:?}");
        let beyond = Body::from_file(Arc::clone(&file), 1_000_000..2_000_001);
        let error = client.put(&url).body(beyond).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RequestBody, "{versions:?}: {error}");
    }
}
