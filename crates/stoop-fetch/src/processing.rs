//! What a run does with the content of a response before its record is written.

use std::fmt::Write as _;
use std::io;

use sha2::{Digest, Sha256};
use stoop::Phase;

use crate::capture::Truncated;
use crate::record::{Details, Outcome};
use crate::save::SaveFolder;
use crate::schedule::Started;

/// What is done with content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processing {
    pub(crate) save: Option<SaveFolder>,
    pub(crate) digests: Digests,
}

/// Which digests of the content records have.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Digests {
    pub(crate) blake3: bool,
    pub(crate) sha256: bool,
}

impl Processing {
    /// Whether there is anything to do.
    pub(crate) fn is_needed(&self) -> bool {
        self.save.is_some() || self.digests.blake3 || self.digests.sha256
    }

    /// Whether it can block its thread.
    pub(crate) fn is_blocking(&self) -> bool {
        self.save.is_some()
    }

    /// Works on the content of `outcome`, the response of `job`.
    ///
    /// # Errors
    /// A file could not be written; the outcome says so too.
    pub(crate) fn process(&self, job: &Started, outcome: &mut Outcome) -> io::Result<()> {
        let Some(capture) = outcome.capture.take() else { return Ok(()) };
        if let Some(details) = &mut outcome.details {
            details.truncated = capture.truncated.map(Truncated::as_str);
            if self.digests.blake3 {
                details.blake3 = Some(blake3::hash(&capture.content).to_hex().to_string());
            }
            if self.digests.sha256 {
                details.sha256 = Some(sha256(&capture.content));
            }
        }
        let saved = match &self.save {
            Some(save) => save.save(job, outcome, &capture),
            None => Ok(None),
        };
        let result = match saved {
            Ok(path) => {
                if let Some(details) = &mut outcome.details {
                    details.saved = path;
                }
                Ok(())
            }
            Err(error) => {
                let failed =
                    Outcome::local_error("save_failed", Phase::Receive, &error.to_string());
                let text = failed.details.and_then(|details| details.error);
                let details = outcome.details.take().map(|details| Details {
                    status: Some(capture.status),
                    error_phase: Some(Phase::Receive.as_str()),
                    error: text,
                    ..*details
                });
                *outcome =
                    Outcome { details: details.map(Box::new), ..Outcome::error("save_failed") };
                Err(error)
            }
        };
        outcome.capture = Some(capture);
        result
    }
}

/// The SHA-256 of `content`, in hexadecimal.
fn sha256(content: &[u8]) -> String {
    Sha256::digest(content).iter().fold(String::with_capacity(64), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("memory takes all");
        hex
    })
}
