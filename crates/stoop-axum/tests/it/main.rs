//! axum applications on stoop's server, with the clients, extractors and layers that users have.

#[path = "../../examples/app/application.rs"]
mod application;
mod browser;
mod clients;
mod draining;
mod extractors;
mod failures;
mod layers;
mod make_services;
mod messages;
mod serving;
mod upgrades;
#[cfg(feature = "websocket")]
mod websocket;

use axum::Router;
use stoop::{Client, Server, ServerHandle, ServerTls};

/// Reports that a test could not be run, as CONTRIBUTING.md describes.
fn skip(name: &str, reason: &str) {
    use std::io::Write;
    eprintln!("skipped: {name}: {reason}");
    if let Some(file) = std::env::var_os("STOOP_SKIPS") {
        let mut file = std::fs::OpenOptions::new().append(true).open(file).expect("the report's");
        writeln!(file, "{name}: {reason}").expect("the report's");
    }
}

/// Serves an application on a port of its own, on the runtime of the test.
fn listen(app: Router) -> ServerHandle {
    let server = Server::listen("127.0.0.1:0").unwrap().limits(stoop_axum::server_limits());
    server.run_here(stoop_axum::handler(app)).unwrap()
}

/// The same over TLS, and a client that trusts it.
fn listen_tls(app: Router) -> (ServerHandle, Client) {
    let (tls, client) = certificate();
    let server = Server::listen("https://127.0.0.1:0").unwrap().tls(tls);
    let server = server.limits(stoop_axum::server_limits());
    (server.run_here(stoop_axum::handler(app)).unwrap(), client)
}

/// A certificate for `localhost`, and a client that trusts it.
fn certificate() -> (ServerTls, Client) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = ServerTls::builder().certificate_pem(chain.as_str(), key).build().unwrap();
    let trust = stoop::ClientTls::builder().ca_pem(chain).build().unwrap();
    (tls, Client::builder().tls(trust).build().unwrap())
}
