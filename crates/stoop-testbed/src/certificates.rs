//! A certificate authority, and good and bad certificates.

use std::io;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use stoop_io::ServerTls;

/// The name in the wrong certificate: a wildcard of another domain, so that no host ever matches.
const ELSEWHERE: &str = "*.elsewhere.test";

/// The certificate that a server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ShownCertificate {
    Good,
    /// The good one, and HTTP/2 is agreed to by ALPN.
    Http2,
    Untrusted,
    WrongName,
    Expired,
}

/// The TLS configurations of a server, one for each certificate that it may show.
///
/// The keys are ECDSA P-256: a signature costs the server some 20 µs, RSA would cost a millisecond.
/// Keys are new each time; nothing that is planned depends on them.
#[derive(Clone, Debug)]
pub(crate) struct Certificates {
    good: ServerTls,
    /// The same certificate, with HTTP/2 for clients that offer it.
    good_http2: ServerTls,
    untrusted: ServerTls,
    wrong_name: ServerTls,
    expired: ServerTls,
    ca_pem: String,
}

impl Certificates {
    /// Makes an authority and certificates for `names`: DNS names, wildcards or IP addresses.
    pub(crate) fn new(names: &[String]) -> io::Result<Self> {
        Self::make(names).map_err(io::Error::other)
    }

    fn make(names: &[String]) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        let trusted = authority("stoop testbed CA")?;
        let untrusted = authority("stoop testbed CA that is not trusted")?;
        let key = KeyPair::generate()?;
        let show = |params: CertificateParams, issuer: &CertifiedIssuer<'_, KeyPair>| {
            let certificate = params.signed_by(&key, issuer)?;
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(
                ServerTls::builder().certificate_pem(certificate.pem(), key.serialize_pem()),
            )
        };
        let good = show(leaf(names.to_vec())?, &trusted)?;
        let mut expired = leaf(names.to_vec())?;
        (expired.not_before, expired.not_after) =
            (date_time_ymd(2020, 1, 1), date_time_ymd(2021, 1, 1));
        Ok(Self {
            good: good.clone().build()?,
            good_http2: good.alpn(["h2", "http/1.1"]).build()?,
            untrusted: show(leaf(names.to_vec())?, &untrusted)?.build()?,
            wrong_name: show(leaf(vec![ELSEWHERE.to_owned()])?, &trusted)?.build()?,
            expired: show(expired, &trusted)?.build()?,
            ca_pem: trusted.pem(),
        })
    }

    /// The authority's own certificate, for clients to trust.
    pub(crate) fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// The configuration with this certificate. All but one agree to HTTP/1.1 alone.
    pub(crate) fn show(&self, showing: ShownCertificate) -> &ServerTls {
        match showing {
            ShownCertificate::Good => &self.good,
            ShownCertificate::Http2 => &self.good_http2,
            ShownCertificate::Untrusted => &self.untrusted,
            ShownCertificate::WrongName => &self.wrong_name,
            ShownCertificate::Expired => &self.expired,
        }
    }
}

fn authority(name: &str) -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut params = dated(CertificateParams::new(Vec::new())?);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}

fn leaf(names: Vec<String>) -> Result<CertificateParams, Error> {
    let mut params = dated(CertificateParams::new(names)?);
    params.distinguished_name.push(DnType::CommonName, "stoop testbed");
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    Ok(params)
}

/// Valid since the day before yesterday, for a month: some platforms refuse certificates that are
/// valid for years.
fn dated(mut params: CertificateParams) -> CertificateParams {
    let today = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).date();
    let day = |date: jiff::civil::Date| {
        date_time_ymd(date.year().into(), date.month().unsigned_abs(), date.day().unsigned_abs())
    };
    let two_days = jiff::Span::new().days(2);
    params.not_before = day(today.saturating_sub(two_days));
    params.not_after = day(today.saturating_add(jiff::Span::new().days(30)));
    params
}
