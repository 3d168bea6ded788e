//! The fixed response, ready to be sent any number of times.

use std::time::{Duration, SystemTime};

use crate::arguments::FloorMode;
use crate::sys;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\ndate: ";
const DATE_BYTES: usize = 29;
const CLOSE: &[u8] = b"\r\nconnection: close";
const TAIL: &[u8] = b"\r\n\r\nHello, world!";

/// How many copies of the response are kept, so that a pipelined burst is one `send` of one slice.
const COPIES: usize = 256;

/// Copies of the response, with the current date.
pub struct FixedResponse {
    copies: Vec<u8>,
    date_s: i64,
}

impl FixedResponse {
    pub fn new(mode: FloorMode) -> Self {
        let close = if mode == FloorMode::Closing { CLOSE } else { b"" };
        let one = [HEAD, &[b' '; DATE_BYTES], close, TAIL].concat();
        let mut response = Self { copies: one.repeat(COPIES), date_s: 0 };
        response.refresh_date();
        response
    }

    /// Rewrites the date when the second has changed.
    pub fn refresh_date(&mut self) {
        let now_s = sys::coarse_seconds();
        if now_s == self.date_s {
            return;
        }
        self.date_s = now_s;
        let since_epoch = Duration::from_secs(now_s.max(0) as u64);
        let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + since_epoch);
        let length = self.copies.len() / COPIES;
        for copy in self.copies.chunks_exact_mut(length) {
            copy[HEAD.len()..HEAD.len() + DATE_BYTES].copy_from_slice(date.as_bytes());
        }
    }

    /// The response, `count` times. A burst longer than the copies is truncated, which shows as errors in
    /// the load's report; 16 KiB cannot hold so many heads of the loads here.
    pub fn repeated(&self, count: usize) -> &[u8] {
        let length = self.copies.len() / COPIES;
        &self.copies[..length * count.min(COPIES)]
    }
}
