//! URLs as users write them, and the requests that are sent for them.

use std::sync::Arc;

use stoop::{Client, Endpoint, Method, Request, Server};

use super::kit::{OK, ScriptedServer, fetch_request, listen_scripted, ok, scripted};
use crate::client::kit::{accepted, counts, declined};

/// The request line and Host that a request for `url` is sent with.
async fn sent(url: &str) -> (String, String) {
    let client = scripted(|mut peer: ScriptedServer| async move {
        let head = peer.head().await;
        let line = head.lines().next().unwrap();
        let host = head.lines().find(|line| line.starts_with("host: ")).unwrap();
        let text = format!("{line}\n{host}");
        peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())).await;
        peer.stall().await;
    });
    let (_, text) = fetch_request(&client, Request::get(url).unwrap()).await.unwrap();
    let (line, host) = text.split_once('\n').unwrap();
    let target = line.strip_prefix("GET ").unwrap().strip_suffix(" HTTP/1.1").unwrap();
    (target.to_owned(), host.strip_prefix("host: ").unwrap().to_owned())
}

#[tokio::test(start_paused = true)]
async fn urls_are_sent_as_the_url_standard_says() {
    for (url, target, host) in [
        ("http://a.test", "/", "a.test"),
        ("HTTP://A.TEST/Path", "/Path", "a.test"),
        ("http://a.test:80/", "/", "a.test"),
        ("http://a.test:8080/", "/", "a.test:8080"),
        ("http://a.test:/", "/", "a.test"),
        ("https://a.test:80/", "/", "a.test:80"),
        ("http://a.test/x?y=z&w#fragment", "/x?y=z&w", "a.test"),
        ("http://a.test?q", "/?q", "a.test"),
        ("http://a.test/a b/ä/%20|\"<>", "/a%20b/%C3%A4/%20|%22%3C%3E", "a.test"),
        ("http://a.test/?a b=ä", "/?a%20b=%C3%A4", "a.test"),
        ("http://a.test\\x", "/x", "a.test"),
        ("  http://a.test/x \t", "/x", "a.test"),
        ("http://a.test/\nx\r", "/x", "a.test"),
        ("http://a.test/a/./b/../c", "/a/c", "a.test"),
        ("http://a.test/%2e%2E/x", "/x", "a.test"),
        ("http://b\u{fc}cher.test/", "/", "xn--bcher-kva.test"),
        ("http://a.test./", "/", "a.test."),
        ("http://a。test/", "/", "a.test"),
        ("http://%61.test/", "/", "a.test"),
        ("http://0x7f.1/", "/", "127.0.0.1"),
        ("http://2130706433/", "/", "127.0.0.1"),
        ("http://127.1:81/", "/", "127.0.0.1:81"),
        ("http://[::1]/", "/", "[::1]"),
        ("http://[0:0::0001]:81/", "/", "[::1]:81"),
        ("http://[::ffff:127.0.0.1]/", "/", "[::ffff:7f00:1]"),
        ("http://user:pass@a.test/", "/", "a.test"),
        ("http://a.test/user@b", "/user@b", "a.test"),
    ] {
        // The script does not speak TLS.
        if !url.starts_with("https") {
            assert_eq!(sent(url).await, (target.to_owned(), host.to_owned()), "{url:?}");
        }
    }
    let long = "a".repeat(100_000);
    assert_eq!(sent(&format!("http://a.test/{long}")).await.0.len(), 100_001);
}

#[tokio::test(start_paused = true)]
async fn user_and_password_become_credentials() {
    let heads = Arc::new(std::sync::Mutex::new(Vec::new()));
    let seen = heads.clone();
    let client = scripted(move |mut peer| {
        let seen = seen.clone();
        async move {
            let head = peer.head().await;
            let found = head.lines().find_map(|line| line.strip_prefix("authorization: "));
            seen.lock().unwrap().push(found.unwrap_or_default().to_owned());
            assert!(!head.contains('@'));
            peer.send(OK).await;
        }
    });
    for url in
        ["http://u:p@a/", "http://u@a/", "http://:p@a/", "http://%C3%A4:b%40%3Ac@a/", "http://@a/"]
    {
        fetch_request(&client, Request::get(url).unwrap()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    }
    let own = Request::get("http://u:p@a/").unwrap().with_field("authorization", "x").unwrap();
    fetch_request(&client, own).await.unwrap();
    let expected = ["Basic dTpw", "Basic dTo=", "Basic OnA=", "Basic w6Q6YkA6Yw==", "", "x"];
    assert_eq!(*heads.lock().unwrap(), expected);
}

#[tokio::test]
async fn odd_spellings_of_addresses_are_connected_to() {
    let server = listen_scripted(|peer| peer.serve(OK)).await;
    let client = Client::new();
    for host in [
        "127.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "localhost",
        "LOCALHOST.",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.port());
        let outcome = fetch_request(&client, Request::get(&url).unwrap()).await;
        assert_eq!(outcome, ok(), "{host}");
    }
}

