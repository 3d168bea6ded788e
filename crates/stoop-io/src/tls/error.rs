//! The error of a TLS session: its kind and its text. rustls' types stay inside this folder.

use std::fmt;
use std::io;
use std::time::Duration;

use rustls::{CertificateError, Error as Rustls, InvalidMessage};

use super::alert::Alert;
use super::limits::NAMES_SHOWN_MAX;
use super::pin::NotPinned;
use super::trust::{NoPlatformRoots, is_ca_used_as_end_entity};

/// Why a TLS session failed. A closed list: match it without a default arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsErrorKind {
    /// The two sides have no version, cipher or signature in common, or one broke the protocol.
    Handshake,
    /// What the peer sends is not TLS at all.
    NotTls,
    /// The peer's certificate is past its end or before its beginning.
    CertificateExpired,
    /// The peer's certificate is for other names than the one asked for.
    CertificateName,
    /// The peer's certificate was not issued by a trusted CA.
    CertificateUntrusted,
    /// The peer's key is none of those that were pinned.
    KeyNotPinned,
    /// The peer's certificate is malformed, revoked, wrongly signed, or meant for something else.
    CertificateInvalid,
    /// The peer should have shown a certificate and did not.
    CertificateMissing,
    /// The peer ended the session with this alert.
    Alert(Alert),
    /// The peer closed the connection during the handshake.
    Closed,
    /// The name to connect to cannot be a server's name.
    InvalidName,
    /// The connection underneath failed.
    Io(io::ErrorKind),
}

/// A failed TLS session: its kind, and a text for people.
///
/// In an [`io::Error`] of a [`Tls`](super::Tls) it is the inner error:
/// `error.get_ref().and_then(|e| e.downcast_ref::<TlsError>())`.
#[derive(Clone, Debug)]
pub struct TlsError {
    kind: TlsErrorKind,
    text: Box<str>,
}

impl TlsError {
    pub(super) fn new(kind: TlsErrorKind, text: impl Into<Box<str>>) -> Self {
        Self { kind, text: text.into() }
    }

    /// Which failure it was.
    pub fn kind(&self) -> TlsErrorKind {
        self.kind
    }

    /// The peer closed the connection during the handshake.
    pub(super) fn closed(peer: &str) -> Self {
        let text = format!("{peer} closed the connection during the TLS handshake");
        Self::new(TlsErrorKind::Closed, text)
    }

    /// A message of the peer is larger than any that makes sense.
    pub(super) fn too_large(peer: &str) -> Self {
        let text = format!("a TLS message of {peer} is too large");
        Self::new(TlsErrorKind::Handshake, text)
    }

    /// The connection underneath failed during the handshake.
    pub(super) fn io(error: &io::Error) -> Self {
        let text = format!("the connection failed during the TLS handshake: {error}");
        Self::new(TlsErrorKind::Io(error.kind()), text)
    }

    /// Translates rustls' error. `peer` names the other end; `input` is what came from it and was not
    /// understood.
    pub(super) fn explain(error: &Rustls, peer: &str, input: &[u8]) -> Self {
        use TlsErrorKind as Kind;
        let (kind, text) = match error {
            Rustls::InvalidCertificate(error) => return Self::certificate(error, peer),
            Rustls::NoCertificatesPresented => {
                (Kind::CertificateMissing, format!("{peer} showed no certificate"))
            }
            Rustls::AlertReceived(alert) => {
                let alert = Alert(u8::from(*alert));
                (Kind::Alert(alert), format!("{peer} refused: {alert}"))
            }
            Rustls::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge,
            ) => (Kind::NotTls, not_tls(peer, input)),
            Rustls::NoApplicationProtocol => {
                (Kind::Handshake, format!("{peer} speaks none of the protocols offered by ALPN"))
            }
            Rustls::PeerIncompatible(why) => (
                Kind::Handshake,
                format!("{peer} and this end have no way of doing TLS in common: {}", words(why)),
            ),
            Rustls::PeerMisbehaved(why) => {
                (Kind::Handshake, format!("{peer} broke the TLS protocol: {}", words(why)))
            }
            Rustls::DecryptError => {
                (Kind::Handshake, format!("a record from {peer} could not be decrypted"))
            }
            other => (Kind::Handshake, format!("TLS with {peer} failed: {other}")),
        };
        Self::new(kind, text)
    }

    fn certificate(error: &CertificateError, peer: &str) -> Self {
        use CertificateError as Cert;
        use TlsErrorKind as Kind;
        let (kind, text) = match error {
            Cert::Expired => (Kind::CertificateExpired, format!("{peer}'s certificate expired")),
            Cert::ExpiredContext { time, not_after } => (
                Kind::CertificateExpired,
                format!(
                    "{peer}'s certificate expired {} ago",
                    roughly(time.as_secs().saturating_sub(not_after.as_secs()))
                ),
            ),
            Cert::NotValidYet => (
                Kind::CertificateExpired,
                format!("{peer}'s certificate is not valid yet; is this machine's clock right?"),
            ),
            Cert::NotValidYetContext { time, not_before } => (
                Kind::CertificateExpired,
                format!(
                    "{peer}'s certificate is valid only in {}; is this machine's clock right?",
                    roughly(not_before.as_secs().saturating_sub(time.as_secs()))
                ),
            ),
            Cert::NotValidForName => {
                (Kind::CertificateName, format!("the certificate shown is not for {peer}"))
            }
            Cert::NotValidForNameContext { presented, .. } => (
                Kind::CertificateName,
                match presented.as_slice() {
                    [] => format!("the certificate shown is for no name at all, not for {peer}"),
                    names => {
                        format!("the certificate shown is for {}, not for {peer}", list(names))
                    }
                },
            ),
            Cert::UnknownIssuer => (
                Kind::CertificateUntrusted,
                format!("{peer}'s certificate was not issued by a trusted CA"),
            ),
            Cert::Other(other) if other.0.downcast_ref::<NoPlatformRoots>().is_some() => (
                Kind::CertificateUntrusted,
                format!(
                    "{peer}'s certificate cannot be checked: {}; install the system's CA \
                     certificates, or name CAs to trust",
                    other.0
                ),
            ),
            Cert::Other(other) if other.0.downcast_ref::<NotPinned>().is_some() => {
                (Kind::KeyNotPinned, format!("{peer} is not trusted: {}", other.0))
            }
            own if is_ca_used_as_end_entity(own) => (
                Kind::CertificateInvalid,
                format!(
                    "{peer}'s certificate is a CA's and not one for a server, and is not itself \
                     among the trusted ones"
                ),
            ),
            other => (
                Kind::CertificateInvalid,
                format!("{peer}'s certificate is not acceptable: {}", unacceptable(other)),
            ),
        };
        Self::new(kind, text)
    }
}

