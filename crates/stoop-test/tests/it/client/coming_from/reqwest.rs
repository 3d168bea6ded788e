//! The table "From reqwest".

use std::collections::BTreeMap;
use std::io::Read;

use bytes::Bytes;
use stoop::body::{Form, Part};
use stoop::dns::SystemResolver;
use stoop::tls::TlsVersion;
use stoop::{
    Body, Client, ClientTls, CookieJar, ErrorKind, Method, Proxies, Proxy, RedirectAction,
    RedirectAttempt, Redirects, Request, Retries, StatusCode, Switch, Versions, blocking,
};

use super::{Outcome, Rows, echo, fetched, seen};
use crate::client::kit::counts;
use crate::client::tls::{certificate, serve_tls};

#[tokio::test]
async fn each_row_of_reqwest_is_run() {
    let mut rows = Rows::new("reqwest").await;
    Box::pin(clients(&mut rows)).await.unwrap();
    Box::pin(limits(&mut rows)).await.unwrap();
    Box::pin(policies(&mut rows)).await.unwrap();
    Box::pin(proxies(&mut rows)).await.unwrap();
    Box::pin(tls(&mut rows)).await.unwrap();
    Box::pin(names(&mut rows)).await.unwrap();
    Box::pin(requests(&mut rows)).await.unwrap();
    Box::pin(content(&mut rows)).await.unwrap();
    Box::pin(responses(&mut rows)).await.unwrap();
    Box::pin(read(&mut rows)).await.unwrap();
    Box::pin(errors(&mut rows)).await.unwrap();
    rows.compare("## From reqwest", [0, 1]);
}

async fn clients(rows: &mut Rows) -> Outcome {
    row!(rows, [] "Client::new()" => { Client::new() }, made => assert_eq!(counts(&made), (0, 0)));
    row!(rows, [client, url] "reqwest::get(url).await?" => { client.get(url).await? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [client, url] "client.get(url).send().await?" => { client.get(url).send().await? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [client, url] "client.request(Method::PUT, url)" => { client.request(Method::PUT, url) },
        made => assert!(seen(made).await?.starts_with("PUT /p\n")));
    row!(rows, [client, url] "client.execute(Request::new(Method::GET, url)).await?" => {
        client.send(Request::get(url)?).await?
    }, made => assert_eq!(made.status(), 200));
    row!(rows, [builder] "ClientBuilder::user_agent(\"app/1\")" => { builder.user_agent("app/1") },
        made => assert!(fetched(made, "/").await?.contains("\nuser-agent: app/1\n")));
    row!(rows, [builder, headers] "ClientBuilder::default_headers(headers)" => {
        builder.default_headers(&headers)
    }, made => assert!(fetched(made, "/").await?.contains("\nx-a: 1\n")));
    row!(rows, [builder] "ClientBuilder::no_gzip().no_brotli().no_zstd().no_deflate()" => {
        builder.decode_content(false)
    }, made => assert!(!fetched(made, "/").await?.contains("accept-encoding")));
    row!(rows, [builder] "ClientBuilder::connection_verbose(true)" => {
        builder.observe(|request, event| println!("{request} {event:?}"))
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder] "reqwest_middleware::ClientBuilder::with(middleware)" => {
        builder.middleware(|request, next| async move { next.run(request.with_field("x-a", "2")?).await })
    }, made => assert!(fetched(made, "/").await?.contains("\nx-a: 2\n")));
    Ok(())
}

async fn limits(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, limit] "ClientBuilder::timeout(limit)" => { builder.timeout(limit) },
    made => {
        let error = fetched(made, "/hang").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TotalTimeout);
    });
    row!(rows, [builder, limit] "ClientBuilder::connect_timeout(limit)" => { builder.setup_timeout(limit) },
    made => {
        let client = made.custom_resolver(|_: String| std::future::pending::<Result<stoop::dns::Addresses, stoop::BoxError>>());
        let error = client.build()?.get("http://a.test/").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectTimeout);
    });
    row!(rows, [builder, limits, limit] "ClientBuilder::read_timeout(limit)" => {
        limits.time.read_idle = Some(limit); builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits, limit] "ClientBuilder::pool_idle_timeout(limit)" => {
        limits.pool.idle = limit; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits] "ClientBuilder::pool_max_idle_per_host(0)" => {
        limits.pool.idle_per_origin_max = 0; builder.limits(limits)
    }, made => {
        let client = made.handler(echo).build()?;
        seen(client.get("http://a.test/")).await?;
        assert_eq!(counts(&client), (0, 0));
    });
    row!(rows, [builder] "ClientBuilder::http1_only()" => { builder.versions(Versions::Http1) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder] "ClientBuilder::http2_prior_knowledge()" => { builder.versions(Versions::Http2) },
    made => {
        let client = made.handler(echo).build()?;
        assert_eq!(client.get("http://a.test/").await?.version(), stoop::Version::HTTP_2);
    });
    row!(rows, [builder, limits] "ClientBuilder::http2_initial_stream_window_size(1 << 20)" => {
        limits.wire.http2.stream_window_bytes = 1 << 20; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, limits, limit] "ClientBuilder::http2_keep_alive_timeout(limit)" => {
        limits.wire.http2.ping_timeout = limit; builder.limits(limits)
    }, made => assert!(fetched(made, "/").await.is_ok()));
    Ok(())
}

