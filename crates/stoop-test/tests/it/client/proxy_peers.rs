//! Requests through proxies of other projects: tinyproxy, Squid and microsocks.

use stoop::{Client, ErrorKind, Proxy, Request, Response, Server, ServerHandle};

use super::kit::fetch_request;
use super::tls::{authority, certificate, client_trusting, server_tls};
use crate::programs::ListeningProgram;

fn tinyproxy(name: &str, more: &str) -> Option<ListeningProgram> {
    ListeningProgram::start(name, "tinyproxy", |port, folder| {
        let log = format!("{}/log", folder.path());
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nTimeout 60\nMaxClients 50\nLogLevel Error\n\
             LogFile \"{log}\"\nAllow 127.0.0.1\n{more}\n"
        );
        vec!["-d".to_owned(), "-c".to_owned(), folder.write("conf", text)]
    })
}

fn squid(name: &str) -> Option<ListeningProgram> {
    ListeningProgram::start(name, "squid", |port, folder| {
        let path = folder.path();
        let text = format!(
            "http_port 127.0.0.1:{port}\nhttp_access allow all\ncache deny all\n\
             access_log none\ncache_log /dev/null\ncache_store_log none\npid_filename none\n\
             pinger_enable off\nnetdb_filename none\nshutdown_lifetime 0 seconds\n\
             coredump_dir {path}\nvisible_hostname stoop.test\n"
        );
        // Errors to standard error; a name of its own, for the names of its shared memory.
        let (conf, service) = (folder.write("conf", text), format!("stoop{port}"));
        ["-N", "-d1", "-n", &service, "-f", &conf].map(str::to_owned).into()
    })
}

/// Servers that answer with what they were asked for: over http, and https with HTTP/2.
struct Origins {
    plain: ServerHandle,
    secure: ServerHandle,
    authority: super::tls::TestAuthority,
}

impl Origins {
    fn start() -> Self {
        // After the content: a proxy that still sends it when the server has answered and closes may lose the answer.
        let answer = async |request: Request| {
            let via = request.field("via").is_some();
            let text = format!("{:?} {} {via}", request.version(), request.target());
            request.into_body().discard().await?;
            Ok::<_, stoop::Error>(Response::from_text(text))
        };
        let authority = authority("proxied");
        let names = certificate(&authority, &["localhost", "127.0.0.1"], false);
        let listen = || Server::listen("127.0.0.1:0").unwrap().workers(1);
        Self {
            plain: listen().run(answer).unwrap(),
            secure: listen().tls(server_tls(names)).run(answer).unwrap(),
            authority,
        }
    }

    fn url(&self, scheme: &str, host: &str) -> String {
        let server = if scheme == "https" { &self.secure } else { &self.plain };
        let port = server.endpoint().to_string().rsplit(':').next().unwrap().to_owned();
        format!("{scheme}://{host}:{port}/path?q")
    }

    fn client(&self, proxy: &str) -> Client {
        let proxy = Proxy::new(proxy).unwrap();
        client_trusting(&self.authority).proxy(proxy).build().unwrap()
    }
}

async fn get(client: &Client, url: &str) -> (u16, String) {
    fetch_request(client, Request::get(url).unwrap()).await.unwrap()
}

#[tokio::test]
async fn http_proxies_forward_http_and_open_tunnels_for_https() {
    const NAME: &str = "client::proxy_peers::http";
    let origins = Origins::start();
    let proxies = [tinyproxy(NAME, "BasicAuth me secret"), squid(NAME)];
    for proxy in proxies.into_iter().flatten() {
        let client = origins.client(&proxy.url("http://me:secret@"));
        for host in ["localhost", "127.0.0.1"] {
            // Several times, over the connections that are there.
            for _ in 0..3 {
                let (status, text) = get(&client, &origins.url("http", host)).await;
                assert_eq!((status, &*text), (200, "HTTP/1.1 /path?q true"));
                let (status, text) = get(&client, &origins.url("https", host)).await;
                assert_eq!((status, &*text), (200, "HTTP/2.0 /path?q false"));
            }
        }
        let content = "content ".repeat(10_000);
        // tinyproxy closes connections after one answer and does not tell it. A request that is not idempotent may fail
        // over one that was used before, and has one of its own here; others are sent again.
        let unused = origins.client(&proxy.url("http://me:secret@"));
        let sent = unused.post(origins.url("http", "localhost")).body(content.clone());
        assert_eq!(sent.await.unwrap().status(), 200);
        for _ in 0..10 {
            let sent = client.put(origins.url("http", "localhost")).body(content.clone());
            assert_eq!(sent.await.unwrap().status(), 200);
        }
        let refused = client.get("https://127.0.0.1:1/").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ProxyRefused, "{refused}");
    }
}

#[tokio::test]
async fn a_proxy_that_wants_credentials_says_so() {
    const NAME: &str = "client::proxy_peers::credentials";
    let origins = Origins::start();
    let Some(proxy) = tinyproxy(NAME, "BasicAuth me secret") else { return };
    for credentials in ["http://", "http://me:wrong@"] {
        let client = origins.client(&proxy.url(credentials));
        for scheme in ["http", "https"] {
            match client.get(origins.url(scheme, "localhost")).await {
                // tinyproxy 1.11 answers wrong ones by 401, as if it were the server.
                Ok(response) => assert_eq!((response.status().as_u16(), scheme), (401, "http")),
                Err(error) => {
                    let expected = [ErrorKind::ProxyAuth, ErrorKind::ProxyRefused];
                    assert!(expected.contains(&error.kind()), "{error}");
                }
            }
        }
    }
}

#[tokio::test]
async fn socks_proxies_connect_by_name_and_by_address() {
    const NAME: &str = "client::proxy_peers::socks";
    let origins = Origins::start();
    let microsocks = ListeningProgram::start(NAME, "microsocks", |port, _| {
        let words = ["-i", "127.0.0.1", "-p", &port.to_string(), "-u", "me", "-P", "secret"];
        words.map(str::to_owned).into()
    });
    let Some(proxy) = microsocks else { return };
    for scheme in ["socks5://me:secret@", "socks5h://me:secret@"] {
        let client = origins.client(&proxy.url(scheme));
        for host in ["localhost", "127.0.0.1"] {
            let (status, text) = get(&client, &origins.url("http", host)).await;
            assert_eq!((status, &*text), (200, "HTTP/1.1 /path?q false"), "{scheme} {host}");
            let (status, text) = get(&client, &origins.url("https", host)).await;
            assert_eq!((status, &*text), (200, "HTTP/2.0 /path?q false"), "{scheme} {host}");
        }
        let refused = client.get("http://127.0.0.1:1/").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::ProxyRefused, "{scheme} {refused}");
    }
}
