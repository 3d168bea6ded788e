//! Requests through proxies: forwarded (RFC 9112 §3.2.2), through tunnels (RFC 9110 §9.3.6), and by SOCKS (RFC 1928).

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{
    Client, ClientEvent, ErrorKind, NoProxy, Phase, Proxies, Proxy, Request, Response, Server,
    ServerHandle, StatusCode, Version, Versions,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kit::{
    OK, ScriptedServer, accepted, counts, fetch_request, kind_and_phase, limited, listen_scripted,
    ok, ok_with,
};
use super::tls::{authority, certificate, client_trusting, serve_tls, server_tls};

/// A client of the proxy at that URL, which sends no fields of its own but those that it has to.
fn through(proxy: &str) -> Client {
    Client::builder().decode_content(false).proxy(Proxy::new(proxy).unwrap()).build().unwrap()
}

/// What a request comes to.
async fn get(client: &Client, url: &str) -> Result<(u16, String), (ErrorKind, Phase)> {
    fetch_request(client, Request::get(url).unwrap()).await
}

/// A proxy that answers each request by itself, with its head.
async fn echoing_heads() -> SocketAddr {
    listen_scripted(|mut peer: ScriptedServer| async move {
        loop {
            let head = peer.head().await;
            if head.is_empty() {
                return;
            }
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len()))
                .await;
        }
    })
    .await
}

#[tokio::test]
async fn http_is_forwarded_whole_urls_over_the_proxys_connections() {
    let proxy = echoing_heads().await;
    let client = through(&format!("http://me:secret@{proxy}"));
    let (_, head) = get(&client, "http://a.test:81/x?y#z").await.unwrap();
    assert_eq!(
        head,
        "GET http://a.test:81/x?y HTTP/1.1\r\nhost: a.test:81\r\naccept: */*\r\n\
         proxy-authorization: Basic bWU6c2VjcmV0\r\n\r\n"
    );
    let (_, head) = get(&client, "http://user:pw@[::1]").await.unwrap();
    assert!(head.starts_with("GET http://[::1]/ HTTP/1.1\r\n"), "{head}");
    assert!(
        head.contains("host: [::1]\r\n") && head.contains("authorization: Basic dXNlcjpwdw==\r\n")
    );
    // All of it over one connection, of no origin.
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test]
async fn what_is_sent_to_a_proxy_is_not_sent_elsewhere() {
    let origin = echoing_heads().await;
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let proxy = listen_scripted(move |mut peer: ScriptedServer| {
        let seen = seen.clone();
        async move {
            let head = peer.head().await;
            seen.lock().unwrap().push(head);
            let moved = format!("http://{origin}/there");
            peer.send(format!(
                "HTTP/1.1 302 Found\r\nlocation: {moved}\r\ncontent-length: 0\r\n\r\n"
            ))
            .await;
            peer.stall().await;
        }
    })
    .await;
    let proxy = Proxy::new(&format!("me:secret@{proxy}")).unwrap();
    let proxy = proxy.with_header("x-for-proxy", "1").unwrap();
    let excepted: NoProxy = "127.0.0.1".parse().unwrap();
    let proxies = Proxies::none().http(proxy).except(excepted);
    let client = Client::builder().allow_private(true).proxies(proxies).build().unwrap();
    let (_, head) = get(&client, "http://a.test/here").await.unwrap();
    assert!(head.starts_with("GET /there HTTP/1.1\r\n"), "{head}");
    assert!(!head.contains("proxy"), "{head}");
    let heads = heads.lock().unwrap();
    assert!(heads[0].contains("x-for-proxy: 1\r\n") && heads[0].contains("proxy-authorization: "));
}

#[tokio::test]
async fn a_function_decides_for_each_url_and_other_credentials_are_other_connections() {
    let proxy = echoing_heads().await;
    let users =
        ["a", "b", "a"].map(|user| Proxy::new(&format!("http://{user}:x@{proxy}")).unwrap());
    let [a, b, again] = users;
    let proxies = Proxies::decided_by(move |url| match url {
        "http://one.test/" => Some(a.clone()),
        "http://two.test/" => Some(b.clone()),
        _ => Some(again.clone()),
    });
    let client = Client::builder().proxies(proxies).build().unwrap();
    for (url, open) in [("http://one.test/", 1), ("http://two.test/", 2), ("http://three.test/", 2)]
    {
        get(&client, url).await.unwrap();
        assert_eq!(counts(&client), (open, open), "{url}");
    }
}

