//! Middleware that services have in common.

use std::time::Duration;

use stoop::body::ContentCoding;
use stoop::{Body, Client, Method, Request, Response, StatusCode, Versions};
use stoop_web::{
    BasicAuth, BearerAuth, Compress, Cors, Decompress, HttpsRedirect, Router, User, get, post,
};

use crate::kit::{client, client_over, field, text};

async fn send(client: &Client, method: &str, target: &str, fields: &[(&str, &str)]) -> Response {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let mut request = Request::new(method, &format!("http://a.test{target}")).unwrap();
    for (name, value) in fields {
        request = request.with_field(name, value).unwrap();
    }
    client.send(request).await.unwrap()
}

mod cors {
    use super::{Cors, Duration, Method, Router, client, field, get, send};

    const APP: &str = "https://app.test";

    fn listed() -> Cors {
        Cors::origins([APP])
            .methods([Method::PUT])
            .headers(["x-a", "x-b"])
            .expose(["x-c"])
            .credentials()
            .max_age(Duration::from_secs(60))
    }

    fn router(cors: Cors) -> stoop::Client {
        client(Router::new().route("/", get(|| "content")).layer(cors))
    }

    /// Fetch standard §3.2.2, §3.3.
    #[tokio::test]
    async fn a_preflight_is_answered_without_the_handler() {
        let client = router(listed());
        let asked = [
            ("origin", APP),
            ("access-control-request-method", "PUT"),
            ("access-control-request-headers", "x-a"),
        ];
        let response = send(&client, "OPTIONS", "/", &asked).await;
        assert_eq!(response.status(), 204);
        for (name, value) in [
            ("access-control-allow-origin", APP),
            ("access-control-allow-credentials", "true"),
            ("access-control-allow-methods", "GET, HEAD, POST, PUT"),
            ("access-control-allow-headers", "x-a, x-b"),
            ("access-control-max-age", "60"),
            ("access-control-expose-headers", ""),
            ("allow", ""),
        ] {
            assert_eq!(field(&response, name), value, "{name}");
        }
        for name in ["origin", "access-control-request-method", "access-control-request-headers"] {
            assert!(response.fields().lists("vary", name), "{name}");
        }
    }

    #[tokio::test]
    async fn an_origin_that_may_not_gets_no_permission() {
        let client = router(listed());
        for origin in
            ["https://app.test.evil.test", "https://APP.test", "http://app.test", "null", ""]
        {
            let asked = [("origin", origin), ("access-control-request-method", "PUT")];
            for method in ["OPTIONS", "GET"] {
                let response = send(&client, method, "/", &asked).await;
                let fields = response.fields().iter();
                let permissions = fields.filter(|field| field.name().starts_with("access-control"));
                assert_eq!(permissions.count(), 0, "{method} {origin}");
                assert!(response.fields().lists("vary", "origin"), "{method} {origin}");
            }
        }
    }

    #[tokio::test]
    async fn other_requests_are_answered_and_readable_by_the_origin() {
        let client = router(listed());
        let response = send(&client, "GET", "/", &[("origin", APP)]).await;
        assert_eq!(field(&response, "access-control-allow-origin"), APP);
        assert_eq!(field(&response, "access-control-expose-headers"), "x-c");
        assert_eq!(response.text().await.unwrap(), "content");
        // Errors too, or a page could not tell them from a network that is down.
        let response = send(&client, "GET", "/none", &[("origin", APP)]).await;
        assert_eq!(
            (response.status().as_u16(), field(&response, "access-control-allow-origin")),
            (404, APP)
        );
        // Without Origin too: a cache must not give this answer to a page.
        let response = send(&client, "GET", "/", &[]).await;
        assert_eq!(
            (field(&response, "vary"), field(&response, "access-control-allow-origin")),
            ("origin", "")
        );
        // An OPTIONS that is no preflight is an OPTIONS.
        let response = send(&client, "OPTIONS", "/", &[("origin", APP)]).await;
        assert_eq!(field(&response, "allow"), "GET, HEAD, OPTIONS");
    }

