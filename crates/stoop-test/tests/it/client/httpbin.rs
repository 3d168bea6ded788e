//! The client and go-httpbin, a server of another project that answers with what it was asked for.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stoop::body::{ContentCoding, Form, Part};
use stoop::{
    Body, Client, ClientBuilder, CookieJar, ErrorKind, Phase, Redirects, Request, Retries, Switch,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kit::{counts, limited};
use crate::programs::{ListeningProgram, TestFolder};

const MS: Duration = Duration::from_millis(1);

/// The largest request and response, in bytes.
const LARGEST: usize = 8 << 20;

/// A running go-httpbin.
struct Httpbin(ListeningProgram);

impl Httpbin {
    fn start(name: &str) -> Option<Self> {
        let name = format!("client::httpbin::{name}");
        let started = ListeningProgram::start(&name, "go-httpbin", |port, _| {
            let (port, largest) = (port.to_string(), LARGEST.to_string());
            ["-host", "127.0.0.1", "-port", &port, "-max-body-size", &largest]
                .map(str::to_owned)
                .into()
        });
        started.map(Self)
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.0.url("http://"))
    }

    /// A client to which the server's paths are URLs.
    fn client(&self) -> Client {
        self.client_of(Client::builder())
    }

    fn client_of(&self, builder: ClientBuilder) -> Client {
        builder.base_url(self.url("/")).build().unwrap()
    }
}

async fn get_json(client: &Client, path: &str) -> Value {
    client.get(path).await.unwrap().error_for_status().unwrap().json().await.unwrap()
}

#[tokio::test]
async fn each_method_arrives_with_fields_query_and_content() {
    let Some(bin) = Httpbin::start("methods") else { return };
    let client = bin.client();
    for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
        let request = client.request(method.parse().unwrap(), "/anything/else?a=1");
        let request = request.query(&[("a", "2"), ("q", "x y&z=ü")]).header("X-Shown", "one");
        let request = request.header("content-type", "text/plain").body("the content");
        let echo: Value = request.await.unwrap().json().await.unwrap();
        assert_eq!(echo["method"], method);
        assert_eq!(echo["args"], json!({ "a": ["1", "2"], "q": ["x y&z=ü"] }), "{method}");
        assert_eq!(echo["headers"]["X-Shown"], json!(["one"]), "{method}");
        assert_eq!(echo["data"], "the content", "{method}");
        let url = echo["url"].as_str().unwrap();
        assert!(url.starts_with(&bin.url("/anything/else?a=1&")), "{url}");
    }
    let response = client.head("/head").await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.bytes().await.unwrap(), "");
    assert_eq!(counts(&client), (1, 1), "all of it went over one connection");
}

#[tokio::test]
async fn forms_and_json_are_what_was_given() {
    let Some(bin) = Httpbin::start("forms") else { return };
    let client = bin.client();
    let form = [("a", "1 2"), ("b", "&=+ü"), ("a", "")];
    let echo: Value = client.post("/post").form(&form).await.unwrap().json().await.unwrap();
    assert_eq!(echo["form"], json!({ "a": ["1 2", ""], "b": ["&=+ü"] }));
    let value =
        json!({ "text": "\u{1f600} \"\\\n", "numbers": [1, -2.5, null], "deep": { "x": {} } });
    let echo: Value = client.put("/put").json(&value).await.unwrap().json().await.unwrap();
    assert_eq!(echo["json"], value);
    assert_eq!(echo["headers"]["Content-Type"], json!(["application/json"]));
}

