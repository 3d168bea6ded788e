//! What programs test themselves with: mocks, recordings, servers in the process.

use std::net::SocketAddr;
use std::time::Duration;

use stoop::body::ContentCoding;
use stoop::testing::{Mock, Recorder, Recording};
use stoop::{
    Body, Client, ErrorKind, LocalServer, Method, Phase, Request, Response, ServerLimits,
    StatusCode, Versions,
};

use super::kit::{answered_once, kind_and_phase, scripted_by};

#[tokio::test(start_paused = true)]
async fn a_mock_answers_what_is_expected_by_method_url_fields_and_content() {
    let mock = Mock::new();
    let json =
        |text: &'static str| move |_: &stoop::testing::MockedRequest| Response::from_json(text);
    mock.expect(Method::GET, "https://a.test/x?q=1").times(2).respond(json("1"));
    mock.expect(Method::POST, "http://a.test/x").header("x-key", "k").respond(json("2"));
    mock.expect(Method::POST, "http://a.test/x").body("content").respond(json("3"));
    mock.expect(Method::GET, "a.test").any_times();
    mock.expect(Method::GET, "b.test:81").respond(|request| {
        Response::from_text(format!("{:?} {}", request.field("accept"), request.target()))
    });
    let client = Client::builder().mock(&mock).build().unwrap();
    let text = async |request: stoop::RequestBuilder| request.await.unwrap().text().await.unwrap();
    assert_eq!(text(client.get("https://a.test/x?q=1")).await, "1");
    assert_eq!(text(client.post("http://a.test/x").body("content")).await, "3");
    assert_eq!(text(client.post("http://a.test/x").header("X-Key", "k")).await, "2");
    assert_eq!(text(client.get("http://a.test/x?q=1")).await, "1");
    assert_eq!(text(client.get("http://a.test/")).await, "");
    assert_eq!(text(client.get("http://b.test:81/")).await, "Some([42, 47, 42]) b.test:81/");
    mock.verify();
    assert_eq!(mock.requests().len(), 6);
    assert_eq!(mock.requests()[1].content(), "content");
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_or_not_expected_is_told() {
    let mock = Mock::new();
    mock.expect(Method::GET, "http://a.test/once").times(2);
    let client = Client::builder().mock(&mock).build().unwrap();
    client.get("http://a.test/once").await.unwrap();
    let other = client.put("http://a.test/other").body("x").await.unwrap();
    assert_eq!(other.status(), StatusCode::NOT_IMPLEMENTED);
    assert!(other.text().await.unwrap().starts_with("no expectation fits PUT a.test/other"));
    let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| mock.verify()));
    let told = *told.unwrap_err().downcast::<String>().unwrap();
    assert!(told.contains("expected GET a.test/once 2 times, and it came 1 times"), "{told}");
    assert!(told.contains("did not expect PUT a.test/other"), "{told}");
}

#[tokio::test(start_paused = true)]
async fn a_mock_is_met_by_redirects_retries_and_deadlines_of_the_real_client() {
    let mock = Mock::new();
    mock.expect(Method::GET, "http://a.test/from").respond(|_| {
        Response::from_status(StatusCode::FOUND).with_field("location", "/to").unwrap()
    });
    mock.expect(Method::GET, "http://a.test/to").respond(|_| {
        let content = Body::from("decoded").encoded(ContentCoding::Gzip);
        Response::new(content).with_field("content-encoding", "gzip").unwrap()
    });
    mock.expect(Method::GET, "http://a.test/never").delay(Duration::MAX);
    mock.expect(Method::GET, "http://a.test/breaks").respond(|_| {
        let (sender, body) = Body::channel(1);
        drop(sender);
        Response::new(body)
    });
    let client = Client::builder().mock(&mock).timeout(Duration::from_secs(3_000)).build().unwrap();
    assert_eq!(client.get("http://a.test/from").await.unwrap().text().await.unwrap(), "decoded");
    let never = client.get("http://a.test/never").await.unwrap_err();
    assert_eq!(kind_and_phase(never), (ErrorKind::TotalTimeout, Phase::Wait));
    let broken = client.get("http://a.test/breaks").await.unwrap().bytes().await.unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::ClosedEarly);
    mock.verify();
}

/// A file that is removed at the end.
struct TempFile(std::path::PathBuf);

