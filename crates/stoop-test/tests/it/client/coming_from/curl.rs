//! The table "From curl": the column of the library. The column of the command is tested with the command.

use std::time::Duration;

use stoop::body::{Form, Part};
use stoop::tls::TlsVersion;
use stoop::{
    Body, Client, ClientTls, ErrorKind, Method, Netrc, Proxies, Proxy, Redirects, Retries,
    StatusCode, Versions,
};

use super::{Outcome, Rows, echo, fetched, seen};

#[tokio::test]
async fn each_row_of_curl_is_run() {
    let mut rows = Rows::new("curl").await;
    Box::pin(requests(&mut rows)).await.unwrap();
    Box::pin(content(&mut rows)).await.unwrap();
    Box::pin(output(&mut rows)).await.unwrap();
    Box::pin(policies(&mut rows)).await.unwrap();
    Box::pin(connections(&mut rows)).await.unwrap();
    Box::pin(tls(&mut rows)).await.unwrap();
    rows.compare("## From curl", [0, 2]);
}

async fn requests(rows: &mut Rows) -> Outcome {
    row!(rows, [client, url] "URL" => { client.get(url).await? }, made => assert_eq!(made.status(), 200));
    row!(rows, [client, url] "-X, --request" => { client.request(Method::DELETE, url) },
        made => assert!(seen(made).await?.starts_with("DELETE /p\n")));
    row!(rows, [request] "-H, --header" => { request.header("x-a", "1") },
        made => assert!(seen(made).await?.contains("\nx-a: 1\n")));
    row!(rows, [builder] "-A, --user-agent" => { builder.user_agent("app/1") },
        made => assert!(fetched(made, "/").await?.contains("\nuser-agent: app/1\n")));
    row!(rows, [request] "-e, --referer" => { request.header("referer", "http://b.test/") },
        made => assert!(seen(made).await?.contains("\nreferer: http://b.test/\n")));
    row!(rows, [client, url] "-I, --head" => { client.head(url).await? },
        made => assert_eq!(made.text().await?, ""));
    row!(rows, [request] "-r, --range" => { request.header("range", "bytes=0-99") },
        made => assert!(seen(made).await?.contains("\nrange: bytes=0-99\n")));
    row!(rows, [request] "-z, --time-cond" => { request.header("if-modified-since", "Sun, 06 Nov 1994 00:00:00 GMT") },
        made => assert!(seen(made).await?.contains("\nif-modified-since: Sun, 06 Nov 1994")));
    row!(rows, [request] "-u, --user" => { request.basic_auth("me", "secret") },
        made => assert!(seen(made).await?.contains("\nauthorization: Basic bWU6c2VjcmV0\n")));
    row!(rows, [request] "--digest" => { request.digest_auth("me", "secret") },
        made => assert!(!seen(made).await?.contains("\nauthorization")));
    row!(rows, [request] "--oauth2-bearer" => { request.bearer_auth("token") },
        made => assert!(seen(made).await?.contains("\nauthorization: Bearer token\n")));
    row!(rows, [builder, netrc_text] "-n, --netrc" => { builder.netrc(netrc_text.parse::<Netrc>()?) },
        made => assert!(fetched(made, "/").await?.contains("\nauthorization: Basic bWU6c2VjcmV0\n")));
    Ok(())
}

async fn content(rows: &mut Rows) -> Outcome {
    row!(rows, [request] "-d, --data" => { request.form(&[("a", "1")]) },
        made => assert!(seen(made).await?.ends_with("\n\na=1")));
    row!(rows, [request] "--data-raw" => { request.body("text") },
        made => assert!(seen(made).await?.ends_with("\n\ntext")));
    row!(rows, [request, path] "--data-binary @FILE" => { request.body(Body::file(path).await?) },
        made => assert!(seen(made).await?.ends_with("\n\nfrom a file")));
    row!(rows, [request] "--data-urlencode" => { request.form(&[("q", "a b&c")]) },
        made => assert!(seen(made).await?.ends_with("\n\nq=a+b%26c")));
    row!(rows, [client, url] "-G, --get" => { client.get(url).query(&[("q", "1")]) },
        made => assert!(seen(made).await?.starts_with("GET /p?q=1\n")));
    row!(rows, [client, url] "--url-query" => { client.get(url).query(&[("q", "1&2")]) },
        made => assert!(seen(made).await?.starts_with("GET /p?q=1%262\n")));
    row!(rows, [request] "--json" => { request.json(&[1, 2]).header("accept", "application/json") },
        made => assert!(seen(made).await?.ends_with("\n\n[1,2]")));
    row!(rows, [request, path] "-F, --form" => {
        request.multipart(Form::new().text("a", "1").part("f", Part::file(path).await?))
    }, made => assert!(seen(made).await?.contains("from a file")));
    row!(rows, [client, url, path] "-T, --upload-file" => { client.put(url).body(Body::file(path).await?) },
        made => assert!(seen(made).await?.starts_with("PUT /p\n")));
    Ok(())
}

