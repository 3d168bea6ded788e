//! Errors of a TLS configuration, which appear when it is built and name the file.
#![cfg(any(feature = "tls", feature = "tls-ring"))]

mod tls_support;

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;

use stoop_io::{ClientTls, ServerTls};
use tls_support::*;

/// A file of the system's temporary folder, gone when this is dropped.
struct TempFile(PathBuf);

impl TempFile {
    fn new(name: &str, contents: &str) -> Self {
        let name = format!("stoop-io-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, contents).unwrap();
        Self(path)
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[tokio::test]
async fn files_work_as_well_as_text() {
    let ca = Ca::new("test");
    let identity = ca.issue(&["localhost"]);
    let (ca_file, chain, key) = (
        TempFile::new("ca.pem", &ca.pem),
        TempFile::new("chain.pem", &identity.chain),
        TempFile::new("key.pem", &identity.key),
    );
    let server = ServerTls::builder().certificate_files(&chain.0, &key.0).build().unwrap();
    let client = ClientTls::builder().platform_cas(false).ca_file(&ca_file.0).build().unwrap();
    let (client, server) = handshakes(&client, &server, "localhost").await;
    assert!(client.is_ok() && server.is_ok());
}

/// Such as a shell's `<(…)`.
#[tokio::test]
async fn a_file_may_be_a_pipe_which_can_be_read_only_once() {
    let ca = Ca::new("test");
    let server = ca.issue(&["localhost"]).server().build().unwrap();
    let (reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(ca.pem.as_bytes()).unwrap();
    drop(writer);
    let path = format!("/dev/fd/{}", reader.as_raw_fd());
    let client = ClientTls::builder().platform_cas(false).ca_file(path).build().unwrap();
    let (client, server) = handshakes(&client, &server, "localhost").await;
    assert!(client.is_ok() && server.is_ok());
}

#[test]
fn a_missing_file_is_named_in_the_error() {
    let error = ClientTls::builder().ca_file("/nowhere/ca.pem").build().unwrap_err();
    assert_eq!(error.path().unwrap().to_str(), Some("/nowhere/ca.pem"));
    assert!(error.to_string().starts_with("/nowhere/ca.pem: cannot read it: "), "{error}");
    // Also where a program ends with it.
    assert_eq!(format!("{error:?}"), format!("TlsConfigError({error})"));
}

#[test]
fn a_file_without_end_is_not_read_to_its_end() {
    let error = ClientTls::builder().ca_file("/dev/zero").build().unwrap_err();
    assert!(error.to_string().starts_with("/dev/zero: longer than 16 MiB"), "{error}");
}

#[test]
fn a_file_without_a_certificate_is_named_in_the_error() {
    let file = TempFile::new("empty.pem", "nothing here\n");
    let error = ClientTls::builder().ca_file(&file.0).build().unwrap_err();
    assert_eq!(error.path(), Some(file.0.as_path()));
    assert!(error.to_string().contains("no certificate in it"), "{error}");
}

#[test]
fn broken_pem_is_reported_as_broken() {
    let text = "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n";
    let error = ClientTls::builder().ca_pem(text).build().unwrap_err();
    assert!(error.path().is_none());
    assert!(error.to_string().contains("broken PEM"), "{error}");
    let half = "-----BEGIN CERTIFICATE-----\nAAAA\n";
    let error = ClientTls::builder().ca_pem(half).build().unwrap_err();
    assert!(error.to_string().contains("does not end"), "{error}");
}

#[test]
fn a_malformed_certificate_cannot_be_a_ca() {
    let text = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let error = ClientTls::builder().ca_pem(text).build().unwrap_err();
    assert!(error.to_string().contains("not usable as a CA"), "{error}");
}

#[test]
fn a_key_of_another_certificate_is_refused() {
    let ca = Ca::new("test");
    let (one, other) = (ca.issue(&["a.example"]), ca.issue(&["b.example"]));
    let key = TempFile::new("other-key.pem", &other.key);
    let chain = TempFile::new("one-chain.pem", &one.chain);
    let error = ServerTls::builder().certificate_files(&chain.0, &key.0).build().unwrap_err();
    assert_eq!(error.path(), Some(key.0.as_path()));
    assert!(error.to_string().contains("does not belong"), "{error}");
    let error = ca.client().certificate_pem(one.chain, other.key).build().unwrap_err();
    assert!(error.to_string().contains("does not belong"), "{error}");
}

#[test]
fn a_certificate_where_a_key_should_be_is_refused() {
    let identity = Ca::new("test").issue(&["a.example"]);
    let error = ServerTls::builder()
        .certificate_pem(identity.chain.as_str(), identity.chain.as_str())
        .build()
        .unwrap_err();
    assert!(error.to_string().contains("no private key"), "{error}");
}

#[test]
fn a_server_without_a_certificate_and_a_client_without_cas_are_errors() {
    let error = ServerTls::builder().build().unwrap_err();
    assert!(error.to_string().contains("needs a certificate"), "{error}");
    let error = ClientTls::builder().platform_cas(false).build().unwrap_err();
    assert!(error.to_string().contains("no others are named"), "{error}");
    let error = Ca::new("test").server().allow_anonymous_clients(true).build().unwrap_err();
    assert!(error.to_string().contains("no client CA"), "{error}");
}
