//! Builds the client that all requests share.

use std::io;
use std::path::Path;

use reqwest::redirect::Policy;
use reqwest::{Certificate, Client};

use crate::dns::ServerResolver;
use crate::settings::FetchSettings;

pub(crate) fn build(settings: &FetchSettings) -> io::Result<Client> {
    let mut builder = Client::builder()
        // Covers connecting, every redirect, and the body to its last byte.
        .timeout(settings.timeout)
        // Ten redirects, also from https to http: both are reqwest's defaults, set because they are part of the
        // contract.
        .redirect(Policy::limited(10))
        .https_only(false)
        .user_agent(&settings.user_agent)
        .no_proxy();
    // By default, reqwest uses HTTP/2 with servers that agree on it by ALPN.
    if !settings.http2 {
        builder = builder.http1_only();
    }
    if let Some(path) = &settings.ca_file {
        builder = builder.tls_certs_only(certificates(path)?);
    }
    if let Some(server) = settings.dns_server {
        builder = builder.dns_resolver(ServerResolver::new(server)?);
    }
    if let Some(connections) = settings.pool_idle_max {
        builder = builder.pool_max_idle_per_host(connections);
    }
    builder.build().map_err(io::Error::other)
}

fn certificates(path: &Path) -> io::Result<Vec<Certificate>> {
    let explain = |problem: String| io::Error::other(format!("{}: {problem}", path.display()));
    let pem = std::fs::read(path).map_err(|error| explain(error.to_string()))?;
    Certificate::from_pem_bundle(&pem).map_err(|error| explain(error.to_string()))
}
