//! The cookies of a run: those of files, those that were typed, and those that servers set.

use std::fs;
use std::io::{self, ErrorKind as IoErrorKind, Read};
use std::path::Path;

use stoop::CookieJar;
use url::Url;

use super::args::GetArgs;
use super::failure::GetFailure;
use super::output::write_file;

/// Bytes of a file of cookies that are read.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Where cookies come from, and how those are sent that were typed.
pub(super) struct Cookies {
    /// There is none where no cookies are kept.
    pub(super) jar: Option<CookieJar>,
    /// The field of those that were typed, unless they are in the jar.
    pub(super) field: Option<String>,
    /// Their lines in a file of cookies, if they are in the jar: they are not kept.
    typed_lines: Vec<String>,
}

impl Cookies {
    /// The cookies that the options name, for that URL.
    ///
    /// # Errors
    /// A file that cannot be read: one that is not there has no cookies.
    pub(super) fn read(args: &GetArgs, url: &str) -> Result<Self, GetFailure> {
        let (typed, files): (Vec<_>, Vec<_>) =
            args.cookie.iter().partition(|cookie| cookie.contains('='));
        let typed: Vec<_> = typed.into_iter().map(String::as_str).collect();
        let field = (!typed.is_empty()).then(|| typed.join("; "));
        if files.is_empty() && args.cookie_jar.is_none() {
            return Ok(Self { jar: None, field, typed_lines: Vec::new() });
        }
        let jar = CookieJar::new();
        for path in files {
            match fs::File::open(path) {
                Ok(file) => {
                    load(&jar, file, url).map_err(|error| GetFailure::read(path, &error))?;
                }
                Err(error) if error.kind() == IoErrorKind::NotFound => {}
                Err(error) => return Err(GetFailure::read(path, &error)),
            }
        }
        // A request with a field of its own would get none of the jar.
        let lines = field.as_deref().and_then(|field| put(&jar, field, url));
        let (field, typed_lines) = match lines {
            Some(lines) => (None, lines),
            None => (field, Vec::new()),
        };
        Ok(Self { jar: Some(jar), field, typed_lines })
    }

    /// Writes those that servers have set, and those of files, to the file of `-c`.
    pub(super) fn save(&self, path: &Path) -> Result<(), GetFailure> {
        let Some(jar) = &self.jar else { return Ok(()) };
        let mut text = Vec::new();
        let saved = jar.save_netscape(&mut text).and_then(|()| {
            let text = String::from_utf8_lossy(&text);
            let is_kept =
                |line: &&str| !self.typed_lines.iter().any(|typed| *typed == line.trim_end());
            write_file(
                path,
                text.split_inclusive('\n').filter(is_kept).collect::<String>().as_bytes(),
                false,
            )
        });
        saved.map_err(|error| GetFailure::write(&error))
    }
}

/// Adds the cookies of a file: lines in Netscape's format, and of the URL those of a server's fields.
fn load(jar: &CookieJar, file: fs::File, url: &str) -> io::Result<()> {
    let mut content = Vec::new();
    file.take(FILE_BYTES_MAX).read_to_end(&mut content)?;
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

/// Puts the cookies of a field into a jar, for all paths of that URL's host, and returns their lines in a file; or none
/// of them, if one could not be sent as it is.
fn put(jar: &CookieJar, field: &str, url: &str) -> Option<Vec<String>> {
    let host = Url::parse(url).ok()?.host_str()?.to_owned();
    let cookies: Vec<_> =
        field.split(';').map(str::trim).filter(|cookie| !cookie.is_empty()).collect();
    let (probe, set) = (CookieJar::new(), |cookie: &str| format!("{cookie}; Path=/"));
    for cookie in &cookies {
        probe.add(&set(cookie), url).ok()?;
    }
    let sent = probe.get(url).ok()??;
    if !cookies.iter().all(|cookie| sent.split("; ").any(|sent| sent == *cookie)) {
        return None;
    }
    let lines = cookies.iter().map(|cookie| {
        let (name, value) = cookie.split_once('=')?;
        jar.add(&set(cookie), url).ok()?;
        Some(format!("{host}\tFALSE\t/\tFALSE\t0\t{name}\t{value}"))
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_that_were_typed_are_sent_beside_those_of_the_jar_and_are_not_kept() {
        let jar = CookieJar::new();
        let url = "http://a.test/x";
        jar.add("kept=1; Path=/", url).expect("a cookie");
        let lines = put(&jar, "a=1; b=\"2\";c=", url).expect("cookies");
        let sent = jar.get(url).expect("a URL").expect("cookies");
        for cookie in ["kept=1", "a=1", "b=\"2\"", "c="] {
            assert!(sent.split("; ").any(|sent| sent == cookie), "{cookie} in {sent}");
        }
        let mut text = Vec::new();
        jar.save_netscape(&mut text).expect("memory");
        let text = String::from_utf8(text).expect("text");
        assert!(lines.iter().all(|line| text.lines().any(|saved| saved == line)), "{text}");
        for odd in ["a", "a=1; b", "__Host-a=1"] {
            assert!(put(&CookieJar::new(), odd, url).is_none(), "{odd}");
        }
    }
}
