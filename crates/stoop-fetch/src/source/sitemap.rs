//! A sitemap, and feeds, as lists of pages.

mod bounded;
mod document;
mod jobs;
mod kept;
mod nested;
mod places;

use std::cell::Cell;
use std::fmt::{self, Formatter};
use std::io::{self, Read};

use self::document::Document;
use self::jobs::{invalid, page};
use self::kept::KeptSitemaps;
use self::nested::{Flow, Nested};
use self::places::Found;
use super::{Decompressed, Extent, Job, JobOptions, JobSource, Take};
use crate::journal::RunFolder;

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
/// URL, behind the records of the pages that were found. A run with a [`RunFolder`] needs
/// [`keep_in`](Self::keep_in) besides.
///
/// What is no XML, or no sitemap, is an error of the input, with the byte (of what was decompressed). It takes memory
/// for one tag or text, of 4 MiB at most; a DTD is passed over, and none of its entities expanded.
pub struct Sitemap<R: Read> {
    index: Document<R>,
    nested: Nested,
    /// The index has named a sitemap that is not opened yet.
    is_named: bool,
    is_index_ended: bool,
}

impl<R: Read> Sitemap<R> {
    /// The pages of `input`, which needs no buffer of its own. For one that may be compressed, see [`Decompressed`].
    pub fn new(input: R) -> Self {
        let index = Document::new(input, u64::MAX);
        Self { index, nested: Nested::default(), is_named: false, is_index_ended: false }
    }

    /// How the sitemaps of an index are opened, by their URLs; they may be compressed. Each is read to its end before
    /// the next is opened, up to the 50 MiB that a sitemap may have, as fast as its pages are fetched.
    /// [`NestedSitemaps`](crate::NestedSitemaps) fetches them.
    ///
    /// An error of the kind [`Interrupted`](io::ErrorKind::Interrupted) says that the run ended first: the source is at its
    /// end then, and the sitemap has no record.
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
        self.nested.open = Some(Box::new(open));
        self
    }

    /// Keeps a copy of each sitemap of an index in the folder of the run, compressed, in `stoop.sitemaps`, and reads those
    /// that are there: a run that goes on finds the pages that it found before, whatever a site says now.
    ///
    /// A sitemap that could not be read, because it could not be opened or what there was of it is no sitemap, has its
    /// record and keeps its place; it is tried again by each run that goes on, behind all others, and its pages follow
    /// there.
    ///
    /// # Errors
    /// What is kept in the folder cannot be read.
    pub fn keep_in(mut self, folder: &RunFolder) -> io::Result<Self> {
        self.nested.kept = Some(KeptSitemaps::open(folder.path())?);
        Ok(self)
    }

    /// Reads one thing of the index.
    fn step(&mut self, take: &mut Take<'_>) -> io::Result<Flow> {
        let flow = match self.index.step()? {
            Found::Nothing => return Ok(Flow::On),
            Found::Page => take(page(&self.index)),
            Found::Invalid(why) => take(invalid(self.index.places().url(), why)),
            Found::Sitemap => {
                self.is_named = true;
                return Ok(Flow::On);
            }
            Found::End => {
                self.is_index_ended = true;
                return Ok(Flow::On);
            }
        };
        Ok(if flow.is_break() { Flow::End } else { Flow::On })
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
            let flow = if self.nested.is_open() {
                self.nested.step(take)?
            } else if self.is_named {
                let flow = self.nested.open_next(self.index.places().url(), take)?;
                self.is_named = flow == Flow::SameAgain;
                flow
            } else if self.is_index_ended {
                self.nested.open_late(take)?
            } else {
                self.step(take)?
            };
            if flow == Flow::End {
                return Ok(false);
            }
            let is_here = match self.nested.is_open() {
                true => self.nested.is_here(),
                false => !self.is_named && !self.is_index_ended && self.index.is_here(),
            };
            if has_reported.get() && !is_here {
                return Ok(true);
            }
        }
    }

    /// Reports a URL that was read in part.
    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let places = self.nested.places().unwrap_or(self.index.places());
        if places.is_within_url() && !places.url().is_empty() {
            let _ = take(Job::new(places.url().as_bytes()).with_extent(extent));
        }
    }

    fn position(&self) -> u64 {
        self.index.position()
    }
}

impl<R: Read> fmt::Debug for Sitemap<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sitemap")
            .field("position", &self.index.position())
            .field("nested", &self.nested.url())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
