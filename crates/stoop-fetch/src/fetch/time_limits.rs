//! The limits of a run in time, and how fast content comes: at least, and at most.

use std::sync::Arc;
use std::time::Duration;

use super::Fetch;
use crate::bandwidth::Bandwidth;
use crate::until::FOREVER;

impl Fetch {
    /// The deadline of a job, from its start to the last byte of the body, redirects and retries included.
    /// By default 5 s. A record of the kind `total_timeout` says that it was over.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout.min(FOREVER);
        self
    }

    /// The longest that name lookup, connecting and TLS may take together for a new connection. By default as
    /// long as the deadline, and two fifths of it with [`http_fallback`](Self::http_fallback).
    pub fn setup_timeout(mut self, timeout: Duration) -> Self {
        self.settings.setup_timeout = Some(timeout.min(FOREVER));
        self
    }

    /// The longest that a server may send nothing: no head of a response, final or interim, once the request is sent, and
    /// then none of its content while there is more to come. By default as long as the deadline: a run of long files, whose
    /// deadline is long, should have one. A record of the kind `read_timeout` and the phase `wait` or `receive` says that it
    /// was over, which is retried where the client has [`Retries`](stoop::Retries). What content waits for memory, or until
    /// it is written, does not count.
    pub fn read_timeout(mut self, timeout: Duration) -> Self {
        self.settings.read_timeout = Some(timeout.min(FOREVER));
        self
    }

    /// The least rate at which the content of a response may come, in bytes a second as transferred, and how long it may
    /// fall behind that: a server that sends nothing is given up after this time, and one that sends half of the rate after
    /// twice as long. What came faster before makes up for no more than this time. By default content may come as slowly as
    /// the deadline allows; a rate of 0 is none, and so is a time of more than an hour. A record of the kind `slow_body`
    /// says that it came more slowly, which [`Retries`](stoop::Retries) repeat only where a function of theirs says so.
    pub fn body_rate_min(mut self, bytes_per_second: u64, behind: Duration) -> Self {
        self.settings.body_rate_min = Some((bytes_per_second, behind));
        self
    }

    /// How many bytes of content the run reads in a second at most, over all jobs and workers together. By default any
    /// number, and so for 0.
    ///
    /// Each piece, of 16 KiB as a rule, is read in its turn, so that all content that is under way comes equally fast. Until
    /// then nothing is asked for, and the server is held up once the buffers of the system are full, or over HTTP/2 the
    /// window of the stream (256 KiB at first). After a pause, or where the process was held up, what was not read of a tenth of a
    /// second is made up for, with one piece more; nothing else comes at once.
    ///
    /// No job starts while content waits, but where none is in flight. Four start at first, and one more is in flight for each
    /// that ends while no content waits, up to the concurrency: so most content is not late, as it would be where all start
    /// at once. Where nothing comes, as from hosts that do not answer, one more starts each time that the content of a job could
    /// have been read: as much as those before had on average, and 16 KiB at least.
    ///
    /// What counts is content as transferred, before it is decoded: that of jobs, of their retries, of sitemaps, and of
    /// robots.txt, which does not wait. Heads do not count, nor what is sent, nor what is not read, as after HEAD or with
    /// [`skip_content`](Self::skip_content); what the client reads of that after all, to use the connection again, does, but
    /// for that of responses from which a redirect or a retry follows, of 64 KiB at most.
    ///
    /// The time counts to the [deadline](Self::timeout) of a job, which should allow for it, and to its duration. It does
    /// not for [`read_timeout`](Self::read_timeout) and [`body_rate_min`](Self::body_rate_min), and
    /// [`Concurrency::auto`](crate::Concurrency::auto) tries nothing meanwhile. The progress tells
    /// [`Bottleneck::Bandwidth`](crate::Bottleneck::Bandwidth).
    ///
    /// ```
    /// use std::time::Duration;
    /// use stoop_fetch::Fetch;
    ///
    /// // Half a MiB in a second, of which a job may take an hour.
    /// let fetch = Fetch::new().bandwidth_max(512 << 10).timeout(Duration::from_secs(3_600));
    /// # drop(fetch);
    /// ```
    pub fn bandwidth_max(mut self, bytes_per_second: u64) -> Self {
        let bandwidth = (bytes_per_second > 0).then(|| Bandwidth::new(bytes_per_second));
        self.settings.bandwidth = bandwidth.map(Arc::new);
        self
    }
}
