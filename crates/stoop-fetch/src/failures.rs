//! From an error of the client to the outcome of a job.

use stoop::{Error, ErrorKind, Phase, without_password};

use crate::mask;
use crate::record::{Details, Outcome, Phases};

/// The outcome of an error, with its details.
pub(crate) fn failed(error: &Error, kind: &'static str) -> Outcome {
    let details = Details {
        status: error.status().map(|status| status.as_u16()),
        final_url: error.url().map(|url| mask::text(url).into_owned()),
        redirects: error.url().map(|_| error.redirects()),
        attempts: Some(error.attempts()).filter(|attempts| *attempts > 1),
        location: error.location().map(masked_location),
        error_phase: Some(error.phase().as_str()),
        error: Some(mask::text(&error.to_string()).into_owned()),
        remote_ip: error.remote_address().map(|address| address.ip()),
        remote_port: error.remote_address().map(|address| address.port()),
        phases: Phases::until_head(&error.timings()),
        ..Details::default()
    };
    Outcome { details: Some(Box::new(details)), ..Outcome::error(kind) }
}

/// Whether an error before a response says that the host gives none: not those of this machine, of a proxy, and of the
/// request itself.
pub(crate) fn is_of_host(kind: ErrorKind) -> bool {
    let name = kind.as_str();
    ["dns_", "connect_", "tls_"].iter().any(|begin| name.starts_with(begin))
        || matches!(
            kind,
            ErrorKind::ClosedEarly
                | ErrorKind::Reset
                | ErrorKind::ReadTimeout
                | ErrorKind::TotalTimeout
                | ErrorKind::H1Parse
                | ErrorKind::H2Protocol
        )
}

/// Whether an error says that HTTP, or HTTP over TLS, is not spoken at the URL of a job: it comes before a request is sent.
/// Where there was a response before, its caller knows better.
///
/// Not those of certificates, since http would have to be believed what https was not; of this machine; of the
/// credentials for a proxy, through which http would go as well; and of a URL that a redirect leads to, which has a scheme.
pub(crate) fn is_not_spoken(error: &Error) -> bool {
    use ErrorKind::{
        Internal, NoLocalPorts, ProxyAuth, TlsCertExpired, TlsCertName, TlsCertUntrusted,
        TooManyFiles,
    };
    matches!(error.phase(), Phase::Connect | Phase::Tls)
        && error.redirects() == 0
        && !matches!(
            error.kind(),
            TlsCertExpired
                | TlsCertName
                | TlsCertUntrusted
                | NoLocalPorts
                | TooManyFiles
                | ProxyAuth
                | Internal
        )
}

/// The Location field without passwords.
pub(crate) fn masked_location(location: &[u8]) -> String {
    mask::text(&without_password(&String::from_utf8_lossy(location))).into_owned()
}
