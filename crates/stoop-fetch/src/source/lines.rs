//! A list of URLs, one a line, in memory that is no longer than the longest line.

use std::io::{self, Read};
use std::ops::ControlFlow;

use memchr::memchr;

use super::{Extent, Job, JobOptions, JobSource, Take, byte_order};

/// A line longer than this is no URL that any server would accept. It is reported once, by its first
/// bytes, and the rest is skipped, so that one endless line costs no memory.
const LINE_BYTES_MAX: usize = 64 << 10;

/// How much is read at once: so many short lines are as many jobs, which are held until there is room for them.
const READ_BYTES_MAX: usize = 64 << 10;

/// URLs one a line: trimmed, without blank lines and those that start with `#`. A byte order mark before the
/// first is skipped; UTF-16 and UTF-32 are an error of the kind [`InvalidData`](io::ErrorKind::InvalidData), and no job.
///
/// A line of more than 64 KiB is an `invalid_url`, reported by its first 64 KiB. One that begins with a blank and is
/// an option, as aria2 has them below its URLs (`  out=name`), is an `invalid_job`, which tells the line's number: a
/// URL has options in [`JsonJobs`](super::JsonJobs) alone.
#[derive(Debug)]
pub struct Lines<R> {
    source: R,
    /// Room for the longest line.
    buffer: Box<[u8]>,
    /// `buffer[..filled]` is the beginning of a line, and `buffer[..searched]` has no line end.
    filled: usize,
    searched: usize,
    /// Inside an overlong line that was reported already.
    is_skipping: bool,
    /// The next line is the first, which may start with a byte order mark.
    is_first: bool,
    /// What comes first besides blanks may not begin a JSON array.
    refuses_array: bool,
    /// Bytes read so far.
    bytes: u64,
    /// Lines that ended so far.
    lines: u64,
}

impl<R: Read> Lines<R> {
    /// The lines of `source`, which is read in pieces of up to 64 KiB and needs no buffer of its own.
    pub fn new(source: R) -> Self {
        Self::with_line_bytes_max(source, LINE_BYTES_MAX)
    }

    /// The same, where the longest line has `max` bytes.
    pub(super) fn with_line_bytes_max(source: R, max: usize) -> Self {
        Self {
            source,
            buffer: vec![0; max].into_boxed_slice(),
            filled: 0,
            searched: 0,
            is_skipping: false,
            is_first: true,
            refuses_array: false,
            bytes: 0,
            lines: 0,
        }
    }

    /// The same, for lines of JSON of up to `max` bytes: an input that begins as an array is refused.
    pub(super) fn of_json(source: R, max: usize) -> Self {
        Self { refuses_array: true, ..Self::with_line_bytes_max(source, max) }
    }

    /// Checks that the input does not begin as a JSON array, once it has more than blanks and comments.
    ///
    /// # Errors
    /// It does. None of it is reported.
    fn check_array(&mut self) -> io::Result<()> {
        let begin = &self.buffer[..self.filled];
        let mut begin = begin.strip_prefix(byte_order::UTF8).unwrap_or(begin).trim_ascii_start();
        while begin.starts_with(b"#") {
            let end = memchr(b'\n', begin).unwrap_or(begin.len());
            begin = begin[end..].trim_ascii_start();
        }
        if !begin.starts_with(b"[") {
            self.refuses_array = begin.is_empty();
            return Ok(());
        }
        (self.filled, self.searched) = (0, 0);
        let text = "it is a JSON array; \"jq -c '.[]' FILE |\" before the command writes each of its objects as a line";
        Err(io::Error::new(io::ErrorKind::InvalidData, text))
    }

    /// Checks the first bytes of the input, once they tell its encoding.
    ///
    /// # Errors
    /// The input is not UTF-8. None of it is reported.
    fn check_byte_order(&mut self) -> io::Result<()> {
        byte_order::check(&self.buffer[..self.filled]).inspect_err(|_| {
            (self.filled, self.searched) = (0, 0);
        })
    }

