//! What a run does with the content of a response before its record is written.

use std::io;

use stoop::Phase;

use crate::capture::{Capture, IN_MEMORY_MAX, SpillSettings, Truncated};
use crate::digests::{Digests, sha256};
use crate::extract::{Extraction, text_as_utf8};
use crate::kinds;
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
        match self.save.is_some() || self.digests.is_any() || self.has_text_as_utf8 {
            true => usize::MAX,
            false => self.extraction.content_bytes(),
        }
    }

    /// What is done with content while it arrives, where no format needs all of it in memory; none where this does, or
    /// nothing is done with all of it. A filter that looks at content gets a beginning of what is saved.
    pub(crate) fn spilling(&self, keeps_content: bool) -> Option<SpillSettings> {
        let is_all_needed = self.has_text_as_utf8 || keeps_content && self.save.is_none();
        let has_work = self.save.is_some() || self.digests.is_any();
        let of_filter = if keeps_content { IN_MEMORY_MAX } else { 0 };
        let beginning_max = self.extraction.content_bytes().max(of_filter);
        (has_work && !is_all_needed)
            .then(|| SpillSettings::new(self.save.clone(), self.digests, beginning_max))
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
            let spilled = capture.spilled();
            if self.digests.blake3 {
                let hash = spilled.and_then(|spilled| spilled.blake3);
                let hash = hash.unwrap_or_else(|| blake3::hash(&capture.content));
                details.blake3 = Some(hash.to_hex().to_string());
            }
            if self.digests.sha256 {
                let hash = spilled.and_then(|spilled| spilled.sha256.clone());
                details.sha256 = Some(hash.unwrap_or_else(|| sha256(&capture.content)));
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
        let saved = match (&self.save, capture.content_to_save()) {
            (Some(save), Some(content)) => {
                save.save(job, outcome.code, content, capture.fields.first("last-modified"))
            }
            _ => Ok(None),
        };
        let result = match saved {
            Ok(path) => {
                if let Some(details) = &mut outcome.details {
                    details.saved = path;
                }
                Ok(())
            }
            Err(error) => {
                not_saved(outcome, capture.status, &error);
                Err(error)
            }
        };
        outcome.capture = Some(capture);
        result
    }
}

/// Makes an outcome that of a job whose content could not be saved.
pub(crate) fn not_saved(outcome: &mut Outcome, status: u16, error: &io::Error) {
    let details = outcome.details.take().map(|details| Details {
        status: Some(status),
        error_phase: Some(Phase::Receive.as_str()),
        error: Some(error.to_string()),
        ..*details
    });
    let capture = outcome.capture.take();
    let details = details.map(Box::new);
    *outcome = Outcome { details, capture, ..Outcome::error(kinds::SAVE_FAILED) };
}