/// A proxy that opens tunnels to one address, whatever they are asked for, and what it was asked.
fn tunnelling(server: Server, to: SocketAddr) -> (ServerHandle, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    let handler = move |request: Request| {
        let auth = request.field("proxy-authorization").map(String::from_utf8_lossy);
        let line = format!(
            "{:?} {} {} {}",
            request.version(),
            request.method(),
            request.target(),
            auth.unwrap_or_default()
        );
        seen.lock().unwrap().push(line);
        async move {
            let Ok(mut there) = tokio::net::TcpStream::connect(to).await else {
                return Response::from_status(StatusCode::BAD_GATEWAY);
            };
            let (response, switched) = Response::tunnel();
            tokio::spawn(async move {
                let Ok(upgraded) = switched.await else { return };
                let mut here = stoop::rt::stream(upgraded);
                let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
            });
            response
        }
    };
    (server.run_here(handler).unwrap(), asked)
}

fn address(server: &ServerHandle) -> String {
    server.endpoint().to_string().rsplit("//").next().unwrap().to_owned()
}

#[tokio::test]
async fn https_goes_through_a_tunnel_whose_proxy_sees_host_and_port_alone() {
    let ours = authority("ours");
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let port =
        serve_tls(server_tls(certificate(&ours, &["a.test", "b.test"], false)), move |mut peer| {
            let seen = seen.clone();
            async move {
                loop {
                    let head = peer.head().await;
                    if head.is_empty() {
                        return;
                    }
                    seen.lock().unwrap().push(head);
                    peer.send(OK).await;
                }
            }
        })
        .await;
    let (proxy, asked) =
        tunnelling(Server::listen("127.0.0.1:0").unwrap(), ([127, 0, 0, 1], port).into());
    let url = format!("http://me:secret@{}", address(&proxy));
    let client = client_trusting(&ours).proxy(Proxy::new(&url).unwrap()).build().unwrap();
    assert_eq!(get(&client, "https://a.test/path").await, ok());
    assert_eq!(get(&client, "https://a.test/again").await, ok());
    assert_eq!(get(&client, "https://b.test:8443/").await, ok());
    assert_eq!(counts(&client), (2, 2));
    assert_eq!(
        *asked.lock().unwrap(),
        [
            "HTTP/1.1 CONNECT a.test:443 Basic bWU6c2VjcmV0",
            "HTTP/1.1 CONNECT b.test:8443 Basic bWU6c2VjcmV0"
        ]
    );
    let heads = std::mem::take(&mut *heads.lock().unwrap());
    assert!(heads[0].starts_with("GET /path HTTP/1.1\r\nhost: a.test\r\n"), "{}", heads[0]);
    assert!(heads.iter().all(|head| !head.contains("proxy")), "{heads:?}");
    // The certificate is the origin's, and is checked as such.
    let other = get(&client, "https://c.test/").await;
    assert_eq!(other, Err((ErrorKind::TlsCertName, Phase::Tls)));
}