    fn keep_from(&mut self, start: usize) {
        self.buffer.copy_within(start..self.filled, 0);
        self.filled -= start;
        self.searched = self.filled;
    }

    fn report(
        &mut self,
        start: usize,
        end: usize,
        extent: Extent,
        take: &mut Take<'_>,
    ) -> ControlFlow<()> {
        let mut line = &self.buffer[start..end];
        if std::mem::take(&mut self.is_first) {
            line = line.strip_prefix(byte_order::UTF8).unwrap_or(line);
        }
        if extent != Extent::Whole {
            // Half a character alone is a line too: it was read.
            line = Some(whole_characters(line)).filter(|whole| !whole.is_empty()).unwrap_or(line);
        }
        let option = option_name(line);
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            return ControlFlow::Continue(());
        }
        let job = Job::new(line).with_extent(extent);
        take(match option.filter(|_| extent == Extent::Whole) {
            None => job,
            Some(name) => job.with_options(JobOptions::new().invalid(format!(
                "line {}: {name}= is an option of aria2, and no URL; JSON lines have id, method, headers and body for \
                 each URL",
                self.lines + 1
            ))),
        })
    }
}

impl<R: Read + Send> JobSource for Lines<R> {
    /// Reads once, and reports the lines that are now complete.
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let end = self.buffer.len().min(self.filled + READ_BYTES_MAX);
        let read = self.source.read(&mut self.buffer[self.filled..end])?;
        self.bytes += read as u64;
        self.filled += read;
        // No job is in what may go on as a mark.
        let is_mark_known = read == 0 || !byte_order::may_go_on(&self.buffer[..self.filled]);
        if self.is_first && is_mark_known {
            self.check_byte_order()?;
        }
        if self.refuses_array && is_mark_known && !self.is_skipping {
            self.check_array()?;
        }
        if read == 0 {
            return Ok(false);
        }
        let mut start = 0;
        while let Some(at) = memchr(b'\n', &self.buffer[self.searched..self.filled]) {
            let end = self.searched + at;
            self.searched = end + 1;
            if !std::mem::take(&mut self.is_skipping)
                && self.report(start, end, Extent::Whole, take).is_break()
            {
                return Ok(false);
            }
            self.lines += 1;
            start = end + 1;
        }
        if self.is_skipping {
            start = self.filled;
        }
        self.keep_from(start);
        if self.filled == self.buffer.len() {
            // Leading blanks are no part of the line, so they cannot make it overlong.
            self.keep_from(self.buffer.len() - self.buffer.trim_ascii_start().len());
        }
        if self.filled == self.buffer.len() {
            self.is_skipping = true;
            let flow = self.report(0, self.filled, Extent::Overlong, take);
            self.keep_from(self.filled);
            return Ok(flow.is_continue());
        }
        Ok(true)
    }

    /// Reports the last line if no line end followed it.
    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        if !self.is_skipping {
            let _ = self.report(0, self.filled, extent, take);
        }
        self.filled = 0;
    }

    fn position(&self) -> u64 {
        self.bytes
    }
}

/// The name of an option below a URL of a list of aria2's, if `line` is one: `  out=name`. No host has the sign.
fn option_name(line: &[u8]) -> Option<&str> {
    let option = line.trim_ascii_start();
    let name = &option[..memchr(b'=', option)?];
    let is_of_name =
        |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || *byte == b'-';
    let is_option = option.len() < line.len()
        && name.first().is_some_and(u8::is_ascii_lowercase)
        && name.iter().all(is_of_name);
    std::str::from_utf8(name).ok().filter(|_| is_option)
}

/// `cut` without an incomplete character at its end.
fn whole_characters(cut: &[u8]) -> &[u8] {
    match std::str::from_utf8(cut) {
        Err(error) if error.error_len().is_none() => &cut[..error.valid_up_to()],
        _ => cut,
    }
}

#[cfg(test)]
mod tests;
