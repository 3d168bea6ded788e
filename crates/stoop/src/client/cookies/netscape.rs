//! Files of cookies as Netscape's browser had them, and curl, wget and browsers' exports still do.

use std::io::{self, BufRead, Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use cookie_store::{CookieDomain, CookieExpiration};
use url::Url;

use super::{CookieJar, is_public_suffix};

/// The first line of a file, by which some programs know it.
const FIRST_LINE: &str = "# Netscape HTTP Cookie File\n";

/// Bytes of a line that are read: those of the longest cookie and of its other columns.
const LINE_BYTES_MAX: u64 = 16 * 1024;

/// What a line begins with whose cookie is not for scripts.
const HTTP_ONLY: &str = "#HttpOnly_";

impl CookieJar {
    /// Adds the cookies of a file in Netscape's format: lines of domain, `TRUE` if it is for subdomains too, path, `TRUE`
    /// if it is for https alone, expiry in seconds since 1970 or 0 for the session's, name and value, with tabs between.
    /// Lines that are not of this form, such as comments, cookies that have expired, and those that a server could not
    /// have set, are left out. Returns how many were added.
    ///
    /// # Errors
    /// Those of `reader`.
    pub fn load_netscape(&self, mut reader: impl BufRead) -> io::Result<usize> {
        let now = unix_seconds();
        let (mut added, mut line, mut is_rest) = (0, Vec::new(), false);
        loop {
            line.clear();
            if reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)? == 0 {
                return Ok(added);
            }
            // A longer line has no cookie that would be kept, and neither has the rest of it.
            let is_whole = line.ends_with(b"\n") || (line.len() as u64) < LINE_BYTES_MAX;
            if is_whole && !is_rest {
                let text = String::from_utf8_lossy(&line);
                let text = text.trim_end_matches(['\r', '\n']);
                added += usize::from(self.keep_line(text, now).is_some());
            }
            is_rest = !is_whole;
        }
    }

    fn keep_line(&self, line: &str, now: i64) -> Option<()> {
        let (line, is_http_only) = match line.strip_prefix(HTTP_ONLY) {
            Some(rest) => (rest, true),
            None if line.starts_with('#') => return None,
            None => (line, false),
        };
        let mut columns = line.splitn(7, '\t');
        let mut next = || columns.next();
        let (domain, subdomains, path, secure) = (next()?, next()?, next()?, next()?);
        let (expires, name) = (next()?.parse::<i64>().ok()?, next()?);
        let value = next().unwrap_or_default();
        let host = domain.strip_prefix('.').unwrap_or(domain);
        let is_for_subdomains = subdomains.eq_ignore_ascii_case("true");
        if (1..=now).contains(&expires) || is_for_subdomains && is_public_suffix(host) {
            return None;
        }
        let mut set_cookie = format!("{name}={value}; Path={path}");
        if is_for_subdomains {
            set_cookie.push_str(&format!("; Domain={host}"));
        }
        if secure.eq_ignore_ascii_case("true") {
            set_cookie.push_str("; Secure");
        }
        if is_http_only {
            set_cookie.push_str("; HttpOnly");
        }
        if expires > 0 {
            set_cookie.push_str(&format!("; Max-Age={}", expires - now));
        }
        self.keep(&set_cookie, &Url::parse(&format!("https://{host}/")).ok()?)
    }

    /// Writes all cookies that have not expired in the format that [`load_netscape`](Self::load_netscape) reads. They are
    /// secrets: a program that reads the file can use them. Those with control characters are left out, as the format has
    /// no way to write them.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn save_netscape(&self, mut writer: impl Write) -> io::Result<()> {
        let mut text = FIRST_LINE.to_owned();
        for cookie in self.store().iter_unexpired() {
            let (domain, subdomains) = match &cookie.domain {
                CookieDomain::HostOnly(host) => (host.clone(), "FALSE"),
                CookieDomain::Suffix(domain) => (format!(".{domain}"), "TRUE"),
                CookieDomain::NotPresent | CookieDomain::Empty => continue,
            };
            let expires = match cookie.expires {
                CookieExpiration::AtUtc(at) => at.unix_timestamp(),
                CookieExpiration::SessionEnd => 0,
            };
            let mark = if cookie.http_only() == Some(true) { HTTP_ONLY } else { "" };
            let secure = if cookie.secure() == Some(true) { "TRUE" } else { "FALSE" };
            let (path, name, value) = (&*cookie.path, cookie.name(), cookie.value());
            // What has a tab would be another cookie when it is read again: of a server's choice, with a Secure that it may
            // not set. The value is the last column, and may have one.
            if [path, name, &domain].iter().any(|text| text.contains(char::is_control))
                || value.contains(|c: char| c.is_control() && c != '\t')
            {
                continue;
            }
            text.push_str(&format!(
                "{mark}{domain}\t{subdomains}\t{path}\t{secure}\t{expires}\t{name}\t{value}\n"
            ));
        }
        writer.write_all(text.as_bytes())
    }
}

fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_again_with_its_attributes() {
        let jar = CookieJar::new();
        jar.add("a=1; Domain=example.com; Max-Age=1000", "https://www.example.com/x/y").unwrap();
        jar.add("b=2; Secure; HttpOnly; Path=/p", "https://example.com/").unwrap();
        let mut file = Vec::new();
        jar.save_netscape(&mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        assert!(text.starts_with("# Netscape HTTP Cookie File\n"), "{text}");
        assert!(text.contains("#HttpOnly_example.com\tFALSE\t/p\tTRUE\t0\tb\t2\n"), "{text}");
        let line = text.lines().find(|line| line.starts_with(".example.com\t")).unwrap();
        let expires: i64 = line.split('\t').nth(4).unwrap().parse().unwrap();
        assert!((990..=1000).contains(&(expires - unix_seconds())), "{line}");
        let again = CookieJar::new();
        assert_eq!(again.load_netscape(text.as_bytes()).unwrap(), 2);
        let get = |url| again.get(url).unwrap();
        assert_eq!(get("http://sub.example.com/x/").as_deref(), Some("a=1"));
        assert_eq!(get("https://example.com/p").as_deref(), Some("b=2"));
        assert_eq!(get("https://sub.example.com/p"), None);
    }

    #[test]
    fn no_cookie_is_written_that_would_be_read_as_another() {
        let jar = CookieJar::new();
        for cookie in ["a=b; Path=/\tTRUE\t0\t__Host-s\tevil", "n\tm=b", "v=1\t2", "c=3"] {
            let _ = jar.add(cookie, "http://a.test/");
        }
        let mut file = Vec::new();
        jar.save_netscape(&mut file).unwrap();
        let again = CookieJar::new();
        again.load_netscape(&*file).unwrap();
        let mut saved: Vec<_> = file.split(|byte| *byte == b'\n').skip(1).collect();
        saved.sort_unstable();
        let expected: [&[u8]; 3] =
            [b"", b"a.test\tFALSE\t/\tFALSE\t0\tc\t3", b"a.test\tFALSE\t/\tFALSE\t0\tv\t1\t2"];
        assert_eq!(saved, expected);
        assert!(again.get("https://a.test/").unwrap().is_some_and(|all| !all.contains("evil")));
    }

    #[test]
    fn lines_that_are_none_or_may_not_be_set_are_left_out() {
        let jar = CookieJar::new();
        let far = i64::from(i32::MAX);
        let file = format!(
            "# comment\n\nno tabs\n\
             a.test\tFALSE\t/\tFALSE\t{far}\tgood\tvalue\twith tab\n\
             a.test\tFALSE\t/\tFALSE\t1\texpired\tx\n\
             .com\tTRUE\t/\tFALSE\t{far}\tsuffix\tx\n\
             a.test\tFALSE\t/\tFALSE\tnever\tbad\tx\n\
             a.test\tFALSE\t/\tFALSE\t0\tempty\n"
        );
        assert_eq!(jar.load_netscape(file.as_bytes()).unwrap(), 2);
        let cookies = jar.get("http://a.test/").unwrap().unwrap();
        assert!(
            cookies.contains("good=value\twith tab") && cookies.contains("empty="),
            "{cookies}"
        );
    }
}