async fn output(rows: &mut Rows) -> Outcome {
    row!(rows, [response, path] "-o, --output" => { response.save(path).await? },
        made => assert_eq!(made, 9));
    row!(rows, [response] "-D, --dump-header" => { println!("{:?}", response.fields()) }, () => {});
    row!(rows, [response] "-f, --fail" => { response.error_for_status()? },
        made => assert_eq!(made.status(), 200));
    row!(rows, [response] "--fail-with-body" => { response.error_for_status_ref().is_err() },
        made => assert!(!made));
    row!(rows, [builder] "-v, --verbose" => { builder.observe(|request, event| println!("{request} {event:?}")) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [response] "-w '%{http_code}'" => { response.status().as_u16() }, made => assert_eq!(made, 200));
    row!(rows, [response] "-w '%{time_starttransfer}'" => { response.timings().first_byte() },
        made => assert!(made < Duration::from_secs(60)));
    row!(rows, [response] "-w '%{remote_ip}'" => { response.remote_address() },
        made => assert_eq!(made, None));
    row!(rows, [builder] "--compressed" => { builder.decode_content(true) },
        made => assert_eq!(fetched(made, "/gzip").await?, "decoded"));
    Ok(())
}

async fn policies(rows: &mut Rows) -> Outcome {
    row!(rows, [builder] "-L, --location" => { builder.redirects(Redirects::follow(50)) },
        made => assert!(fetched(made, "/to//p").await?.starts_with("GET /p")));
    row!(rows, [builder] "--max-redirs" => { builder.redirects(Redirects::follow(1)) },
    made => {
        let error = fetched(made, "/to//to//p").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::RedirectLimit);
    });
    row!(rows, [builder] "--post301, --post302, --post303" => { builder.redirects(Redirects::follow(50).keep_post(StatusCode::FOUND)) },
        made => assert!(fetched(made, "/to//p").await?.starts_with("GET /p")));
    row!(rows, [builder] "--location-trusted" => { builder.redirects(Redirects::follow(50).trust_all_origins(true)) },
        made => assert!(fetched(made, "/to//p").await?.starts_with("GET /p")));
    row!(rows, [builder] "--retry" => { builder.retries(Retries::up_to(3)) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [request] "-b, --cookie" => { request.header("cookie", "a=1") },
        made => assert!(seen(made).await?.contains("\ncookie: a=1\n")));
    row!(rows, [jar, cookie_file] "-b FILE" => { jar.load_netscape(cookie_file)? },
        made => assert_eq!((made, jar.get("http://a.test/")?.as_deref()), (1, Some("a=1"))));
    row!(rows, [jar, path] "-c, --cookie-jar" => { jar.save_netscape(std::fs::File::create(path)?)? },
        () => {});
    row!(rows, [builder, limit] "-m, --max-time" => { builder.timeout(limit) },
    made => {
        let error = fetched(made, "/hang").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TotalTimeout);
    });
    row!(rows, [builder, limit] "--connect-timeout" => { builder.setup_timeout(limit) },
        made => assert!(fetched(made, "/").await.is_ok()));
    Ok(())
}