async fn policies(rows: &mut Rows) -> Outcome {
    row!(rows, [builder] "ClientBuilder::redirect(Policy::limited(5))" => {
        builder.redirects(Redirects::follow(5))
    }, made => assert!(fetched(made, "/to//p").await?.starts_with("GET /p")));
    row!(rows, [builder] "ClientBuilder::redirect(Policy::none())" => { builder.redirects(Redirects::none()) },
        made => assert_eq!(fetched(made, "/to//p").await?, ""));
    row!(rows, [builder] "Policy::custom(|attempt| attempt.stop())" => {
        builder.redirects(Redirects::follow(10).decided_by(|_| RedirectAction::Stop))
    }, made => assert_eq!(fetched(made, "/to//p").await?, ""));
    row!(rows, [builder] "Policy::custom(|attempt| attempt.error(\"no\"))" => {
        builder.redirects(Redirects::follow(10).decided_by(|_| RedirectAction::Deny("no".into())))
    }, made => assert!(fetched(made, "/to//p").await.unwrap_err().is_redirect()));
    row!(rows, [] "|attempt| attempt.previous().len() > 2" => {
        |attempt: &RedirectAttempt<'_>| attempt.history().len() > 2
    }, made => {
        let stops = move |attempt: &RedirectAttempt<'_>| match made(attempt) {
            true => RedirectAction::Stop,
            false => RedirectAction::Follow,
        };
        let builder = Client::builder().redirects(Redirects::follow(10).decided_by(stops));
        let client = builder.handler(echo).build()?;
        let response = client.get("http://a.test/to//to//to//to//to//p").await?;
        assert_eq!(response.redirects(), 3);
    });
    row!(rows, [builder] "ClientBuilder::retry(policy)" => { builder.retries(Retries::up_to(1)) },
    made => {
        let made = made.middleware(|request, next| async move { next.run(request).await });
        let client = made.handler(echo).build()?;
        assert_eq!(client.get("http://a.test/status/503").await?.status(), 503);
    });
    row!(rows, [builder] "ClientBuilder::cookie_store(true)" => { builder.cookies(CookieJar::new()) },
    made => {
        let client = made.handler(echo).build()?;
        client.get("http://a.test/cookie").await?;
        assert!(seen(client.get("http://a.test/")).await?.contains("\ncookie: s=1\n"));
    });
    row!(rows, [builder, jar] "ClientBuilder::cookie_provider(jar.clone())" => { builder.cookies(jar.clone()) },
    made => {
        fetched(made, "/cookie").await?;
        assert_eq!(jar.len(), 1);
    });
    row!(rows, [jar, url] "jar.add_cookie_str(\"a=1\", &url)" => { jar.add("a=1", url)? },
        () => assert_eq!(jar.get(url)?.as_deref(), Some("a=1")));
    Ok(())
}

