//! Behind proxies: what handlers and middleware take for the client.

use stoop::{Client, LocalServer, Request, Versions};
use stoop_web::{
    AccessLog, Authority, Cors, Extension, ForwardedClient, HttpsRedirect, Peer, Router, Sight,
    StrictTransport, TrustedProxies, get,
};

use crate::access_log::Lines;
use crate::kit::field;

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];
const PROXY: &str = "10.0.0.1:1000";
const STRANGER: &str = "192.0.2.99:1000";

fn show(Peer(client): Peer, Authority(host): Authority) -> String {
    format!("{client} {host}")
}

fn trusted() -> [stoop::Network; 1] {
    ["10.0.0.0/8".parse().unwrap()]
}

/// A client of this address, over that version.
fn client(router: Router, peer: &str, versions: Versions) -> Client {
    let server = LocalServer::new(router.build().unwrap()).versions(versions);
    let server = server.peer(peer.parse().unwrap());
    let builder = Client::builder().local_server(server).redirects(stoop::Redirects::none());
    builder.versions(versions).build().unwrap()
}

async fn ask(client: &Client, fields: &[(&str, &str)]) -> stoop::Response {
    let mut request = Request::get("http://inner.test/a?b").unwrap();
    for (name, value) in fields {
        request = request.with_field(name, value).unwrap();
    }
    client.send(request).await.unwrap()
}