#[tokio::test]
async fn a_tunnel_is_asked_for_with_the_clients_user_agent_and_is_told() {
    let origin = Server::listen("127.0.0.1:0").unwrap();
    let origin = origin.run_here(|_: Request| "here").unwrap();
    let to: SocketAddr = address(&origin).parse().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut peer, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(peer.read_u8().await.unwrap());
            }
            let head = String::from_utf8(head).unwrap();
            let is_refused = head.starts_with("CONNECT b.test");
            seen.lock().unwrap().push(head);
            if is_refused {
                peer.write_all(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                continue;
            }
            peer.write_all(b"HTTP/1.1 200 Made\r\nvia: here\r\n\r\n").await.unwrap();
            let mut there = tokio::net::TcpStream::connect(to).await.unwrap();
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut peer, &mut there).await;
            });
        }
    });
    let lines = Arc::new(Mutex::new(Vec::new()));
    let told = lines.clone();
    let client = Client::builder()
        .user_agent("app/1")
        .default_header("x-own", "1")
        .proxy(Proxy::new(&format!("http://me:secret@{proxy}")).unwrap())
        .observe(move |id, event| {
            let line = match event {
                ClientEvent::TunnelRequested { head, remote, is_http2, .. } => {
                    assert_eq!((*remote, *is_http2), (Some(proxy), false));
                    format!("asked {} {}", head.method(), head.target())
                }
                ClientEvent::TunnelAnswered { head, .. } => {
                    format!("answered {} {}", head.status().as_u16(), head.fields().len())
                }
                ClientEvent::Connected { remote, local, .. } => {
                    assert_eq!(*remote, Some(proxy));
                    assert!(local.is_some_and(|local| local.ip().is_loopback()));
                    "connected".to_owned()
                }
                ClientEvent::Sending { .. } => "sending".to_owned(),
                ClientEvent::Responded { head, .. } => format!("{}", head.status().as_u16()),
                ClientEvent::Failed { error, .. } => error.kind().as_str().to_owned(),
                _ => return,
            };
            told.lock().unwrap().push(format!("{id} {line}"));
        })
        .build()
        .unwrap();
    // What cannot be forwarded goes through a tunnel.
    let request = client.get("http://a.test/").versions(Versions::Http2);
    assert_eq!(request.await.unwrap().status(), StatusCode::OK);
    let request = client.get("http://b.test/").versions(Versions::Http2);
    assert_eq!(request.await.unwrap_err().kind(), ErrorKind::ProxyRefused);
    let heads = heads.lock().unwrap();
    assert_eq!(
        heads[0],
        "CONNECT a.test:80 HTTP/1.1\r\nproxy-authorization: Basic bWU6c2VjcmV0\r\nhost: a.test:80\r\n\
         user-agent: app/1\r\n\r\n"
    );
    assert_eq!(
        *lines.lock().unwrap(),
        [
            "0 asked CONNECT a.test:80",
            "0 answered 200 1",
            "0 connected",
            "0 sending",
            "0 200",
            "1 asked CONNECT b.test:80",
            "1 answered 403 1",
            "1 proxy_refused",
        ]
    );
}

#[tokio::test]
async fn an_https_proxy_that_speaks_http_2_carries_all_tunnels_over_one_connection() {
    let ours = authority("ours");
    let origin = serve_tls(server_tls(certificate(&ours, &["a.test", "b.test"], false)), |peer| {
        peer.serve(OK)
    })
    .await;
    let server = Server::listen("127.0.0.1:0").unwrap();
    let server = server.tls(server_tls(certificate(&ours, &["127.0.0.1"], false)));
    let (proxy, asked) = tunnelling(server, ([127, 0, 0, 1], origin).into());
    let proxy_url = format!("https://{}", address(&proxy));
    let client = client_trusting(&ours).proxy(Proxy::new(&proxy_url).unwrap()).build().unwrap();
    for url in ["https://a.test/", "https://b.test/", "https://a.test/2"] {
        assert_eq!(get(&client, url).await, ok(), "{url}");
    }
    assert_eq!(
        *asked.lock().unwrap(),
        ["HTTP/2.0 CONNECT a.test:443 ", "HTTP/2.0 CONNECT b.test:443 "]
    );
    assert_eq!(proxy.connections(), 1);
    // A proxy whose certificate is another's is not used.
    let wrong = proxy_url.replace("127.0.0.1", "localhost");
    let client = client_trusting(&ours).proxy(Proxy::new(&wrong).unwrap()).build().unwrap();
    let error = client.get("https://a.test/").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TlsCertName);
    let shown = error.to_string();
    assert!(shown.contains(&format!("the proxy {wrong}")), "{shown}");
}

