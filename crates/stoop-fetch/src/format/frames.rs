//! Records on their way from the threads that format them to a writer that has to tell them apart.

use std::io::{self, ErrorKind, Read};

/// What stands before a record: what came of its job, its length, and that of its entry in the index.
const FRAME_BYTES: usize = 13;
/// The frame of the end has this in place of what came of a job.
const END: u8 = 3;

/// A record with its entry in the index and what came of its job, or the end.
pub(super) struct Frame<'a> {
    pub(super) record: &'a [u8],
    pub(super) entry: &'a [u8],
    pub(super) result: u8,
    /// All of it.
    pub(super) whole: &'a [u8],
}

impl Frame<'_> {
    pub(super) fn is_end(&self) -> bool {
        self.result == END
    }

    /// Appends the frame of the end.
    pub(super) fn push_end(into: &mut Vec<u8>) {
        let frame = FrameWriter::begin(into);
        let length = into.len();
        frame.end(into, length, END);
    }

    /// The first of some, and the others; none if it is not whole.
    pub(super) fn split(frames: &[u8]) -> Option<(Frame<'_>, &[u8])> {
        let (frame, after) = frames.split_first_chunk::<FRAME_BYTES>()?;
        let (record, entry) = lengths(frame)?;
        let (record, after) = after.split_at_checked(record)?;
        let (entry, after) = after.split_at_checked(entry)?;
        let whole = &frames[..frames.len() - after.len()];
        Some((Frame { record, entry, result: frame[0], whole }, after))
    }
}

/// How long a record and its entry are, by what stands before them.
fn lengths(frame: &[u8; FRAME_BYTES]) -> Option<(usize, usize)> {
    let (record, entry) = frame[1..].split_first_chunk::<8>()?;
    let record = usize::try_from(u64::from_le_bytes(*record)).ok()?;
    let entry = u32::from_le_bytes(*entry.first_chunk()?) as usize;
    Some((record, entry))
}

/// Reads the next frame, whole, into `into`. False at the end.
///
/// # Errors
/// It ends before the frame does; or the reader's.
pub(super) fn read_frame(from: &mut impl Read, into: &mut Vec<u8>) -> io::Result<bool> {
    into.clear();
    from.by_ref().take(FRAME_BYTES as u64).read_to_end(into)?;
    let Some(frame) = into.first_chunk::<FRAME_BYTES>() else {
        return if into.is_empty() { Ok(false) } else { Err(not_whole()) };
    };
    let (record, entry) = lengths(frame).ok_or_else(not_whole)?;
    let length = record as u64 + entry as u64;
    let read = from.by_ref().take(length).read_to_end(into)? as u64;
    if read == length { Ok(true) } else { Err(not_whole()) }
}

/// A frame of which only the beginning has come: how many bytes of it are missing, and its entry as far as it has come.
#[derive(Debug)]
pub(super) struct OpenFrame {
    pub(super) record_bytes: usize,
    record_left: usize,
    pub(super) entry: Vec<u8>,
    entry_left: usize,
    pub(super) result: u8,
}

impl OpenFrame {
    /// The frame at the beginning of `bytes`, which are not all of it, and what follows its head.
    ///
    /// # Errors
    /// They have no head.
    pub(super) fn begin(bytes: &[u8]) -> io::Result<(Self, &[u8])> {
        let (frame, after) = bytes.split_first_chunk::<FRAME_BYTES>().ok_or_else(not_whole)?;
        let (record_bytes, entry_left) = lengths(frame).ok_or_else(not_whole)?;
        let (result, entry) = (frame[0], Vec::new());
        Ok((Self { record_bytes, record_left: record_bytes, entry, entry_left, result }, after))
    }

    /// Takes what belongs to the frame from the front of `bytes`, and returns what of it belongs to the record.
    pub(super) fn take<'a>(&mut self, bytes: &mut &'a [u8]) -> &'a [u8] {
        let (record, rest) = bytes.split_at(bytes.len().min(self.record_left));
        self.record_left -= record.len();
        let of_entry = if self.record_left == 0 { rest.len().min(self.entry_left) } else { 0 };
        let (entry, rest) = rest.split_at(of_entry);
        self.entry.extend_from_slice(entry);
        self.entry_left -= of_entry;
        *bytes = rest;
        record
    }

    /// Whether it is the frame of the end.
    #[cfg(feature = "warc")]
    pub(super) fn is_end(&self) -> bool {
        self.result == END
    }

    /// Whether all of it has come.
    pub(super) fn is_whole(&self) -> bool {
        self.record_left == 0 && self.entry_left == 0
    }
}

/// A frame whose record is being appended, where it stays: content is copied often enough.
pub(super) struct FrameWriter {
    start: usize,
}

impl FrameWriter {
    /// Appends the beginning of a frame; the record follows, and then its entry.
    pub(super) fn begin(into: &mut Vec<u8>) -> Self {
        let start = into.len();
        into.extend_from_slice(&[0; FRAME_BYTES]);
        Self { start }
    }

    /// Ends the frame, whose record ends at `record_end`.
    pub(super) fn end(self, into: &mut [u8], record_end: usize, result: u8) {
        self.end_split(into, record_end, 0, result);
    }

    /// The same, where `left_out` bytes of the record are not in it.
    pub(super) fn end_split(self, into: &mut [u8], record_end: usize, left_out: usize, result: u8) {
        let record = (record_end - self.start - FRAME_BYTES + left_out) as u64;
        let entry = u32::try_from(into.len() - record_end).unwrap_or(0);
        let frame = &mut into[self.start..self.start + FRAME_BYTES];
        frame[0] = result;
        frame[1..9].copy_from_slice(&record.to_le_bytes());
        frame[9..].copy_from_slice(&entry.to_le_bytes());
    }
}

/// The frames in what a run writes at once, which are whole.
pub(super) struct Frames<'a>(pub(super) &'a [u8]);

impl<'a> Iterator for Frames<'a> {
    type Item = io::Result<Frame<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        let frames = std::mem::take(&mut self.0);
        if frames.is_empty() {
            return None;
        }
        let Some((frame, after)) = Frame::split(frames) else { return Some(Err(not_whole())) };
        self.0 = after;
        Some(Ok(frame))
    }
}

pub(super) fn not_whole() -> io::Error {
    io::Error::new(
        ErrorKind::InvalidData,
        "these are not whole records of the format of this writer",
    )
}