async fn text(client: &Client, fields: &[(&str, &str)]) -> String {
    ask(client, fields).await.text().await.unwrap()
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client_and_a_stranger_does_not() {
    let app = |proxies: TrustedProxies| Router::new().route("/a", get(show)).layer(proxies);
    let forwarded =
        [("forwarded", "for=10.9.9.9;host=evil.test, for=\"192.0.2.7:80\";host=a.test")];
    let older =
        [("x-forwarded-for", "10.9.9.9, 192.0.2.7"), ("x-forwarded-host", "evil.test, a.test")];
    for versions in VERSIONS {
        let proxied = client(app(TrustedProxies::forwarded(trusted())), PROXY, versions);
        assert_eq!(text(&proxied, &forwarded).await, "192.0.2.7:80 a.test");
        assert_eq!(text(&proxied, &[]).await, format!("{PROXY} inner.test"));
        assert_eq!(text(&proxied, &older).await, format!("{PROXY} inner.test"), "not read");
        assert_eq!(ask(&proxied, &[("forwarded", "for=\"")]).await.status(), 400);
        let proxied = client(app(TrustedProxies::x_forwarded(trusted())), PROXY, versions);
        assert_eq!(text(&proxied, &older).await, "192.0.2.7:0 a.test");
        assert_eq!(text(&proxied, &forwarded).await, format!("{PROXY} inner.test"), "not read");
        for proxies in
            [TrustedProxies::forwarded(trusted()), TrustedProxies::x_forwarded(trusted())]
        {
            let stranger = client(app(proxies), STRANGER, versions);
            for fields in [&forwarded[..], &older, &[("forwarded", "for=\"")]] {
                assert_eq!(text(&stranger, fields).await, format!("{STRANGER} inner.test"));
            }
        }
    }
}

/// The answer is the proxies', and what tells of exchanges sees it, within them as around them. Nothing else does.
#[tokio::test]
async fn what_a_proxy_says_wrongly_is_logged_and_counted_as_other_answers_are() {
    async fn stamp(request: Request, next: stoop_web::Next) -> stoop::Response {
        next.run(request).await.with_field("x-stamp", "seen").unwrap()
    }
    for versions in VERSIONS {
        let (lines, sight) = (Lines::default(), Sight::new());
        let log = AccessLog::custom(lines.clone(), |entry, line| {
            let status = entry.status().map_or(0, |status| status.as_u16());
            line.extend_from_slice(format!("{:?} {status}", entry.peer()).as_bytes());
        });
        let handle = log.handle();
        let app = Router::new().route("/a", get(|| "never")).layer(Cors::any_origin());
        let app = Router::new().layer(TrustedProxies::forwarded(trusted())).merge(
            Router::new()
                .layer(HttpsRedirect::new())
                .layer(log)
                .layer(stamp)
                .layer(sight.clone())
                .merge(app),
        );
        let figures = Router::new().route("/metrics", get(sight.prometheus()));
        let proxied = client(app.merge(figures), PROXY, versions);
        let response = ask(&proxied, &[("forwarded", "for=\""), ("origin", "http://b.test")]).await;
        assert_eq!((response.status().as_u16(), field(&response, "x-stamp")), (400, ""));
        assert_eq!(field(&response, "access-control-allow-origin"), "*");
        assert!(response.text().await.unwrap().contains("Forwarded is malformed"));
        let metrics = proxied.get("http://inner.test/metrics").await.unwrap().text().await.unwrap();
        let counted = r#"stoop_web_requests_total{method="GET",route="/a",status="4xx"} 1"#;
        assert!(metrics.lines().any(|line| line == counted), "{metrics}");
        handle.flush();
        assert_eq!(lines.text(), format!("Some({PROXY}) 400\n"));
    }
}

#[tokio::test]
async fn a_redirect_to_https_goes_by_what_the_proxy_says() {
    let app = || {
        let router = Router::new().route("/a", get(|| "secure"));
        router.layer(TrustedProxies::forwarded(trusted())).layer(HttpsRedirect::new())
    };
    for versions in VERSIONS {
        let proxied = client(app(), PROXY, versions);
        let secure = [("forwarded", "for=192.0.2.7;proto=https;host=a.test")];
        assert_eq!(text(&proxied, &secure).await, "secure");
        let plain = [("forwarded", "for=192.0.2.7;proto=http;host=\"a.test:80\"")];
        let response = ask(&proxied, &plain).await;
        assert_eq!(response.status(), 308);
        assert_eq!(field(&response, "location"), "https://a.test/a?b");
        let stranger = client(app(), STRANGER, versions);
        let response = ask(&stranger, &secure).await;
        assert_eq!(field(&response, "location"), "https://inner.test/a?b");
    }
}

/// RFC 6797 §7.2: what came without TLS must not have the field, whatever a stranger says.
#[tokio::test]
async fn https_alone_is_asked_for_where_https_was_spoken() {
    let own = ([("strict-transport-security", "max-age=1")], "own");
    let app = || {
        let strict = StrictTransport::new(std::time::Duration::from_secs(60)).include_subdomains();
        let router = Router::new().route("/a", get(|| "a")).route("/own", get(move || own));
        let router = router.layer(TrustedProxies::forwarded(trusted()));
        router.layer(strict).layer(HttpsRedirect::new())
    };
    let [secure, plain] = ["https", "http"].map(|scheme| format!("for=192.0.2.7;proto={scheme}"));
    for versions in VERSIONS {
        let strict = async |peer, target: &str, forwarded: &str| {
            let request = Request::get(&format!("http://inner.test{target}")).unwrap();
            let request = request.with_field("forwarded", forwarded).unwrap();
            let response = client(app(), peer, versions).send(request).await.unwrap();
            let fields = response.fields().all("strict-transport-security");
            let fields = fields.map(|value| String::from_utf8(value.to_vec()).unwrap());
            (response.status().as_u16(), fields.collect::<Vec<_>>().join(" | "))
        };
        for (peer, target, forwarded, status, value) in [
            (PROXY, "/a", &secure, 200, "max-age=60; includeSubDomains"),
            (PROXY, "/none", &secure, 404, "max-age=60; includeSubDomains"),
            (PROXY, "/own", &secure, 200, "max-age=1"),
            (PROXY, "/a", &plain, 308, ""),
            (STRANGER, "/a", &secure, 308, ""),
        ] {
            let answer = strict(peer, target, forwarded).await;
            assert_eq!(answer, (status, value.to_owned()), "{peer} {target} {forwarded}");
        }
    }
}

#[tokio::test]
async fn what_was_told_is_an_extension() {
    let show = |Extension(told): Extension<ForwardedClient>| {
        format!("{:?} {:?} {:?}", told.address(), told.is_secure(), told.host())
    };
    let app = Router::new().route("/a", get(show)).layer(TrustedProxies::forwarded(trusted()));
    let proxied = client(app, PROXY, Versions::Http1);
    let fields = [("forwarded", "for=_hidden;proto=https, for=10.0.0.2")];
    assert_eq!(text(&proxied, &fields).await, "Some(10.0.0.2:0) Some(true) None");
}

/// The host that the client has asked for is known to layers, and those are behind the choice of a router.
#[tokio::test]
async fn a_router_is_chosen_by_the_host_that_the_proxy_names() {
    let of = |name: &'static str| {
        let show = move |Authority(host): Authority| format!("{name} {host}");
        Router::new().route("/a", get(show))
    };
    let app = of("else").host("inner.test", of("inner")).host("a.test", of("a"));
    let proxied = client(app.layer(TrustedProxies::forwarded(trusted())), PROXY, Versions::Http1);
    let told = [("forwarded", "for=192.0.2.7;host=a.test")];
    assert_eq!(text(&proxied, &told).await, "inner a.test");
    let kept = [("host", "a.test"), ("forwarded", "for=192.0.2.7;host=a.test")];
    assert_eq!(text(&proxied, &kept).await, "a a.test");
}

/// What comes over a Unix socket, or in memory, has no address of its own.
#[tokio::test]
async fn a_peer_without_an_address_is_a_proxy_if_it_is_said_so() {
    for trusts in [false, true] {
        let proxies = TrustedProxies::forwarded([]).unix(trusts);
        let app = Router::new().route("/a", get(show)).layer(proxies).build().unwrap();
        let local = Client::builder().handler(app).build().unwrap();
        let response = ask(&local, &[("forwarded", "for=192.0.2.7")]).await;
        assert_eq!(response.status(), if trusts { 200 } else { 500 });
    }
}