    #[tokio::test]
    async fn all_origins_are_a_star_which_does_not_vary() {
        let client = router(Cors::any_origin().any_method().any_header());
        let asked = [
            ("origin", "https://x.test"),
            ("access-control-request-method", "REPORT"),
            ("access-control-request-headers", "x-any, x-thing"),
        ];
        let response = send(&client, "OPTIONS", "/", &asked).await;
        assert_eq!(field(&response, "access-control-allow-origin"), "*");
        assert_eq!(field(&response, "access-control-allow-methods"), "REPORT");
        assert_eq!(field(&response, "access-control-allow-headers"), "x-any, x-thing");
        let response = send(&client, "GET", "/", &[]).await;
        assert_eq!(
            (field(&response, "vary"), field(&response, "access-control-allow-origin")),
            ("", "*")
        );
    }

    #[test]
    #[should_panic(expected = "credentials need a list of origins")]
    fn all_origins_never_have_credentials() {
        let _ = Cors::any_origin().credentials();
    }
}

mod auth {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use stoop_web::BlockingPool;

    use super::{BasicAuth, BearerAuth, Router, User, client, field, get, send, text};

    /// RFC 7617 §2.
    #[tokio::test]
    async fn basic_credentials_are_a_name_and_a_password() {
        let auth =
            BasicAuth::new("a \"b\"").user("Aladdin", "open sesame").user("test", "123\u{a3}");
        let auth = auth.check(|name, password| name == "by" && password == "a:b");
        let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
        for (credentials, name) in [
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some("Aladdin")),
            ("bAsIc  QWxhZGRpbjpvcGVuIHNlc2FtZQ==", Some("Aladdin")),
            ("Basic dGVzdDoxMjPCow==", Some("test")),
            ("Basic Ynk6YTpi", Some("by")),
            // Another user's password, no colon, no Base64, no UTF-8, another scheme.
            ("Basic dGVzdDpvcGVuIHNlc2FtZQ==", None),
            ("Basic QWxhZGRpbg==", None),
            ("Basic ???", None),
            ("Basic dGVzdDoxMjOj", None),
            ("Basic", None),
            ("Bearer QWxhZGRpbjpvcGVuIHNlc2FtZQ==", None),
        ] {
            let response = send(&client, "GET", "/", &[("authorization", credentials)]).await;
            let challenge = field(&response, "www-authenticate").to_owned();
            match name {
                Some(name) => assert_eq!(text(response).await, (200, name.to_owned())),
                None => {
                    assert_eq!(response.status(), 401, "{credentials}");
                    assert_eq!(challenge, r#"Basic realm="a \"b\"", charset="UTF-8""#);
                }
            }
        }
        let good = ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(send(&client, "GET", "/", &[good, good]).await.status(), 401);
        assert_eq!(
            send(&client, "GET", "/none", &[]).await.status(),
            401,
            "nor is it told what there is"
        );
    }

    #[tokio::test]
    async fn a_slow_check_runs_in_its_pool_once_for_a_user_it_lets_in() {
        let asked = Arc::new(AtomicUsize::new(0));
        let checked = asked.clone();
        let check = move |name: &str, password: &str| {
            checked.fetch_add(1, Relaxed);
            let thread = std::thread::current();
            thread.name() == Some("stoop-blocking") && (name, password) == ("test", "123\u{a3}")
        };
        let auth = BasicAuth::new("r").user("Aladdin", "open sesame");
        let auth = auth.check_blocking(BlockingPool::new(1, 0), check);
        let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
        let answer = async |credentials: &str| {
            let response = send(&client, "GET", "/", &[("authorization", credentials)]).await;
            text(response).await
        };
        let aladdin = answer("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").await;
        assert_eq!((aladdin, asked.load(Relaxed)), ((200, "Aladdin".to_owned()), 0));
        for _ in 0..3 {
            assert_eq!(answer("Basic dGVzdDoxMjPCow==").await, (200, "test".to_owned()));
        }
        assert_eq!(asked.load(Relaxed), 1);
        for n in 2..4 {
            assert_eq!(answer("Basic dGVzdDpvcGVuIHNlc2FtZQ==").await.0, 401);
            assert_eq!(asked.load(Relaxed), n, "one that is not let in is checked each time");
        }
        assert_eq!(answer("Basic ???").await.0, 401);
        assert_eq!(asked.load(Relaxed), 3);
    }