#[tokio::test]
async fn a_unix_socket_is_spoken_to_whatever_the_url() {
    let path = std::env::temp_dir().join(format!("stoop-client-{}.sock", std::process::id()));
    let endpoint: Endpoint = format!("unix:{}", path.display()).parse().unwrap();
    let answer = |request: Request| {
        stoop::Response::from_text(format!("{} {}", request.authority(), request.path()))
    };
    let server = Server::listen(endpoint).unwrap().run_here(answer).unwrap();
    let client = Client::builder().unix_socket(&path).build().unwrap();
    for _ in 0..3 {
        let request = Request::get("http://some.test/where").unwrap();
        let outcome = fetch_request(&client, request).await;
        assert_eq!(outcome, Ok((200, "some.test /where".to_owned())));
    }
    assert_eq!(counts(&client), (1, 1));
    server.close().await;
    drop(std::fs::remove_file(&path));
}

#[tokio::test]
async fn a_handler_answers_without_a_socket_even_for_https() {
    async fn answer(request: Request) -> Result<stoop::Response, stoop::Error> {
        let host = request.authority().to_owned();
        let content = request.into_body().bytes(1 << 20).await?;
        Ok(stoop::Response::from_text(format!("{host} {}", content.len())))
    }
    let client = Client::builder().handler(answer).build().unwrap();
    for (url, host) in [("https://secret.test/", "secret.test"), ("http://[::1]:7/", "[::1]:7")] {
        let request = Request::new(Method::PUT, url).unwrap().with_body(vec![b'a'; 100_000]);
        let outcome = fetch_request(&client, request).await;
        assert_eq!(outcome, Ok((200, format!("{host} 100000"))));
    }
    assert_eq!(counts(&client), (2, 2));
}

#[tokio::test]
async fn other_protocols_are_switched_to() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let server = listen_scripted(|mut peer| async move {
        let head = peer.head().await;
        if head.starts_with("CONNECT b.test:443 ") {
            assert!(head.contains("\r\nhost: b.test:443\r\n"), "{head}");
            assert!(head.contains("\r\nproxy-authorization: Basic dTpw\r\n"), "{head}");
            peer.send("HTTP/1.1 200 OK\r\n\r\nhello").await;
        } else if head.contains("upgrade: other\r\n") {
            peer.send("HTTP/1.1 101 Go\r\nupgrade: other\r\nconnection: upgrade\r\n\r\nhello")
                .await;
        } else {
            return peer.answer(OK).await;
        }
        assert_eq!(peer.bytes(3).await, "you");
        peer.send("bye").await;
    });
    let server = server.await;
    let client = Client::new();
    let connect = Request::connect(&format!("http://u:p@{server}"), "b.test:443").unwrap();
    let upgrade = Request::get(&format!("http://{server}/")).unwrap();
    let upgrade = upgrade.with_field("upgrade", "other").unwrap();
    for request in [connect, upgrade] {
        let switched = accepted(client.switch(request).await);
        let mut stream = stoop::rt::stream(switched);
        let mut hello = [0; 5];
        stream.read_exact(&mut hello).await.unwrap();
        stream.write_all(b"you").await.unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).await.unwrap();
        assert_eq!((&hello[..], rest.as_str()), (&b"hello"[..], "bye"));
        // The connection is the caller's and no longer the pool's.
        assert_eq!(counts(&client), (0, 0));
    }
    let refused = Request::get(&format!("http://{server}/")).unwrap();
    let response = declined(client.switch(refused).await);
    assert_eq!(response.status(), 200);
}

/// The credentials of a URL do not get into logs.
#[tokio::test(start_paused = true)]
async fn credentials_are_not_in_what_is_shown() {
    const URL: &str = "http://me:s3cret@a.test/";
    let request = Request::get(URL).unwrap().with_field("cookie", "id=s3cret").unwrap();
    let mut shown = vec![format!("{request:?}")];
    let client = scripted(|mut peer: ScriptedServer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\nset-cookie: id=s3cret\r\ncontent-length: 0\r\n\r\n").await;
    });
    shown.push(format!("{:?}", client.send(request).await.unwrap()));
    for location in [URL, "http://me:s3cret@[", "ftp://me:s3cret@a.test/"] {
        let client = scripted(move |peer: ScriptedServer| {
            let head = format!("HTTP/1.1 302 Go\r\nlocation: {location}\r\n");
            peer.serve(format!("{head}content-length: 0\r\n\r\n"))
        });
        let error = client.send(Request::get(URL).unwrap()).await.unwrap_err();
        shown.extend([error.to_string(), format!("{error:?}")]);
    }
    for url in ["http://me:s3cret@a.test:99999/", "http://me:s3cret@/", "ftp://me:s3cret@a.test/"] {
        shown.push(Request::get(url).unwrap_err().to_string());
        shown.push(url.parse::<Endpoint>().unwrap_err().to_string());
    }
    for text in shown {
        assert!(!text.contains("s3cret"), "{text}");
    }
}
