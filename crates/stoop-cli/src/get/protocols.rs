//! Lists of protocols, as `=https` and `-all,+https`.

/// The protocols that curl knows: those that are not spoken here mean nothing in a list.
const KNOWN: &[&str] = &[
    "all", "dict", "file", "ftp", "ftps", "gopher", "gophers", "http", "https", "imap", "imaps",
    "ldap", "ldaps", "mqtt", "pop3", "pop3s", "rtmp", "rtmpe", "rtmps", "rtmpt", "rtmpte",
    "rtmpts", "rtsp", "scp", "sftp", "smb", "smbs", "smtp", "smtps", "telnet", "tftp", "ws", "wss",
];

/// Whether that is the name of a protocol, spoken here or not.
pub(super) fn is_protocol(name: &str) -> bool {
    is_known(name) && !name.eq_ignore_ascii_case("all")
}

fn is_known(name: &str) -> bool {
    KNOWN.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Which of http and https may be spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Protocols {
    http: bool,
    https: bool,
    unknown: Vec<String>,
}

impl Protocols {
    /// Reads a list: at first all are in it, `-NAME` takes one out, `+NAME` or `NAME` puts it in, and `=NAME` makes it
    /// the only one.
    pub(super) fn read(list: &str) -> Result<Self, String> {
        let mut read = Self { http: true, https: true, unknown: Vec::new() };
        for word in list.split(',').filter(|word| !word.is_empty()) {
            let name = word.trim_start_matches(['=', '+', '-']);
            if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
                return Err(format!(
                    "{word:?} is no protocol: a list is '=https' or '-all,+https'"
                ));
            }
            let sign = word[..word.len() - name.len()].chars().next_back().unwrap_or('+');
            if !is_known(name) {
                read.unknown.push(name.to_owned());
            }
            if sign == '=' {
                (read.http, read.https) = (false, false);
            }
            let is_all = name.eq_ignore_ascii_case("all");
            if is_all || name.eq_ignore_ascii_case("http") {
                read.http = sign != '-';
            }
            if is_all || name.eq_ignore_ascii_case("https") {
                read.https = sign != '-';
            }
        }
        Ok(read)
    }

    /// Whether a scheme is in it.
    pub(super) fn allows(&self, scheme: &str) -> bool {
        match scheme.eq_ignore_ascii_case("https") {
            true => self.https,
            false => self.http,
        }
    }

    /// The names of the list that are those of no protocol.
    pub(super) fn unknown(&self) -> &[String] {
        &self.unknown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_begins_with_all_and_has_signs() {
        for (list, http, https) in [
            ("=https", false, true),
            ("-all,+https", false, true),
            ("-all,https", false, true),
            ("-http", false, true),
            ("=HTTP,HTTPS", true, true),
            ("=http,=https", false, true),
            ("=ftp", false, false),
            ("=foo,http", true, false),
            ("-all", false, false),
            ("-all,=all", true, true),
            ("+-http", false, true),
            ("foo,,", true, true),
            ("", true, true),
        ] {
            let read = Protocols::read(list).expect(list);
            assert_eq!((read.allows("http"), read.allows("https")), (http, https), "{list}");
        }
        assert_eq!(Protocols::read("=foo,smtp").expect("a list").unknown(), ["foo"]);
        for bad in ["!", "=", "=https,=", "=http, https", "1", "=-+"] {
            assert!(Protocols::read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn all_is_no_protocol() {
        assert!(is_protocol("HTTPS") && is_protocol("ftp"));
        assert!(!(is_protocol("all") || is_protocol("") || is_protocol("foo")));
    }
}
