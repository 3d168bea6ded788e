//! An exchange as a line of JSON, with secrets masked.

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stoop_proto::{Fields, without_password};

use crate::error::{Error, ErrorKind, Phase};

/// What is written in place of a secret.
pub(super) const MASK: &str = "***";

/// Names of credentials, in any case of their letters: of parameters in queries and fragments, and of fields, these with or
/// without `x-` before them (RFC 6750 §2.3, RFC 6749 §2.3.1 and §4.1, and what services call their keys and signatures).
const SECRETS: &[&str] = &[
    "auth",
    "auth-token",
    "code",
    "csrf-token",
    "key",
    "access_token",
    "refresh_token",
    "id_token",
    "token",
    "client_secret",
    "password",
    "api_key",
    "apikey",
    "api-key",
    "signature",
    "sig",
    "x-amz-signature",
    "x-amz-security-token",
    "x-goog-signature",
];

/// A request and what it came to.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RecordedExchange {
    pub(super) request: RecordedRequest,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) response: Option<RecordedResponse>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) error: Option<RecordedError>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RecordedRequest {
    pub(super) method: String,
    pub(super) url: String,
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    /// The content, where it was in memory. Without it, any content fits.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) body: Option<RecordedContent>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    #[serde(default)]
    pub(super) headers: Vec<(String, String)>,
    #[serde(default)]
    pub(super) body: RecordedContent,
    /// There was more of the content, which was not read, or was beyond what is recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub(super) is_cut: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RecordedError {
    pub(super) kind: String,
    pub(super) phase: String,
    pub(super) text: String,
}

/// Content: text where it is, else base64.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(super) enum RecordedContent {
    Text(String),
    Base64(String),
}

impl Default for RecordedContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl RecordedContent {
    pub(super) fn new(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::Text(text.to_owned()),
            Err(_) => Self::Base64(BASE64_STANDARD.encode(bytes)),
        }
    }

    pub(super) fn bytes(&self) -> Option<Bytes> {
        match self {
            Self::Text(text) => Some(text.clone().into()),
            Self::Base64(coded) => BASE64_STANDARD.decode(coded).ok().map(Into::into),
        }
    }
}

const PHASES: [Phase; 9] = [
    Phase::Request,
    Phase::Queue,
    Phase::Dns,
    Phase::Connect,
    Phase::Tls,
    Phase::Send,
    Phase::Wait,
    Phase::Receive,
    Phase::Redirect,
];

impl RecordedError {
    pub(super) fn new(error: &Error) -> Self {
        let (kind, phase) = (error.kind().as_str(), error.phase().as_str());
        Self { kind: kind.to_owned(), phase: phase.to_owned(), text: error.text() }
    }

    /// Whether its kind and phase are known.
    pub(super) fn is_known(&self) -> bool {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == self.kind);
        kind.is_some() && PHASES.iter().any(|phase| phase.as_str() == self.phase)
    }

    /// The error again, without its sources.
    pub(super) fn error(&self) -> Error {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == self.kind);
        let phase = PHASES.into_iter().find(|phase| phase.as_str() == self.phase);
        let error = Error::new(*kind.unwrap_or(&ErrorKind::Internal), phase.unwrap_or(Phase::Wait));
        error.with_text(&self.text)
    }
}

/// Fields as text, credentials and those of these names masked.
pub(super) fn fields(fields: &Fields, masked: &[String]) -> Vec<(String, String)> {
    let shown = fields.iter().map(|field| {
        let is_masked = field.is_secret() || is_secret(field.name(), masked);
        let value = match is_masked {
            true => MASK.to_owned(),
            false => url(&String::from_utf8_lossy(field.value()), masked),
        };
        (field.name().to_owned(), value)
    });
    shown.collect()
}

fn is_secret(name: &str, masked: &[String]) -> bool {
    let bare = match name.get(..2) {
        Some("x-" | "X-") => &name[2..],
        _ => name,
    };
    let is_it = |secret: &str| [name, bare].iter().any(|name| secret.eq_ignore_ascii_case(name));
    SECRETS.iter().copied().any(is_it) || masked.iter().any(|name| is_it(name))
}

/// A URL, its password and the parameters of its query and fragment that are secret or of these names masked.
pub(super) fn url(url: &str, masked: &[String]) -> String {
    let url = without_password(url);
    let Some(start) = url.find(['?', '#']) else { return url.into_owned() };
    let (path, parameters) = url.split_at(start);
    let shown = parameters.split_inclusive(['?', '#', '&']).map(|pair| {
        let end = pair.trim_end_matches(['?', '#', '&']).len();
        match pair[..end].split_once('=') {
            Some((name, _)) if is_secret(name, masked) => {
                format!("{name}={MASK}{}", &pair[end..])
            }
            _ => pair.to_owned(),
        }
    });
    path.to_owned() + &shown.collect::<String>()
}

/// Whether a recorded URL is that of a request. What was masked fits any value.
pub(super) fn is_same_url(recorded: &str, of_request: &str) -> bool {
    let (Some((path, query)), Some((path_now, query_now))) =
        (recorded.split_once('?'), of_request.split_once('?'))
    else {
        return recorded == of_request;
    };
    let is_same = |(pair, now): (&str, &str)| {
        let name = pair.strip_suffix(MASK).filter(|name| name.ends_with('='));
        pair == now || name.is_some_and(|name| now.starts_with(name))
    };
    path == path_now
        && query.split('&').count() == query_now.split('&').count()
        && query.split('&').zip(query_now.split('&')).all(is_same)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_a_query_are_masked_and_fit_any_value() {
        let masked = ["mine".to_owned()];
        for (asked, recorded) in [
            ("http://a.test/x", "http://a.test/x"),
            ("http://a.test/?q=token&page=2", "http://a.test/?q=token&page=2"),
            (
                "http://a.test/?q=1&Access_Token=s&mine=s",
                "http://a.test/?q=1&Access_Token=***&mine=***",
            ),
            (
                "http://a.test/?a=1&&b#access_token=s&x=1",
                "http://a.test/?a=1&&b#access_token=***&x=1",
            ),
            ("http://me:s@a.test/?sig=a=b&token", "http://me:***@a.test/?sig=***&token"),
        ] {
            assert_eq!(url(asked, &masked), recorded);
            assert!(is_same_url(recorded, &without_password(asked)), "{asked}");
        }
        let recorded = "http://a.test/?q=1&token=***";
        for (asked, is_same) in [
            ("http://a.test/?q=1&token=other", true),
            ("http://a.test/?q=2&token=other", false),
            ("http://a.test/?q=1&tokens=other", false),
            ("http://a.test/?q=1", false),
            ("http://a.test/?q=1&token=other&more=1", false),
            ("http://a.test/y?q=1&token=other", false),
            ("http://a.test/", false),
        ] {
            assert_eq!(is_same_url(recorded, asked), is_same, "{asked}");
        }
    }
}