impl fmt::Display for TlsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for TlsError {}

impl From<TlsError> for io::Error {
    fn from(error: TlsError) -> Self {
        let kind = match error.kind {
            TlsErrorKind::Io(kind) => kind,
            TlsErrorKind::Closed => io::ErrorKind::UnexpectedEof,
            TlsErrorKind::InvalidName => io::ErrorKind::InvalidInput,
            TlsErrorKind::Handshake
            | TlsErrorKind::NotTls
            | TlsErrorKind::CertificateExpired
            | TlsErrorKind::CertificateName
            | TlsErrorKind::CertificateUntrusted
            | TlsErrorKind::CertificateInvalid
            | TlsErrorKind::CertificateMissing
            | TlsErrorKind::KeyNotPinned
            | TlsErrorKind::Alert(_) => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// Says what a peer speaks instead of TLS, as far as its first bytes tell.
fn not_tls(peer: &str, input: &[u8]) -> String {
    let methods: [&[u8]; 5] = [b"GET ", b"POST ", b"HEAD ", b"PUT ", b"OPTIONS "];
    if input.starts_with(b"HTTP/") || methods.iter().any(|method| input.starts_with(method)) {
        format!("{peer} speaks plain HTTP here, not TLS")
    } else {
        format!("{peer} does not speak TLS here")
    }
}

/// What is wrong with a certificate, where rustls has a name for it but no text.
fn unacceptable(error: &CertificateError) -> String {
    match error {
        CertificateError::BadEncoding => "it is malformed".into(),
        CertificateError::BadSignature => "its issuer's signature is wrong".into(),
        CertificateError::Revoked => "its issuer revoked it".into(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not meant for this purpose".into()
        }
        CertificateError::UnsupportedSignatureAlgorithmContext { .. }
        | CertificateError::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "its signature's algorithm is not supported".into()
        }
        CertificateError::Other(other) => words(&format_args!("{}", other.0)),
        other => words(other),
    }
}

/// The name of a variant as words: `PathLenConstraintViolated` is "path len constraint violated".
fn words(variant: &dyn fmt::Debug) -> String {
    let name = format!("{variant:?}");
    let name = name.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    let mut words = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() && words.ends_with(|last: char| last.is_ascii_lowercase()) {
            words.push(' ');
        }
        words.push(c.to_ascii_lowercase());
    }
    words
}

/// The first few of `names`.
fn list(names: &[String]) -> String {
    // rustls prints its own type around a name: DnsName("example.com"), IpAddress(192.0.2.1).
    let bare = |name: &String| match name.split_once('(') {
        Some((_, rest)) => rest.trim_matches(['"', ')']).to_owned(),
        None => name.clone(),
    };
    let mut text = names.iter().take(NAMES_SHOWN_MAX).map(bare).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_SHOWN_MAX {
        text.push_str(&format!(" and {} more", names.len() - NAMES_SHOWN_MAX));
    }
    text
}

/// A span of time in its largest unit.
fn roughly(seconds: u64) -> String {
    let span = Duration::from_secs(seconds).as_secs();
    let (n, unit) = match span {
        0..120 => (span, "seconds"),
        120..7_200 => (span / 60, "minutes"),
        7_200..172_800 => (span / 3_600, "hours"),
        _ => (span / 86_400, "days"),
    };
    format!("{n} {unit}")
}
