//! Credentials by host, as a .netrc file has them.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Phase};

/// Bytes of a file that are read: one with more is not one of credentials.
const FILE_BYTES_MAX: usize = 1 << 20;

/// The credentials of a `.netrc` file, by host: [`ClientBuilder::netrc`](crate::ClientBuilder::netrc). The
/// library reads no file by itself: the caller hands the text over.
///
/// ```
/// let netrc: stoop::Netrc = "machine example.com login me password \"a secret\"\n".parse()?;
/// let client = stoop::Client::builder().netrc(netrc).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
///
/// Read are `machine`, `default`, `login`, `password`, `account` and `macdef` (the latter two are skipped),
/// values in double quotes with `\"`, `\\`, `\n`, `\r` and `\t`, and comments from `#` to the end of a line.
/// Of several entries for a host the first counts.
#[derive(Clone, Default)]
pub struct Netrc {
    machines: HashMap<Box<str>, NetrcCredentials>,
    default: Option<NetrcCredentials>,
}

#[derive(Clone, Default)]
struct NetrcCredentials {
    login: String,
    password: String,
}

impl Netrc {
    /// The name and the password for a host, as it stands in a URL.
    pub fn get(&self, host: &str) -> Option<(&str, &str)> {
        if self.machines.is_empty() && self.default.is_none() {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let found = self.machines.get(host.as_str()).or(self.default.as_ref())?;
        Some((&found.login, &found.password))
    }
}

/// # Errors
/// [`ErrorKind::InvalidMessage`] for a word that is none of these, one whose value is missing, or more than 1 MiB.
/// The text names the line and none of its words: they may be secrets.
impl FromStr for Netrc {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.len() > FILE_BYTES_MAX {
            return Err(invalid("the file has more than 1 MiB"));
        }
        let mut netrc = Self::default();
        let mut machine: Option<Option<Box<str>>> = None;
        let mut credentials = NetrcCredentials::default();
        let mut words = Words { text, line: 1 };
        while let Some(word) = words.next()? {
            let line = words.line;
            let mut value = || match words.next() {
                Ok(Some(value)) => Ok(value),
                Ok(None) => Err(at(line, "a value is missing")),
                Err(error) => Err(error),
            };
            match &*word {
                "machine" => {
                    let name = value()?.to_ascii_lowercase().into();
                    netrc.keep(machine.replace(Some(name)), std::mem::take(&mut credentials));
                }
                "default" => {
                    netrc.keep(machine.replace(None), std::mem::take(&mut credentials));
                }
                "login" | "password" | "account" if machine.is_none() => {
                    return Err(at(line, "there is no machine before it"));
                }
                "login" => credentials.login = value()?,
                "password" => credentials.password = value()?,
                "account" => drop(value()?),
                "macdef" => words.skip_macro(),
                _ => return Err(at(line, "a word is not one of a netrc file")),
            }
        }
        netrc.keep(machine, credentials);
        Ok(netrc)
    }
}

impl Netrc {
    fn keep(&mut self, machine: Option<Option<Box<str>>>, credentials: NetrcCredentials) {
        match machine {
            None => {}
            Some(Some(name)) => drop(self.machines.entry(name).or_insert(credentials)),
            Some(None) => drop(self.default.get_or_insert(credentials)),
        }
    }
}

/// The words of a file.
struct Words<'a> {
    text: &'a str,
    line: usize,
}

