//! Go's net/http as a client over HTTP/2.

use super::TestServers;
use crate::programs::{self, are_missing, source};

#[tokio::test]
async fn many_exchanges_of_go_share_a_connection() {
    if are_missing("server::http2::clients::go", &["go"]) {
        return;
    }
    let servers = TestServers::start("go-http2");
    let arguments = [
        "run".to_owned(),
        source("server/http2/clients/client.go"),
        source("server/http2/clients/prior.go"),
        servers.file("ca.pem"),
        servers.origin(true),
        servers.origin(false),
    ];
    let said = programs::run("go", &arguments, b"").await.text();
    // Go speaks HTTP/2 without TLS since 1.24.
    let expected = ["fine\nfine\n", "fine\nneeds Go 1.24\n"];
    assert!(expected.contains(&said.as_str()), "{said}");
    servers.end().await;
}
