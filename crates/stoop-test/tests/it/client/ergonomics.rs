//! Requests described step by step, and responses read at once.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use stoop::body::{Form, Part};
use stoop::limits::ClientLimits;
use stoop::{Body, Client, ErrorKind, Phase, Request, Response, StatusCode};

/// Answers with a line of the request's method, target, some of its fields, and content.
async fn echo(request: Request) -> Result<Response, stoop::Error> {
    let mut line = format!("{} {}", request.method(), request.target());
    for name in ["accept", "authorization", "content-type", "user-agent", "x-a"] {
        for value in request.fields().all(name) {
            line.push_str(&format!(" {name}={}", String::from_utf8_lossy(value)));
        }
    }
    let content = request.into_body().bytes(1000).await?;
    Ok(Response::from_text(format!("{line} [{}]", String::from_utf8_lossy(&content))))
}

fn client() -> Client {
    Client::builder().handler(echo).build().unwrap()
}

const URL: &str = "http://a.test/p";

#[tokio::test(start_paused = true)]
async fn each_method_sends_its_method() {
    let client = client();
    for (builder, method) in [
        (client.get(URL), "GET"),
        (client.post(URL), "POST"),
        (client.put(URL), "PUT"),
        (client.patch(URL), "PATCH"),
        (client.delete(URL), "DELETE"),
        (client.request("PURGE".parse().unwrap(), URL), "PURGE"),
    ] {
        let text = builder.send().await.unwrap().text().await.unwrap();
        assert_eq!(text, format!("{method} /p accept=*/* []"));
    }
    let response = client.head(URL).send().await.unwrap();
    assert_eq!(
        (response.status(), response.text().await.unwrap()),
        (StatusCode::OK, String::new())
    );
}

#[tokio::test(start_paused = true)]
async fn the_steps_of_a_builder_are_the_request() {
    let text = client()
        .post("http://a.test/p?a=1#f")
        .query(&[("q", "x y&z"), ("ü", "")])
        .query(&BTreeMap::<&str, &str>::new())
        .header("X-A", "1")
        .header("x-a", b"2")
        .basic_auth("user", "pass")
        .body("content")
        .send()
        .await
        .unwrap()
        .text()
        .await
        .unwrap();
    let line = "POST /p?a=1&q=x+y%26z&%C3%BC= accept=*/* authorization=Basic dXNlcjpwYXNz x-a=1 x-a=2 [content]";
    assert_eq!(text, line);

    let form = client().post(URL).form(&[("a", "1 2"), ("b", "&")]).await.unwrap();
    let form_type = "application/x-www-form-urlencoded";
    let line = format!("POST /p accept=*/* content-type={form_type} [a=1+2&b=%26]");
    assert_eq!(form.text().await.unwrap(), line);

    let json =
        client().post(URL).json(&BTreeMap::from([("a", 1)])).bearer_auth("t0").await.unwrap();
    let line =
        "POST /p accept=*/* authorization=Bearer t0 content-type=application/json [{\"a\":1}]";
    assert_eq!(json.text().await.unwrap(), line);

    let typed = client().put(URL).header("content-type", "text/x").json("a").await.unwrap();
    assert_eq!(typed.text().await.unwrap(), "PUT /p accept=*/* content-type=text/x [\"a\"]");
}

#[tokio::test(start_paused = true)]
async fn the_first_step_that_fails_is_the_error() {
    let error = client().get(URL).header("a\r\nb", "1").header("x", "2").send().await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::InvalidMessage, Phase::Request));
    let error = client().get("nowhere").header("a\r\nb", "1").build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
    // JSON has no maps whose keys are not text.
    let error = client().post(URL).json(&BTreeMap::from([([1], 1)])).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::InvalidMessage, Phase::Request));
    let error = client().post(URL).query(&1).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
}

