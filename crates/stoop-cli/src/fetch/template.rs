//! What all requests of a run have in common, where it is not the plain GET.

use std::ffi::OsString;
use std::io;

use stoop::{Body, Error, Method, Request};
use stoop_fetch::Fetch;

use crate::data::DataArgs;
use crate::request_options::Header;

/// The methods that servers know in these letters alone.
const KNOWN_METHODS: [Method; 7] = [
    Method::GET,
    Method::HEAD,
    Method::POST,
    Method::PUT,
    Method::DELETE,
    Method::PATCH,
    Method::OPTIONS,
];

/// The method, fields and content of each request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    method: Method,
    headers: Vec<Header>,
    content: Vec<u8>,
}

impl Template {
    /// What the options describe; none for a plain GET.
    ///
    /// # Errors
    /// Those of files, and what is no method or header.
    pub(super) fn new(
        method: Option<&str>,
        headers: &[OsString],
        data: &DataArgs,
    ) -> io::Result<Option<Self>> {
        if method.is_none() && headers.is_empty() && data.is_empty() {
            return Ok(None);
        }
        let mut headers = Header::read_all(headers)?;
        let content = data.content()?;
        let method = match method {
            Some(typed) => Method::from_bytes(typed.as_bytes())
                .map_err(|_| io::Error::other(not_a_method(typed)))?,
            None if data.is_empty() => Method::GET,
            None => Method::POST,
        };
        let mut add = |name: &str, value: &str| {
            if !Header::names(&headers, name) {
                headers.push(Header::Sent(name.to_owned(), value.into()));
            }
        };
        if data.is_json() {
            add("content-type", "application/json");
            add("accept", "application/json");
        } else if !data.is_empty() {
            add("content-type", "application/x-www-form-urlencoded");
        }
        let template = Self { method, headers, content };
        // A header that may not be sent fails here, and not with each URL.
        template.check().map_err(io::Error::other)?;
        Ok(Some(template))
    }

    /// Checks what would fail with each URL.
    ///
    /// # Errors
    /// What may not be sent, and why.
    fn check(&self) -> Result<(), String> {
        if self.method == Method::CONNECT {
            return Err("-X CONNECT asks a proxy for a tunnel: see --proxy".to_owned());
        }
        self.request("http://localhost/").map_err(|error| error.to_string())?;
        let length = self.value("content-length").filter(|value| {
            let text = std::str::from_utf8(value).ok();
            text.and_then(|text| text.parse().ok()) != Some(self.content.len())
        });
        if let Some(length) = length {
            let (length, is) = (String::from_utf8_lossy(length), self.content.len());
            return Err(format!("-H 'Content-Length: {length}': the content has {is} bytes"));
        }
        let is_host = |header: &&Header| matches!(header, Header::Sent(name, _) if name.eq_ignore_ascii_case("host"));
        if self.headers.iter().filter(is_host).count() > 1 {
            return Err("-H Host is given more than once".to_owned());
        }
        let host = self.value("host").filter(|host| !host.is_empty());
        match host.map(|host| std::str::from_utf8(host).map_err(|_| host)) {
            Some(Ok(host)) if !is_authority(host) => Err(format!("-H 'Host: {host}' is no host")),
            Some(Err(host)) => {
                Err(format!("-H 'Host: {}' is no host", String::from_utf8_lossy(host)))
            }
            _ => Ok(()),
        }
    }

    /// What is to be known of a method in other letters than its own.
    pub(super) fn method_note(&self) -> Option<String> {
        let (typed, meant) = (self.method.as_str(), self.method.as_str().to_ascii_uppercase());
        let is_known = KNOWN_METHODS.iter().any(|known| known.as_str() == meant);
        (typed != meant && is_known).then(|| {
            format!(
                "-X {typed} is sent as it is typed: methods are told apart by their letters (RFC 9110 §9.1), and servers \
                 know {meant}"
            )
        })
    }

    /// The method of every request.
    pub(super) fn method(&self) -> &Method {
        &self.method
    }

    /// Whether a field of that name is given, or not to be sent.
    pub(super) fn names(&self, name: &str) -> bool {
        Header::names(&self.headers, name)
    }

    /// What tells its requests from those of another, by the names of the options: not the values themselves, which may be
    /// secret or long. Credentials are not told by their values, so that a run goes on with new ones.
    pub(super) fn shape(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if !self.content.is_empty() {
            all.push(("--data".to_owned(), digest(&self.content)));
        }
        for header in &self.headers {
            let (name, value) = match header {
                Header::Removed(name) => (name, "(removed)".to_owned()),
                Header::Sent(name, _) if is_credential(name) => (name, "(given)".to_owned()),
                Header::Sent(name, value) => (name, digest(value)),
            };
            let name = format!("--header {}", name.to_ascii_lowercase());
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => *values = format!("{values}, {value}"),
                None => all.push((name, value)),
            }
        }
        all
    }

    /// The value of a header that is sent by that name.
    pub(super) fn value(&self, name: &str) -> Option<&[u8]> {
        self.headers.iter().find_map(|header| match header {
            Header::Sent(sent, value) if sent.eq_ignore_ascii_case(name) => Some(value.as_slice()),
            _ => None,
        })
    }

    /// Gives every request of a run this method, these fields and this content.
    pub(super) fn apply(&self, fetch: Fetch) -> Fetch {
        let fetch = fetch.method(self.method.clone()).content(self.content.clone());
        self.headers.iter().fold(fetch, |fetch, header| match header {
            Header::Sent(name, value) => fetch.field(name, value),
            Header::Removed(_) => fetch,
        })
    }

    /// The request for a URL.
    ///
    /// # Errors
    /// Those of [`Request::new`], and of fields that may not be sent.
    fn request(&self, url: &str) -> Result<Request, Error> {
        let mut request = Request::new(self.method.clone(), url)?;
        for header in &self.headers {
            if let Header::Sent(name, value) = header {
                request.fields_mut().push(name, value)?;
            }
        }
        Ok(request.with_body(Body::from(self.content.clone())))
    }
}