    #[tokio::test]
    async fn credentials_that_find_the_pool_full_are_answered_503() {
        let (release, released) = std::sync::mpsc::channel::<()>();
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let released = std::sync::Mutex::new(released);
        let check = move |_: &str, _: &str| {
            begin.send(()).unwrap();
            released.lock().unwrap().recv().is_err()
        };
        let auth = BasicAuth::new("r").check_blocking(BlockingPool::new(1, 0), check);
        let client = client(Router::new().route("/", get(|| "in")).layer(auth));
        let credentials = ("authorization", "Basic dGVzdDoxMjPCow==");
        let fields = [credentials];
        let (first, full) = tokio::join!(send(&client, "GET", "/", &fields), async {
            begun.recv().await.unwrap();
            let full = send(&client, "GET", "/", &[credentials]).await;
            drop(release);
            full
        });
        assert_eq!((first.status().as_u16(), full.status().as_u16()), (200, 503));
        assert_eq!(field(&full, "retry-after"), "1");
    }

    /// One client that guesses takes eight places, and keeps out neither others nor a user who was let in before.
    #[tokio::test]
    async fn guesses_of_one_address_lock_no_user_out() {
        use std::sync::{Arc, Condvar, Mutex};
        use stoop::{Client, LocalServer};

        let gate = Arc::new((Mutex::new(true), Condvar::new()));
        let (begin, mut begun) = tokio::sync::mpsc::unbounded_channel();
        let (is_open, checks) = (gate.clone(), Arc::new(AtomicUsize::new(0)));
        let counted = checks.clone();
        let check = move |_: &str, password: &str| {
            counted.fetch_add(1, Relaxed);
            begin.send(()).unwrap();
            let _open = is_open.1.wait_while(is_open.0.lock().unwrap(), |is_open| !*is_open);
            password == "123\u{a3}"
        };
        let auth = BasicAuth::new("r").check_blocking(BlockingPool::new(1, 16), check);
        let app = Router::new().route("/", get(|| "in")).layer(auth).build().unwrap();
        let from = |address: &str| {
            let server = LocalServer::new(app.clone()).peer(address.parse().unwrap());
            Client::builder().local_server(server).build().unwrap()
        };
        let (guesser, user) = (from("192.0.2.1:1"), from("192.0.2.2:1"));
        let good = [("authorization", "Basic dGVzdDoxMjPCow==")];
        assert_eq!(send(&user, "GET", "/", &good).await.status(), 200);
        begun.recv().await.unwrap();
        tokio::time::pause();
        tokio::time::advance(std::time::Duration::from_secs(61)).await;
        tokio::time::resume();

        *gate.0.lock().unwrap() = false;
        let guess = || {
            let guesser = guesser.clone();
            tokio::spawn(async move {
                let wrong = [("authorization", "Basic dGVzdDpvcGVuIHNlc2FtZQ==")];
                send(&guesser, "GET", "/", &wrong).await.status().as_u16()
            })
        };
        let mut guesses: Vec<_> = (0..8).map(|_| guess()).collect();
        begun.recv().await.unwrap();
        // The ninth is answered at once; which one that is, is not known.
        guesses.push(guess());
        let mut statuses = Vec::new();
        while statuses.is_empty() {
            tokio::task::yield_now().await;
            if let Some(done) = guesses.iter().position(tokio::task::JoinHandle::is_finished) {
                statuses.push(guesses.swap_remove(done).await.unwrap());
            }
        }
        assert_eq!(statuses, [503]);
        // The user has to be checked again, waits behind eight guesses, and is let in.
        let waits = tokio::spawn(async move { send(&user, "GET", "/", &good).await.status() });
        // From the guesser's address, one who was let in before is let in without another check.
        let before = send(&guesser, "GET", "/", &good).await.status();
        assert_eq!((before.as_u16(), checks.load(Relaxed)), (200, 2));
        *gate.0.lock().unwrap() = true;
        gate.1.notify_all();
        for guess in guesses {
            assert_eq!(guess.await.unwrap(), 401);
        }
        assert_eq!(waits.await.unwrap(), 200);
    }