#[tokio::test(start_paused = true)]
async fn relative_urls_are_resolved_against_the_base() {
    let client = Client::builder().base_url("http://a.test/v1/").handler(echo).build().unwrap();
    for (url, target) in [
        ("users/17?x", "/v1/users/17?x"),
        ("/users", "/users"),
        ("", "/v1/"),
        ("?q", "/v1/?q"),
        ("../v2", "/v2"),
        ("http://b.test/c", "/c"),
        ("//b.test/d", "/d"),
    ] {
        let text = client.get(url).await.unwrap().text().await.unwrap();
        assert_eq!(text, format!("GET {target} accept=*/* []"), "{url}");
    }
    let error = client.get("ftp://a.test/").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
    let error = Client::builder().base_url("/v1").handler(echo).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
}

#[tokio::test(start_paused = true)]
async fn default_fields_are_for_requests_that_have_none_of_that_name() {
    let builder = Client::builder().handler(echo).user_agent("agent/1");
    let client = builder.default_header("X-A", "1").default_header("x-a", "2").build().unwrap();
    let text = client.get(URL).await.unwrap().text().await.unwrap();
    assert_eq!(text, "GET /p accept=*/* user-agent=agent/1 x-a=1 x-a=2 []");
    let text = client.get(URL).header("x-a", "3").header("accept", "text/html").await.unwrap();
    let text = text.text().await.unwrap();
    assert_eq!(text, "GET /p accept=text/html user-agent=agent/1 x-a=3 []");
    let error = Client::builder().default_header("x", "a\nb").handler(echo).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidMessage);
}

#[tokio::test(start_paused = true)]
async fn a_request_can_be_sent_twice_unless_its_content_is_a_stream() {
    let client = client();
    let request = client.post(URL).body("again").timeout(Duration::from_secs(9));
    let copy = request.try_clone().unwrap();
    for request in [request, copy] {
        assert_eq!(request.await.unwrap().text().await.unwrap(), "POST /p accept=*/* [again]");
    }
    let (_sender, stream) = Body::channel(1);
    assert!(client.post(URL).body(stream).try_clone().is_none());
}

/// Answers `/N` with N bytes of content, `/STATUS/` with that status.
async fn sized(request: Request) -> Response {
    let path = request.path()[1..].to_owned();
    if let Some(status) = path.strip_suffix('/') {
        let status = StatusCode::from_u16(status.parse().unwrap()).unwrap();
        return Response::from_text("why").with_status(status);
    }
    let length: usize = path.parse().unwrap();
    Response::from_bytes(vec![b'x'; length])
}

#[tokio::test(start_paused = true)]
async fn content_is_collected_up_to_a_limit() {
    let mut limits = ClientLimits::default();
    limits.collect_bytes_max = 10;
    let client = Client::builder().limits(limits).handler(sized).build().unwrap();
    assert_eq!(client.get("http://a/10").await.unwrap().bytes().await.unwrap().len(), 10);
    let error = client.get("http://a/11").await.unwrap().bytes().await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::BodyTooLarge, Phase::Receive));
    assert_eq!(error.url(), Some("http://a/11"));
    let more = client.get("http://a/11").await.unwrap().limit(11);
    assert_eq!(more.text().await.unwrap().len(), 11);
    let mut streamed = client.get("http://a/5000").await.unwrap().stream();
    assert_eq!(streamed.discard().await.unwrap(), 5000);
}

#[tokio::test(start_paused = true)]
async fn a_status_of_an_error_is_one_if_the_caller_says_so() {
    let client = Client::builder().handler(sized).redirects(stoop::Redirects::none());
    let client = client.build().unwrap();
    for status in [200, 204, 301, 399] {
        let url = format!("http://a/{status}/");
        assert!(client.get(&url).await.unwrap().error_for_status().is_ok(), "{status}");
    }
    for status in [400, 404, 500, 599] {
        let url = format!("http://a/{status}/?q");
        let response = client.get(&url).await.unwrap();
        let error = response.error_for_status_ref().unwrap_err();
        assert_eq!(response.text().await.unwrap(), "why");
        assert_eq!(
            (error.kind(), error.status().unwrap().as_u16()),
            (ErrorKind::HttpStatus, status)
        );
        assert_eq!(error.url(), Some(&*url));
    }
    let error = client.get("http://a/404/").await.unwrap().error_for_status().unwrap_err();
    let text = "the response's status is an error: 404 Not Found [http_status, wait]";
    assert_eq!(error.to_string(), text);
}