fn not_a_method(typed: &str) -> String {
    format!("-X {typed:?} is no method: it is a word of letters, as GET (RFC 9110 §5.6.2)")
}

/// Whether that is a host, with a port or without.
fn is_authority(text: &str) -> bool {
    !text.contains(['/', '?', '#', '@', '\\']) && Request::get(&format!("http://{text}/")).is_ok()
}

/// Whether a field's value is a credential, which may expire while a run goes on.
fn is_credential(name: &str) -> bool {
    ["authorization", "proxy-authorization", "cookie"]
        .iter()
        .any(|it| name.eq_ignore_ascii_case(it))
}

/// A value by its length, and by what tells it from others of the same.
fn digest(value: &[u8]) -> String {
    let digest = blake3::hash(value).to_hex();
    let unit = if value.len() == 1 { "byte" } else { "bytes" };
    format!("of {} {unit} (blake3 {})", value.len(), &digest[..16])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::DataKind;

    fn template(
        method: Option<&str>,
        headers: &[&str],
        data: &[(DataKind, &str)],
    ) -> io::Result<Option<Template>> {
        let headers: Vec<_> = headers.iter().map(OsString::from).collect();
        let data = data.iter().map(|(kind, value)| (*kind, (*value).to_owned())).collect();
        Template::new(method, &headers, &DataArgs(data))
    }

    #[test]
    fn a_plain_get_has_none_and_data_makes_a_post_with_its_type() {
        assert_eq!(template(None, &[], &[]).expect("good"), None);
        let post =
            template(None, &["x-a: b"], &[(DataKind::Data, "a=1")]).expect("good").expect("one");
        let request = post.request("http://a/").expect("a URL");
        assert_eq!((request.method().as_str(), request.field("x-a")), ("POST", Some(&b"b"[..])));
        let typed = request.field("content-type").expect("a type");
        assert_eq!(typed, b"application/x-www-form-urlencoded");
        let put = template(Some("PUT"), &["Content-Type: x/y"], &[(DataKind::Json, "{}")]);
        let request = put.expect("good").expect("one").request("http://a/").expect("a URL");
        assert_eq!(
            (request.method().as_str(), request.field("content-type")),
            ("PUT", Some(&b"x/y"[..]))
        );
        assert_eq!(request.body().len(), Some(2));
    }

    #[test]
    fn a_method_in_other_letters_than_its_own_is_told() {
        let note = |typed: &str| {
            let template = template(Some(typed), &[], &[]).expect("a token").expect("one");
            template.method_note()
        };
        let text = note("get").expect("a note");
        assert!(text.starts_with("-X get is sent") && text.ends_with("know GET"), "{text}");
        assert!(note("Post").is_some_and(|text| text.ends_with("know POST")));
        // A method of the caller's own may have any letters.
        assert_eq!([note("GET"), note("purge"), note("M-SEARCH")], [None, None, None]);
    }

    #[test]
    fn a_run_is_told_from_another_by_its_requests_and_not_by_their_secrets() {
        let shape = |headers: &[&str], data: &str| {
            let template = template(None, headers, &[(DataKind::Data, data)]);
            template.expect("good").expect("one").shape()
        };
        let one = shape(&["X-Key: s3cret", "Authorization: Bearer one", "Accept;"], "a=1");
        let names: Vec<_> = one.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "--data",
            "--header x-key",
            "--header authorization",
            "--header accept",
            "--header content-type",
        ];
        assert_eq!(names, expected);
        assert!(one.iter().all(|(_, value)| !value.contains("s3cret")), "{one:?}");
        assert_eq!(one, shape(&["X-Key: s3cret", "Authorization: Bearer two", "Accept;"], "a=1"));
        assert_ne!(one, shape(&["X-Key: other1", "Authorization: Bearer one", "Accept;"], "a=1"));
        assert_ne!(one, shape(&["X-Key: s3cret", "Authorization: Bearer one", "Accept;"], "a=2"));
    }

    #[test]
    fn what_may_not_be_sent_fails_before_the_first_url() {
        for typed in ["a b", "", "a(b", "G\u{c4}T", "GET\r\n"] {
            let error = template(Some(typed), &[], &[]).expect_err("no token");
            let expected = format!("-X {typed:?} is no method");
            assert!(error.to_string().starts_with(&expected), "{error}");
        }
        assert!(template(None, &["a b: c"], &[]).is_err());
        assert!(template(None, &["a: b\r\nc: d"], &[]).is_err());
        assert!(template(None, &["nothing"], &[]).is_err());
        let why = |method, headers: &[&str]| {
            let data = [(DataKind::Data, "abc")];
            template(method, headers, &data).err().map(|error| error.to_string())
        };
        for bad in ["a b", "a:99999999", "a/b", "u@a"] {
            let expected = format!("-H 'Host: {bad}' is no host");
            assert_eq!(why(None, &[&format!("host: {bad}")]), Some(expected));
        }
        assert_eq!(
            why(None, &["Host: a", "host: b"]).as_deref(),
            Some("-H Host is given more than once")
        );
        assert_eq!(
            why(None, &["Content-Length: 4"]).as_deref(),
            Some("-H 'Content-Length: 4': the content has 3 bytes")
        );
        assert!(why(Some("CONNECT"), &[]).is_some_and(|why| why.contains("--proxy")));
        assert_eq!(why(None, &["Content-Length: 3", "Host: a.example:8080"]), None);
        assert_eq!(why(None, &["Host: [::1]:80"]), None);
    }
}