#[tokio::test]
async fn a_multipart_form_arrives_with_its_files() {
    let Some(bin) = Httpbin::start("multipart") else { return };
    let folder = TestFolder::new("httpbin-multipart");
    let lines = "a line of a file\r\n".repeat(20_000);
    let file = folder.write("notes.txt", &lines);
    let form = Form::new()
        .text("title", "a \"falcon\" ü")
        .text("title", "again")
        .part("file", Part::file(&file).await.unwrap())
        .part("inline", Part::new("few bytes").file_name("i.bin").mime_type("image/png").unwrap());
    let request = bin.client().post("/post").multipart(form);
    let echo: Value = request.await.unwrap().json().await.unwrap();
    assert_eq!(echo["form"]["title"], json!(["a \"falcon\" ü", "again"]));
    assert_eq!(echo["files"]["file"][0], lines);
    // go-httpbin shows each file as text.
    assert_eq!(echo["files"]["inline"][0], "few bytes");
    let length = echo["headers"]["Content-Length"][0].as_str().unwrap();
    assert!(length.parse::<usize>().unwrap() > lines.len(), "its length is known: {length}");
}

#[tokio::test]
async fn content_in_a_coding_is_decoded() {
    let Some(bin) = Httpbin::start("codings") else { return };
    let client = bin.client();
    for (path, coding, flag) in [
        ("/gzip", ContentCoding::Gzip, "gzipped"),
        ("/deflate", ContentCoding::Deflate, "deflated"),
    ] {
        let response = client.get(path).await.unwrap();
        assert_eq!(response.decoded_from(), [coding]);
        assert!(response.field("content-encoding").is_none(), "{path}");
        let echo: Value = response.json().await.unwrap();
        assert_eq!(echo[flag], true, "{path}");
        let asked = echo["headers"]["Accept-Encoding"][0].as_str().unwrap();
        assert!(asked.contains("gzip") && asked.contains("deflate"), "{asked}");
        let raw = client.get(path).decode_content(false).await.unwrap();
        assert!(raw.field("content-encoding").is_some(), "{path}");
        assert!(serde_json::from_slice::<Value>(&raw.bytes().await.unwrap()).is_err(), "{path}");
    }
    let text = client.get("/encoding/utf8").await.unwrap().text().await.unwrap();
    assert!(text.contains("∮ E⋅da = Q") && text.contains("⌈x⌉ = −⌊−x⌋"), "{} bytes", text.len());
}

#[tokio::test]
async fn redirects_are_followed_absolute_and_relative() {
    let Some(bin) = Httpbin::start("redirects") else { return };
    let client = bin.client();
    for kind in ["redirect", "relative-redirect", "absolute-redirect"] {
        let response = client.get(format!("/{kind}/5")).await.unwrap();
        assert_eq!((response.status().as_u16(), response.redirects()), (200, 5), "{kind}");
        assert_eq!(response.url(), Some(&*bin.url("/get")), "{kind}");
        let first = &response.history()[0];
        assert_eq!((first.status().as_u16(), first.url()), (302, &*bin.url(&format!("/{kind}/5"))));
        assert_eq!(response.json::<Value>().await.unwrap()["method"], "GET");
    }
    let few = bin.client_of(Client::builder().redirects(Redirects::follow(3)));
    let error = few.get("/redirect/5").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::RedirectLimit, Phase::Redirect));
    let none = bin.client_of(Client::builder().redirects(Redirects::none()));
    let response = none.get("/redirect/5").await.unwrap();
    assert_eq!(response.status(), 302);
    assert_eq!(response.field("location"), Some(&b"/relative-redirect/4"[..]));
}

/// RFC 9110 §15.4: a 303 changes the method, a 307 and a 308 do not.
#[tokio::test]
async fn a_redirect_of_content_takes_it_along_or_leaves_it_by_status() {
    let Some(bin) = Httpbin::start("redirected_content") else { return };
    let client = bin.client();
    for (status, method, data) in [
        (301, "GET", ""),
        (302, "GET", ""),
        (303, "GET", ""),
        (307, "POST", "content"),
        (308, "POST", "content"),
    ] {
        let path = format!("/redirect-to?url=/anything/there&status_code={status}");
        let request = client.post(path).header("content-type", "text/plain").body("content");
        let echo: Value = request.await.unwrap().json().await.unwrap();
        assert_eq!((&echo["method"], &echo["data"]), (&json!(method), &json!(data)), "{status}");
        let typed = !echo["headers"]["Content-Type"].is_null();
        assert_eq!(typed, method == "POST", "{status}: {}", echo["headers"]);
    }
    // A method that is no POST stays.
    let put = client.put("/redirect-to?url=/anything&status_code=302").body("content");
    assert_eq!(put.await.unwrap().json::<Value>().await.unwrap()["method"], "PUT");
    // What cannot be sent again is not.
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        let _ = sender.send("once").await;
        let _ = sender.finish().await;
    });
    let once = client.post("/redirect-to?url=/anything&status_code=307").body(body).await;
    let once = once.unwrap();
    assert_eq!((once.status().as_u16(), once.redirects()), (307, 0));
}

