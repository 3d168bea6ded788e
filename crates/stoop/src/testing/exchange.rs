//! An exchange as a line of JSON, with secrets masked.

use base64::prelude::{BASE64_STANDARD, Engine};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use stoop_proto::{Fields, without_password};

use crate::error::{Error, ErrorKind, Phase};

/// What is written in place of a secret.
pub(super) const MASK: &str = "***";

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
    pub(super) headers: Vec<(String, String)>,
    /// The content, where it was in memory.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(super) body: Option<RecordedContent>,
}

#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub(super) struct RecordedResponse {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: RecordedContent,
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

impl RecordedError {
    pub(super) fn new(error: &Error) -> Self {
        let (kind, phase) = (error.kind().as_str(), error.phase().as_str());
        Self { kind: kind.to_owned(), phase: phase.to_owned(), text: error.text() }
    }

    /// The error again, without its sources.
    pub(super) fn error(&self) -> Error {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.as_str() == self.kind);
        let phases = [
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
        let phase = phases.into_iter().find(|phase| phase.as_str() == self.phase);
        let error = Error::new(*kind.unwrap_or(&ErrorKind::Internal), phase.unwrap_or(Phase::Wait));
        error.with_text(&self.text)
    }
}

/// Fields as text, credentials and those of these names masked.
pub(super) fn fields(fields: &Fields, masked: &[String]) -> Vec<(String, String)> {
    let shown = fields.iter().map(|field| {
        let is_masked = field.is_secret() || masked.iter().any(|name| field.is(name));
        let value = match is_masked {
            true => MASK.to_owned(),
            false => without_password(&String::from_utf8_lossy(field.value())).into_owned(),
        };
        (field.name().to_owned(), value)
    });
    shown.collect()
}
