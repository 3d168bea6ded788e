//! Chooses a server's certificate by the name that the client asks for (RFC 6066 §3).

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::x509::CertificateFields;

/// A server's certificates by the names in them.
#[derive(Debug, Default)]
pub(super) struct CertificatesByName {
    exact: HashMap<String, Vec<Arc<CertifiedKey>>>,
    /// By what follows `*.`: a wildcard stands for one whole label, the leftmost (RFC 9525 §6.3).
    wildcard: HashMap<String, Vec<Arc<CertifiedKey>>>,
    /// For clients that ask for another name, or for none; empty where they are refused.
    default: Vec<Arc<CertifiedKey>>,
}

impl CertificatesByName {
    /// Adds a certificate. Returns the names that it is chosen by.
    ///
    /// Only its DNS names count, not the subject's common name (RFC 9525 §6.3).
    pub(super) fn add(&mut self, certified: &Arc<CertifiedKey>) -> Vec<String> {
        let names =
            certified.cert.first().map(|own| CertificateFields::read(own)).unwrap_or_default();
        let mut used = Vec::new();
        for name in names.dns {
            let name = normal(&name);
            let (map, key) = match name.strip_prefix("*.") {
                Some(parent) => (&mut self.wildcard, parent),
                None => (&mut self.exact, &*name),
            };
            // A `*` elsewhere stands for nothing.
            if key.is_empty() || key.contains('*') {
                continue;
            }
            map.entry(key.to_owned()).or_default().push(certified.clone());
            used.push(name);
        }
        used.sort_unstable();
        used
    }

    /// Shows this one where no name matches. Several differ in the kinds of their keys.
    pub(super) fn add_default(&mut self, certified: &Arc<CertifiedKey>) {
        self.default.push(certified.clone());
    }

    /// The certificates for `name`, the preferred one first.
    fn find(&self, name: Option<&str>) -> &[Arc<CertifiedKey>] {
        let Some(name) = name.map(normal) else { return &self.default };
        let by_wildcard = || self.wildcard.get(name.split_once('.')?.1);
        self.exact.get(&name).or_else(by_wildcard).unwrap_or(&self.default)
    }
}

thread_local! {
    /// The name in the ClientHello that was read last on this thread: rustls shows it here alone.
    static ASKED: Cell<Option<Box<str>>> = const { Cell::new(None) };
}

/// The name that a client has asked for, directly after the step in which its ClientHello was read.
pub(super) fn take_asked_name() -> Option<Box<str>> {
    ASKED.take()
}

/// Names are compared without regard to case, and to the dot of the root (RFC 9525 §6.3, RFC 1034 §3.1).
fn normal(name: &str) -> String {
    name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase()
}

impl ResolvesServerCert for CertificatesByName {
    /// Of several for one name the first whose key the client can verify.
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        ASKED.set(hello.server_name().map(Into::into));
        let found = self.find(hello.server_name());
        let schemes = hello.signature_schemes();
        let suits = |of: &&Arc<CertifiedKey>| of.key.choose_scheme(schemes).is_some();
        found.iter().find(suits).or(found.first()).cloned()
    }
}