#[tokio::test]
async fn an_https_proxy_forwards_http_over_tls_and_http_1() {
    let ours = authority("ours");
    let port =
        serve_tls(server_tls(certificate(&ours, &["localhost"], false)), |mut peer| async move {
            let head = peer.head().await;
            peer.send(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{head}", head.len()))
                .await;
            peer.stall().await;
        })
        .await;
    let proxy = Proxy::new(&format!("https://localhost:{port}")).unwrap();
    let client = client_trusting(&ours).proxy(proxy).build().unwrap();
    let (_, head) = get(&client, "http://a.test/").await.unwrap();
    assert!(head.starts_with("GET http://a.test/ HTTP/1.1\r\nhost: a.test\r\n"), "{head}");
}

#[tokio::test]
async fn what_cannot_be_forwarded_goes_through_a_tunnel() {
    // An Upgrade is a matter of one connection, and HTTP/2 without TLS no proxy reads.
    let echo = |_: Request| {
        let (response, switched) = Response::upgrade("echo").unwrap();
        tokio::spawn(async move {
            let mut stream = stoop::rt::stream(switched.await.unwrap());
            let mut some = [0; 4];
            stream.read_exact(&mut some).await.unwrap();
            stream.write_all(&some.map(|byte| byte.to_ascii_uppercase())).await.unwrap();
        });
        response
    };
    let origin = Server::listen("127.0.0.1:0").unwrap().run_here(echo).unwrap();
    let to = address(&origin).parse().unwrap();
    let (proxy, asked) = tunnelling(Server::listen("127.0.0.1:0").unwrap(), to);
    let client = through(&format!("http://{}", address(&proxy)));
    let request = Request::get("http://a.test/").unwrap();
    let request = request.with_field("upgrade", "echo").unwrap();
    let request = request.with_field("connection", "upgrade").unwrap();
    let mut stream = stoop::rt::stream(accepted(client.switch(request).await));
    stream.write_all(b"text").await.unwrap();
    let mut some = [0; 4];
    stream.read_exact(&mut some).await.unwrap();
    assert_eq!(&some, b"TEXT");

    let plain = Server::listen("127.0.0.1:0").unwrap();
    let plain = plain.run_here(|request: Request| format!("{:?}", request.version())).unwrap();
    let (proxy, over_http2) =
        tunnelling(Server::listen("127.0.0.1:0").unwrap(), address(&plain).parse().unwrap());
    let client = through(&format!("http://{}", address(&proxy)));
    let request = client.get("http://b.test/").versions(Versions::Http2);
    let response = request.await.unwrap();
    assert_eq!(response.version(), Version::HTTP_2);
    assert_eq!(asked.lock().unwrap()[0], "HTTP/1.1 CONNECT a.test:80 ");
    assert_eq!(over_http2.lock().unwrap()[0], "HTTP/1.1 CONNECT b.test:80 ");
}

/// The client that asks for tunnels had the limit for a response, too.
#[tokio::test]
async fn a_proxy_may_take_longer_to_connect_than_a_response_may() {
    let proxy = listen_scripted(|mut peer: ScriptedServer| async move {
        peer.head().await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
    })
    .await;
    let client = limited(|limits| limits.time.head_wait = Some(Duration::from_millis(200)))
        .proxy(Proxy::new(&format!("http://{proxy}")).unwrap())
        .build()
        .unwrap();
    let error = client.get("https://a.test/").await.unwrap_err();
    assert_eq!(error.phase(), Phase::Tls, "{error}");
}

#[tokio::test]
async fn a_proxy_that_refuses_is_an_error_of_its_own_that_says_why() {
    for (answer, kind, says) in [
        (
            "HTTP/1.1 407 No\r\nproxy-authenticate: Basic realm=\"x\"\r\ncontent-length: 0\r\n\r\n",
            ErrorKind::ProxyAuth,
            "it asks for Basic realm=\"x\"",
        ),
        (
            "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n",
            ErrorKind::ProxyRefused,
            "it answered CONNECT by 502 Bad Gateway",
        ),
        (
            "HTTP/1.1 403 No\r\ncontent-length: 2\r\n\r\nno",
            ErrorKind::ProxyRefused,
            "it answered CONNECT by 403 Forbidden",
        ),
        ("", ErrorKind::ClosedEarly, "the server closed the connection"),
        ("SSH-2.0\r\n\r\n", ErrorKind::H1Parse, "the proxy"),
    ] {
        let proxy = listen_scripted(move |mut peer: ScriptedServer| async move {
            peer.head().await;
            peer.send(answer).await;
        })
        .await;
        let client = through(&format!("http://me:s3cret@{proxy}"));
        let error = client.get("https://a.test/").await.unwrap_err();
        let shown = error.to_string();
        assert_eq!((error.kind(), error.phase()), (kind, Phase::Connect), "{shown}");
        assert!(
            shown.contains(&format!("the proxy http://{proxy}: ")) || answer.starts_with("SSH")
        );
        assert!(shown.contains(says) && !shown.contains("s3cret"), "{shown}");
        assert_eq!(error.url(), Some("https://a.test/"));
        assert_eq!(
            error.remote_address(),
            Some(proxy),
            "the connection that failed is the proxy's"
        );
        assert!(error.is_unprocessed() && error.is_connect());
        assert_eq!(counts(&client), (0, 0));
    }
}

#[tokio::test]
async fn a_407_to_what_is_forwarded_is_that_error_too_and_other_statuses_are_responses() {
    let proxy = listen_scripted(|peer| {
        peer.serve("HTTP/1.1 407 No\r\nproxy-authenticate: Basic\r\ncontent-length: 0\r\n\r\n")
    })
    .await;
    let error = through(&proxy.to_string()).get("http://a.test/").await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ProxyAuth, Phase::Connect));
    assert_eq!(error.status(), Some(StatusCode::PROXY_AUTHENTICATION_REQUIRED));
    let proxy =
        listen_scripted(|peer| peer.serve("HTTP/1.1 502 No\r\ncontent-length: 0\r\n\r\n")).await;
    assert_eq!(get(&through(&proxy.to_string()), "http://a.test/").await, Ok((502, String::new())));
}

