//! The cookies of a run: those of files, those that were typed, and those that servers set.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind as IoErrorKind, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use stoop::{CookieJar, RedirectAttempt};
use url::Url;

use super::args::GetArgs;
use super::failure::GetFailure;
use super::output::write_file;
use crate::request_options::Header;

/// Bytes of a file of cookies that are read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The cookies that the options name, for that URL; none where no cookies are kept. Those that were typed are sent to its
/// host beside the others.
///
/// # Errors
/// A file that cannot be read: one that is not there has no cookies.
pub(super) fn jar(
    args: &GetArgs,
    headers: &[Header],
    url: &str,
) -> Result<Option<CookieJar>, GetFailure> {
    if args.cookie.is_empty() && args.cookie_jar.is_none() {
        return Ok(None);
    }
    // Those of servers are kept for a file of cookies, to read or to write, as curl does.
    let keeps = args.cookie_jar.is_some() || args.cookie.iter().any(|cookie| !cookie.contains('='));
    let jar = if keeps { CookieJar::new() } else { CookieJar::read_only() };
    for cookie in &args.cookie {
        if cookie.contains('=') {
            // A header of that name takes their place.
            if !Header::names(headers, "cookie") {
                match args.redirects.location_trusted {
                    true => jar.add_fixed(cookie, &in_the_clear(url))?,
                    false => jar.add_fixed(cookie, url)?,
                }
            }
            continue;
        }
        match fs::File::open(cookie) {
            Ok(file) => load(&jar, file, url, args.junk_session_cookies)
                .map_err(|error| GetFailure::read(cookie, &error))?,
            Err(error) if error.kind() == IoErrorKind::NotFound => {}
            Err(error) => return Err(GetFailure::read(cookie, &error)),
        }
    }
    Ok(Some(jar))
}

/// The cookies that were typed, for all hosts that redirects lead to; none without `--location-trusted`.
pub(super) fn trusted(
    args: &GetArgs,
    headers: &[Header],
    jar: Option<&CookieJar>,
) -> Option<TrustedCookies> {
    if !args.redirects.location_trusted || Header::names(headers, "cookie") {
        return None;
    }
    let typed = args.cookie.iter().filter(|cookie| cookie.contains('=')).cloned().collect();
    Some(TrustedCookies { jar: jar?.clone(), typed, hosts: Mutex::default() })
}

/// Cookies that go along with redirects.
pub(super) struct TrustedCookies {
    jar: CookieJar,
    typed: Vec<String>,
    /// The hosts that they are for by now.
    hosts: Mutex<HashSet<String>>,
}

impl TrustedCookies {
    /// Has them sent to the host of a redirect, and not twice.
    pub(super) fn follow(&self, attempt: &RedirectAttempt<'_>) {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.insert(in_the_clear(attempt.from()));
        let to = in_the_clear(attempt.to());
        if !hosts.contains(&to) {
            for cookie in &self.typed {
                // It was text that a field can have for the first host.
                let _ = self.jar.add_fixed(cookie, &to);
            }
            hosts.insert(to);
        }
    }
}

/// The URL by which cookies are for a host over http too.
fn in_the_clear(url: &str) -> String {
    let parsed = Url::parse(url).ok();
    let host = parsed.as_ref().and_then(Url::host_str);
    host.map_or_else(|| url.to_owned(), |host| format!("http://{host}/"))
}

/// Writes those that servers have set, and those of files, to the file of `-c`.
pub(super) fn save(jar: &CookieJar, path: &Path) -> Result<(), GetFailure> {
    let mut text = Vec::new();
    let saved = jar.save_netscape(&mut text).and_then(|()| write_file(path, &text, false));
    saved.map_err(|error| GetFailure::write(&error))
}

/// Adds the cookies of a file: lines in Netscape's format, and of the URL those of a server's fields. Those that end with the
/// session can be left out.
fn load(jar: &CookieJar, file: fs::File, url: &str, is_session_new: bool) -> io::Result<()> {
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut content)?;
    if is_session_new {
        let lines = content.split_inclusive(|byte| *byte == b'\n');
        content = lines.filter(|line| !is_of_session(line)).flatten().copied().collect();
    }
    jar.load_netscape(&*content)?;
    for line in content.split(|byte| *byte == b'\n') {
        let line = String::from_utf8_lossy(line);
        if let Some((name, cookie)) = line.split_once(':')
            && name.eq_ignore_ascii_case("set-cookie")
        {
            // One that a server could not set is none, as in a response.
            let _ = jar.add(cookie.trim(), url);
        }
    }
    Ok(())
}

/// Whether a line is that of a cookie without a time.
fn is_of_session(line: &[u8]) -> bool {
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    match line.strip_prefix("set-cookie:") {
        Some(cookie) => !cookie.split(';').skip(1).any(|attribute| {
            let name = attribute.split('=').next().unwrap_or_default().trim();
            name == "expires" || name == "max-age"
        }),
        None => line.split('\t').nth(4).is_some_and(|time| time == "0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_without_a_time_ends_with_the_session() {
        for (line, expected) in [
            ("a.test\tFALSE\t/\tFALSE\t0\tname\tvalue\n", true),
            ("#HttpOnly_a.test\tFALSE\t/\tFALSE\t0\tname\tvalue", true),
            ("a.test\tFALSE\t/\tFALSE\t9999999999\tname\t0\n", false),
            ("Set-Cookie: expires=1; Path=/\r\n", true),
            ("set-cookie: a=1; Expires=Fri, 01 Jan 2100 00:00:00 GMT", false),
            ("Set-Cookie: a=1; max-age=60\r\n", false),
            ("# a comment\n", false),
            ("", false),
        ] {
            assert_eq!(is_of_session(line.as_bytes()), expected, "{line}");
        }
    }
}
