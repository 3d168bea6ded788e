//! Redirects: which are followed, and which method, content and fields the next request has.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use stoop::{Body, Client, ErrorKind, Method, Phase, Redirects, Request, Response, StatusCode};

use super::kit::{
    OK, URL, fetch, fetch_request, kind_and_phase, limited, ok, read, scripted, scripted_by, settle,
};

/// A client of a handler that answers `/STATUS?LOCATION` by a redirect, and any other request by its method,
/// host, target, content, and some of its fields.
fn redirecting(builder: stoop::ClientBuilder) -> Client {
    async fn answer(request: Request) -> Result<Response, stoop::Error> {
        let (path, query) = (request.path().to_owned(), request.query().unwrap_or_default());
        if let Ok(status) = path[1..].parse::<u16>() {
            let location = query.replace("%23", "#");
            let response = Response::from_status(StatusCode::from_u16(status).unwrap());
            return Ok(response.with_field("location", location)?);
        }
        let shown = |name| {
            let value =
                request.field(name).map(|value| String::from_utf8_lossy(value).into_owned());
            value.map_or(String::new(), |value| format!(" {name}={value}"))
        };
        let names = ["authorization", "cookie", "content-type", "x-kept"];
        let fields: String = names.into_iter().map(shown).collect();
        let line =
            format!("{} {}{}{fields}", request.method(), request.authority(), request.target());
        let content = request.into_body().bytes(1000).await?;
        Ok(Response::from_text(format!("{line} [{}]", String::from_utf8_lossy(&content))))
    }
    builder.handler(answer).build().unwrap()
}

async fn follow(method: Method, status: u16, location: &str) -> Result<String, (ErrorKind, Phase)> {
    let client = redirecting(Client::builder());
    let request = Request::new(method, &format!("http://a.test/{status}?{location}")).unwrap();
    let request = request.with_body("content");
    let request = request.with_field("content-type", "text/x").unwrap();
    let request = request.with_field("x-kept", "yes").unwrap();
    fetch_request(&client, request).await.map(|(_, content)| content)
}

