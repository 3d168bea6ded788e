//! The servers: one for each fault, a name server, and good ones. What they print tells the client all it needs.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use serde_json::json;
use stoop_io::ServerTls;
use stoop_testbed::{Behaviour, DnsAnswer, DnsServer, Origin, Records};

use super::http2::{self, Moment};
use super::sockets::{self, End};

/// Behaviours that a client copes with, so that the answer is good.
const ANSWERED: &[&str] = &[
    "fast",
    "large",
    "chunked",
    "chunked-trailers",
    "close-delimited",
    "status-404",
    "status-503",
];

/// Starts everything and prints it as one line of JSON: `dns`, `ca` (PEM), `good` (URLs), and `faults` with `name`,
/// `url`, `http2` and `outcomes`.
pub(crate) async fn serve() -> io::Result<()> {
    let mut ca = String::new();
    let (mut origins, mut good, mut faults) = (Vec::new(), Vec::new(), Vec::new());
    let mut fault = |name: &str, url: String, http2: bool, outcomes: &[&str]| {
        faults.push(json!({ "name": name, "url": url, "http2": http2, "outcomes": outcomes }));
    };
    for (name, behaviour) in Behaviour::all() {
        let origin = Origin::start(behaviour).await?;
        ca += origin.ca_pem().unwrap_or_default();
        match ANSWERED.contains(&name.as_str()) {
            // Bodies of a megabyte are for other measurements.
            true if matches!(name.as_str(), "fast" | "status-404" | "status-503") => {
                good.push(origin.url());
            }
            true => {}
            false => fault(&name, origin.url(), false, outcomes(&name)),
        }
        origins.push(origin);
    }
    let secure = Origin::start_tls(Behaviour::Fast { body: 1_000 }).await?;
    ca += secure.ca_pem().unwrap_or_default();
    good.push(secure.url());
    origins.push(secure);
    for &(moment, name, outcomes) in Moment::ALL {
        fault(name, format!("http://{}/", http2::start(moment).await?), true, outcomes);
    }
    let key =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).map_err(io::Error::other)?;
    let tls = ServerTls::builder()
        .certificate_pem(key.cert.pem(), key.signing_key.serialize_pem())
        .build()
        .map_err(io::Error::other)?;
    ca += &key.cert.pem();
    for &(end, name, outcomes) in End::ALL {
        let scheme = if end.is_tls() { "https" } else { "http" };
        fault(name, format!("{scheme}://{}/", sockets::start(end, &tls).await?), false, outcomes);
    }
    let port = Origin::start(Behaviour::Fast { body: 1_000 }).await?;
    let (records, names) = names();
    for (name, outcomes) in names {
        fault(
            &format!("name {name}"),
            format!("http://{name}:{}/", port.address().port()),
            false,
            outcomes,
        );
    }
    origins.push(port);
    let dns = DnsServer::start(records).await?;
    println!("{}", json!({ "dns": dns.address(), "ca": ca, "good": good, "faults": faults }));
    std::future::pending().await
}

