//! Records on their way to a [`ShardWriter`](super::ShardWriter), each in a frame.

use super::shard_format::ShardFormat;
use crate::format::RecordFormat;
use crate::format::frames::{Frame, FrameWriter};
use crate::record::Record;
use crate::summary::ResultCode;

/// The records of a format, as the [`ShardWriter`](super::ShardWriter) that was made with it takes them.
#[derive(Clone, Debug)]
pub struct ShardRecords<F> {
    format: F,
}

impl<F> ShardRecords<F> {
    pub(in crate::format) fn new(format: F) -> Self {
        Self { format }
    }
}

impl<F: ShardFormat> RecordFormat for ShardRecords<F> {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let frame = FrameWriter::begin(into);
        self.format.format(record, into);
        let record_end = into.len();
        self.format.take_entry(into);
        frame.end(into, record_end, result(record));
    }

    fn format_split(&mut self, record: &Record<'_>, into: &mut Vec<u8>) -> Option<usize> {
        let frame = FrameWriter::begin(into);
        let place = self.format.format_split(record, into);
        let record_end = into.len();
        self.format.take_entry(into);
        let capture = record.outcome.capture.as_ref().filter(|_| place.is_some());
        let left_out = capture.map_or(0, |capture| capture.content.len());
        frame.end_split(into, record_end, left_out, result(record));
        place
    }

    fn splits_content(&self) -> bool {
        self.format.splits_content()
    }

    fn end(&mut self, into: &mut Vec<u8>) {
        Frame::push_end(into);
    }

    fn needs_details(&self) -> bool {
        self.format.needs_details()
    }

    fn needs_content(&self) -> bool {
        self.format.needs_content()
    }

    fn needs_exchanges(&self) -> bool {
        self.format.needs_exchanges()
    }
}

/// What a frame says of the outcome.
fn result(record: &Record<'_>) -> u8 {
    match record.outcome.code {
        ResultCode::Status(200..=299) => 0,
        ResultCode::Status(_) => 1,
        ResultCode::Error(_) => 2,
    }
}