#[tokio::test(start_paused = true)]
async fn methods_and_content_change_as_the_status_says() {
    let gets = "GET a.test/there x-kept=yes []";
    for status in [301, 302, 303] {
        assert_eq!(follow(Method::POST, status, "/there").await.unwrap(), gets);
    }
    let puts = "PUT a.test/there content-type=text/x x-kept=yes [content]";
    for status in [301, 302, 307, 308] {
        assert_eq!(follow(Method::PUT, status, "/there").await.unwrap(), puts);
    }
    assert_eq!(follow(Method::PUT, 303, "/there").await.unwrap(), gets);
    assert_eq!(follow(Method::GET, 303, "/there").await.unwrap(), gets);
    let posts = "POST a.test/there content-type=text/x x-kept=yes [content]";
    for status in [307, 308] {
        assert_eq!(follow(Method::POST, status, "/there").await.unwrap(), posts);
    }
    for status in [301, 302, 303, 307, 308] {
        assert_eq!(follow(Method::HEAD, status, "/there").await.unwrap(), "");
    }
    for status in [300, 304, 305, 306] {
        let client = redirecting(Client::builder());
        let response = client.get(format!("http://a.test/{status}?/there")).await.unwrap();
        assert_eq!(response.status().as_u16(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn locations_may_be_relative_and_hosts_follow() {
    for (location, line) in [
        ("/there?q", "GET a.test/there?q"),
        ("there", "GET a.test/there"),
        ("?q", "GET a.test/302?q"),
        ("//b.test/x", "GET b.test/x"),
        ("http://b.test:81/x", "GET b.test:81/x"),
        ("http://b.test:80/x", "GET b.test/x"),
        ("https://b.test:443/x", "GET b.test/x"),
        ("http://B.Test", "GET b.test/"),
        ("/a/../b/./c%23fragment", "GET a.test/b/c"),
        ("http://bücher.test/ä", "GET xn--bcher-kva.test/%C3%A4"),
    ] {
        let outcome = match location {
            // This redirect would lead to itself.
            "?q" => continue,
            _ if !location.is_ascii() => {
                let location = location.to_owned();
                let client = scripted(move |mut peer| {
                    let location = location.clone();
                    async move {
                        let head = peer.head().await;
                        let mut lines = head.lines();
                        let target = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
                        let host = lines.find_map(|line| line.strip_prefix("host: ")).unwrap();
                        let text = format!("GET {host}{target}");
                        peer.send(match target.as_str() {
                            "/" => format!("HTTP/1.1 302 Go\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"),
                            _ => format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len()),
                        })
                        .await;
                        peer.stall().await;
                    }
                });
                fetch(&client).await.unwrap().1
            }
            _ => follow(Method::GET, 302, location).await.unwrap(),
        };
        let said = outcome.split(" x-kept").next().unwrap().split(" content-type").next().unwrap();
        assert_eq!(said, line, "{location}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_tells_where_it_came_from() {
    let client = redirecting(Client::builder());
    let response = client.get("http://a.test/302?http://b.test/303?/x%23y").await.unwrap();
    assert_eq!((response.url(), response.redirects()), (Some("http://b.test/x"), 2));
    let response = client.get("http://a.test/x#y").await.unwrap();
    assert_eq!((response.url(), response.redirects()), (Some("http://a.test/x"), 0));
}

#[tokio::test(start_paused = true)]
async fn loops_and_chains_end() {
    let looping = || {
        let answer = "HTTP/1.1 302 Go\r\nlocation: /\r\ncontent-length: 0\r\n\r\n";
        scripted(move |peer| peer.serve(answer))
    };
    assert_eq!(fetch(&looping()).await, Err((ErrorKind::RedirectLimit, Phase::Redirect)));
    // The limit itself is allowed.
    for (max, works) in [(3, true), (2, false)] {
        let client = redirecting(Client::builder().redirects(Redirects::follow(max)));
        let outcome = client.get("http://a.test/302?/303?/307?/x").await;
        match works {
            true => assert_eq!(outcome.unwrap().redirects(), 3),
            false => assert_eq!(kind_and_phase(outcome.unwrap_err()).0, ErrorKind::RedirectLimit),
        }
    }
    let client = redirecting(Client::builder().redirects(Redirects::none()));
    let response = client.get("http://a.test/302?/x").await.unwrap();
    assert_eq!((response.status().as_u16(), response.field("location")), (302, Some(&b"/x"[..])));
}

#[tokio::test(start_paused = true)]
async fn other_schemes_and_nonsense_are_refused() {
    for location in [
        "ftp://a.test/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http://[::",
        "data:,x",
        "gopher://a",
    ] {
        let outcome = follow(Method::GET, 302, location).await;
        assert_eq!(outcome, Err((ErrorKind::RedirectDenied, Phase::Redirect)), "{location}");
    }
    let https = "https://a.test/302?http://a.test/x";
    let strict = Redirects::default().allow_https_to_http(false);
    let error = redirecting(Client::builder().redirects(strict)).get(https).await.unwrap_err();
    assert_eq!(kind_and_phase(error), (ErrorKind::RedirectDenied, Phase::Redirect));
    assert!(redirecting(Client::builder()).get(https).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn credentials_stay_with_their_origin() {
    let client = redirecting(Client::builder());
    for (location, kept) in [
        ("/x", true),
        ("http://a.test:80/x", true),
        ("https://a.test/x", false),
        ("http://a.test:81/x", false),
        ("http://b.a.test/x", false),
        ("http://b.test/x", false),
    ] {
        let request = Request::get(&format!("http://a.test/302?{location}")).unwrap();
        let request = request.with_field("authorization", "secret").unwrap();
        let request = request.with_field("cookie", "s=1").unwrap();
        let (_, said) = fetch_request(&client, request).await.unwrap();
        let shown = said.contains("authorization=secret") && said.contains("cookie=s=1");
        assert_eq!((shown, said.contains("secret")), (kept, kept), "{location}: {said}");
    }
    // Credentials of the URL are not sent to another origin either.
    let (_, said) =
        read(client.get("http://u:p@a.test/302?http://b.test/x").await.unwrap()).await.unwrap();
    assert!(!said.contains("authorization"), "{said}");
    // They are not restored when a redirect leads back.
    let request = Request::get("http://a.test/302?http://b.test/302?http://a.test/x").unwrap();
    let request = request.with_field("authorization", "secret").unwrap();
    assert!(!fetch_request(&client, request).await.unwrap().1.contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_post_is_kept_where_the_policy_says_so() {
    let policy = Redirects::follow(5).keep_post(StatusCode::FOUND).keep_post(StatusCode::SEE_OTHER);
    let client = redirecting(Client::builder().redirects(policy));
    for (method, status, expected) in [
        (Method::POST, 301, "GET a.test/there x-kept=yes []"),
        (Method::POST, 302, "POST a.test/there content-type=text/x x-kept=yes [content]"),
        (Method::POST, 303, "POST a.test/there content-type=text/x x-kept=yes [content]"),
        (Method::PUT, 303, "GET a.test/there x-kept=yes []"),
    ] {
        let request = Request::new(method, &format!("http://a.test/{status}?/there")).unwrap();
        let request = request.with_body("content").with_field("content-type", "text/x").unwrap();
        let request = request.with_field("x-kept", "yes").unwrap();
        assert_eq!(fetch_request(&client, request).await.unwrap().1, expected, "{status}");
    }
    // A stream that was sent is not there any more.
    let (sender, body) = Body::channel(2);
    sender.send(Bytes::from("content")).await.unwrap();
    sender.finish().await.unwrap();
    let request = Request::post("http://a.test/303?/x", body).unwrap();
    assert_eq!(client.send(request).await.unwrap().status().as_u16(), 303);
}

#[tokio::test(start_paused = true)]
async fn credentials_go_along_where_all_origins_are_trusted() {
    let policy = Redirects::follow(5).trust_all_origins(true);
    let client = redirecting(Client::builder().redirects(policy));
    let request = Request::get("http://a.test/302?http://b.test/302?https://c.test:81/x").unwrap();
    let request = request.with_field("authorization", "secret").unwrap();
    let request = request.with_field("cookie", "s=1").unwrap();
    let request = request.with_field("host", "own.test").unwrap();
    let (_, said) = fetch_request(&client, request).await.unwrap();
    assert_eq!(said, "GET c.test:81/x authorization=secret cookie=s=1 []");
    // Those of the first URL too, before those of the redirect's.
    let url = "http://u:p@a.test/302?http://you:x@b.test/x";
    let (_, said) = read(client.get(url).await.unwrap()).await.unwrap();
    assert_eq!(said, "GET b.test/x authorization=Basic dTpw []");
}

#[tokio::test(start_paused = true)]
async fn a_host_of_the_callers_own_goes_no_further_than_the_first_origin() {
    let hosts = Arc::new(Mutex::new(Vec::new()));
    let seen = hosts.clone();
    let client = scripted(move |mut peer| {
        let seen = seen.clone();
        async move {
            let head = peer.head().await;
            let all: Vec<_> = head.lines().filter(|line| line.starts_with("host")).collect();
            let target = head.split(' ').nth(1).unwrap().to_owned();
            seen.lock().unwrap().push(format!("{target} {}", all.join(",")));
            let to = match target.as_str() {
                "/" => "/x",
                "/x" => "http://server.test:80/y",
                "/y" => "http://else.test/z",
                "/z" => "http://server.test/end",
                _ => return peer.send(OK).await,
            };
            let fields = "connection: close\r\ncontent-length: 0";
            peer.send(format!("HTTP/1.1 302 Go\r\nlocation: {to}\r\n{fields}\r\n\r\n")).await;
            settle().await;
        }
    });
    let request = Request::get(URL).unwrap().with_field("host", "own.test").unwrap();
    fetch_request(&client, request).await.unwrap();
    let expected = [
        "/ host: own.test",
        "/x host: own.test",
        "/y host: own.test",
        "/z host: else.test",
        "/end host: server.test",
    ];
    assert_eq!(*hosts.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn content_that_was_streamed_cannot_follow() {
    let client = redirecting(Client::builder());
    for (status, follows) in [(307, false), (308, false), (303, true), (302, true)] {
        let (sender, body) = Body::channel(2);
        sender.send(Bytes::from("content")).await.unwrap();
        sender.finish().await.unwrap();
        let request = Request::post(&format!("http://a.test/{status}?/x"), body).unwrap();
        let response = client.send(request).await.unwrap();
        let expected = if follows { 200 } else { status };
        assert_eq!(response.status().as_u16(), expected);
    }
}

#[tokio::test(start_paused = true)]
async fn an_endless_redirect_is_not_read_to_its_end() {
    let sent = Arc::new(Mutex::new(0));
    let count = sent.clone();
    let client = scripted_by(Client::builder(), move |mut peer| {
        let count = count.clone();
        async move {
            if peer.head().await.starts_with("GET /x") {
                return peer.answer(OK).await;
            }
            peer.send("HTTP/1.1 302 Go\r\nlocation: /x\r\n\r\n").await;
            for _ in 0..10_000 {
                peer.send([b'a'; 1000]).await;
                *count.lock().unwrap() += 1000;
                tokio::task::yield_now().await;
            }
        }
    });
    let begun = tokio::time::Instant::now();
    assert_eq!(fetch(&client).await, ok());
    assert!(begun.elapsed().as_millis() < 10);
    assert!(*sent.lock().unwrap() < 300_000);
}

#[tokio::test(start_paused = true)]
async fn a_redirect_with_too_much_content_is_followed() {
    const REDIRECT: &str = "HTTP/1.1 302 Go\r\nlocation: /x\r\ncontent-length: 5\r\n\r\nhello";
    let client = scripted_by(
        limited(|limits| limits.wire.body_bytes_max = Some(2)),
        move |mut peer| async move {
            while let head = peer.head().await
                && !head.is_empty()
            {
                let elsewhere = head.starts_with("GET /x");
                peer.send(if elsewhere { OK } else { REDIRECT }).await;
            }
        },
    );
    assert_eq!(fetch(&client).await, ok());
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_the_callers_decides_and_sees_what_came_before() {
    use stoop::{RedirectAction, RedirectAttempt};
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let decide = move |attempt: &RedirectAttempt<'_>| {
        let before: Vec<_> = attempt.history().iter().map(|past| past.url().to_owned()).collect();
        let line = format!("{} {} -> {}", attempt.status().as_u16(), attempt.from(), attempt.to());
        noted.lock().unwrap().push((line, before.len(), attempt.same_origin()));
        match attempt.to() {
            to if to.contains("deny") => RedirectAction::Deny("not there".into()),
            to if to.contains("stop") => RedirectAction::Stop,
            _ => RedirectAction::Follow,
        }
    };
    let client = redirecting(Client::builder().redirects(Redirects::follow(3).decided_by(decide)));
    let get = |url: &'static str| client.get(url).send();
    let response = get("http://me:s3cret@a.test/302?http://b.test/307%3F/there").await.unwrap();
    assert_eq!((response.redirects(), response.history().len()), (1, 1));
    let past = &response.history()[0];
    assert_eq!(past.status(), 302);
    assert!(!past.url().contains("s3cret"), "{}", past.url());
    let stopped = get("http://a.test/301?/stop").await.unwrap();
    assert_eq!((stopped.status().as_u16(), stopped.redirects()), (301, 0));
    assert!(stopped.history().is_empty());
    let denied = get("http://a.test/308?/deny").await.unwrap_err();
    assert!(denied.to_string().contains("not there"), "{denied}");
    assert_eq!(denied.status().map(|status| status.as_u16()), Some(308));
    assert_eq!(kind_and_phase(denied), (ErrorKind::RedirectDenied, Phase::Redirect));
    let seen = seen.lock().unwrap();
    assert_eq!(seen[0].1, 0);
    assert!(
        !seen[0].2 && seen[1].2 && seen[1].0 == "301 http://a.test/301?/stop -> http://a.test/stop"
    );
}

#[tokio::test(start_paused = true)]
async fn the_history_of_a_response_is_every_redirect_in_order() {
    let chain = |request: Request| match request.path() {
        "/0" | "/1" | "/2" => {
            let next = format!("/{}", request.path()[1..].parse::<u8>().unwrap() + 1);
            Response::from_status(StatusCode::FOUND).with_field("location", next).unwrap()
        }
        path => Response::from_text(path.to_owned()),
    };
    for versions in super::kit::EACH_VERSION {
        let client = Client::builder().versions(versions).handler(chain).build().unwrap();
        for _ in 0..2 {
            let response = client.get("http://a.test/0").await.unwrap();
            let urls: Vec<_> = response.history().iter().map(|past| past.url()).collect();
            assert_eq!(urls, ["http://a.test/0", "http://a.test/1", "http://a.test/2"]);
            assert_eq!(response.url(), Some("http://a.test/3"));
            assert_eq!(client.get("http://a.test/9").await.unwrap().history(), []);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_of_a_netrc_go_to_their_host_alone() {
    let netrc = "machine a.test login me password one machine b.test login you password two";
    let client = redirecting(Client::builder().netrc(netrc.parse().unwrap()));
    let text = |url: &'static str| {
        let sending = client.get(url).send();
        async move { sending.await.unwrap().text().await.unwrap() }
    };
    let (me, you) = ("authorization=Basic bWU6b25l", "authorization=Basic eW91OnR3bw==");
    assert_eq!(text("http://a.test/x").await, format!("GET a.test/x {me} []"));
    assert_eq!(text("http://c.test/x").await, "GET c.test/x []");
    assert_eq!(text("http://a.test/302?/x").await, format!("GET a.test/x {me} []"));
    assert_eq!(text("http://a.test/302?http://b.test/x").await, format!("GET b.test/x {you} []"));
    assert_eq!(text("http://a.test/302?http://c.test/x").await, "GET c.test/x []");
    // What the request itself has comes first.
    assert_eq!(text("http://u:p@a.test/x").await, "GET a.test/x authorization=Basic dTpw []");
    let own = client.get("http://a.test/x").bearer_auth("t").await.unwrap().text().await.unwrap();
    assert_eq!(own, "GET a.test/x authorization=Bearer t []");
}
