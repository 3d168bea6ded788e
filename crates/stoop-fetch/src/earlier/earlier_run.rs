//! [`Earlier`]: what is known of each URL, and where it is read from.

use std::fmt;
use std::io::{self, BufReader, Cursor, ErrorKind, Read};

use super::index::{Index, Known};
use super::records::{EarlierRecords, without_fragment};
#[cfg(feature = "parquet")]
use super::table;
use super::{json, warc};
use crate::source::Decompressed;

/// How an archive begins.
const ARCHIVE: &[u8] = b"WARC/";

/// What an earlier run learned of its URLs: the ETag and Last-Modified that each had with its content
/// ([`Fetch::if_changed_since`](crate::Fetch::if_changed_since)).
///
/// It is read from what the run wrote: lines of [`JsonLines`](crate::format::JsonLines), or an archive of
/// [`Warc`](crate::format::Warc) or of another program, or, with the feature `parquet`, a table. CSV and the CDXJ of an
/// archive have no validators. Of each URL the last record counts that has a status of 200, 203 or 304 and all of its
/// content; what a later file says takes the place of what an earlier one says. Records of HEAD are used for HEAD alone,
/// and those of other methods are not.
///
/// Validators belong to the URL that gave them: where a redirect was followed, to that of the last response. URLs with
/// a user and a password are left out, and of an archive all that was requested with Authorization: it does not tell whether
/// that came of the URL.
///
/// It takes 16 bytes of memory for each URL (48 while it is read), and for one with validators up to 32 more and their
/// length, which is some 50 bytes. URLs are told apart by 64 bits of a hash with a random key.
///
/// ```
/// use stoop_fetch::Earlier;
///
/// let mut earlier = Earlier::new();
/// let line = r#"{"v":1,"url":"http://a.example/","method":"GET","status":200,"etag":"\"v1\""}"#;
/// let read = earlier.read(line.as_bytes())?;
/// assert_eq!((read.records, read.malformed, earlier.urls()), (1, 0, 1));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Earlier {
    index: Index,
}

impl Earlier {
    /// Nothing is known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads what a run wrote: an archive, which begins with `WARC/`, or lines of JSON; either may be compressed by gzip or
    /// zstd. What is no record is counted and passed over, and so is what breaks off, as the output of a run that was
    /// killed does.
    ///
    /// # Errors
    /// The input's. What was read before stays known.
    pub fn read(&mut self, input: impl Read) -> io::Result<EarlierRecords> {
        let mut records = EarlierRecords::default();
        match self.read_into(input, &mut records) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => records.malformed += 1,
            read => read?,
        }
        Ok(records)
    }

    fn read_into(&mut self, input: impl Read, records: &mut EarlierRecords) -> io::Result<()> {
        let mut input = Decompressed::new(input);
        let mut begin = Vec::new();
        input.by_ref().take(ARCHIVE.len() as u64).read_to_end(&mut begin)?;
        let is_archive = begin == ARCHIVE;
        let input = BufReader::with_capacity(64 << 10, Cursor::new(begin).chain(input));
        match is_archive {
            true => warc::read(input, &mut self.index, records),
            false => json::read(input, &mut self.index, records),
        }
    }

    /// Reads a table of [`Parquet`](crate::format::Parquet) that a run wrote.
    ///
    /// # Errors
    /// The file's. It is of the kind [`InvalidData`](ErrorKind::InvalidData) where it is no Parquet or damaged, and
    /// [`InvalidInput`](ErrorKind::InvalidInput) where it has other columns. What was read before stays known.
    #[cfg(feature = "parquet")]
    #[cfg_attr(docsrs, doc(cfg(feature = "parquet")))]
    pub fn read_table(&mut self, file: std::fs::File) -> io::Result<EarlierRecords> {
        let mut records = EarlierRecords::default();
        table::read(file, &mut self.index, &mut records)?;
        Ok(records)
    }

    /// Of how many URLs something is known. It puts all that was read in order, which takes a moment.
    pub fn urls(&mut self) -> usize {
        self.index.sort()
    }

    /// What is known of a URL, by a HEAD if it is to be asked for by one.
    pub(crate) fn find(&self, is_head: bool, url: &str) -> Option<Known<'_>> {
        let url = without_fragment(url);
        let of_head = is_head.then(|| self.index.find(url, true)).flatten();
        of_head.or_else(|| self.index.find(url, false))
    }
}

impl fmt::Debug for Earlier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Earlier").finish_non_exhaustive()
    }
}