#[tokio::test(start_paused = true)]
async fn json_is_parsed_and_says_where_it_is_none() {
    let answer = async |_: Request| Response::from_json(r#"{"a":[1,2]}"#);
    let client = Client::builder().handler(answer).build().unwrap();
    let value: BTreeMap<String, Vec<u8>> =
        client.get("http://a/").await.unwrap().json().await.unwrap();
    assert_eq!(value["a"], [1, 2]);
    let error = client.get("http://a/").await.unwrap().json::<Vec<u8>>().await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::Decode, Phase::Receive));
    assert!(error.to_string().contains("line 1 column 0"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn text_is_decoded_by_its_charset() {
    let answer = async |_: Request| {
        let response = Response::new(vec![0xe4, b' ', 0xa4]);
        response.with_field("content-type", "text/plain; charset=\"ISO-8859-15\"").unwrap()
    };
    let client = Client::builder().handler(answer).build().unwrap();
    assert_eq!(client.get("http://a/").await.unwrap().text().await.unwrap(), "ä €");
}

/// An empty folder of one test, which is removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

async fn save(client: &Client, url: &str, path: &Path) -> Result<u64, (ErrorKind, Phase)> {
    let response = client.get(url).await.unwrap();
    response.save(path).await.map_err(|error| (error.kind(), error.phase()))
}

#[tokio::test]
async fn a_saved_file_appears_when_it_is_complete() {
    let folder = Folder::new("save");
    let (path, client) = (folder.0.join("f"), Client::builder().handler(sized).build().unwrap());
    std::fs::write(&path, "before").unwrap();
    assert_eq!(save(&client, "http://a/300000", &path).await, Ok(300_000));
    assert_eq!(std::fs::read(&path).unwrap(), vec![b'x'; 300_000]);
    assert_eq!(save(&client, "http://a/0", &path).await, Ok(0));
    assert_eq!(std::fs::read(&path).unwrap(), b"");

    let error = client.get("http://a/11").await.unwrap().limit(10).save(&path).await.unwrap_err();
    assert_eq!((error.kind(), error.url()), (ErrorKind::BodyTooLarge, Some("http://a/11")));
    let file = (ErrorKind::File, Phase::Receive);
    assert_eq!(save(&client, "http://a/1", &folder.0.join("none/f")).await, Err(file));
    assert_eq!(save(&client, "http://a/1", Path::new("..")).await, Err(file));
    assert_eq!(folder.names(), ["f"]);
}

#[tokio::test]
async fn a_file_whose_content_breaks_off_is_not_left_behind() {
    let folder = Folder::new("broken");
    let path = folder.0.join("f");
    let broken = async |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let _ = sender.send("begun").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            drop(sender);
        });
        Response::new(body)
    };
    let client = Client::builder().handler(broken).build().unwrap();
    let broken_off = (ErrorKind::ClosedEarly, Phase::Receive);
    assert_eq!(save(&client, "http://a/", &path).await, Err(broken_off));

    let response = client.get("http://a/").await.unwrap();
    let save = tokio::time::timeout(Duration::from_millis(5), response.save(&path));
    assert!(save.await.is_err(), "dropped");
    for _ in 0..500 {
        if folder.names().is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("left behind: {:?}", folder.names());
}

