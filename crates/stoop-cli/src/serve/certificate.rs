//! The server's certificate: read from files, or made for this machine.

use std::net::IpAddr;
use std::path::PathBuf;

use stoop::ServerTls;
use stoop::tls::{ServerTlsBuilder, TlsConfigError};

use super::args::Settings;
use super::secrets;
use crate::failure::CommandFailure;

/// The certificate that the settings ask for, if they do.
///
/// # Errors
/// [`CommandFailure::Io`] if its files cannot be read, or do not fit together; [`CommandFailure::Usage`] for a key that is served
/// itself.
pub(super) fn tls(settings: &Settings) -> Result<Option<ServerTls>, CommandFailure> {
    let Some(builder) = builder(settings)? else { return Ok(None) };
    builder.build().map(Some).map_err(failure)
}

/// Reads the certificate again: that of other files, if the settings name others now. One that was made stays.
///
/// # Errors
/// As [`tls`]; what was used before is used on.
pub(super) fn read_again(
    tls: &ServerTls,
    started: &Settings,
    settings: &Settings,
) -> Result<(), CommandFailure> {
    if settings.tls.is_empty() && started.tls.is_empty() {
        return Ok(());
    }
    match builder(settings)? {
        Some(builder) => tls.replace(builder).map_err(failure),
        // Without TLS only from the next process on.
        None => Ok(()),
    }
}

fn builder(settings: &Settings) -> Result<Option<ServerTlsBuilder>, CommandFailure> {
    for pair in settings.tls.chunks(2) {
        let [_, key] = pair else { continue };
        secrets::check("--tls", key, "all clients could read the key", settings)?;
    }
    if let [chain, key, further @ ..] = &*settings.tls {
        let first = ServerTls::builder().certificate_files(chain, key);
        let with_further = |builder: ServerTlsBuilder, pair: &[PathBuf]| match pair {
            [chain, key] => builder.further_certificate_files(chain, key),
            _ => builder,
        };
        return Ok(Some(further.chunks(2).fold(first, with_further)));
    }
    if settings.tls_self_signed != Some(true) {
        return Ok(None);
    }
    let (chain, key) = self_signed::certificate(&names())?;
    Ok(Some(ServerTls::builder().certificate_pem(chain, key)))
}

fn failure(error: TlsConfigError) -> CommandFailure {
    CommandFailure::Io(format!("cannot speak TLS: {error}"))
}

/// The names and addresses of this machine.
fn names() -> Vec<String> {
    let mut names = vec!["localhost".to_owned()];
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").ok();
    names.extend(name.map(|name| name.trim().to_owned()));
    names.extend(super::places::local_addresses().iter().map(IpAddr::to_string));
    names.retain(|name| !name.is_empty() && name.is_ascii());
    names
}

/// Makes certificates.
mod self_signed {
    use jiff::tz::TimeZone;
    use jiff::{Timestamp, ToSpan, civil};
    use rcgen::{CertificateParams, DnType, Error, KeyPair, date_time_ymd};

    use crate::failure::CommandFailure;

    /// A certificate for these names and its key, as PEM. It holds from yesterday, for clocks that are late, for a year.
    pub(super) fn certificate(names: &[String]) -> Result<(String, String), CommandFailure> {
        make(names)
            .map_err(|error| CommandFailure::Io(format!("cannot make a certificate: {error}")))
    }

    fn make(names: &[String]) -> Result<(String, String), Error> {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, "stoop serve");
        let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
        let ymd = |day: civil::Date| {
            let (month, number) = (day.month().unsigned_abs(), day.day().unsigned_abs());
            date_time_ymd(i32::from(day.year()), month, number)
        };
        params.not_before = ymd(today.saturating_sub(1.day()));
        params.not_after = ymd(today.saturating_add(365.days()));
        let key = KeyPair::generate()?;
        Ok((params.self_signed(&key)?.pem(), key.serialize_pem()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_made_for_names_and_addresses() {
        assert!(names().iter().any(|name| name == "127.0.0.1"));
        let names = ["localhost".to_owned(), "::1".to_owned()];
        let (chain, key) = self_signed::certificate(&names).unwrap();
        ServerTls::builder().certificate_pem(chain, key).build().unwrap();
    }
}
