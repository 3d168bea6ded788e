//! What a run does with the content of a response before its record is written.

use std::io;

use stoop::Phase;

use crate::capture::{Capture, Truncated};
use crate::digests::{Digests, sha256};
use crate::extract::{Extraction, text_as_utf8};
use crate::record::{Details, Outcome};
use crate::save::SaveFolder;
use crate::schedule::Started;

/// What is done with content.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processing {
    pub(crate) save: Option<SaveFolder>,
    pub(crate) digests: Digests,
    pub(crate) extraction: Extraction,
    /// Text in another encoding becomes UTF-8.
    pub(crate) has_text_as_utf8: bool,
}

impl Processing {
    /// How many bytes of content are needed for it.
    pub(crate) fn content_bytes(&self) -> usize {
        let digests = self.digests.blake3 || self.digests.sha256;
        match self.save.is_some() || digests || self.has_text_as_utf8 {
            true => usize::MAX,
            false => self.extraction.content_bytes(),
        }
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
        // The content of what has not changed is elsewhere.
        let is_here = |capture: &mut Box<Capture>| capture.not_modified.is_none();
        let Some(mut capture) = outcome.capture.take_if(is_here) else { return Ok(()) };
        if let Some(details) = &mut outcome.details {
            details.truncated = capture.truncated.map(Truncated::as_str);
            if self.digests.blake3 {
                details.blake3 = Some(blake3::hash(&capture.content).to_hex().to_string());
            }
            if self.digests.sha256 {
                details.sha256 = Some(sha256(&capture.content));
            }
            if let Some(extracted) = &mut details.extracted {
                self.extraction.add_content(extracted, &capture);
            }
        }
        if self.has_text_as_utf8
            && let Some(text) = text_as_utf8(&capture)
        {
            capture.content = text;
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
