//! The table "From reqwest".

mod messages;

use stoop::dns::SystemResolver;
use stoop::tls::TlsVersion;
use stoop::{
    Client, ClientTls, CookieJar, ErrorKind, Method, Proxies, Proxy, RedirectAction,
    RedirectAttempt, Redirects, Request, Retries, Versions,
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
    Box::pin(messages::requests(&mut rows)).await.unwrap();
    Box::pin(messages::content(&mut rows)).await.unwrap();
    Box::pin(messages::responses(&mut rows)).await.unwrap();
    Box::pin(messages::read(&mut rows)).await.unwrap();
    Box::pin(messages::errors(&mut rows)).await.unwrap();
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
        limits.time.read_idle = Some(limit); limits.time.head_wait = Some(limit); builder.limits(limits)
    }, made => {
        let error = fetched(made, "/hang").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadTimeout);
    });
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
    row!(rows, [builder, limit] "ClientBuilder::tcp_keepalive(limit)" => { builder.tcp_keepalive(limit) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder, socket] "ClientBuilder::unix_socket(path)" => { builder.unix_socket(socket) },
    made => {
        let endpoint = format!("unix:{}", rows.socket().await.display());
        let server = stoop::Server::listen(endpoint.as_str())?.workers(1).run(echo)?;
        assert!(seen(made.build()?.get("http://a.test/")).await?.contains("host: a.test"));
        drop(server);
    });
    Ok(())
}