#[tokio::test]
async fn cookies_are_set_kept_and_deleted() {
    let Some(bin) = Httpbin::start("cookies") else { return };
    let jar = CookieJar::new();
    let client = bin.client_of(Client::builder().cookies(jar.clone()));
    assert_eq!(get_json(&client, "/cookies").await, json!({}));
    // The redirect to /cookies has them already.
    assert_eq!(get_json(&client, "/cookies/set?a=1&b=2").await, json!({ "a": "1", "b": "2" }));
    assert_eq!(get_json(&client, "/cookies/set?a=3").await, json!({ "a": "3", "b": "2" }));
    assert_eq!(get_json(&client, "/cookies").await, json!({ "a": "3", "b": "2" }));
    assert_eq!(get_json(&client, "/cookies/delete?a").await, json!({ "b": "2" }));
    let url = bin.url("/cookies");
    assert_eq!(jar.get(&url).unwrap().as_deref(), Some("b=2"));
    // Without a jar nothing is kept.
    let without = bin.client();
    assert_eq!(get_json(&without, "/cookies/set?a=1").await, json!({}));
}

#[tokio::test]
async fn credentials_of_each_scheme_are_accepted_and_wrong_ones_are_not() {
    let Some(bin) = Httpbin::start("credentials") else { return };
    let client = bin.client();
    let status = async |request: stoop::RequestBuilder| request.await.unwrap().status().as_u16();
    for path in ["/basic-auth/me/secret", "/hidden-basic-auth/me/secret"] {
        assert_eq!(status(client.get(path).basic_auth("me", "secret")).await, 200, "{path}");
        let refused = status(client.get(path).basic_auth("me", "wrong")).await;
        assert!([401, 404].contains(&refused), "{path}: {refused}");
        let refused = status(client.get(path)).await;
        assert!([401, 404].contains(&refused), "{path}: {refused}");
    }
    let in_url = bin.url("/basic-auth/me/secret").replace("//", "//me:secret@");
    assert_eq!(status(client.get(in_url)).await, 200);
    let bearer = client.get("/bearer").bearer_auth("t0k3n").await.unwrap();
    assert_eq!(bearer.json::<Value>().await.unwrap()["token"], "t0k3n");
    assert_eq!(status(client.get("/bearer")).await, 401);
    for algorithm in ["MD5", "SHA-256"] {
        let path = format!("/digest-auth/auth/me/secret/{algorithm}");
        let accepted = client.get(&path).digest_auth("me", "secret").await.unwrap();
        assert_eq!(accepted.status(), 200, "{algorithm}");
        assert_eq!(accepted.json::<Value>().await.unwrap()["user"], "me");
        assert_eq!(status(client.get(&path).digest_auth("me", "wrong")).await, 401);
        assert_eq!(status(client.get(&path)).await, 401);
        let query = format!("{path}?with=a&query");
        assert_eq!(status(client.get(query).digest_auth("me", "secret")).await, 200);
    }
}