    /// RFC 6750 §2.1, §3.
    #[tokio::test]
    async fn bearer_credentials_are_a_token() {
        let auth = BearerAuth::new("api").token("ada", "abc").token("bob", "def");
        let auth = auth.check(|token| token.strip_prefix("by-").map(str::to_owned));
        let client = client(Router::new().route("/", get(|User(name): User| name)).layer(auth));
        for (fields, status, told) in [
            (&[("authorization", "Bearer abc")][..], 200, "ada"),
            (&[("authorization", "bearer def")], 200, "bob"),
            (&[("authorization", "Bearer by-me")], 200, "me"),
            (
                &[("authorization", "Bearer abcd")],
                401,
                r#"Bearer realm="api", error="invalid_token""#,
            ),
            (&[], 401, r#"Bearer realm="api""#),
        ] {
            let response = send(&client, "GET", "/", fields).await;
            let challenge = field(&response, "www-authenticate").to_owned();
            let (answered, content) = text(response).await;
            assert_eq!(
                (answered, if status == 200 { content } else { challenge }),
                (status, told.to_owned())
            );
        }
    }
}

mod https {
    use super::{HttpsRedirect, Router, client, field, get, send};

    #[tokio::test]
    async fn what_came_without_tls_goes_on_over_https() {
        let router = |redirect: HttpsRedirect| {
            client(Router::new().route("/ok/x", get(|| "x")).layer(redirect))
        };
        let plain = router(HttpsRedirect::new().except("/ok/"));
        let response = send(&plain, "POST", "/a%20b?c=d", &[]).await;
        assert_eq!(
            (response.status().as_u16(), field(&response, "location")),
            (308, "https://a.test/a%20b?c=d")
        );
        assert_eq!(send(&plain, "GET", "/ok/x", &[]).await.status(), 200);
        let other = router(HttpsRedirect::new().port(8443));
        let response = send(&other, "GET", "/", &[("host", "b.test:8080")]).await;
        assert_eq!(field(&response, "location"), "https://b.test:8443/");
        let response = send(&other, "GET", "/", &[("host", "[::1]:8080")]).await;
        assert_eq!(field(&response, "location"), "https://[::1]:8443/");
    }
}

mod compress {
    use super::{
        Body, Client, Compress, ContentCoding, Response, Router, StatusCode, Versions, client,
        client_over, field, get, send,
    };

    fn page() -> String {
        "a page of text ".repeat(5000)
    }

