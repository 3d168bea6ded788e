//! URLs that a client can fetch, and what a request says of its own.

mod recent;

use url::{Position, Url};

use crate::error::{Error, ErrorKind, Phase};

/// A URL that a client can fetch: http or https, with a host.
pub(crate) fn parse(text: &str) -> Result<Url, Error> {
    let url = recent::parse(text)
        .map_err(|error| Error::new(ErrorKind::InvalidUrl, Phase::Request).with_source(error))?;
    check(&url)?;
    Ok(url)
}

pub(crate) fn check(url: &Url) -> Result<(), Error> {
    let invalid = || Error::new(ErrorKind::InvalidUrl, Phase::Request);
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(()),
        "http" | "https" => Err(invalid().with_detail("it has no host")),
        scheme => Err(invalid().with_detail(format_args!("{scheme} is neither http nor https"))),
    }
}

/// The error of a request for a target that is a path and not a whole URL.
pub(crate) fn not_whole(target: &str) -> Error {
    let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
    error.with_detail(format_args!("{target:?} is not a whole URL"))
}

/// Removes the `user:password@` of a URL.
pub(crate) fn remove_credentials(url: &mut Url) {
    // It can fail only where there is no host.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
}

/// What a URL's own server is asked for: origin-form, RFC 9112 §3.2.1.
pub(crate) fn target(url: &Url) -> &str {
    &url[Position::BeforePath..Position::AfterQuery]
}

/// Host and port, the latter only where it is not the scheme's own.
pub(crate) fn authority(url: &Url) -> &str {
    &url[Position::BeforeHost..Position::AfterPort]
}
