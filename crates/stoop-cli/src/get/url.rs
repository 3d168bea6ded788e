//! The URL of a request, of what was typed.

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use super::request::content;
use crate::data::percent_encoded;

/// The URL, with a scheme, and with the data in its query if it belongs there.
///
/// # Errors
/// Those of reading the data, and a scheme that is neither http nor https, or forbidden.
pub(super) fn url(args: &GetArgs) -> Result<String, GetFailure> {
    let mut url = match scheme(&args.url) {
        Some(scheme) => {
            known(scheme)?;
            args.url.clone()
        }
        None => {
            let scheme = args.protocols.default_scheme();
            known(&scheme)?;
            format!("{scheme}://{}", args.url.trim_start_matches('/'))
        }
    };
    if let Some(scheme) = scheme(&url).filter(|scheme| !args.protocols.allows(scheme)) {
        let why = format!("--proto does not have {}", scheme.to_ascii_lowercase());
        return Err(GetFailure::new(exit::UNKNOWN_SCHEME, why));
    }
    if args.get && !args.data.is_empty() {
        let data = content(args)?;
        let (front, fragment) = url.split_once('#').map_or((&*url, None), |(f, b)| (f, Some(b)));
        let mark = if front.contains('?') { '&' } else { '?' };
        let data = String::from_utf8_lossy(&data);
        let fragment = fragment.map_or_else(String::new, |fragment| format!("#{fragment}"));
        url = format!("{front}{mark}{data}{fragment}");
    }
    if let Some(name) = args.upload_file.as_ref().and_then(|path| path.file_name()) {
        let (front, behind) = url.split_at(url.find(['?', '#']).unwrap_or(url.len()));
        let path = front.split_once("://").map_or(front, |(_, rest)| rest).rsplit_once('/');
        if path.is_none_or(|(_, last)| last.is_empty()) && name != "-" {
            let slash = if path.is_none() { "/" } else { "" };
            let name = percent_encoded(name.as_encoded_bytes());
            url = [front, slash, &name, behind].concat();
        }
    }
    Ok(url)
}

/// Checks that requests of that scheme can be made.
fn known(scheme: &str) -> Result<(), GetFailure> {
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return Ok(());
    }
    let why = format!("{scheme} is neither http nor https");
    Err(GetFailure::new(exit::UNKNOWN_SCHEME, why))
}

/// The scheme that a URL begins with: without a slash behind its colon it is a host, or a user.
fn scheme(url: &str) -> Option<&str> {
    let (scheme, rest) = url.trim_start().split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    (is_scheme && rest.starts_with('/')).then_some(scheme)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scheme_has_a_slash_behind_its_colon() {
        for (url, expected) in [
            ("http://a/", Some("http")),
            ("HTTPS:/a", Some("HTTPS")),
            ("me:x@a:80/", None),
            ("a:80/b", None),
            ("localhost:80", None),
            ("a/b://c", None),
            ("1a://b", None),
            ("view-source+x.1://b", Some("view-source+x.1")),
        ] {
            assert_eq!(scheme(url), expected, "{url}");
        }
    }
}