    /// Text that no coding makes much smaller, and more than is sent ahead of its reader.
    fn noise() -> String {
        let mut state = 1u64;
        let next = |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b' ' + (state >> 58) as u8)
        };
        (0..1 << 20).map(next).collect()
    }

    fn router(compress: Compress) -> Client {
        client(routes(compress))
    }

    fn routes(compress: Compress) -> Router {
        let with = |name: &'static str, value: &'static str| {
            get(move || ([(name, value)], Response::from_text(page())))
        };
        let part = |media_type: &'static str| {
            let status = StatusCode::PARTIAL_CONTENT;
            get(move || (status, [("content-type", media_type)], Response::from_text(page())))
        };
        let same = |(name, value): (&'static str, &'static str)| {
            let response = move || Response::from_status(StatusCode::NOT_MODIFIED);
            get(move || response().with_field(name, value).unwrap())
        };
        let streamed = get(|| ([("content-type", "text/plain"), ("etag", "\"a\"")], noise()));
        Router::new()
            .route("/page", get(page))
            .route("/small", get(|| "x".repeat(1023)))
            .route("/floor", get(|| "x".repeat(1024)))
            .route("/empty", get(|| ""))
            .route("/image", with("content-type", "image/png"))
            .route("/svg", with("content-type", "image/svg+xml; charset=utf-8"))
            .route("/coded", with("content-encoding", "gzip"))
            .route("/range", with("content-range", "bytes 0-1/2"))
            .route("/fixed", with("cache-control", "public, no-transform"))
            .route("/streamed", streamed)
            .route("/strong", with("etag", "\"a\""))
            .route("/weak", with("etag", "W/\"a\""))
            .route("/part", get(|| (StatusCode::PARTIAL_CONTENT, page())))
            .route("/image-part", part("image/png"))
            .route("/parts", part("multipart/byteranges; boundary=x"))
            .route("/same", same(("etag", "\"a\"")))
            .route("/same-weak", same(("etag", "W/\"a\"")))
            .route("/same-coded", same(("content-encoding", "br")))
            .route("/same-fixed", same(("cache-control", "no-transform")))
            .route("/same-image", same(("content-type", "image/png")))
            .layer(compress)
    }

    async fn ask(client: &Client, method: &str, target: &str, accepted: &str) -> Response {
        send(client, method, target, &[("accept-encoding", accepted)]).await
    }

    #[tokio::test]
    async fn content_comes_in_the_coding_that_the_client_wants() {
        let client = router(Compress::new());
        for (accepted, coding) in [
            ("gzip", Some(ContentCoding::Gzip)),
            ("br", Some(ContentCoding::Brotli)),
            ("zstd", Some(ContentCoding::Zstd)),
            ("gzip, deflate, br, zstd", Some(ContentCoding::Zstd)),
            ("deflate", None),
            ("gzip;q=0.5, identity", None),
            ("", None),
        ] {
            let response = ask(&client, "GET", "/page", accepted).await;
            let body = response.fields().clone();
            assert!(body.lists("vary", "accept-encoding"), "{accepted}");
            assert_eq!(
                field(&response, "content-encoding"),
                coding.map_or("", ContentCoding::as_str),
                "{accepted}"
            );
            let content = response.into_body().bytes(1 << 20).await.unwrap();
            let codings: Vec<_> = coding.into_iter().collect();
            assert!(coding.is_none() || content.len() < 1000, "{accepted}: {}", content.len());
            let decoded =
                Body::from(content).decoded(&codings, 1 << 20, 1 << 20).bytes(1 << 20).await;
            assert_eq!(decoded.unwrap(), page(), "{accepted}");
        }
    }

    #[tokio::test]
    async fn what_is_small_coded_or_a_part_stays_as_it_is() {
        let client = router(Compress::new());
        for (target, coding, varies) in [
            ("/small", "", false),
            ("/floor", "br", true),
            ("/empty", "", false),
            ("/image", "", false),
            ("/svg", "br", true),
            ("/coded", "gzip", false),
            ("/range", "", false),
            ("/fixed", "", false),
            ("/part", "", true),
            ("/none", "", false),
        ] {
            let response = ask(&client, "GET", target, "br").await;
            assert_eq!(field(&response, "content-encoding"), coding, "{target}");
            assert_eq!(response.fields().contains("vary"), varies, "{target}");
        }
    }

    /// RFC 9110 §8.8.1, §9.3.2.
    #[tokio::test]
    async fn a_strong_etag_becomes_weak_and_a_head_says_what_a_get_would() {
        let client = router(Compress::new());
        for target in ["/strong", "/weak"] {
            for method in ["GET", "HEAD"] {
                let response = ask(&client, method, target, "gzip").await;
                assert_eq!(field(&response, "etag"), "W/\"a\"", "{target}");
                assert_eq!(field(&response, "content-encoding"), "gzip", "{method} {target}");
                assert_eq!(field(&response, "content-length"), "", "{method} {target}");
            }
        }
        assert_eq!(field(&ask(&client, "GET", "/strong", "").await, "etag"), "\"a\"");
    }

    /// RFC 9110 §15.4.5: a cache finds by it what it holds, which was `W/"a"` if it was encoded.
    #[tokio::test]
    async fn a_304_has_the_fields_that_the_200_would_have() {
        let client = router(Compress::new());
        for (target, held, accepted, etag, varies) in [
            ("/same", "W/\"a\"", "gzip", "W/\"a\"", true),
            ("/same", "W/\"a\"", "", "W/\"a\"", true),
            ("/same", "\"a\"", "gzip", "\"a\"", true),
            ("/same", "\"x\", W/\"a\"", "gzip", "W/\"a\"", true),
            ("/same", "\"a\", W/\"a\"", "gzip", "W/\"a\"", true),
            ("/same", "\"a\", W/\"a\"", "", "\"a\"", true),
            ("/same", "\"a\", W/\"a\"", "gzip;q=0.5, identity", "\"a\"", true),
            ("/same", "*", "gzip", "\"a\"", true),
            ("/same", "W/\"b\"", "gzip", "\"a\"", true),
            ("/same-weak", "W/\"a\"", "gzip", "W/\"a\"", true),
            ("/same-coded", "W/\"a\"", "gzip", "", false),
            ("/same-fixed", "W/\"a\"", "gzip", "", false),
            ("/same-image", "W/\"a\"", "gzip", "", false),
        ] {
            let sent = [("accept-encoding", accepted), ("if-none-match", held)];
            for method in ["GET", "HEAD"] {
                let response = send(&client, method, target, &sent).await;
                assert_eq!(response.status(), 304);
                assert_eq!(field(&response, "etag"), etag, "{target} {held} {accepted}");
                let vary = if varies { "accept-encoding" } else { "" };
                assert_eq!(field(&response, "vary"), vary, "{target} {held} {accepted}");
            }
        }
        let first = ask(&client, "GET", "/strong", "gzip").await;
        let sent = [("accept-encoding", "gzip"), ("if-none-match", field(&first, "etag"))];
        let again = send(&client, "GET", "/same", &sent).await;
        for name in ["etag", "vary"] {
            assert_eq!(field(&first, name), field(&again, name));
        }
    }

    /// RFC 9110 §15.3.7.
    #[tokio::test]
    async fn a_part_varies_as_the_whole_does() {
        let client = router(Compress::new());
        for (target, vary) in
            [("/part", "accept-encoding"), ("/parts", "accept-encoding"), ("/image-part", "")]
        {
            let response = ask(&client, "GET", target, "gzip").await;
            assert_eq!((response.status().as_u16(), field(&response, "vary")), (206, vary));
            assert_eq!(field(&response, "content-encoding"), "");
        }
    }

    /// RFC 9110 §12.5.3: `identity;q=0` is a wish too.
    #[tokio::test]
    async fn a_client_may_refuse_content_without_a_coding() {
        let client = router(Compress::new().codings([ContentCoding::Gzip]));
        let response = ask(&client, "GET", "/small", "gzip, identity;q=0").await;
        assert_eq!(field(&response, "content-encoding"), "gzip");
        let response = ask(&client, "GET", "/page", "br, *;q=0").await;
        assert_eq!(
            (response.status().as_u16(), field(&response, "vary")),
            (406, "accept-encoding")
        );
    }

    #[tokio::test]
    async fn a_stream_is_sent_whenever_it_pauses() {
        let (sender, receiver) = tokio::sync::mpsc::channel::<Body>(1);
        let receiver = std::sync::Arc::new(tokio::sync::Mutex::new(receiver));
        let stream = move || {
            let receiver = receiver.clone();
            async move {
                let body = receiver.lock().await.recv().await.unwrap();
                ([("content-type", "text/event-stream")], Response::new(body))
            }
        };
        let client = client(Router::new().route("/", get(stream)).layer(Compress::new()));
        let (pieces, body) = Body::channel(1);
        sender.send(body).await.unwrap();
        let response = ask(&client, "GET", "/", "gzip").await;
        assert_eq!(field(&response, "content-encoding"), "gzip");
        let mut body = response.into_body().decoded(&[ContentCoding::Gzip], 1000, 1000);
        for event in ["data: 1\n\n", "data: 2\n\n"] {
            pieces.send(event).await.unwrap();
            assert_eq!(body.chunk().await.unwrap().unwrap(), event);
        }
    }

    /// One that is streamed is encoded at a time; whether the content of the first is read, dropped or neither.
    #[tokio::test]
    async fn responses_beyond_the_encoders_go_out_as_they_are() {
        for (versions, ends) in [Versions::Http1, Versions::Http2]
            .into_iter()
            .flat_map(|versions| [(versions, true), (versions, false)])
        {
            let compress = Compress::new().encoders_max(1);
            let client = client_over(versions, routes(compress.clone()));
            let first = ask(&client, "GET", "/streamed", "br").await;
            assert_eq!(field(&first, "content-encoding"), "br");
            assert_eq!(compress.encoders(), 1);

            let second = ask(&client, "GET", "/streamed", "br").await;
            assert_eq!(field(&second, "content-encoding"), "");
            assert_eq!(
                (field(&second, "vary"), field(&second, "etag")),
                ("accept-encoding", "\"a\"")
            );
            assert_eq!(second.text().await.unwrap(), noise());
            let only = ask(&client, "GET", "/streamed", "br, identity;q=0").await;
            assert_eq!((only.status().as_u16(), field(&only, "retry-after")), (503, "1"));
            assert_eq!(field(&only, "vary"), "accept-encoding");
            assert_eq!((compress.encoders(), compress.not_encoded()), (1, 2));

            // Neither of these outlasts the call that makes it.
            assert_eq!(field(&ask(&client, "GET", "/floor", "br").await, "content-encoding"), "br");
            let head = ask(&client, "HEAD", "/streamed", "br").await;
            assert_eq!(field(&head, "content-encoding"), "br");

            match ends {
                true => drop(first.into_body().bytes(2 << 20).await.unwrap()),
                false => drop(first),
            }
            while compress.encoders() > 0 {
                tokio::task::yield_now().await;
            }
            assert_eq!(
                field(&ask(&client, "GET", "/streamed", "br").await, "content-encoding"),
                "br"
            );
            while compress.encoders() > 0 {
                tokio::task::yield_now().await;
            }
        }
    }
}