#[tokio::test]
async fn a_proxy_that_cannot_be_reached_or_is_silent_is_named_within_the_time_for_connecting() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for scheme in ["http", "socks5h"] {
        for url in ["https://a.test/", "http://a.test/"] {
            let error = through(&format!("{scheme}://{gone}")).get(url).await.unwrap_err();
            let shown = error.to_string();
            assert_eq!((error.kind(), error.phase()), (ErrorKind::ConnectRefused, Phase::Connect));
            assert!(shown.contains(&format!("the proxy {scheme}://{gone}")), "{shown}");
        }
    }
    let silent = listen_scripted(|peer: ScriptedServer| peer.stall()).await;
    for scheme in ["http", "socks5h", "socks4a"] {
        let proxy = Proxy::new(&format!("{scheme}://{silent}")).unwrap();
        let builder = limited(|limits| limits.time.connect = Some(Duration::from_millis(50)));
        let client = builder.proxy(proxy).build().unwrap();
        let error = client.get("https://a.test/").await.unwrap_err();
        let shown = error.to_string();
        assert_eq!(kind_and_phase(error), (ErrorKind::ConnectTimeout, Phase::Connect), "{shown}");
        assert!(shown.contains("the proxy"), "{shown}");
    }
}

/// What a proxy expects, and how it answers.
type Script<'a> = &'a [(&'a [u8], &'a [u8])];

/// A SOCKS proxy that expects these bytes and answers each, then serves what it is asked as the target.
async fn socks(script: Script<'_>) -> SocketAddr {
    let script: Arc<[(Vec<u8>, Vec<u8>)]> =
        script.iter().map(|(expected, answer)| (expected.to_vec(), answer.to_vec())).collect();
    listen_scripted(move |mut peer: ScriptedServer| {
        let script = script.clone();
        async move {
            for (expected, answer) in script.iter() {
                assert_eq!(peer.raw_bytes(expected.len()).await, *expected);
                peer.send(answer).await;
            }
            peer.serve(OK).await;
        }
    })
    .await
}

/// The reply of a SOCKS 5 proxy that has connected from 1.2.3.4:5.
const CONNECTED: &[u8] = b"\x05\0\0\x01\x01\x02\x03\x04\0\x05";

