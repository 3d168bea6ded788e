//! The jobs that what is found in a document is.

use std::io::Read;

use super::document::Document;
use super::{Extent, Job, JobOptions};

/// The job of the page that was found.
pub(super) fn page<R: Read>(document: &Document<R>) -> Job<'_> {
    let places = document.places();
    let extent = if places.is_overlong() { Extent::Overlong } else { Extent::Whole };
    Job::new(places.url().as_bytes()).with_extent(extent)
}

/// The job of what is none.
pub(super) fn invalid(url: &str, why: String) -> Job<'_> {
    Job::new(url.as_bytes()).with_options(JobOptions::new().invalid(why))
}
