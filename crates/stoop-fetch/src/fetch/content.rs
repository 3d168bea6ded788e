//! The part of a run's description that is on content: what is received of it, kept and told.

use super::Fetch;
use crate::extract::Extract;
use crate::save::SaveFolder;

impl Fetch {
    /// The longest body that is read, in bytes, as transferred and as decoded; none is no limit. By default
    /// 64 MiB. A record of the kind `body_too_large` says that one was longer.
    pub fn body_bytes_max(mut self, bytes: Option<u64>) -> Self {
        self.settings.body_bytes_max = bytes;
        self
    }

    /// Whether a body that is longer than [`body_bytes_max`](Self::body_bytes_max) is cut there, and the record says
    /// `truncated` in place of `body_too_large`. Off by default.
    pub fn truncate_bodies(mut self, truncates: bool) -> Self {
        self.settings.truncates = truncates;
        self
    }

    /// Whether nothing is read of the content: the head of the response is all that counts. Over HTTP/1.1 that costs
    /// the connection, unless the content is empty. Off by default.
    pub fn skip_content(mut self, skips: bool) -> Self {
        self.settings.skips_content = skips;
        self
    }

    /// The memory that received content may take where it is kept, over all workers, in bytes. By default 32 MiB. No job
    /// starts while more than half is taken; where all is taken, the responses wait for each other, all but one, whose
    /// content comes on top. That wait is no part of a job's deadline and duration; servers may have limits of their own
    /// for content that is not taken. Over HTTP/2 each content that waits has as much unread besides as its stream's
    /// window allows.
    ///
    /// Formats that write content as it is, as `Tar` and an uncompressed `Warc` do, take no more for it. Of others, what
    /// they made of content takes its place until it is written; while it is made, a quarter of this memory comes on top, or
    /// one content. The writer of Parquet takes up to three times the longest content besides.
    pub fn content_memory(mut self, bytes: usize) -> Self {
        self.settings.content_memory = bytes;
        self
    }

    /// Saves the content of responses in a folder. By default none is saved. That of more than 1 MiB is written while
    /// it arrives, which no deadline counts, and takes 256 KiB of memory for each job, or less where
    /// [`content_memory`](Self::content_memory) is short, and as much of its beginning as is looked at. All of it is in
    /// memory where the format needs content, and with [`text_as_utf8`](Self::text_as_utf8).
    pub fn save(mut self, folder: impl Into<Option<SaveFolder>>) -> Self {
        self.settings.processing.save = folder.into();
        self
    }

    /// Whether records have the BLAKE3 of the content. Off by default.
    pub fn blake3(mut self, has_blake3: bool) -> Self {
        self.settings.processing.digests.blake3 = has_blake3;
        self
    }

    /// Whether records have the SHA-256 of the content. Off by default.
    pub fn sha256(mut self, has_sha256: bool) -> Self {
        self.settings.processing.digests.sha256 = has_sha256;
        self
    }

    /// Whether [`Outcome::capture`](crate::Outcome::capture) is there also where no format needs it: for a
    /// [`filter`](Self::filter) that looks at content, or where records are [taken as values](Self::run_records). It has all
    /// of the content, or the first 1 MiB of content that is [saved](Self::save). Off by default.
    pub fn keep_content(mut self, keeps: bool) -> Self {
        self.settings.keeps_content = keeps;
        self
    }

    /// What records tell of responses beyond what all of them do: [`Extracted`](crate::Extracted) has a field for each. By
    /// default nothing. It takes no request of its own: what is told is what the URL of the job answers.
    ///
    /// Of content no more is kept for it than a beginning, of 256 KiB, or 1 MiB with
    /// [`Favicon`](crate::Extract::Favicon). What is still in a content coding, because the client does not decode, is
    /// taken for neither text nor image.
    ///
    /// ```
    /// use stoop::Response;
    /// use stoop_fetch::{Extract, Fetch, format::JsonLines, source::Lines};
    ///
    /// let page = |_: stoop::Request| {
    ///     let page = "<!doctype html><title>Fish &amp; chips</title>";
    ///     Response::from_text(page).with_field("server", "fryer/1.0").unwrap()
    /// };
    /// # let jobs = Lines::new(&b"http://example.com/\n"[..]);
    /// let fetch = Fetch::new()
    ///     .extract([Extract::Title, Extract::Server, Extract::Type])
    ///     .client(move |client| client.handler(page));
    /// # let written = Written::default();
    /// fetch.start(jobs, JsonLines::new(), written.clone())?.wait();
    /// # let line = String::from_utf8(written.0.lock().unwrap().clone()).unwrap();
    /// assert!(line.contains(r#""server":"fryer/1.0""#), "{line}");
    /// assert!(line.contains(r#""sniffed_type":"text/html""#), "{line}");
    /// # #[derive(Clone, Default)]
    /// # struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);
    /// # impl std::io::Write for Written {
    /// #     fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
    /// #         self.0.lock().unwrap().write(bytes)
    /// #     }
    /// #     fn flush(&mut self) -> std::io::Result<()> {
    /// #         Ok(())
    /// #     }
    /// # }
    /// # Ok::<(), stoop_fetch::FetchError>(())
    /// ```
    pub fn extract(mut self, facts: impl IntoIterator<Item = Extract>) -> Self {
        self.settings.processing.extraction = facts.into_iter().collect();
        self
    }

    /// Whether the content of text whose encoding is told to be another than UTF-8 becomes UTF-8, where it is saved and
    /// for formats that write it: [`Extracted::charset`](crate::Extracted::charset) says how that is told. Bytes that are
    /// invalid in it become U+FFFD. Off by default.
    ///
    /// Digests and lengths in records stay those of the content as received. While it is converted, content takes up to
    /// three times its length once more.
    pub fn text_as_utf8(mut self, converts: bool) -> Self {
        self.settings.processing.has_text_as_utf8 = converts;
        self
    }
}