#[tokio::test]
async fn every_status_is_a_response_and_an_error_where_that_is_wanted() {
    let Some(bin) = Httpbin::start("statuses") else { return };
    let client = bin.client();
    for status in [200, 201, 202, 204, 206, 304, 400, 401, 404, 410, 418, 429, 500, 502, 503] {
        let response = client.get(format!("/status/{status}")).await.unwrap();
        assert_eq!(response.status().as_u16(), status);
        match response.error_for_status() {
            Ok(response) => {
                assert!(status < 400);
                response.bytes().await.unwrap();
            }
            Err(error) => {
                assert!(status >= 400);
                let said = error.status().map(|status| status.as_u16());
                assert_eq!((error.kind(), said), (ErrorKind::HttpStatus, Some(status)));
            }
        }
    }
    let fields = client.get("/response-headers?x-given=1&x-given=2").await.unwrap();
    let given: Vec<_> = fields.fields().all("x-given").collect();
    assert_eq!(given, [b"1", b"2"]);
}

#[tokio::test]
async fn a_deadline_ends_what_takes_longer_and_nothing_else() {
    let Some(bin) = Httpbin::start("delays") else { return };
    let client = bin.client();
    let begun = Instant::now();
    let error = client.get("/delay/9").timeout(300 * MS).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::TotalTimeout, Phase::Wait));
    let took = begun.elapsed();
    assert!(took >= 300 * MS && took < 4_000 * MS, "{took:?}");
    let response = client.get("/delay/0.2").timeout(9_000 * MS).await.unwrap();
    assert!(response.timings().wait().is_some_and(|wait| wait >= 200 * MS));
    // Content that drips, with the limits for it: an idle one, and the total.
    let slow = "/drip?duration=8&numbytes=4&delay=0";
    let idle = bin.client_of(limited(|limits| limits.time.read_idle = Some(400 * MS)));
    let error = idle.get(slow).await.unwrap().bytes().await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ReadTimeout, Phase::Receive));
    let total = client.get(slow).timeout(400 * MS).await.unwrap().bytes().await.unwrap_err();
    assert_eq!((total.kind(), total.phase()), (ErrorKind::TotalTimeout, Phase::Receive));
}