#[tokio::test]
async fn socks_5_is_spoken_as_rfc_1928_has_it() {
    let here: IpAddr = [127, 0, 0, 9].into();
    let there: IpAddr = "fd00::9".parse().unwrap();
    for (scheme, url, script) in [
        // The proxy resolves.
        (
            "socks5h://",
            "http://a.test:258/",
            &[
                (&b"\x05\x01\0"[..], &b"\x05\0"[..]),
                (b"\x05\x01\0\x03\x06a.test\x01\x02", CONNECTED),
            ][..],
        ),
        // We do.
        (
            "socks5://",
            "http://a.test/",
            &[(b"\x05\x01\0", b"\x05\0"), (b"\x05\x01\0\x01\x7f\0\0\x09\0\x50", CONNECTED)],
        ),
        (
            "socks5://",
            "http://six.test/",
            &[
                (b"\x05\x01\0", b"\x05\0"),
                (
                    b"\x05\x01\0\x04\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x09\0\x50",
                    b"\x05\0\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\x05",
                ),
            ],
        ),
        // An address stays one; the reply may have a name.
        (
            "socks5h://",
            "http://10.1.2.3/",
            &[
                (b"\x05\x01\0", b"\x05\0"),
                (b"\x05\x01\0\x01\x0a\x01\x02\x03\0\x50", b"\x05\0\0\x03\x04here\0\x05"),
            ],
        ),
        // RFC 1929.
        (
            "socks5h://me:secret@",
            "http://a.test/",
            &[
                (b"\x05\x02\0\x02", b"\x05\x02"),
                (b"\x01\x02me\x06secret", b"\x01\0"),
                (b"\x05\x01\0\x03\x06a.test\0\x50", CONNECTED),
            ],
        ),
        // Credentials that are not asked for are not shown.
        (
            "socks5h://me:secret@",
            "http://a.test/",
            &[(b"\x05\x02\0\x02", b"\x05\0"), (b"\x05\x01\0\x03\x06a.test\0\x50", CONNECTED)],
        ),
    ] {
        let proxy = Proxy::new(&format!("{scheme}{}", socks(script).await)).unwrap();
        let builder = Client::builder().proxy(proxy);
        let client =
            builder.resolve("a.test", [here]).resolve("six.test", [there]).build().unwrap();
        assert_eq!(get(&client, url).await, ok(), "{scheme} {url}");
        assert_eq!(get(&client, url).await, ok(), "over the same connection");
        assert_eq!(counts(&client), (1, 1));
    }
}

#[tokio::test]
async fn socks_4_is_spoken_with_names_or_without() {
    let here: IpAddr = [127, 0, 0, 9].into();
    let granted = b"\0\x5a\0\0\0\0\0\0";
    for (scheme, script) in [
        ("socks4://me@", &[(&b"\x04\x01\0\x50\x7f\0\0\x09me\0"[..], &granted[..])][..]),
        ("socks4a://", &[(b"\x04\x01\0\x50\0\0\0\x01\0a.test\0", granted)]),
    ] {
        let proxy = Proxy::new(&format!("{scheme}{}", socks(script).await)).unwrap();
        let six = "fd00::1".parse().unwrap();
        let client = Client::builder().proxy(proxy).resolve("a.test", [six, here]).build().unwrap();
        assert_eq!(get(&client, "http://a.test/").await, ok(), "{scheme}");
    }
    let proxy = socks(&[]).await;
    let error = through(&format!("socks4a://{proxy}")).get("http://[fd00::1]/").await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidMessage);
    assert!(error.to_string().contains("SOCKS 4 has no IPv6"), "{error}");
}