type Names = Vec<(&'static str, &'static [&'static str])>;

/// Names that make trouble, and the outcomes that a client may have.
fn names() -> (Records, Names) {
    let good = || DnsAnswer::addresses([Ipv4Addr::LOCALHOST], 0);
    let timed_out: &[&str] = &["total_timeout@dns", "dns_timeout@dns"];
    let all: [(&str, DnsAnswer, &[&str]); 9] = [
        ("slow.test", good().slow(Duration::from_millis(300)), &["200"]),
        ("too-slow.test", good().slow(Duration::from_secs(20)), timed_out),
        ("silent.test", DnsAnswer::Silence, timed_out),
        ("servfail.test", DnsAnswer::ServFail, &["dns_servfail@dns"]),
        ("refused.test", DnsAnswer::Refused, &["dns_other@dns"]),
        ("nxdomain.test", DnsAnswer::NxDomain, &["dns_nxdomain@dns"]),
        ("over-tcp.test", good().over_tcp(), &["200"]),
        // Nothing listens there by IPv6, and the first address is of no host.
        (
            "dead-ipv6.test",
            DnsAnswer::addresses(
                [IpAddr::from(Ipv6Addr::LOCALHOST), Ipv4Addr::LOCALHOST.into()],
                0,
            ),
            &["200"],
        ),
        (
            "only-ipv6.test",
            DnsAnswer::addresses([Ipv6Addr::LOCALHOST], 0),
            &["connect_refused@connect"],
        ),
    ];
    let mut records = Records::default();
    let mut names = Vec::new();
    for (name, answer, outcomes) in all {
        records = records.with(name, answer);
        names.push((name, outcomes));
    }
    (records, names)
}

/// A server that refuses most of the requests that share a connection: each is sent again and again.
const AGAIN_AND_AGAIN: &[&str] = &[
    "200",
    "h2_goaway@wait",
    "h2_refused@wait",
    "total_timeout@queue",
    "total_timeout@connect",
    "total_timeout@tls",
    "total_timeout@wait",
    "total_timeout@receive",
];
/// The server does not go on, in any exchange of the connection.
const STALLS: &[&str] = &["total_timeout@receive", "total_timeout@wait"];

/// What a client may make of a behaviour of the testbed: `200`, or kind and phase of an error.
fn outcomes(name: &str) -> &'static [&'static str] {
    match name {
        "hang-after-accept" | "drip-head" | "h2-silence" => &["total_timeout@wait"],
        "hang-after-head" | "hang-mid-body" | "drip" => &["total_timeout@receive"],
        "h2-stall" | "h2-ping-ignored" | "h2-drip" | "h2-endless-body" => STALLS,
        "black-hole" => &["total_timeout@connect", "connect_timeout@connect"],
        "tls-hang" => &["total_timeout@tls", "tls_timeout@tls"],
        "refused" | "redirect-to-dead" => &["connect_refused@connect"],
        "close-after-accept" | "early-close" => &["closed_early@wait"],
        // It may come before the first byte is written.
        "reset-after-accept" => &["connect_reset@connect", "reset@wait", "reset@send"],
        "reset-mid-body" | "h2-reset-mid-body" => &["reset@receive"],
        "truncated-length" | "truncated-chunk" | "missing-last-chunk" => &["closed_early@receive"],
        "h2-closed-mid-body" => &["closed_early@receive", "closed_early@wait"],
        "large-head" | "endless-head" | "endless-field" => &["h1_parse@wait"],
        "interim-flood" | "interim-endless" => &["h1_parse@wait"],
        "endless-body" => &["body_too_large@receive", "total_timeout@receive"],
        "redirect-loop" => &["redirect_limit@redirect"],
        "tls-close" => &["closed_early@tls", "reset@tls"],
        "tls-alert" | "tls-garbage" => &["tls_handshake@tls"],
        "untrusted-certificate" => &["tls_cert_untrusted@tls"],
        "wrong-name" => &["tls_cert_name@tls"],
        "expired-certificate" => &["tls_cert_expired@tls"],
        "h2-refused" | "h2-go-away" | "h2-calm" | "h2-go-away-on-reuse" => AGAIN_AND_AGAIN,
        "h2-refused-twice" | "h2-one-stream" | "h2-wants-http1" => &["200"],
        // The error is one of the connection.
        "h2-data-after-end" => &["200", "h2_protocol@wait"],
        "h2-too-little" | "h2-too-much" => &["h2_protocol@receive"],
        "length-repeated" | "length-list" | "length-with-chunked" | "length-too-short" => &["200"],
        name if name.starts_with("malformed-") || name.starts_with("length-") => &["h1_parse@wait"],
        name if name.starts_with("chunk-") => &["h1_parse@receive"],
        name if name.starts_with("h2-") => &["h2_protocol@wait"],
        // The client follows, waits, or sends the request again.
        _ => &["200"],
    }
}