mod decompress {
    use super::{
        Body, Client, ContentCoding, Decompress, Request, Response, Router, client, field, post,
        text,
    };

    fn router(decompress: Decompress) -> Client {
        let echo = post(async |text: String| text);
        let limited = post(async |text: String| text).body_bytes_max(10);
        client(Router::new().route("/", echo).route("/limited", limited).layer(decompress))
    }

    async fn send(client: &Client, target: &str, coding: &str, body: Body) -> Response {
        let request = Request::post(&format!("http://a.test{target}"), body).unwrap();
        client.send(request.with_field("content-encoding", coding).unwrap()).await.unwrap()
    }

    #[tokio::test]
    async fn content_is_decoded_by_all_its_codings() {
        let client = router(Decompress::new());
        for (coding, codings) in [
            ("gzip", &[ContentCoding::Gzip][..]),
            ("BR", &[ContentCoding::Brotli]),
            ("deflate", &[ContentCoding::Deflate]),
            ("gzip, zstd", &[ContentCoding::Gzip, ContentCoding::Zstd]),
            ("identity", &[]),
        ] {
            let body =
                codings.iter().fold(Body::from("falcon"), |body, coding| body.encoded(*coding));
            let response = send(&client, "/", coding, body).await;
            assert_eq!(text(response).await, (200, "falcon".to_owned()), "{coding}");
        }
    }

    #[tokio::test]
    async fn what_cannot_be_decoded_is_refused() {
        let client = router(Decompress::new().bytes_max(100));
        for coding in ["compress", "gzip, x", "gzip, gzip, gzip, gzip"] {
            let response = send(&client, "/", coding, "x".into()).await;
            let accepted = field(&response, "accept-encoding").to_owned();
            assert_eq!((response.status().as_u16(), &*accepted), (415, "gzip, deflate, br, zstd"));
        }
        assert_eq!(send(&client, "/", "gzip", "no gzip".into()).await.status(), 400);
        for (length, target, status) in
            [(100, "/", 200), (101, "/", 413), (10, "/limited", 200), (11, "/limited", 413)]
        {
            let body = Body::from("x".repeat(length)).encoded(ContentCoding::Gzip);
            assert_eq!(send(&client, target, "gzip", body).await.status(), status, "{length}");
        }
    }
}
