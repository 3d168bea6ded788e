//! A sitemap, and feeds, as lists of pages.

mod bounded;
mod document;
mod places;

use std::cell::Cell;
use std::fmt::{self, Formatter};
use std::io::{self, Read};
use std::ops::ControlFlow;

use self::document::Document;
use self::places::Found;
use super::{Decompressed, Extent, Job, JobOptions, JobSource, Take};
use crate::mask;

/// What sitemaps.org allows a sitemap to have. Those of an index are read no further.
const NESTED_BYTES_MAX: u64 = 50 << 20;

/// The pages of a sitemap (sitemaps.org): a job for each `<loc>`. RSS and Atom are read too: the `<link>` of each item
/// and entry. Documents may follow each other, as `cat` puts them.
///
/// ```
/// use stoop_fetch::source::Sitemap;
///
/// let sitemap = r#"<?xml version="1.0" encoding="UTF-8"?>
/// <urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
///   <url><loc>https://example.com/?a=1&amp;b=2</loc><priority>0.5</priority></url>
/// </urlset>"#;
/// let source = Sitemap::new(sitemap.as_bytes());
/// # drop(source);
/// ```
///
/// Elements of other namespaces, as `image:loc`, have no pages. References to characters and to the five entities of XML
/// stand for what they are, and an `&` that begins none for itself. A `<url>` without a URL, or with an entity that
/// XML does not define, gets a record of the kind `invalid_job`, which says on which byte it ended; a URL of more than
/// 64 KiB is an `invalid_url`.
///
/// The sitemaps of an index (`<sitemapindex>`) are read where it names them, if [`open_nested`](Self::open_nested) says
/// how; otherwise each gets a record of the kind `invalid_job`. So does one that cannot be read, with its
/// URL, behind the records of the pages that were found.
///
/// What is no XML, or no sitemap, is an error of the input, with the byte (of what was decompressed). It takes memory
/// for one tag or text, of 4 MiB at most; a DTD is passed over, and none of its entities expanded.
pub struct Sitemap<R: Read> {
    index: Document<R>,
    nested: Option<Nested>,
    /// The index has named a sitemap that is not opened yet.
    is_named: bool,
    open: Option<Open>,
}

/// Opens a sitemap by its URL.
type Open = Box<dyn FnMut(&str) -> io::Result<Box<dyn Read + Send>> + Send>;

/// A sitemap of an index.
struct Nested {
    url: String,
    document: Document<Decompressed<Box<dyn Read + Send>>>,
}

impl<R: Read> Sitemap<R> {
    /// The pages of `input`, which needs no buffer of its own. For one that may be compressed, see [`Decompressed`].
    pub fn new(input: R) -> Self {
        Self { index: Document::new(input, u64::MAX), nested: None, is_named: false, open: None }
    }

    /// How the sitemaps of an index are opened, by their URLs; they may be compressed. Each is read to its end before
    /// the next is opened, up to the 50 MiB that a sitemap may have, as fast as its pages are fetched.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::path::Path;
    /// use stoop_fetch::source::Sitemap;
    ///
    /// let index = "<sitemapindex><sitemap><loc>https://example.com/a.xml</loc></sitemap></sitemapindex>";
    /// let source = Sitemap::new(index.as_bytes()).open_nested(|url| {
    ///     let name = Path::new(url).file_name().unwrap_or_default();
    ///     Ok(Box::new(File::open(Path::new("sitemaps").join(name))?))
    /// });
    /// # drop(source);
    /// ```
    #[must_use]
    pub fn open_nested(
        mut self,
        open: impl FnMut(&str) -> io::Result<Box<dyn Read + Send>> + Send + 'static,
    ) -> Self {
        self.open = Some(Box::new(open));
        self
    }

    /// Reads one thing of a nested sitemap.
    fn step_nested(&mut self, take: &mut Take<'_>) -> ControlFlow<()> {
        let Some(nested) = &mut self.nested else { return ControlFlow::Continue(()) };
        let why = match nested.document.step() {
            Ok(Found::Nothing) => return ControlFlow::Continue(()),
            Ok(Found::Page) => return take(page(&nested.document)),
            Ok(Found::Invalid(why)) => {
                let why = format!("an entry of the sitemap {}: {why}", mask::text(&nested.url));
                return take(invalid(nested.document.places().url(), why));
            }
            Ok(Found::Sitemap) => {
                let url = mask::text(&nested.url);
                let why = format!("the sitemap {url} of an index is an index itself");
                return take(invalid(nested.document.places().url(), why));
            }
            Ok(Found::End) => None,
            Err(error) => Some(unreadable(&error)),
        };
        let url = std::mem::take(&mut nested.url);
        self.nested = None;
        match why {
            Some(why) => take(invalid(&url, why)),
            None => ControlFlow::Continue(()),
        }
    }

    /// Opens the sitemap that the index has just named.
    fn open_next(&mut self, take: &mut Take<'_>) -> ControlFlow<()> {
        let url = self.index.places().url();
        let Some(open) = &mut self.open else {
            return take(invalid(
                url,
                "the sitemap is one of an index, and is not read".to_owned(),
            ));
        };
        match open(url) {
            Ok(input) => {
                let document = Document::new(Decompressed::new(input), NESTED_BYTES_MAX);
                self.nested = Some(Nested { url: url.to_owned(), document });
                ControlFlow::Continue(())
            }
            Err(error) => take(invalid(url, unreadable(&error))),
        }
    }
}

impl<R: Read + Send> JobSource for Sitemap<R> {
    /// Reads until there is a job, and on while nothing has to be waited for.
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let has_reported = Cell::new(false);
        let take = &mut |job: Job<'_>| {
            has_reported.set(true);
            take(job)
        };
        loop {
            let flow = match &self.nested {
                Some(_) => self.step_nested(take),
                None if std::mem::take(&mut self.is_named) => self.open_next(take),
                None => match self.index.step()? {
                    Found::Nothing => ControlFlow::Continue(()),
                    Found::Page => take(page(&self.index)),
                    Found::Invalid(why) => take(invalid(self.index.places().url(), why)),
                    Found::Sitemap => {
                        self.is_named = true;
                        ControlFlow::Continue(())
                    }
                    Found::End => return Ok(false),
                },
            };
            if flow.is_break() {
                return Ok(false);
            }
            let is_here = match &self.nested {
                Some(nested) => nested.document.is_here(),
                None => !self.is_named && self.index.is_here(),
            };
            if has_reported.get() && !is_here {
                return Ok(true);
            }
        }
    }

    /// Reports a URL that was read in part.
    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let places = match &self.nested {
            Some(nested) => nested.document.places(),
            None => self.index.places(),
        };
        if places.is_within_url() && !places.url().is_empty() {
            let _ = take(Job::new(places.url().as_bytes()).with_extent(extent));
        }
    }

    fn position(&self) -> u64 {
        self.index.position()
    }
}

/// The job of the page that was found.
fn page<R: Read>(document: &Document<R>) -> Job<'_> {
    let places = document.places();
    let extent = if places.is_overlong() { Extent::Overlong } else { Extent::Whole };
    Job::new(places.url().as_bytes()).with_extent(extent)
}

fn unreadable(error: &io::Error) -> String {
    format!("the sitemap cannot be read: {error}")
}

/// The job of what is none.
fn invalid(url: &str, why: String) -> Job<'_> {
    Job::new(url.as_bytes()).with_options(JobOptions::new().invalid(why))
}

impl<R: Read> fmt::Debug for Sitemap<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sitemap")
            .field("position", &self.index.position())
            .field("nested", &self.nested.as_ref().map(|nested| &nested.url))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
