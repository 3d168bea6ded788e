//! The rows of CSV, each within a bound, from an input that comes in pieces.

use std::fmt::{self, Display, Formatter};
use std::io::{self, Read};
use std::ops::ControlFlow;

use csv_core::{ReadRecordResult, ReaderBuilder};
use memchr::memchr_iter;

use super::Extent;
use crate::source::byte_order;

/// A row of more bytes is no job.
pub(super) const ROW_BYTES_MAX: usize = 1 << 20;
/// A row of more fields is none either. Spreadsheets have no more columns.
pub(super) const ROW_FIELDS_MAX: usize = 16_384;
/// So many short rows are as many jobs, which are held until there is room for them.
const READ_BYTES_MAX: usize = 64 << 10;

/// Reads rows.
#[derive(Debug)]
pub(super) struct Rows<R> {
    source: R,
    /// What was read, of which `start..filled` is not parsed yet.
    buffer: Box<[u8]>,
    start: usize,
    filled: usize,
    parser: csv_core::Reader,
    /// The fields of the row, one after the other, and where each ends.
    text: Vec<u8>,
    text_filled: usize,
    ends: Vec<usize>,
    fields: usize,
    /// Something of a row was read, which began on this line.
    is_within_row: bool,
    row_line: u64,
    /// It was reported already: it is too long.
    is_skipping: bool,
    rows: u64,
    /// Line ends so far.
    lines: u64,
    bytes: u64,
    is_beginning: bool,
}

/// A row, or what there is of it.
#[derive(Debug)]
pub(super) struct Row<'a> {
    /// From 1 on, blank lines not counted, the header included.
    pub(super) number: u64,
    /// The line on which it begins.
    pub(super) line: u64,
    text: &'a [u8],
    ends: &'a [usize],
    /// Why it is not whole.
    pub(super) fault: Option<RowFault>,
}

/// Why a row is not whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowFault {
    TooLong,
    TooManyFields,
    UnclosedQuote,
    InputFailed,
    Interrupted,
}

impl Display for RowFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "longer than 1 MiB; a quote may not be closed",
            Self::TooManyFields => "more than 16384 fields",
            Self::UnclosedQuote => "a quote is not closed, to the end of the input",
            Self::InputFailed => "the input failed within it",
            Self::Interrupted => "the run ended within it",
        })
    }
}

impl<'a> Row<'a> {
    pub(super) fn fields(&self) -> usize {
        self.ends.len()
    }

    /// A field, from 0 on; nothing if there is none.
    pub(super) fn field(&self, index: usize) -> &'a [u8] {
        let Some(end) = self.ends.get(index) else { return &[] };
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..*end]
    }
}