#[tokio::test]
async fn content_that_drips_comes_piece_by_piece() {
    let Some(bin) = Httpbin::start("drip") else { return };
    let path = "/drip?duration=1&numbytes=6&delay=0.1&code=203";
    let begun = Instant::now();
    let mut response = bin.client().get(path).await.unwrap();
    assert_eq!(response.status(), 203);
    let (mut pieces, mut content) = (0, Vec::new());
    while let Some(piece) = response.chunk().await.unwrap() {
        pieces += 1;
        content.extend_from_slice(&piece);
    }
    assert_eq!(content, b"******");
    assert!(pieces >= 2, "it came at once");
    assert!(begun.elapsed() >= 800 * MS, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn chunked_content_is_whole() {
    let Some(bin) = Httpbin::start("streams") else { return };
    let client = bin.client();
    let text = client.get("/stream/100").await.unwrap().text().await.unwrap();
    for (n, line) in text.lines().enumerate() {
        assert_eq!(serde_json::from_str::<Value>(line).unwrap()["id"], n);
    }
    assert_eq!(text.lines().count(), 100);
    // The same random bytes, in chunks of some sizes and with a length.
    let whole = client.get("/bytes/100000?seed=17").await.unwrap();
    assert!(whole.field("content-length").is_some());
    let whole = whole.bytes().await.unwrap();
    assert_eq!(whole.len(), 100_000);
    for size in [7, 1_000, 16_384, 99_999] {
        let path = format!("/stream-bytes/100000?seed=17&chunk_size={size}");
        let response = client.get(path).await.unwrap();
        assert_eq!(response.field("transfer-encoding"), Some(&b"chunked"[..]));
        assert!(response.bytes().await.unwrap() == whole, "{size}");
    }
}

/// Byte `n` of the content of `/range`.
fn letter(n: usize) -> u8 {
    b'a' + (n % 26) as u8
}

#[tokio::test]
async fn large_content_arrives_unchanged() {
    let Some(bin) = Httpbin::start("large") else { return };
    let client = bin.client();
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let request = client.get(format!("/range/{LARGEST}"));
        all.spawn(async move {
            let mut response = request.await?;
            let (mut at, mut wrong) = (0, 0);
            while let Some(piece) = response.chunk().await? {
                wrong += piece.iter().zip(at..).filter(|(byte, n)| **byte != letter(*n)).count();
                at += piece.len();
            }
            Ok::<_, stoop::Error>((at, wrong))
        });
    }
    for outcome in all.join_all().await {
        assert_eq!(outcome.unwrap(), (LARGEST, 0));
    }
}

#[tokio::test]
async fn ranges_are_parts_of_the_whole() {
    let Some(bin) = Httpbin::start("ranges") else { return };
    let client = bin.client();
    for (range, status, from, to) in [
        ("bytes=10-19", 206, 10, 20),
        ("bytes=990-", 206, 990, 1000),
        ("bytes=-5", 206, 995, 1000),
        ("bytes=0-5000", 206, 0, 1000),
        ("nonsense=1", 416, 0, 0),
        ("bytes=1000-", 416, 0, 0),
    ] {
        let response = client.get("/range/1000").header("range", range).await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{range}");
        if status == 206 {
            let said = format!("bytes {from}-{}/1000", to - 1);
            assert_eq!(response.field("content-range"), Some(said.as_bytes()), "{range}");
            let expected: Vec<u8> = (from..to).map(letter).collect();
            assert_eq!(response.bytes().await.unwrap(), expected, "{range}");
        }
    }
}

#[tokio::test]
async fn conditional_requests_get_no_content_and_keep_the_connection() {
    let Some(bin) = Httpbin::start("conditions") else { return };
    let client = bin.client();
    let status = async |path: &str, name: &str, value: &str| {
        let response = client.get(path).header(name, value).await.unwrap();
        let status = response.status().as_u16();
        let content = response.bytes().await.unwrap();
        assert_eq!(content.is_empty(), status != 200, "{path} {name}");
        status
    };
    assert_eq!(status("/etag/one", "if-none-match", "\"one\"").await, 304);
    assert_eq!(status("/etag/one", "if-none-match", "\"two\", W/\"one\"").await, 304);
    assert_eq!(status("/etag/one", "if-none-match", "\"two\"").await, 200);
    assert_eq!(status("/etag/one", "if-match", "\"one\"").await, 200);
    assert_eq!(status("/etag/one", "if-match", "\"two\"").await, 412);
    assert_eq!(status("/cache", "if-modified-since", "Sat, 01 Jan 2022 00:00:00 GMT").await, 304);
    assert_eq!(status("/cache", "x-other", "1").await, 200);
    let cached = client.get("/cache/60").await.unwrap();
    assert_eq!(cached.field("cache-control"), Some(&b"public, max-age=60"[..]));
    drop(cached.bytes().await.unwrap());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn content_of_unknown_length_is_sent_in_chunks() {
    let Some(bin) = Httpbin::start("uploads") else { return };
    let client = bin.client();
    let upload = |path: &str, pieces: usize| {
        let (sender, body) = Body::channel(2);
        tokio::spawn(async move {
            for n in 0..pieces {
                sender.send(format!("piece {n:05}\n")).await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        client.post(path).header("content-type", "text/plain").body(body)
    };
    let dump = upload("/dump/request", 2).await.unwrap().text().await.unwrap();
    assert!(dump.contains("\r\nTransfer-Encoding: chunked\r\n"), "{dump}");
    assert!(!dump.contains("Content-Length"), "{dump}");
    assert!(dump.contains("piece 00000\npiece 00001\n"), "{dump}");
    for pieces in [0, 1, 50_000] {
        let echo: Value = upload("/post", pieces).await.unwrap().json().await.unwrap();
        let expected: String = (0..pieces).map(|n| format!("piece {n:05}\n")).collect();
        assert!(echo["data"] == expected, "{pieces}");
    }
}

#[tokio::test]
async fn server_sent_events_come_and_come_again_after_the_end() {
    let Some(bin) = Httpbin::start("events") else { return };
    let path = "/sse?count=5&duration=200ms&delay=0s";
    let mut events = bin.client().get(path).events().retry(10 * MS);
    // The response ends after five, and the stream reconnects.
    for n in 0..12 {
        let event = events.next().await.unwrap().unwrap();
        let data: Value = serde_json::from_str(&event.data).unwrap();
        assert_eq!((&*event.event, &data["id"]), ("ping", &json!(n % 5)));
    }
}

/// RFC 6455 §4: the handshake by `Client::switch`, then one frame each way.
#[tokio::test]
async fn a_websocket_echoes() {
    let Some(bin) = Httpbin::start("websocket") else { return };
    let client = bin.client();
    let handshake = |version: &str| {
        let path = bin.url("/websocket/echo");
        let fields = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", version),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        let request = Request::get(&path).unwrap();
        fields
            .into_iter()
            .fold(request, |request, (name, value)| request.with_field(name, value).unwrap())
    };
    match client.switch(handshake("12")).await.unwrap() {
        Switch::Declined(response) => assert_eq!(response.status(), 400),
        Switch::Accepted(_) => panic!("version 12 was accepted"),
    }
    let Switch::Accepted(upgraded) = client.switch(handshake("13")).await.unwrap() else {
        panic!("declined");
    };
    let mut stream = stoop::rt::stream(upgraded);
    // A text frame of 5 bytes, masked with zeros (§5.3), and its echo without a mask.
    stream.write_all(b"\x81\x85\0\0\0\0hello").await.unwrap();
    let mut echo = [0; 7];
    stream.read_exact(&mut echo).await.unwrap();
    assert_eq!(&echo, b"\x81\x05hello");
}

#[tokio::test]
async fn failures_that_pass_are_retried_until_they_do() {
    let Some(bin) = Httpbin::start("unstable") else { return };
    // Each request of these fails with a probability of one half: forty in a row do in no run at all.
    let retries = Retries::up_to(40).delay(MS, 2 * MS).budget_percent(4_000);
    let client = bin.client_of(Client::builder().retries(retries));
    for _ in 0..20 {
        assert_eq!(client.get("/unstable").await.unwrap().status(), 200);
    }
    // One that always fails is the outcome, and a POST is not sent again.
    let few = Retries::up_to(3).delay(MS, 2 * MS).budget_percent(4_000);
    let client = bin.client_of(Client::builder().retries(few));
    for _ in 0..3 {
        assert_eq!(client.get("/unstable?failure_rate=1").await.unwrap().status(), 500);
    }
}

#[tokio::test]
async fn what_the_server_sees_of_a_client_is_what_was_set() {
    let Some(bin) = Httpbin::start("identity") else { return };
    let client = bin.client_of(Client::builder().user_agent("shows/1.0"));
    assert_eq!(get_json(&client, "/user-agent").await["user-agent"], "shows/1.0");
    let hostname: HashMap<String, String> =
        client.get("/hostname").await.unwrap().json().await.unwrap();
    assert_eq!(hostname["hostname"], "go-httpbin");
    let headers = get_json(&client, "/headers").await;
    assert_eq!(headers["headers"]["Host"][0], bin.0.url(""));
    let origin = get_json(&client, "/ip").await["origin"].to_string();
    assert!(origin.contains("127.0.0.1"), "{origin}");
    let text = client.get("/base64/aGVsbG8gw7w=").await.unwrap().text().await.unwrap();
    assert_eq!(text, "hello ü");
    let ids: BTreeMap<String, String> = client.get("/uuid").await.unwrap().json().await.unwrap();
    assert_eq!(ids["uuid"].len(), 36);
}

#[tokio::test]
async fn two_hundred_requests_at_once_are_all_answered() {
    let Some(bin) = Httpbin::start("load") else { return };
    let client = bin.client();
    let mut all = tokio::task::JoinSet::new();
    for n in 0..200 {
        let request = client.post(format!("/anything?n={n}")).json(&n);
        all.spawn(async move { request.await?.json::<Value>().await.map(|echo| (n, echo)) });
    }
    for outcome in all.join_all().await {
        let (n, echo) = outcome.unwrap();
        assert_eq!((&echo["json"], &echo["args"]["n"][0]), (&json!(n), &json!(n.to_string())));
    }
}
