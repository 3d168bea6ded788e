//! What several tests of formats share: a folder that is gone with its test, and a response with its exchange.

use std::fs;
use std::path::PathBuf;

#[cfg(feature = "warc")]
use stoop::{Fields, Method, Version};

#[cfg(feature = "warc")]
use crate::capture::{Capture, Exchange, ExchangeResponse};
#[cfg(feature = "warc")]
use crate::record::Outcome;
#[cfg(feature = "warc")]
use crate::summary::ResultCode;

/// A folder of a test, which removes it.
pub(super) struct TestFolder(pub(super) PathBuf);

impl TestFolder {
    /// A folder with a name that no other test has. It is empty.
    pub(super) fn new(name: &str) -> Self {
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("stoop-format-{process}-{name}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("writable");
        Self(path)
    }

    /// The names of what is in it, in order.
    pub(super) fn names(&self) -> Vec<String> {
        let names = fs::read_dir(&self.0).expect("a folder").flatten();
        let mut names: Vec<_> =
            names.map(|entry| entry.file_name().into_string().expect("text")).collect();
        names.sort();
        names
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A response of 200 to a GET, with this content and its exchange.
#[cfg(feature = "warc")]
pub(super) fn outcome(url: &str, content: &[u8]) -> Outcome {
    let response =
        ExchangeResponse { status: 200, version: Version::HTTP_11, fields: Fields::new() };
    let mut capture = Capture::new(url, 200, Fields::new(), content.to_vec());
    capture.exchanges = vec![Exchange {
        url: url.to_owned(),
        method: Method::GET,
        target: "/".to_owned(),
        request_fields: Fields::new(),
        request_content: bytes::Bytes::new(),
        remote_ip: None,
        response: Some(response),
    }];
    let mut outcome = Outcome::new(ResultCode::Status(200));
    outcome.capture = Some(Box::new(capture));
    outcome
}
