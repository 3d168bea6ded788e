//! Parses requests as far as a scripted server needs.

/// The longest head that is read.
pub(crate) const HEAD_BYTES_MAX: usize = 64 * 1024;

/// The most fields in a head.
const FIELDS_MAX: usize = 128;

/// The head of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    /// As it was sent, but for the absolute form: of that only path and query are kept.
    pub(crate) target: String,
    /// The host it is for, without port and in lower case; empty if there is none.
    pub(crate) host: String,
    /// Whether the client can take another answer on this connection.
    pub(crate) keep_alive: bool,
    pub(crate) body: RequestFraming,
    /// Whether the client waits for permission to send the body.
    pub(crate) expects_continue: bool,
}

/// The framing of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestFraming {
    Length(u64),
    Chunked,
}

/// The result of parsing the received bytes.
pub(crate) enum ParseResult {
    Whole(ReceivedRequest, usize),
    Partial,
    /// No acceptable request; the log says `bad_request`.
    Bad,
}

/// Reads the head that `bytes` begin with.
pub(crate) fn parse(bytes: &[u8]) -> ParseResult {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut head = httparse::Request::new(&mut fields);
    let length = match head.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) if bytes.len() < HEAD_BYTES_MAX => {
            return ParseResult::Partial;
        }
        Ok(httparse::Status::Partial) | Err(_) => return ParseResult::Bad,
    };
    let (Some(method), Some(target), Some(version)) = (head.method, head.path, head.version) else {
        return ParseResult::Bad;
    };
    let (mut host, target) = split_target(target);
    let mut request = ReceivedRequest {
        method: method.to_owned(),
        target: target.to_owned(),
        host: String::new(),
        keep_alive: version == 1,
        body: RequestFraming::Length(0),
        expects_continue: false,
    };
    for field in head.headers.iter() {
        let Ok(value) = std::str::from_utf8(field.value) else { continue };
        match field.name {
            name if name.eq_ignore_ascii_case("host") => host = host.or(Some(value)),
            name if name.eq_ignore_ascii_case("connection") => {
                for option in value.split(',').map(str::trim) {
                    if option.eq_ignore_ascii_case("close") {
                        request.keep_alive = false;
                    } else if option.eq_ignore_ascii_case("keep-alive") && version == 0 {
                        request.keep_alive = true;
                    }
                }
            }
            name if name.eq_ignore_ascii_case("content-length") => match value.parse() {
                Ok(length) => request.body = RequestFraming::Length(length),
                Err(_) => return ParseResult::Bad,
            },
            name if name.eq_ignore_ascii_case("transfer-encoding") => {
                request.body = RequestFraming::Chunked
            }
            name if name.eq_ignore_ascii_case("expect") => request.expects_continue = version == 1,
            _ => {}
        }
    }
    request.host = host.map(without_port).unwrap_or_default();
    ParseResult::Whole(request, length)
}

/// The authority and the origin form of a target; only the absolute form has the former.
pub(crate) fn split_target(target: &str) -> (Option<&str>, &str) {
    let Some((_, rest)) = target.split_once("://").filter(|_| !target.starts_with('/')) else {
        return (None, target);
    };
    match rest.find(['/', '?']) {
        Some(at) => (Some(&rest[..at]), &rest[at..]),
        None => (Some(rest), "/"),
    }
}

/// The host in an authority, in lower case.
pub(crate) fn without_port(authority: &str) -> String {
    let host = authority.trim();
    let colon = host.rfind(':').filter(|colon| !host[*colon..].contains(']'));
    host[..colon.unwrap_or(host.len())].trim_end_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(bytes: &str) -> ReceivedRequest {
        match parse(bytes.as_bytes()) {
            ParseResult::Whole(request, length) if length == bytes.len() => request,
            _ => panic!("not one whole head: {bytes:?}"),
        }
    }

    #[test]
    fn the_host_has_no_port_and_the_target_no_authority() {
        let request = whole("GET /a?b HTTP/1.1\r\nHost: H1.Test.:8080\r\n\r\n");
        assert_eq!((request.host.as_str(), request.target.as_str()), ("h1.test", "/a?b"));
        let request = whole("GET http://h2.test:80/x HTTP/1.1\r\nHost: other\r\n\r\n");
        assert_eq!((request.host.as_str(), request.target.as_str()), ("h2.test", "/x"));
        let request = whole("GET http://h2.test HTTP/1.1\r\nHost: other\r\n\r\n");
        assert_eq!((request.host.as_str(), request.target.as_str()), ("h2.test", "/"));
        assert_eq!(whole("GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n").host, "[::1]");
    }

    #[test]
    fn persistence_depends_on_the_version_and_the_connection_field() {
        assert!(whole("GET / HTTP/1.1\r\n\r\n").keep_alive);
        assert!(!whole("GET / HTTP/1.0\r\n\r\n").keep_alive);
        assert!(whole("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keep_alive);
        assert!(!whole("GET / HTTP/1.1\r\nConnection: x, Close\r\n\r\n").keep_alive);
    }

    #[test]
    fn a_head_may_come_in_pieces_but_not_for_ever() {
        assert!(matches!(parse(b"GET / HTTP/1.1\r\nHo"), ParseResult::Partial));
        assert!(matches!(parse(b"NO GOOD AT ALL\r\n\r\n"), ParseResult::Bad));
        let endless = [b"GET / HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; HEAD_BYTES_MAX]].concat();
        assert!(matches!(parse(&endless), ParseResult::Bad));
    }
}