async fn proxies(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, proxy_url] "ClientBuilder::proxy(Proxy::all(proxy_url)?)" => {
        builder.proxy(Proxy::new(&proxy_url)?)
    }, made => {
        let text = seen(made.build()?.get("http://b.test/x")).await?;
        assert!(text.contains("\nhost: b.test\n"), "{text}");
    });
    row!(rows, [builder, proxy_url] "ClientBuilder::proxy(Proxy::https(proxy_url)?)" => {
        builder.proxies(Proxies::none().https(Proxy::new(&proxy_url)?))
    }, made => {
        let error = made.build()?.get("https://b.test/x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ProxyRefused, "{error}");
    });
    row!(rows, [builder, proxy_url] "Proxy::custom(move |url| url.path().ends_with(\"/x\").then(|| proxy.clone()))" => {
        let proxy = Proxy::new(&proxy_url)?;
        builder.proxies(Proxies::decided_by(move |url| url.ends_with("/x").then(|| proxy.clone())))
    }, made => assert!(seen(made.build()?.get("http://b.test/x")).await.is_ok()));
    row!(rows, [proxy_url] "Proxy::all(proxy_url)?.basic_auth(\"me\", \"secret\")" => {
        Proxy::new(&proxy_url)?.with_credentials("me", "secret")
    }, made => {
        let client = Client::builder().proxy(made).build()?;
        let text = seen(client.get("http://b.test/x")).await?;
        assert!(text.contains("proxy-authorization: Basic bWU6c2VjcmV0\n"), "{text}");
    });
    row!(rows, [proxy_url] "Proxy::all(proxy_url)?.headers(headers)" => {
        Proxy::new(&proxy_url)?.with_header("x-team", "blue")?
    }, made => {
        let client = Client::builder().proxy(made).build()?;
        assert!(seen(client.get("http://b.test/x")).await?.contains("\nx-team: blue\n"));
    });
    row!(rows, [proxy_url] "Proxy::all(proxy_url)?.no_proxy(NoProxy::from_string(\"localhost,10.0.0.0/8\"))" => {
        Proxies::none().all(Proxy::new(&proxy_url)?).except("localhost,10.0.0.0/8".parse()?)
    }, made => assert!(format!("{made:?}").contains("localhost")));
    row!(rows, [builder] "ClientBuilder::no_proxy()" => { builder.proxies(Proxies::none()) },
        made => assert!(fetched(made, "/").await.is_ok()));
    Ok(())
}

