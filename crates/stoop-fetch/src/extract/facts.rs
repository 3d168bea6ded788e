//! The facts that can be asked for, and where records have them.

use serde::Serialize;

/// A fact about a response that records have if it is asked for, by [`Fetch::extract`](crate::Fetch::extract).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Extract {
    /// The title of a page: [`Extracted::title`].
    Title,
    /// The field Server: [`Extracted::server`].
    Server,
    /// The field Content-Length: [`Extracted::content_length`].
    Length,
    /// The redirects that led to the response: [`Extracted::chain`].
    Chain,
    /// What TLS has agreed on, and the certificate of the server: [`Extracted::tls`].
    #[cfg(feature = "tls")]
    #[cfg_attr(docsrs, doc(cfg(feature = "tls")))]
    Tls,
    /// A hash of icons: [`Extracted::favicon_hash`].
    Favicon,
    /// The media type that the content looks like: [`Extracted::sniffed_type`].
    Type,
    /// The character encoding of text: [`Extracted::charset`].
    Charset,
    /// Whether a page may be found, and its links followed: [`Extracted::robots`] and [`Extracted::meta_robots`].
    Robots,
}

/// What was asked for by [`Fetch::extract`](crate::Fetch::extract). Each is absent where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Extracted {
    /// The text of the first `title` of a page in HTML or XHTML, as browsers show it: decoded, each run of white space as
    /// one space, and no more than 1,024 bytes. It has to begin within the first 256 KiB of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The field Server, as the server writes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The field Content-Length: what the server says, also of content that was not asked for or not read. Absent where
    /// the content was decoded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_length: Option<u64>,
    /// The media type that the content looks like, whatever Content-Type says, by the
    /// [WHATWG MIME sniffing standard](https://mimesniff.spec.whatwg.org/#identifying-a-resource-with-an-unknown-mime-type);
    /// beyond that, AVIF, and archives by tar, 7z, bzip2, xz and zstd.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sniffed_type: Option<&'static str>,
    /// The character encoding of text, by its name in the WHATWG encoding standard, where the content or the server
    /// says which it is: a byte order mark, then the field Content-Type, then what the first 1,024 bytes of HTML or XML
    /// declare.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charset: Option<&'static str>,
    /// The hash that Shodan and others tell icons apart by: MurmurHash3 of 32 bits, signed, of the content in base64
    /// with a line break after each 76 characters. Images alone have one, by Content-Type or by what they look like, up to
    /// 1 MiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub favicon_hash: Option<i32>,
    /// The rules of the fields X-Robots-Tag and of the elements `<meta name="robots">` together: those for all agents, and
    /// those for the agent of [`Politeness::robots`](crate::Politeness::robots), which an element names in place of
    /// `robots`. They are written as [`RobotsTag`](crate::robots::RobotsTag) writes them, as `noindex, nofollow`. Absent
    /// where there are none, or none that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub robots: Option<String>,
    /// What those elements say by themselves, as X-Robots-Tag would say it, the rules for the agent last: `noindex,
    /// examplebot: nofollow`. They count in HTML and XHTML, within its first 256 KiB, and up to 4 KiB of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta_robots: Option<String>,
    /// All responses on the way, the redirects first and the one that the record is of last; absent where no redirect was
    /// followed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<ChainHop>,
    /// The TLS of the last connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsDetails>,
}

/// A response on the way to the last one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChainHop {
    /// The status.
    pub status: u16,
    /// The URL that it came from, without a password.
    pub url: String,
}

/// What TLS has agreed on, and the certificate that the server has shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct TlsDetails {
    /// The version: `1.2` or `1.3`.
    pub version: &'static str,
    /// The cipher suite, as `TLS13_AES_128_GCM_SHA256`.
    pub cipher: &'static str,
    /// What ALPN has chosen: `h2` or `http/1.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alpn: Option<&'static str>,
    /// The common name of the certificate's subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_cn: Option<String>,
    /// The whole subject as text (RFC 4514): `CN=worker,O=Example\, Inc.,C=DE`, as `PeerCertificate::subject` of
    /// `stoop` has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject_dn: Option<String>,
    /// The DNS names and IP addresses that it is for, the first 32 of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub subject_an: Vec<String>,
    /// The common name of the CA that issued it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_cn: Option<String>,
    /// The whole subject of that CA.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issuer_dn: Option<String>,
    /// From when on it is valid: RFC 3339, in UTC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_before: Option<String>,
    /// Until when it is valid.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_after: Option<String>,
    /// The SHA-256 of the certificate, in hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}
