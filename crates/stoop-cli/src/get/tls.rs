//! TLS as the options describe it.

use std::env;
use std::fs::OpenOptions;
use std::path::PathBuf;

use stoop::ClientTls;
use stoop::tls::{ClientTlsBuilder, TlsConfigError, TlsVersion};

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use super::tls_args::TlsArgs;
use crate::stderr;

/// What pins of hashes begin with.
const HASH: &str = "sha256//";

/// TLS for these options, and for the variables `CURL_CA_BUNDLE` and `SSLKEYLOGFILE`.
pub(super) struct GetTls {
    pub(super) client: ClientTls,
    /// What is wrong with the options, where the URL needs none of them: it is told when a redirect leads to https.
    pub(super) deferred: Option<GetFailure>,
}

impl GetTls {
    /// # Errors
    /// Options and files that cannot be used, for a URL of https.
    pub(super) fn new(args: &GetArgs, url: &str) -> Result<Self, GetFailure> {
        match built(args) {
            Ok(client) => Ok(Self { client, deferred: None }),
            Err(failure) if url.starts_with("https:") => Err(failure),
            Err(failure) => {
                // No server has this key, so that nothing is sent over TLS.
                let closed = ClientTls::builder().platform_cas(false);
                let closed = closed.dangerous_accept_any_certificate().pinned_key(NO_KEY);
                let client = closed
                    .build()
                    .map_err(|error| GetFailure::new(exit::BAD_USE, error.to_string()))?;
                Ok(Self { client, deferred: Some(failure) })
            }
        }
    }
}

/// The hash of no key.
const NO_KEY: &str = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

fn built(args: &GetArgs) -> Result<ClientTls, GetFailure> {
    let options = &args.tls;
    let mut tls = ClientTls::builder();
    if options.insecure {
        tls = tls.dangerous_accept_any_certificate();
    }
    tls = versions(tls, options)?;
    let failed = |code| move |error: TlsConfigError| GetFailure::new(code, error.to_string());
    let bundle = || variable("CURL_CA_BUNDLE").filter(|_| !options.insecure);
    if let Some(cas) = options.cacert.clone().or_else(bundle) {
        tls = tls.platform_cas(false).ca_file(cas);
        // Each is tried by itself, for a code of its own.
        tls.clone().build().map_err(failed(exit::CA_FILE))?;
    }
    if let Some(chain) = &options.cert {
        tls = tls.certificate_files(chain, options.key.as_ref().unwrap_or(chain));
        tls.clone().build().map_err(failed(exit::CERTIFICATE))?;
    }
    if let Some(path) = variable("SSLKEYLOGFILE") {
        match OpenOptions::new().append(true).create(true).open(&path) {
            Ok(_) => tls = tls.key_log(path),
            Err(error) if !args.silent => {
                stderr::message(format_args!("SSLKEYLOGFILE: {}: {error}", path.display()));
            }
            Err(_) => {}
        }
    }
    if let Some(keys) = &options.pinnedpubkey {
        tls = pinned(tls, keys);
    }
    tls.build().map_err(failed(exit::NOT_PINNED))
}

/// The path that a variable names.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

fn versions(tls: ClientTlsBuilder, options: &TlsArgs) -> Result<ClientTlsBuilder, GetFailure> {
    let (oldest, oldest_name) = match options.tls13 {
        true => (TlsVersion::V1_3, "1.3"),
        false => (TlsVersion::V1_2, "1.2"),
    };
    let newest = match options.tls_max.as_deref() {
        None | Some("default" | "1.3") => TlsVersion::V1_3,
        Some("1.2") if !options.tls13 => TlsVersion::V1_2,
        Some(version) => {
            let why = format!("--tls-max {version} leaves no version: {oldest_name} is the oldest");
            return Err(GetFailure::new(exit::NO_TLS, why));
        }
    };
    Ok(tls.min_version(oldest).max_version(newest))
}

/// Pins the keys that are typed, or the one in a file.
fn pinned(tls: ClientTlsBuilder, keys: &str) -> ClientTlsBuilder {
    match keys.starts_with(HASH) {
        true => keys.split(';').fold(tls, ClientTlsBuilder::pinned_key),
        false => tls.pinned_key_file(keys),
    }
}