impl Words<'_> {
    fn next(&mut self) -> Result<Option<String>, Error> {
        loop {
            let start =
                self.text.find(|c: char| !c.is_ascii_whitespace()).unwrap_or(self.text.len());
            self.advance(start);
            match self.text.chars().next() {
                None => return Ok(None),
                Some('#') => {
                    let end = self.text.find('\n').unwrap_or(self.text.len());
                    self.advance(end);
                }
                Some('"') => return self.quoted().map(Some),
                Some(_) => {
                    let end = self.text.find(|c: char| c.is_ascii_whitespace());
                    let word = self.text[..end.unwrap_or(self.text.len())].to_owned();
                    self.advance(word.len());
                    return Ok(Some(word));
                }
            }
        }
    }

    fn quoted(&mut self) -> Result<String, Error> {
        let mut value = String::new();
        let mut chars = self.text.char_indices().skip(1);
        while let Some((index, c)) = chars.next() {
            match c {
                '"' => {
                    self.advance(index + 1);
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, 'r')) => value.push('\r'),
                    Some((_, 't')) => value.push('\t'),
                    Some((_, other)) => value.push(other),
                    None => {}
                },
                '\n' => break,
                other => value.push(other),
            }
        }
        Err(at(self.line, "a quotation does not end"))
    }

    /// Skips a macro: its name, and the lines up to an empty one.
    fn skip_macro(&mut self) {
        let mut bytes = 0;
        for (index, line) in self.text.split_inclusive('\n').enumerate() {
            bytes += line.len();
            if index > 0 && matches!(line, "\n" | "\r\n") {
                break;
            }
        }
        self.advance(bytes);
    }

    fn advance(&mut self, bytes: usize) {
        self.line += self.text[..bytes].matches('\n').count();
        self.text = &self.text[bytes..];
    }
}

fn at(line: usize, what: &str) -> Error {
    invalid(&format!("line {line}: {what}"))
}

fn invalid(what: &str) -> Error {
    Error::new(ErrorKind::InvalidMessage, Phase::Request)
        .with_text(format_args!("the netrc file cannot be read: {what}"))
}

impl fmt::Debug for Netrc {
    /// The hosts alone: the rest are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut hosts: Vec<&str> = self.machines.keys().map(|host| &**host).collect();
        hosts.sort_unstable();
        f.debug_struct("Netrc")
            .field("hosts", &hosts)
            .field("default", &self.default.is_some())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_in_any_layout() {
        let text = "# hosts\nmachine A.test login me password one\nmachine b.test\n\tlogin \"you \\\"x\\\"\"\n  \
                    account a\n  password two#2 # not a part\nmacdef init\ncd /\nlogin none\n\n\
                    machine a.test login other password other\nmachine c.test login only\n\
                    default login anonymous password guest";
        let netrc: Netrc = text.parse().unwrap();
        assert_eq!(netrc.get("a.test"), Some(("me", "one")), "the first counts");
        assert_eq!(netrc.get("B.TEST"), Some(("you \"x\"", "two#2")));
        assert_eq!(netrc.get("c.test"), Some(("only", "")));
        assert_eq!(netrc.get("d.test"), Some(("anonymous", "guest")));
        let netrc: Netrc = "".parse().unwrap();
        assert_eq!(netrc.get("a.test"), None);
        let crlf: Netrc = "machine a.test\r\nlogin me\r\npassword one\r\n".parse().unwrap();
        assert_eq!(crlf.get("a.test"), Some(("me", "one")));
    }

    #[test]
    fn what_is_wrong_is_told_by_its_line_and_without_secrets() {
        for (text, told) in [
            ("machine a\npasswrod s3cret", "line 2: a word is not one of a netrc file"),
            ("machine a login", "line 1: a value is missing"),
            ("\n\nlogin s3cret", "line 3: there is no machine before it"),
            ("machine a password \"s3cret", "line 1: a quotation does not end"),
            ("machine a password \"s3cret\nx\"", "line 1: a quotation does not end"),
        ] {
            let error = text.parse::<Netrc>().unwrap_err().to_string();
            assert!(error.contains(told) && !error.contains("s3cret"), "{error}");
        }
        let debug = format!("{:?}", "machine a password s3cret".parse::<Netrc>().unwrap());
        assert!(debug.contains("\"a\"") && !debug.contains("s3cret"), "{debug}");
        assert!(" ".repeat(FILE_BYTES_MAX + 1).parse::<Netrc>().is_err());
    }
}
