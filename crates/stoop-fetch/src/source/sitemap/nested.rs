//! The sitemaps of an index, one after the other: those that a run has copies of, and those that are opened.

use std::io::{self, ErrorKind, Read};
use std::ops::ControlFlow;

use super::document::Document;
use super::jobs::{invalid, page};
use super::kept::{CopyError, KeptSitemaps, NESTED_BYTES_MAX, NestedCopy, Next};
use super::places::{Found, Places};
use super::{Decompressed, Take};
use crate::mask;

/// Opens a sitemap by its URL.
type Open = Box<dyn FnMut(&str) -> io::Result<Box<dyn Read + Send>> + Send>;

/// Whether a source goes on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Flow {
    On,
    /// The index has just named a sitemap that has not had its turn.
    SameAgain,
    /// Nothing more is read.
    End,
}

/// The sitemaps of an index.
#[derive(Default)]
pub(super) struct Nested {
    pub(super) open: Option<Open>,
    /// In a run with a folder.
    pub(super) kept: Option<KeptSitemaps>,
    current: Option<Box<Current>>,
}

/// The sitemap that is being read.
struct Current {
    url: String,
    document: Document<Decompressed<Box<dyn Read + Send>>>,
    /// The list of the folder does not have it yet.
    is_new: bool,
    /// It was tried before, where the index names it.
    is_late: bool,
}

impl Nested {
    /// Whether a sitemap is being read.
    pub(super) fn is_open(&self) -> bool {
        self.current.is_some()
    }

    pub(super) fn url(&self) -> Option<&str> {
        self.current.as_ref().map(|current| current.url.as_str())
    }

    pub(super) fn places(&self) -> Option<&Places> {
        self.current.as_ref().map(|current| current.document.places())
    }

    /// Whether a step needs no more input, most likely.
    pub(super) fn is_here(&self) -> bool {
        self.current.as_ref().is_some_and(|current| current.document.is_here())
    }

    /// Reads one thing of the sitemap that is open.
    pub(super) fn step(&mut self, take: &mut Take<'_>) -> io::Result<Flow> {
        let Some(current) = &mut self.current else { return Ok(Flow::On) };
        let found = current.document.step();
        if matches!(found, Ok(Found::Nothing)) {
            return Ok(Flow::On);
        }
        let is_new = std::mem::take(&mut current.is_new);
        if let Some(kept) = self.kept.as_mut().filter(|_| is_new) {
            match &found {
                Ok(_) => kept.add_read(&current.url, current.is_late)?,
                // It has its record.
                Err(_) if current.is_late => {
                    self.current = None;
                    return Ok(Flow::On);
                }
                Err(error) => kept.add_failed(&current.url, &unreadable(error))?,
            }
        }
        let flow = match &found {
            Ok(Found::Nothing | Found::End) => ControlFlow::Continue(()),
            Ok(Found::Page) => take(page(&current.document)),
            Ok(Found::Invalid(why)) => {
                let why = format!("an entry of the sitemap {}: {why}", mask::text(&current.url));
                take(invalid(current.document.places().url(), why))
            }
            Ok(Found::Sitemap) => {
                let url = mask::text(&current.url);
                let why = format!("the sitemap {url} of an index is an index itself");
                take(invalid(current.document.places().url(), why))
            }
            Err(error) => take(invalid(&current.url, unreadable(error))),
        };
        if matches!(found, Ok(Found::End) | Err(_)) {
            self.current = None;
        }
        Ok(after(flow))
    }

    /// Opens the sitemap that the index has just named.
    pub(super) fn open_next(&mut self, url: &str, take: &mut Take<'_>) -> io::Result<Flow> {
        let next = match &mut self.kept {
            Some(kept) => kept.next(url)?,
            None => Next::New,
        };
        match next {
            Next::New => self.open_new(url, false, take),
            Next::Failed(why) => Ok(after(take(invalid(url, why.into())))),
            Next::Read(copy) => {
                self.read_copy(copy);
                Ok(Flow::On)
            }
            Next::First(copy) => {
                self.read_copy(copy);
                Ok(Flow::SameAgain)
            }
        }
    }

    /// Opens what could not be read where the index names it, once that has ended.
    pub(super) fn open_late(&mut self, take: &mut Take<'_>) -> io::Result<Flow> {
        let Some(kept) = &mut self.kept else { return Ok(Flow::End) };
        if let Some(copy) = kept.next_late()? {
            self.read_copy(copy);
            return Ok(Flow::On);
        }
        match kept.next_failed() {
            Some(url) => self.open_new(&url, true, take),
            None => Ok(Flow::End),
        }
    }

    fn read_copy(&mut self, copy: NestedCopy) {
        let NestedCopy { url, file } = copy;
        self.begin(&url, Box::new(file), false, false);
    }

    /// Opens a sitemap that has no copy.
    fn open_new(&mut self, url: &str, is_late: bool, take: &mut Take<'_>) -> io::Result<Flow> {
        let Some(open) = &mut self.open else {
            let why = "the sitemap is one of an index, and is not read";
            return Ok(after(take(invalid(url, why.to_owned()))));
        };
        let opened = match (open(url), &mut self.kept) {
            (Err(error), _) if error.kind() == ErrorKind::Interrupted => return Ok(Flow::End),
            (Ok(input), Some(kept)) => match kept.copy(input) {
                Ok(copy) => Ok(Box::new(copy) as Box<dyn Read + Send>),
                Err(CopyError::Read(error)) => Err(error),
                Err(CopyError::Write(error)) => {
                    let text = format!("cannot keep a copy of a sitemap: {error}");
                    return Err(io::Error::new(error.kind(), text));
                }
            },
            (opened, _) => opened,
        };
        match opened {
            Ok(input) => {
                self.begin(url, input, true, is_late);
                Ok(Flow::On)
            }
            // It has its record.
            Err(_) if is_late => Ok(Flow::On),
            Err(error) => {
                let why = unreadable(&error);
                if let Some(kept) = &mut self.kept {
                    kept.add_failed(url, &why)?;
                }
                Ok(after(take(invalid(url, why))))
            }
        }
    }

    fn begin(&mut self, url: &str, input: Box<dyn Read + Send>, is_new: bool, is_late: bool) {
        let document = Document::new(Decompressed::new(input), NESTED_BYTES_MAX);
        self.current = Some(Box::new(Current { url: url.to_owned(), document, is_new, is_late }));
    }
}

fn after(flow: ControlFlow<()>) -> Flow {
    if flow.is_break() { Flow::End } else { Flow::On }
}

fn unreadable(error: &io::Error) -> String {
    format!("the sitemap cannot be read: {error}")
}
