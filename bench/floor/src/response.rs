//! The fixed answer, ready to send any number of times over.

use std::time::{Duration, SystemTime};

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\ndate: ";
const DATE_BYTES: usize = 29;
const TAIL: &[u8] = b"\r\n\r\nHello, world!";

/// Copies of the answer kept ready, so that a pipelined burst is one `send` of one slice.
const COPIES: usize = 256;

pub(crate) struct Response {
    copies: Vec<u8>,
    date_s: libc::time_t,
}

impl Response {
    pub(crate) fn new() -> Self {
        let one = [HEAD, &[b' '; DATE_BYTES], TAIL].concat();
        let mut response = Self { copies: one.repeat(COPIES), date_s: 0 };
        response.refresh_date();
        response
    }

    /// Rewrites the date when the second has changed. The coarse clock is a read of shared memory
    /// and not a system call.
    pub(crate) fn refresh_date(&mut self) {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `now` is a live timespec for the clock to fill.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME_COARSE, &mut now) };
        if now.tv_sec == self.date_s {
            return;
        }
        self.date_s = now.tv_sec;
        let since_epoch = Duration::from_secs(now.tv_sec.max(0) as u64);
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since_epoch);
        let length = self.copies.len() / COPIES;
        for copy in self.copies.chunks_exact_mut(length) {
            copy[HEAD.len()..HEAD.len() + DATE_BYTES].copy_from_slice(date.as_bytes());
        }
    }

    /// The answer, `count` times. A burst longer than the copies kept is cut short, which shows as
    /// errors in the load's report; 16 KiB cannot hold so many heads of the loads here.
    pub(crate) fn times(&self, count: usize) -> &[u8] {
        let length = self.copies.len() / COPIES;
        &self.copies[..length * count.min(COPIES)]
    }
}