impl TempFile {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-test-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_recorded_is_answered_again_without_servers() {
    let file = TempFile::new("recording");
    let recorder = Recorder::new(&file.0).unwrap().mask("x-api-key");
    let answer = |request: Request| match request.path() {
        "/binary" => Response::new(&b"\xff\0"[..]),
        "/error" => Response::from_status(StatusCode::NOT_FOUND),
        path => Response::from_text(format!("you asked for {path}"))
            .with_field("set-cookie", "s3cret=1")
            .unwrap(),
    };
    let client = Client::builder().record(&recorder).handler(answer).build().unwrap();
    let ask = async |client: &Client| {
        let mut outcomes = Vec::new();
        for (method, url) in [
            (Method::GET, "http://me:s3cret@a.test/x?token=s3cret"),
            (Method::GET, "http://a.test/binary"),
            (Method::POST, "http://a.test/error"),
        ] {
            let request = client.request(method, url).header("authorization", "s3cret");
            let request = request.header("x-api-key", "s3cret").header("X-Auth-Token", "s3cret");
            let request = request.body("content");
            let response = request.await.unwrap();
            outcomes.push((response.status(), response.bytes().await.unwrap()));
        }
        outcomes
    };
    let asked = ask(&client).await;
    let broken = scripted_by(Client::builder().record(&recorder), |mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nshort").await;
    });
    let broken_off = broken.get("http://a.test/short").await.unwrap().bytes().await.unwrap_err();
    let refused = Client::builder().record(&recorder).build().unwrap();
    let refused = refused.get("http://127.0.0.1:1/").await.unwrap_err();

    let text = std::fs::read_to_string(&file.0).unwrap();
    assert_eq!(text.lines().count(), 5);
    assert!(!text.contains("s3cret"), "{text}");
    let recording = Recording::open(&file.0).unwrap();
    let client = Client::builder().replay(&recording).build().unwrap();
    assert_eq!(ask(&client).await, asked);
    // Again: the last that fits.
    assert_eq!(ask(&client).await, asked);
    let again = client.get("http://a.test/short").await.unwrap().bytes().await.unwrap_err();
    assert_eq!((again.kind(), again.phase()), (broken_off.kind(), broken_off.phase()));
    // The text is that of then; how long it took and how to go on is of each failure alone.
    let text = again.to_string().replace(" [closed_early, receive]", "");
    assert!(broken_off.to_string().starts_with(&format!("{text} (")), "{broken_off}: {text}");
    let again = client.get("http://127.0.0.1:1/").await.unwrap_err();
    assert_eq!(kind_and_phase(again), kind_and_phase(refused));
    let other = client.get("http://a.test/other").await.unwrap_err();
    assert_eq!(other.kind(), ErrorKind::InvalidMessage);
    assert!(other.to_string().contains("GET http://a.test/other was not recorded"), "{other}");
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_dropped_unread_is_recorded_as_one_that_is_cut() {
    let file = TempFile::new("dropped");
    let recorder = Recorder::new(&file.0).unwrap();
    let client =
        Client::builder().record(&recorder).handler(|_: Request| "unread").build().unwrap();
    drop(client.get("http://a.test/").await.unwrap());
    let recording = Recording::open(&file.0).unwrap();
    let client = Client::builder().replay(&recording).build().unwrap();
    let error = client.get("http://a.test/").await.unwrap().text().await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::ClosedEarly, Phase::Receive));

    // Written by hand: the least that a line has in it.
    let line = r#"{"request":{"method":"PUT","url":"http://a.test/?api_key=***"},"response":{"status":201}}"#;
    std::fs::write(&file.0, line).unwrap();
    let recording = Recording::open(&file.0).unwrap();
    let client = Client::builder().replay(&recording).build().unwrap();
    for content in ["", "any"] {
        let response = client.put("http://a.test/?api_key=k").body(content).await.unwrap();
        assert_eq!(
            (response.status().as_u16(), response.text().await.unwrap()),
            (201, String::new())
        );
    }
    let unknown = r#"{"request":{"method":"GET","url":"/"},"error":{"kind":"other","phase":"wait","text":""}}"#;
    std::fs::write(&file.0, unknown).unwrap();
    let error = Recording::open(&file.0).unwrap_err().to_string();
    assert_eq!(error, r#"line 1: no error has the kind "other" and the phase "wait""#);
    std::fs::write(&file.0, "\nno JSON\n").unwrap();
    let error = Recording::open(&file.0).unwrap_err().to_string();
    assert!(error.starts_with("line 2: "), "{error}");
    assert!(answered_once("").get("http://a.test/").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_server_in_the_process_has_limits_versions_and_clients_with_addresses() {
    let address: SocketAddr = "192.0.2.1:99".parse().unwrap();
    let who = |request: Request| format!("{:?} {:?}", request.remote_address(), request.version());
    let mut limits = ServerLimits::default();
    limits.wire.body_bytes_max = Some(3);
    for (versions, shown) in [(Versions::Http1, "HTTP/1.1"), (Versions::Http2, "HTTP/2.0")] {
        let server = LocalServer::new(who).peer(address).limits(limits.clone()).versions(versions);
        let client = Client::builder().versions(versions).local_server(server).build().unwrap();
        let text = client.get("http://a.test/").await.unwrap().text().await.unwrap();
        assert_eq!(text, format!("Some(192.0.2.1:99) {shown}"));
        let too_large = client.post("http://a.test/").body("four").await.unwrap();
        assert_eq!(too_large.status(), StatusCode::PAYLOAD_TOO_LARGE);
    }
}
