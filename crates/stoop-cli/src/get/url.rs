//! The URL of a request, of what was typed.

use std::io;

use super::args::GetArgs;
use super::exit;
use super::failure::GetFailure;
use super::request::content;
use crate::data::{percent_encoded, urlencoded};

/// The URL, with a scheme, and with the data in its query if it belongs there.
///
/// # Errors
/// Those of reading the data, more than one URL, and a scheme that is neither http nor https, or forbidden.
pub(super) fn url(args: &GetArgs) -> Result<String, GetFailure> {
    if args.url.are_many() {
        let why = "there is one URL: 'stoop fetch' takes lists of them";
        return Err(GetFailure::new(exit::BAD_USE, why));
    }
    let typed = args.url.typed();
    let mut url = match scheme(typed) {
        Some(scheme) => {
            known(scheme)?;
            typed.to_owned()
        }
        None => {
            let scheme = args.protocols.default_scheme();
            known(&scheme)?;
            format!("{scheme}://{}", typed.trim_start_matches('/'))
        }
    };
    if let Some(scheme) = scheme(&url).filter(|scheme| !args.protocols.allows(scheme)) {
        let why = format!("--proto does not have {}", scheme.to_ascii_lowercase());
        return Err(GetFailure::new(exit::UNKNOWN_SCHEME, why));
    }
    // curl has it so that the data takes the place of what is added to the query.
    if args.get && !args.data.is_empty() {
        url = with_query(&url, &String::from_utf8_lossy(&content(args)?));
    } else if !args.url.url_query.is_empty() {
        url = with_query(&url, &query(&args.url.url_query)?);
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

/// What is to be added to the query, of the values of its option.
fn query(values: &[String]) -> Result<String, GetFailure> {
    let parts = values.iter().map(|value| match value.strip_prefix('+') {
        Some(encoded) => Ok(encoded.to_owned()),
        None => urlencoded(value).map(|encoded| String::from_utf8_lossy(&encoded).into_owned()),
    });
    let parts: io::Result<Vec<String>> = parts.collect();
    Ok(parts.map_err(|error| GetFailure::read("the query", &error))?.join("&"))
}

/// The URL with more in its query, in front of its fragment.
fn with_query(url: &str, more: &str) -> String {
    let (url, fragment) = url.split_at(url.find('#').unwrap_or(url.len()));
    let (path, query) = url.split_once('?').unwrap_or((url, ""));
    let mark = if query.is_empty() && more.is_empty() { "" } else { "?" };
    let and = if query.is_empty() || query.ends_with('&') { "" } else { "&" };
    [path, mark, query, and, more, fragment].concat()
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
    fn more_of_a_query_stands_behind_what_is_there() {
        for (url, more, expected) in [
            ("http://a/", "b=1", "http://a/?b=1"),
            ("http://a", "b=1", "http://a?b=1"),
            ("http://a/?", "b=1", "http://a/?b=1"),
            ("http://a/?x", "b=1", "http://a/?x&b=1"),
            ("http://a/?x&", "b=1", "http://a/?x&b=1"),
            ("http://a/#x?y", "b=1", "http://a/?b=1#x?y"),
            ("http://a/?x#y", "b=1", "http://a/?x&b=1#y"),
            ("http://a/?x", "", "http://a/?x&"),
            ("http://a/?", "", "http://a/"),
            ("http://a/", "", "http://a/"),
        ] {
            assert_eq!(with_query(url, more), expected);
        }
    }

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