/// A body of a type that stoop does not know, without a length.
struct Pieces(Vec<&'static str>);

impl http_body::Body for Pieces {
    type Data = bytes::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<std::io::Result<http_body::Frame<bytes::Bytes>>>> {
        let next = (!self.0.is_empty()).then(|| self.0.remove(0));
        Poll::Ready(next.map(|piece| Ok(http_body::Frame::data(piece.into()))))
    }
}

/// Answers with the length that the request announces, and its content.
async fn measured(request: Request) -> Result<Response, stoop::Error> {
    let length = request.body().len();
    let content = request.into_body().bytes(1 << 20).await?;
    Ok(Response::from_text(format!("{length:?} {}", String::from_utf8_lossy(&content))))
}

async fn sent<K>(body: impl stoop::IntoBody<K>) -> Result<String, ErrorKind> {
    let client = Client::builder().handler(measured).build().unwrap();
    let response = client.post("http://a/").body(body).await.map_err(|error| error.kind())?;
    response.text().await.map_err(|error| error.kind())
}

#[tokio::test(start_paused = true)]
async fn content_is_any_buffer_body_or_stream() {
    assert_eq!(sent("text").await.unwrap(), "Some(4) text");
    assert_eq!(sent(String::from("owned")).await.unwrap(), "Some(5) owned");
    assert_eq!(sent(vec![b'v']).await.unwrap(), "Some(1) v");
    assert_eq!(sent(b"array").await.unwrap(), "Some(5) array");
    assert_eq!(sent(Body::from("body")).await.unwrap(), "Some(4) body");
    assert_eq!(sent(()).await.unwrap(), "Some(0) ");
    assert_eq!(sent(Pieces(vec!["a", "b"])).await.unwrap(), "None ab");
    assert_eq!(sent(Body::sized(2, Pieces(vec!["a", "b"]))).await.unwrap(), "Some(2) ab");
    let received = Client::builder().handler(echo).build().unwrap().get(URL).await.unwrap();
    assert_eq!(
        sent(Body::from_stream(received.stream())).await.unwrap(),
        "None GET /p accept=*/* []"
    );
}

#[tokio::test(start_paused = true)]
async fn content_of_another_length_than_was_said_breaks_the_message_off() {
    for length in [1, 3] {
        let kind = sent(Body::sized(length, Pieces(vec!["a", "b"]))).await.unwrap_err();
        assert_eq!(kind, ErrorKind::RequestBody, "{length}");
    }
}

#[tokio::test(start_paused = true)]
async fn replayable_content_is_made_as_often_as_it_is_sent() {
    let redirect = |request: Request| async move {
        let path = request.path().to_owned();
        let content = request.into_body().bytes(100).await.unwrap();
        assert_eq!(content, "content");
        match path.as_str() {
            "/first" => Response::from_status(StatusCode::TEMPORARY_REDIRECT)
                .with_field("location", "/second")
                .unwrap(),
            _ => Response::from_text("ok"),
        }
    };
    let retrying = Client::builder().retries(stoop::Retries::up_to(3)).handler(redirect);
    for client in [Client::builder().handler(redirect), retrying].map(|b| b.build().unwrap()) {
        for (path, times) in [("second", 1), ("first", 2)] {
            let made = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
            let count = made.clone();
            let content = Body::replayable(move || {
                count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Body::stream(http_body_util::Full::new(bytes::Bytes::from("content")))
            });
            let request = client.put(format!("http://a.test/{path}")).body(content);
            assert_eq!(request.await.unwrap().text().await.unwrap(), "ok");
            assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), times, "{path}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn other_content_is_not_labelled_as_what_was_encoded_before() {
    let show = |request: Request| async move {
        let coding = request.field("content-encoding").map(<[u8]>::to_vec).unwrap_or_default();
        let content = request.into_body().bytes(1000).await.unwrap();
        Response::from_text([coding, content.to_vec()].join(&b' '))
    };
    let client = Client::builder().handler(show).build().unwrap();
    let gzip = stoop::body::ContentCoding::Gzip;
    let text = async |builder: stoop::RequestBuilder| builder.await.unwrap().text().await.unwrap();
    assert_eq!(text(client.post(URL).json(&1).encode(gzip).json(&2)).await, " 2");
    assert_eq!(text(client.post(URL).body("1").encode(gzip).body("2")).await, " 2");
    // The caller's own says what the caller's content is.
    let own = client.post(URL).header("content-encoding", "own").body("1").body("2");
    assert_eq!(text(own).await, "own 2");
}

#[tokio::test]
async fn errors_of_content_say_where_after_how_long_and_why() {
    use std::error::Error as _;

    let server = stoop::Server::listen("127.0.0.1:0").unwrap().workers(1);
    let server = server.run(|_: Request| Response::from_json("{\"a\": nonsense")).unwrap();
    let client = Client::new();
    let url = server.endpoint().to_string();
    let response = client.get(&*url).await.unwrap();
    let error = response.json::<BTreeMap<String, u8>>().await.unwrap_err();
    let source = error.source().and_then(|source| source.downcast_ref::<serde_json::Error>());
    assert!(source.is_some_and(serde_json::Error::is_syntax), "{error}");
    let too_large = client.get(&*url).await.unwrap().limit(1).text().await.unwrap_err();
    let folder = client.get(&*url).await.unwrap().save(std::env::temp_dir().join("no/such/folder"));
    let file = folder.await.unwrap_err();
    let source = file.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    assert_eq!(source.map(std::io::Error::kind), Some(std::io::ErrorKind::NotFound));
    for error in [error, too_large, file] {
        assert!(error.remote_address().is_some(), "{error}");
        assert!(error.elapsed().is_some() && error.attempts() == 1, "{error}");
        assert!(error.url().is_some(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_of_the_http_crate_is_the_same_again() {
    let redirect = |request: Request| match request.path() {
        "/p" => Response::from_status(StatusCode::FOUND).with_field("location", "/there").unwrap(),
        _ => Response::from_text("ok"),
    };
    let mut limits = ClientLimits::default();
    limits.collect_bytes_max = 1;
    let client = Client::builder().limits(limits).handler(redirect).build().unwrap();
    let theirs: http::Response<Body> = client.get(URL).await.unwrap().into();
    assert!(theirs.extensions().get::<stoop::ConnectionInfo>().is_some());
    let ours = Response::from(theirs);
    assert_eq!(ours.url(), Some("http://a.test/there"));
    assert_eq!((ours.history().len(), ours.redirects()), (1, 1));
    assert_eq!(ours.text().await.unwrap_err().kind(), ErrorKind::BodyTooLarge);
}

#[tokio::test(start_paused = true)]
async fn replayable_content_goes_along_with_a_redirect() {
    let moved = async |request: Request| {
        let location = if request.path() == "/" { "/b" } else { return measured(request).await };
        request.into_body().discard().await?;
        let response = Response::from_status(StatusCode::TEMPORARY_REDIRECT);
        Ok(response.with_field("location", location)?)
    };
    let client = Client::builder().handler(moved).build().unwrap();
    let stream = || Body::sized(2, Pieces(vec!["a", "b"]));
    let response = client.post("http://a/").body(stream()).await.unwrap();
    assert_eq!(response.status(), StatusCode::TEMPORARY_REDIRECT, "it cannot be sent again");
    let response = client.post("http://a/").body(Body::replayable(stream)).await.unwrap();
    assert_eq!((response.redirects(), response.text().await.unwrap()), (1, "Some(2) ab".into()));
}

#[tokio::test]
async fn a_file_is_sent_with_its_length_and_again() {
    let folder = Folder::new("upload");
    let path = folder.0.join("f");
    let content = "line\n".repeat(60_000);
    std::fs::write(&path, &content).unwrap();
    let file = Body::file(&path).await.unwrap();
    let again = file.try_clone().unwrap();
    for file in [file, again] {
        assert_eq!(sent(file).await.unwrap(), format!("Some(300000) {content}"));
    }
    let shorter = Body::file(&path).await.unwrap();
    std::fs::write(&path, "cut").unwrap();
    assert_eq!(sent(shorter).await.unwrap_err(), ErrorKind::RequestBody);
    std::fs::write(&path, "").unwrap();
    assert_eq!(sent(Body::file(&path).await.unwrap()).await.unwrap(), "Some(0) ");
    let removed = Body::file(&path).await.unwrap();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(sent(removed).await.unwrap(), "Some(0) ", "nothing of it is read");
    assert!(Body::file(&path).await.is_err() && Body::file(&folder.0).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_resource_speaks_json() {
    let api = async |request: Request| {
        let accept = String::from_utf8_lossy(request.field("accept").unwrap()).into_owned();
        let line = format!("{} {} {accept}", request.method(), request.target());
        match request.path() {
            "/v1/none" => Response::from_status(StatusCode::NO_CONTENT),
            "/v1/gone" => Response::from_text("gone\n").with_status(StatusCode::GONE),
            "/v1/bare" => Response::from_status(StatusCode::BAD_GATEWAY),
            _ => {
                let content = request.into_body().bytes(100).await.unwrap();
                let content = String::from_utf8_lossy(&content).into_owned();
                Response::from_json(format!("[{line:?}, {content:?}]"))
            }
        }
    };
    let client = Client::builder().base_url("http://a/v1/").handler(api).build().unwrap();
    let root = client.resource("").unwrap();
    let item = root.at("items/a b?c").query(&[("q", "1")]).unwrap();
    assert_eq!(item.url(), "http://a/v1/items/a%20b%3Fc?q=1");
    let (line, content): (String, String) = item.put(&[1, 2]).await.unwrap();
    assert_eq!((&*line, &*content), ("PUT /v1/items/a%20b%3Fc?q=1 application/json", "[1,2]"));
    for (method, line) in [
        (item.get::<(String, String)>().await, "GET"),
        (item.post(&()).await, "POST"),
        (item.patch("x").await, "PATCH"),
        (item.delete().await, "DELETE"),
    ] {
        assert!(method.unwrap().0.starts_with(line));
    }
    let other = root.header("accept", "application/vnd.x+json").unwrap().at("items/");
    assert_eq!(
        other.get::<(String, String)>().await.unwrap().0,
        "GET /v1/items application/vnd.x+json"
    );

    root.at("none").get::<()>().await.unwrap();
    assert_eq!(root.at("none").get::<Option<u8>>().await.unwrap(), None);
    let error = root.at("gone").get::<()>().await.unwrap_err();
    let text = "the response's status is an error: 410 Gone: gone [http_status, wait]";
    assert_eq!((error.to_string(), error.status()), (text.to_owned(), Some(StatusCode::GONE)));
    let error = root.at("bare").delete::<()>().await.unwrap_err();
    assert!(error.to_string().ends_with("502 Bad Gateway [http_status, wait]"), "{error}");
    assert!(root.at("x").get::<u8>().await.unwrap_err().is_decode());
    assert!(Client::builder().handler(echo).build().unwrap().resource("/v1").is_err());
}

#[tokio::test]
async fn a_form_is_sent_as_browsers_send_it() {
    let folder = Folder::new("form");
    let path = folder.0.join("a\"b.txt");
    std::fs::write(&path, "of the file").unwrap();
    let form = |body: Body| async {
        let file = Part::file(&path).await.unwrap();
        let named = Part::new(body).file_name("n\r\n").mime_type("text/x").unwrap();
        Form::new().text("a b", "ü\r\n").part("\"f\"", file).part("n", named)
    };
    let whole = form(Body::from("named")).await;
    let boundary = whole.content_type().split_once("boundary=").unwrap().1.to_owned();
    let content = format!(
        "--{boundary}\r\ncontent-disposition: form-data; name=\"a b\"\r\n\r\nü\r\n\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"%22f%22\"; filename=\"a%22b.txt\"\r\n\
         content-type: application/octet-stream\r\n\r\nof the file\r\n\
         --{boundary}\r\ncontent-disposition: form-data; name=\"n\"; filename=\"n%0D%0A\"\r\n\
         content-type: text/x\r\n\r\nnamed\r\n\
         --{boundary}--\r\n"
    );
    let body = whole.into_body();
    let again = body.try_clone().unwrap();
    for body in [body, again] {
        assert_eq!(sent(body).await.unwrap(), format!("Some({}) {content}", content.len()));
    }
    let streamed = form(Body::stream(Pieces(vec!["na", "med"]))).await;
    let (length, body) = (streamed.into_body().len(), form(Body::stream(Pieces(vec!["x"]))).await);
    assert_eq!((length, body.into_body().try_clone().is_none()), (None, true));

    let client = Client::builder().handler(echo).build().unwrap();
    let empty = Form::new();
    let content_type = empty.content_type();
    let text = client.post(URL).multipart(empty).await.unwrap().text().await.unwrap();
    assert!(text.contains(&format!("content-type={content_type} [--")), "{text}");
    assert!(Part::new("").mime_type("a\r\nb").is_err());
}

/// What a caller keeps with its request.
#[derive(Clone, Debug, PartialEq)]
struct Account(u32);

/// Answers with the account in the extensions, and with what fields there are that the caller did not set.
async fn account(request: Request) -> Response {
    if request.path() == "/moved" {
        let moved = Response::from_status(StatusCode::TEMPORARY_REDIRECT);
        return moved.with_field("location", "/").unwrap();
    }
    let account = request.extensions().get::<Account>();
    let relayed = request.fields().iter().filter(|field| field.is("stoop-extensions")).count();
    Response::from_text(format!("{account:?} {relayed}"))
}

#[tokio::test(start_paused = true)]
async fn extensions_reach_a_handler_in_this_process() {
    for versions in [stoop::Versions::Http1, stoop::Versions::Http2] {
        let client = Client::builder().versions(versions).handler(account).build().unwrap();
        let mut exchanges = tokio::task::JoinSet::new();
        for n in 0..50 {
            let path = if n % 2 == 0 { "http://a.test/" } else { "http://a.test/moved" };
            let sending = client.get(path).extension(Account(n)).send();
            exchanges.spawn(async move { (n, sending.await.unwrap().text().await.unwrap()) });
        }
        while let Some(answered) = exchanges.join_next().await {
            let (n, text) = answered.unwrap();
            assert_eq!(text, format!("Some(Account({n})) 0"), "{versions:?}");
        }
        // A caller cannot name the extensions of another.
        let text = client.get("http://a.test/").header("stoop-extensions", "1").await.unwrap();
        assert_eq!(text.text().await.unwrap(), "None 0");
    }
}

#[tokio::test(start_paused = true)]
async fn extensions_are_dropped_with_their_exchange() {
    let client = Client::builder().handler(account).build().unwrap();
    let kept = std::sync::Arc::new(());
    let response = client.get("http://a.test/").extension(kept.clone()).await.unwrap();
    assert!(response.text().await.unwrap().starts_with("None"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(std::sync::Arc::strong_count(&kept), 1);
}

#[tokio::test(start_paused = true)]
async fn a_request_may_be_sent_over_another_version() {
    let version = |request: Request| async move { format!("{:?}", request.version()) };
    let client = Client::builder().handler(version).build().unwrap();
    for (versions, expected) in [
        (None, "HTTP/1.1"),
        (Some(stoop::Versions::Http2), "HTTP/2.0"),
        (Some(stoop::Versions::Http1), "HTTP/1.1"),
        (Some(stoop::Versions::All), "HTTP/1.1"),
    ] {
        let mut request = client.get(URL);
        if let Some(versions) = versions {
            request = request.versions(versions);
        }
        let response = request.await.unwrap();
        assert_eq!(format!("{:?}", response.version()), expected);
        assert_eq!(response.text().await.unwrap(), expected);
    }
    let client =
        Client::builder().versions(stoop::Versions::Http2).handler(version).build().unwrap();
    let response = client.get(URL).versions(stoop::Versions::Http1).await.unwrap();
    assert_eq!(response.text().await.unwrap(), "HTTP/1.1");
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_stream_is_the_source_of_the_exchange_s() {
    use std::error::Error as _;
    #[derive(Debug, PartialEq)]
    struct Disk(u8);
    impl std::fmt::Display for Disk {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "disk {} is\u{1b}[31m full", self.0)
        }
    }
    impl std::error::Error for Disk {}
    struct Full;
    impl http_body::Body for Full {
        type Data = bytes::Bytes;
        type Error = Disk;
        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, Disk>>> {
            Poll::Ready(Some(Err(Disk(7))))
        }
    }
    let error = client().post(URL).body(Full).send().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RequestBody);
    let mut chain = std::iter::successors(error.source(), |error| (*error).source());
    assert!(chain.any(|error| error.downcast_ref() == Some(&Disk(7))), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("disk 7 is\\u{1b}[31m full"), "{text}");
}