async fn tls(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, ca] "ClientBuilder::tls_certs_merge([Certificate::from_pem(ca)?])" => {
        builder.tls(ClientTls::builder().ca_pem(ca).build()?)
    }, made => assert_eq!(rows.over_tls(made).await?, "ok"));
    row!(rows, [builder, ca] "ClientBuilder::tls_certs_only([Certificate::from_pem(ca)?])" => {
        builder.tls(ClientTls::builder().platform_cas(false).ca_pem(ca).build()?)
    }, made => assert_eq!(rows.over_tls(made).await?, "ok"));
    row!(rows, [builder, ca, identity] "ClientBuilder::identity(Identity::from_pem(pem)?)" => {
        let (chain, key) = identity;
        builder.tls(ClientTls::builder().ca_pem(ca).certificate_pem(chain, key).build()?)
    }, made => {
        let (chain, key) = certificate(&rows.authority, &["localhost"], false);
        let tls = stoop::ServerTls::builder().certificate_pem(chain, key);
        let tls = tls.client_ca_pem(rows.authority.pem()).build()?;
        let port = serve_tls(tls, |peer| peer.serve(super::OK)).await;
        let response = made.build()?.get(format!("https://localhost:{port}/")).await?;
        assert_eq!(response.status(), 200);
    });
    row!(rows, [builder] "ClientBuilder::tls_danger_accept_invalid_certs(true)" => {
        builder.tls(ClientTls::builder().dangerous_accept_any_certificate().build()?)
    }, made => assert_eq!(rows.over_tls(made).await?, "ok"));
    row!(rows, [ca] "ClientBuilder::tls_version_min(Version::TLS_1_3)" => {
        ClientTls::builder().ca_pem(ca).min_version(TlsVersion::V1_3).build()?
    }, made => assert_eq!(rows.over_tls(Client::builder().tls(made)).await?, "ok"));
    row!(rows, [ca] "ClientBuilder::tls_sni(false)" => {
        ClientTls::builder().ca_pem(ca).server_name_indication(false).build()?
    }, made => assert_eq!(rows.over_tls(Client::builder().tls(made)).await?, "ok"));
    row!(rows, [ca, path] "ClientBuilder::tls_sslkeylogfile(true)" => {
        ClientTls::builder().ca_pem(ca).key_log(path.with_file_name("keys")).build()?
    }, made => {
        rows.over_tls(Client::builder().tls(made)).await?;
        assert!(std::fs::read_to_string(path.with_file_name("keys"))?.contains("SECRET"));
    });
    Ok(())
}

async fn names(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, ip] "ClientBuilder::resolve(\"a.test\", address)" => { builder.resolve("a.test", [ip]) },
    made => {
        let url = format!("http://a.test:{}/", rows.address().await.port());
        assert!(seen(made.build()?.get(url)).await.is_ok());
    });
    row!(rows, [builder, ip] "ClientBuilder::dns_resolver(resolver)" => {
        builder.custom_resolver(move |_host: String| async move { Ok::<_, stoop::BoxError>(ip.into()) })
    }, made => {
        let url = format!("http://b.test:{}/", rows.address().await.port());
        assert!(seen(made.build()?.get(url)).await.is_ok());
    });
    row!(rows, [builder] "ClientBuilder::no_hickory_dns()" => { builder.custom_resolver(SystemResolver::new()) },
    made => {
        let url = format!("http://localhost:{}/", rows.address().await.port());
        assert!(seen(made.build()?.get(url)).await.is_ok());
    });
    row!(rows, [builder, ip] "ClientBuilder::local_address(ip)" => { builder.local_address(ip) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder] "ClientBuilder::interface(\"eth0\")" => { builder.interface("eth0") },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder, path] "ClientBuilder::unix_socket(path)" => { builder.unix_socket(path) },
    made => {
        let error = made.build()?.get("http://a.test/").await.unwrap_err();
        assert!(error.is_connect(), "{error}");
    });
    Ok(())
}

