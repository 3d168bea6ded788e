//! The format of a worker's records, with the memory that it writes to.

use crate::format::RecordFormat;
use crate::record::Record;

/// A format, and the buffer in which it formats a record before the lock of the output is taken.
pub(super) struct FormatBuffer<F> {
    pub(super) format: F,
    pub(super) bytes: Vec<u8>,
}

impl<F: RecordFormat> FormatBuffer<F> {
    pub(super) fn format(&mut self, record: &Record<'_>) -> &[u8] {
        self.bytes.clear();
        self.format.format(record, &mut self.bytes);
        &self.bytes
    }

    /// The same without the content, and where that belongs, if it has some.
    pub(super) fn format_split(&mut self, record: &Record<'_>) -> (&[u8], Option<usize>) {
        self.bytes.clear();
        let place = self.format.format_split(record, &mut self.bytes);
        (&self.bytes, place)
    }
}