#[tokio::test]
async fn what_a_socks_proxy_refuses_or_does_not_understand_is_told() {
    let hello = (&b"\x05\x01\0"[..], &b"\x05\0"[..]);
    let ask = &b"\x05\x01\0\x03\x06a.test\x01\xbb"[..];
    let scripts: [(&str, Script, ErrorKind, &str); 9] = [
        (
            "socks5h://",
            &[hello, (ask, b"\x05\x02\0\x01\0\0\0\0\0\0")],
            ErrorKind::ProxyRefused,
            "its rules do not allow it",
        ),
        (
            "socks5h://",
            &[hello, (ask, b"\x05\x05\0\x01\0\0\0\0\0\0")],
            ErrorKind::ProxyRefused,
            "the connection was refused",
        ),
        (
            "socks5h://",
            &[(b"\x05\x01\0", b"\x05\xff")],
            ErrorKind::ProxyAuth,
            "it wants credentials",
        ),
        (
            "socks5h://me:x@",
            &[(b"\x05\x02\0\x02", b"\x05\x02"), (b"\x01\x02me\x01x", b"\x01\x01")],
            ErrorKind::ProxyAuth,
            "it refused the username and password",
        ),
        ("socks5h://", &[(b"\x05\x01\0", b"HTTP/1.1 400")], ErrorKind::ProxyRefused, "SOCKS 5"),
        ("socks5h://", &[(b"\x05\x01\0", b"\x05\x02")], ErrorKind::ProxyRefused, "SOCKS 5"),
        (
            "socks4a://",
            &[(b"\x04\x01\x01\xbb\0\0\0\x01\0a.test\0", b"\0\x5b\0\0\0\0\0\0")],
            ErrorKind::ProxyRefused,
            "it did not say why",
        ),
        (
            "socks4a://",
            &[(b"\x04\x01\x01\xbb\0\0\0\x01\0a.test\0", b"\0\x5d\0\0\0\0\0\0")],
            ErrorKind::ProxyAuth,
            "by another name",
        ),
        (
            "socks4a://",
            &[(b"\x04\x01\x01\xbb\0\0\0\x01\0a.test\0", b"HTTP/1.1 400")],
            ErrorKind::ProxyRefused,
            "SOCKS 4",
        ),
    ];
    for (scheme, script, kind, says) in scripts {
        let proxy = socks(script).await;
        let client = through(&format!("{scheme}{proxy}"));
        let error = client.get("https://a.test/").await.unwrap_err();
        let shown = error.to_string();
        assert_eq!((error.kind(), error.phase()), (kind, Phase::Connect), "{shown}");
        assert!(shown.contains(says), "{shown}");
        assert_eq!(error.remote_address(), Some(proxy), "{shown}");
    }
}

#[tokio::test]
async fn tls_and_http_2_run_through_socks_and_bytes_behind_its_reply_are_the_targets() {
    let ours = authority("ours");
    let origin = Server::listen("127.0.0.1:0").unwrap();
    let origin = origin.tls(server_tls(certificate(&ours, &["a.test"], false)));
    let origin = origin.run_here(|request: Request| format!("{:?}", request.version())).unwrap();
    let to: SocketAddr = address(&origin).parse().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut here, _) = listener.accept().await.unwrap();
        let mut bytes = [0; 3];
        here.read_exact(&mut bytes).await.unwrap();
        here.write_all(b"\x05\0").await.unwrap();
        let mut bytes = [0; 13];
        here.read_exact(&mut bytes).await.unwrap();
        let mut there = tokio::net::TcpStream::connect(to).await.unwrap();
        // Byte by byte.
        for byte in CONNECTED {
            here.write_all(&[*byte]).await.unwrap();
            here.flush().await.unwrap();
        }
        let _ = tokio::io::copy_bidirectional(&mut here, &mut there).await;
    });
    let proxy = Proxy::new(&format!("socks5h://{proxy}")).unwrap();
    let client = client_trusting(&ours).proxy(proxy).build().unwrap();
    assert_eq!(get(&client, "https://a.test/").await, ok_with("HTTP/2.0"));
}

#[tokio::test]
async fn a_filter_of_addresses_is_for_targets_and_not_for_the_proxy() {
    let proxy = echoing_heads().await;
    let filtered = |proxy: &str| {
        let builder = Client::builder().address_filter(stoop::dns::is_public);
        builder.proxy(Proxy::new(proxy).unwrap()).resolve("a.test", [[10, 0, 0, 1].into()])
    };
    let client = filtered(&format!("http://{proxy}")).build().unwrap();
    assert!(get(&client, "http://a.test/").await.is_ok());
    let client = filtered(&format!("socks5://{proxy}")).build().unwrap();
    let denied = Err((ErrorKind::AddressDenied, Phase::Dns));
    assert_eq!(get(&client, "http://a.test/").await, denied);
}