async fn requests(rows: &mut Rows) -> Outcome {
    row!(rows, [request] "request.header(\"x-a\", \"1\")" => { request.header("x-a", "1") },
        made => assert!(seen(made).await?.contains("\nx-a: 1\n")));
    row!(rows, [request, headers] "request.headers(headers)" => { request.headers(&headers) },
        made => assert!(seen(made).await?.contains("\nx-a: 1\n")));
    row!(rows, [request] "request.basic_auth(\"me\", Some(\"secret\"))" => { request.basic_auth("me", "secret") },
        made => assert!(seen(made).await?.contains("\nauthorization: Basic bWU6c2VjcmV0\n")));
    row!(rows, [request] "request.bearer_auth(\"token\")" => { request.bearer_auth("token") },
        made => assert!(seen(made).await?.contains("\nauthorization: Bearer token\n")));
    row!(rows, [request] "request.query(&[(\"q\", \"a b\")])" => { request.query(&[("q", "a b")]) },
        made => assert!(seen(made).await?.starts_with("POST /p?q=a+b\n")));
    row!(rows, [request, limit] "request.timeout(limit)" => { request.timeout(limit) },
        made => assert!(made.build().is_ok()));
    row!(rows, [request] "request.version(Version::HTTP_11)" => { request.versions(Versions::Http1) },
        made => assert_eq!(made.await?.version(), stoop::Version::HTTP_11));
    row!(rows, [request] "request.try_clone()" => { request.try_clone() }, made => assert!(made.is_some()));
    row!(rows, [client, request] "client.execute(request.build()?).await?" => { client.send(request.build()?).await? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [url] "reqwest::Request::try_from(http_request)?" => {
        Request::try_from(http::Request::get(url).body(Body::empty())?)?
    }, made => assert_eq!(made.path(), "/p"));
    Ok(())
}

async fn content(rows: &mut Rows) -> Outcome {
    row!(rows, [request] "request.body(\"text\")" => { request.body("text") },
        made => assert!(seen(made).await?.ends_with("\n\ntext")));
    row!(rows, [request] "request.form(&[(\"a\", \"1\")])" => { request.form(&[("a", "1")]) },
        made => assert!(seen(made).await?.ends_with("\n\na=1")));
    row!(rows, [request] "request.json(&value)" => { request.json(&BTreeMap::from([("a", 1)])) },
        made => assert!(seen(made).await?.ends_with("\n\n{\"a\":1}")));
    row!(rows, [request, response] "request.body(Body::wrap_stream(stream))" => {
        request.body(Body::from_stream(response.stream()))
    }, made => assert!(seen(made).await?.ends_with("\n\n{\"id\":17}")));
    row!(rows, [request, path] "request.body(File::open(path).await?)" => { request.body(Body::file(path).await?) },
        made => assert!(seen(made).await?.ends_with("\n\nfrom a file")));
    row!(rows, [request] "request.multipart(Form::new().text(\"a\", \"1\"))" => {
        request.multipart(Form::new().text("a", "1"))
    }, made => assert!(seen(made).await?.contains("form-data; name=\"a\"\r\n\r\n1\r\n")));
    row!(rows, [path] "Form::new().file(\"f\", path).await?" => { Form::new().part("f", Part::file(path).await?) },
    made => {
        let text = seen(rows.request().await.multipart(made)).await?;
        assert!(text.contains("filename=\"file.txt\""), "{text}");
    });
    row!(rows, [] "Part::bytes(b\"x\").file_name(\"x.bin\").mime_str(\"image/png\")?" => {
        Part::new(b"x").file_name("x.bin").mime_type("image/png")?
    }, made => assert!(Form::new().part("f", made).into_body().len().is_some()));
    row!(rows, [response] "Part::stream(body)" => { Part::new(response.into_body()) },
    made => {
        let text = seen(rows.request().await.multipart(Form::new().part("f", made))).await?;
        assert!(text.contains("{\"id\":17}"), "{text}");
    });
    Ok(())
}

async fn responses(rows: &mut Rows) -> Outcome {
    row!(rows, [response] "response.status()" => { response.status() },
        made => assert_eq!(made, StatusCode::OK));
    row!(rows, [response] "response.headers().get(\"x-a\")" => { response.field("x-a") },
        made => assert_eq!(made, Some(&b"1"[..])));
    row!(rows, [response] "response.headers().iter()" => { response.fields().iter() },
        mut made => assert!(made.any(|field| field.name() == "content-type")));
    row!(rows, [response] "response.version()" => { response.version() },
        made => assert_eq!(made, stoop::Version::HTTP_11));
    row!(rows, [response] "response.url()" => { response.url() },
        made => assert_eq!(made, Some("http://a.test/json")));
    row!(rows, [response] "response.remote_addr()" => { response.remote_address() },
        made => assert_eq!(made, None));
    row!(rows, [response] "response.content_length()" => { response.body_mut().len() },
        made => assert_eq!(made, Some(9)));
    row!(rows, [response] "response.cookies()" => { response.fields().all("set-cookie") },
        mut made => assert_eq!(made.next(), None));
    row!(rows, [response] "response.extensions()" => { response.extensions() },
        made => assert!(made.is_empty()));
    row!(rows, [response] "http::Response::from(response)" => { http::Response::<Body>::from(response) },
        made => assert_eq!(made.headers()["x-a"], "1"));
    row!(rows, [response] "response.error_for_status()?" => { response.error_for_status()? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [response] "response.error_for_status_ref()?" => { response.error_for_status_ref()?; });
    Ok(())
}

async fn read(rows: &mut Rows) -> Outcome {
    row!(rows, [response] "response.text().await?" => { response.text().await? },
        made => assert_eq!(made, "{\"id\":17}"));
    row!(rows, [response] "response.bytes().await?" => { response.bytes().await? },
        made => assert_eq!(made, "{\"id\":17}"));
    row!(rows, [response] "response.json::<Value>().await?" => { response.json::<BTreeMap<String, u32>>().await? },
        made => assert_eq!(made["id"], 17));
    row!(rows, [response] "response.chunk().await?" => { response.chunk().await? },
        made => assert_eq!(made, Some(Bytes::from("{\"id\":17}"))));
    row!(rows, [response] "response.bytes_stream()" => { response.stream() },
        made => assert_eq!(made.bytes(100).await?, "{\"id\":17}"));
    row!(rows, [client] "response.upgrade().await?" => {
        let request = Request::get("http://a.test/upgrade")?.with_field("connection", "upgrade")?;
        client.switch(request.with_field("upgrade", "echo")?).await?
    }, made => assert!(matches!(made, Switch::Accepted(_))));
    Ok(())
}

async fn errors(rows: &mut Rows) -> Outcome {
    row!(rows, [error] "error.is_timeout()" => { error.is_timeout() }, made => assert!(!made));
    row!(rows, [error] "error.is_connect()" => { error.is_connect() }, made => assert!(!made));
    row!(rows, [error] "error.is_builder()" => { error.is_request() }, made => assert!(!made));
    row!(rows, [error] "error.is_redirect()" => { error.is_redirect() }, made => assert!(!made));
    row!(rows, [error] "error.is_status()" => { error.is_status() }, made => assert!(made));
    row!(rows, [error] "error.is_body()" => { error.is_body() }, made => assert!(!made));
    row!(rows, [error] "error.is_decode()" => { error.is_decode() }, made => assert!(!made));
    row!(rows, [error] "error.status()" => { error.status() },
        made => assert_eq!(made, Some(StatusCode::NOT_FOUND)));
    row!(rows, [error] "error.url()" => { error.url() },
        made => assert_eq!(made, Some("http://a.test/status/404")));
    row!(rows, [server_url] "reqwest::blocking::get(url)?.text()?" => {
        blocking::Client::new().get(server_url).send()?.text()?
    }, made => assert!(made.starts_with("GET /")));
    row!(rows, [builder, limit] "blocking::ClientBuilder::timeout(limit)" => {
        blocking::Client::from(builder.timeout(limit).build()?)
    }, made => assert_eq!(made.stats().total.open, 0));
    row!(rows, [server_url, path] "request.body(std::fs::File::open(path)?)" => {
        blocking::Client::new().put(server_url).body(blocking::from_reader(std::fs::File::open(path)?))
    }, made => assert!(made.send()?.text()?.ends_with("from a file")));
    row!(rows, [server_url] "response.copy_to(&mut out)?" => {
        let mut response = blocking::Client::new().get(server_url).send()?;
        std::io::copy(&mut response, &mut std::io::sink())?
    }, made => assert!(made > 10));
    row!(rows, [server_url] "blocking::Response: std::io::Read" => {
        let mut text = String::new();
        blocking::Client::new().get(server_url).send()?.read_to_string(&mut text)?
    }, made => assert!(made > 10));
    Ok(())
}
