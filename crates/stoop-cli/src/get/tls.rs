//! TLS as the options describe it.

use std::env;
use std::fs::OpenOptions;
use std::path::PathBuf;

use stoop::ClientTls;
use stoop::tls::{ClientTlsBuilder, TlsVersion};

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use crate::stderr;

/// What pins of hashes begin with.
const HASH: &str = "sha256//";

/// TLS for these options, and for the variables `CURL_CA_BUNDLE` and `SSLKEYLOGFILE`.
///
/// # Errors
/// Files that cannot be used. For a URL of http only those of certificates count, as curl has it.
pub(super) fn tls(args: &GetArgs) -> Result<ClientTls, GetFailure> {
    let options = &args.tls;
    let mut tls = ClientTls::builder();
    if options.insecure {
        tls = tls.dangerous_accept_any_certificate();
    }
    tls = versions(tls, args)?;
    let bundle = || variable("CURL_CA_BUNDLE").filter(|_| !options.insecure);
    if let Some(cas) = options.cacert.clone().or_else(bundle) {
        tls = tls.platform_cas(false).ca_file(cas);
    }
    if let Some(chain) = &options.cert {
        tls = tls.certificate_files(chain, options.key.as_ref().unwrap_or(chain));
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
    let with_pins = match &options.pinnedpubkey {
        Some(pins) if args.is_https() => pinned(tls.clone(), pins),
        _ => tls.clone(),
    };
    with_pins.build().map_err(|error| {
        let code = match tls.build() {
            // What is wrong is the pins.
            Ok(_) => exit::NOT_PINNED,
            Err(_) if options.cert.is_some() => exit::CERTIFICATE,
            Err(_) => exit::CA_FILE,
        };
        GetFailure::new(code, error.to_string())
    })
}

/// The path that a variable names.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// curl has no mistake in a range without a version where no https is spoken.
fn versions(mut tls: ClientTlsBuilder, args: &GetArgs) -> Result<ClientTlsBuilder, GetFailure> {
    let options = &args.tls;
    let newest = match options.tls_max.as_deref() {
        None | Some("default" | "1.3") => TlsVersion::V1_3,
        Some("1.2") if !options.tls13 => TlsVersion::V1_2,
        Some(_) if !args.is_https() => return Ok(tls),
        Some(version) => {
            let oldest = if options.tls13 { "1.3" } else { "1.2" };
            let why = format!("--tls-max {version} leaves no version: {oldest} is the oldest");
            return Err(GetFailure::new(exit::NO_TLS, why));
        }
    };
    if options.tls13 {
        tls = tls.min_version(TlsVersion::V1_3);
    }
    Ok(tls.max_version(newest))
}

/// Pins the keys that are typed, or the one in a file.
fn pinned(tls: ClientTlsBuilder, keys: &str) -> ClientTlsBuilder {
    match keys.starts_with(HASH) {
        true => keys.split(';').fold(tls, ClientTlsBuilder::pinned_key),
        false => tls.pinned_key_file(keys),
    }
}