impl<R: Read> Rows<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; READ_BYTES_MAX].into_boxed_slice(),
            start: 0,
            filled: 0,
            parser: csv_core::Reader::new(),
            text: vec![0; 4096],
            text_filled: 0,
            ends: vec![0; 64],
            fields: 0,
            is_within_row: false,
            row_line: 0,
            is_skipping: false,
            rows: 0,
            lines: 0,
            bytes: 0,
            is_beginning: true,
        }
    }

    pub(super) fn set_delimiter(&mut self, delimiter: u8) {
        self.parser = ReaderBuilder::new().delimiter(delimiter).build();
    }

    pub(super) fn position(&self) -> u64 {
        self.bytes
    }

    /// Reads once, and calls `each` with the rows that are now complete. False if there are no more, or it broke.
    ///
    /// # Errors
    /// Those of the input.
    pub(super) fn read(
        &mut self,
        each: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> io::Result<bool> {
        if self.start == self.filled {
            (self.start, self.filled) = (0, 0);
        }
        let read = self.source.read(&mut self.buffer[self.filled..])?;
        self.bytes += read as u64;
        self.filled += read;
        if self.is_beginning {
            let begin = &self.buffer[..self.filled];
            if read > 0 && byte_order::may_go_on(begin) {
                return Ok(true);
            }
            if let Err(error) = byte_order::check(begin) {
                // None of it is a row.
                self.start = self.filled;
                return Err(error);
            }
            self.skip_byte_order_mark();
        }
        Ok(read > 0 && self.parse(each).is_continue())
    }

    /// Reports the first row at the end of the input, if there is no other.
    pub(super) fn finish_first(&mut self, each: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>) {
        if self.rows == 0 {
            self.finish(Extent::Whole, each);
        }
    }

    /// Reports a last row that has no line end, or what was read of a row.
    pub(super) fn finish(
        &mut self,
        extent: Extent,
        each: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) {
        self.skip_byte_order_mark();
        // Only bytes of a mark that was none can be left here.
        if self.parse(each).is_break() || !self.is_within_row || self.is_skipping {
            return;
        }
        let fault = match extent {
            Extent::Whole | Extent::Overlong => {
                (self.buffer[0], self.start, self.filled) = (b'\n', 0, 1);
                if self.parse(each).is_break() || !self.is_within_row || self.is_skipping {
                    return;
                }
                RowFault::UnclosedQuote
            }
            Extent::Interrupted => RowFault::Interrupted,
            Extent::InputFailed => RowFault::InputFailed,
        };
        let _ = self.report(Some(fault), each);
        self.is_within_row = false;
    }

    fn skip_byte_order_mark(&mut self) {
        if std::mem::take(&mut self.is_beginning)
            && self.buffer[..self.filled].starts_with(byte_order::UTF8)
        {
            self.start = byte_order::UTF8.len();
        }
    }

    /// Parses all that was read.
    fn parse(&mut self, each: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>) -> ControlFlow<()> {
        while self.start < self.filled {
            if !self.is_within_row && !self.begin_row() {
                break;
            }
            let input = &self.buffer[self.start..self.filled];
            let text = &mut self.text[self.text_filled..];
            let ends = &mut self.ends[self.fields..];
            let (result, read, written, ended) = self.parser.read_record(input, text, ends);
            self.lines += memchr_iter(b'\n', &input[..read]).count() as u64;
            self.start += read;
            self.text_filled += written;
            self.fields += ended;
            // The parser wants more room already when none is left, whatever comes next.
            let too_much = match result {
                ReadRecordResult::OutputFull => {
                    grow(&mut self.text, ROW_BYTES_MAX + 1).is_err().then_some(RowFault::TooLong)
                }
                ReadRecordResult::OutputEndsFull => {
                    grow(&mut self.ends, ROW_FIELDS_MAX).is_err().then_some(RowFault::TooManyFields)
                }
                ReadRecordResult::Record => {
                    self.is_within_row = false;
                    if !std::mem::take(&mut self.is_skipping) {
                        self.report(None, each)?;
                    }
                    None
                }
                ReadRecordResult::InputEmpty | ReadRecordResult::End => None,
            };
            if let Some(fault) = too_much {
                // What follows of it is read over, in the same memory.
                (self.text_filled, self.fields) = (0, 0);
                if !std::mem::replace(&mut self.is_skipping, true) {
                    self.report(Some(fault), each)?;
                }
            }
        }
        ControlFlow::Continue(())
    }

    /// Passes over blank lines. False if nothing is left.
    fn begin_row(&mut self) -> bool {
        let rest = &self.buffer[self.start..self.filled];
        let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        self.lines += memchr_iter(b'\n', &rest[..blank]).count() as u64;
        self.start += blank;
        if blank == rest.len() {
            return false;
        }
        (self.text_filled, self.fields) = (0, 0);
        self.is_within_row = true;
        self.row_line = self.lines + 1;
        true
    }

    fn report(
        &mut self,
        fault: Option<RowFault>,
        each: &mut dyn FnMut(Row<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.rows += 1;
        each(Row {
            number: self.rows,
            line: self.row_line,
            text: &self.text[..self.text_filled],
            ends: &self.ends[..self.fields],
            fault,
        })
    }
}

/// Doubles a buffer, unless it has `max` elements.
fn grow<T: Copy + Default>(buffer: &mut Vec<T>, max: usize) -> Result<(), ()> {
    let length = buffer.len();
    if length >= max {
        return Err(());
    }
    buffer.resize((2 * length).min(max), T::default());
    Ok(())
}