async fn connections(rows: &mut Rows) -> Outcome {
    row!(rows, [builder, proxy_url] "-x, --proxy" => { builder.proxy(Proxy::new(&proxy_url)?) },
        made => assert!(seen(made.build()?.get("http://b.test/x")).await.is_ok()));
    row!(rows, [proxy_url] "-U, --proxy-user" => { Proxy::new(&proxy_url)?.with_credentials("me", "secret") },
    made => {
        let client = Client::builder().proxy(made).build()?;
        let text = seen(client.get("http://b.test/x")).await?;
        assert!(text.contains("proxy-authorization: Basic bWU6c2VjcmV0\n"), "{text}");
    });
    row!(rows, [proxy_url] "--noproxy" => { Proxies::none().all(Proxy::new(&proxy_url)?).except("localhost".parse()?) },
        made => assert!(format!("{made:?}").contains("localhost")));
    row!(rows, [builder, ip] "--resolve" => { builder.resolve("a.test", [ip]) },
    made => {
        let url = format!("http://a.test:{}/", rows.address().await.port());
        assert!(seen(made.build()?.get(url)).await.is_ok());
    });
    row!(rows, [builder, address] "--connect-to" => { builder.connect_to("a.test:80", &address.to_string())? },
        made => assert!(seen(made.build()?.get("http://a.test/")).await?.contains("\nhost: a.test\n")));
    row!(rows, [builder] "-4, --ipv4" => { builder.address_filter(|address| address.is_ipv4()) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder] "-6, --ipv6" => { builder.address_filter(|address| address.is_ipv6()) },
    made => {
        let error = seen(made.build()?.get(rows.server_url().await)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::AddressDenied);
    });
    row!(rows, [builder, socket] "--unix-socket" => { builder.unix_socket(socket) },
    made => {
        let endpoint = format!("unix:{}", rows.socket().await.display());
        let server = stoop::Server::listen(endpoint.as_str())?.workers(1).run(echo)?;
        assert!(seen(made.build()?.get("http://a.test/")).await?.contains("host: a.test"));
        drop(server);
    });
    row!(rows, [builder] "--http1.1" => { builder.versions(Versions::Http1) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder] "--http2" => { builder.versions(Versions::All) },
        made => assert!(fetched(made, "/").await.is_ok()));
    row!(rows, [builder] "--http2-prior-knowledge" => { builder.versions(Versions::Http2) },
    made => {
        let client = made.handler(echo).build()?;
        assert_eq!(client.get("http://a.test/").await?.version(), stoop::Version::HTTP_2);
    });
    row!(rows, [builder, ip] "--interface" => { builder.local_address(ip) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    row!(rows, [builder, limit] "--keepalive-time" => { builder.tcp_keepalive(limit) },
        made => assert!(seen(made.build()?.get(rows.server_url().await)).await.is_ok()));
    Ok(())
}

async fn tls(rows: &mut Rows) -> Outcome {
    row!(rows, [] "-k, --insecure" => { ClientTls::builder().dangerous_accept_any_certificate().build()? },
        made => assert_eq!(rows.over_tls(Client::builder().tls(made)).await?, "ok"));
    row!(rows, [ca] "--cacert" => { ClientTls::builder().platform_cas(false).ca_pem(ca).build()? },
        made => assert_eq!(rows.over_tls(Client::builder().tls(made)).await?, "ok"));
    row!(rows, [identity_files] "-E, --cert, --key" => {
        let (chain, key) = identity_files;
        ClientTls::builder().certificate_files(chain, key).build()?
    }, made => assert!(made.offers_alpn()));
    row!(rows, [ca] "--tlsv1.3" => { ClientTls::builder().ca_pem(ca).min_version(TlsVersion::V1_3).build()? },
        made => assert_eq!(rows.over_tls(Client::builder().tls(made)).await?, "ok"));
    row!(rows, [pin] "--pinnedpubkey" => { ClientTls::builder().pinned_key(pin).build()? },
        made => assert!(rows.over_tls(Client::builder().tls(made)).await.unwrap_err().is_tls()));
    Ok(())
}

impl Rows {
    async fn netrc_text(&self) -> &'static str {
        "machine a.test login me password secret"
    }

    async fn cookie_file(&self) -> &'static [u8] {
        b"a.test\tFALSE\t/\tFALSE\t0\ta\t1\n"
    }

    async fn pin(&self) -> &'static str {
        "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
    }

    async fn identity_files(&self) -> (std::path::PathBuf, std::path::PathBuf) {
        let (chain, key) = self.identity().await;
        let files = (self.folder.join("chain.pem"), self.folder.join("key.pem"));
        std::fs::write(&files.0, chain).unwrap();
        std::fs::write(&files.1, key).unwrap();
        files
    }
}
