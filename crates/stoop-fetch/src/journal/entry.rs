//! The entries of a journal, as bytes: each has its length and a checksum, so that one that was cut by the end of the
//! process is noticed.

use std::io::{self, Read};

use crate::summary::ResultCode;

/// Longer ones are not written, and what says it is longer was not written by this.
const PAYLOAD_BYTES_MAX: usize = 256 << 20;

const HEADER: u8 = 1;
const PROGRESS: u8 = 2;

/// A status has this in its place if the job came to an error; kinds follow.
const KINDS: u64 = 1000;

/// An entry, read.
#[derive(Debug, PartialEq)]
pub(super) enum Entry<'a> {
    /// What the journal begins with, as JSON.
    Header(&'a [u8]),
    Progress(Progress<'a>),
}

/// What was done since the entry before.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Progress<'a> {
    /// All jobs that were asked for are done.
    pub(super) is_complete: bool,
    /// How often failed jobs were begun anew.
    pub(super) round: u32,
    /// The numbers of the jobs, in order, as ranges.
    pub(super) done: Vec<(u64, u64)>,
    /// What came of those among them that failed, in order.
    pub(super) failures: Vec<(u64, ResultCode<'a>)>,
    /// The state of the output that has their records; none if it is as before.
    pub(super) output: Option<&'a [u8]>,
}

impl Entry<'_> {
    /// Appends the entry with its frame.
    pub(super) fn push(&self, into: &mut Vec<u8>) {
        let begin = into.len();
        into.extend_from_slice(&[0; 8]);
        match self {
            Self::Header(json) => {
                into.push(HEADER);
                into.extend_from_slice(json);
            }
            Self::Progress(progress) => {
                into.push(PROGRESS);
                progress.push(into);
            }
        }
        let payload = &into[begin + 8..];
        let length = u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes();
        let check = checksum(payload);
        into[begin..begin + 4].copy_from_slice(&length);
        into[begin + 4..begin + 8].copy_from_slice(&check);
    }
}

/// Reads the next payload into `payload`; false at the end, or before an entry that is not whole.
pub(super) fn read_payload(journal: &mut impl Read, payload: &mut Vec<u8>) -> io::Result<bool> {
    let mut frame = Vec::with_capacity(8);
    journal.by_ref().take(8).read_to_end(&mut frame)?;
    let Some((length, check)) = frame.split_first_chunk::<4>() else { return Ok(false) };
    let length = u32::from_le_bytes(*length) as usize;
    if length > PAYLOAD_BYTES_MAX {
        return Ok(false);
    }
    payload.clear();
    journal.by_ref().take(length as u64).read_to_end(payload)?;
    Ok(payload.len() == length && checksum(payload) == check)
}

/// How many bytes an entry with this payload has.
pub(super) fn entry_bytes(payload: &[u8]) -> u64 {
    8 + payload.len() as u64
}

/// The entry that a payload is; none if it is one of another version.
pub(super) fn parse(payload: &[u8]) -> Option<Entry<'_>> {
    match payload.split_first()? {
        (&HEADER, json) => Some(Entry::Header(json)),
        (&PROGRESS, rest) => Progress::parse(rest).map(Entry::Progress),
        _ => None,
    }
}

fn checksum(payload: &[u8]) -> [u8; 4] {
    *blake3::hash(payload).as_bytes().first_chunk().expect("32 bytes")
}

impl<'a> Progress<'a> {
    fn push(&self, into: &mut Vec<u8>) {
        into.push(u8::from(self.is_complete));
        push_number(self.round.into(), into);
        push_number(self.done.len() as u64, into);
        let mut last = 0;
        for (start, end) in &self.done {
            push_number(start - last, into);
            push_number(end - start, into);
            last = *end;
        }
        let mut kinds: Vec<&str> = Vec::new();
        for (_, code) in &self.failures {
            if let ResultCode::Error(kind) = code
                && !kinds.contains(kind)
            {
                kinds.push(kind);
            }
        }
        push_number(kinds.len() as u64, into);
        for kind in &kinds {
            push_bytes(kind.as_bytes(), into);
        }
        push_number(self.failures.len() as u64, into);
        let mut last = 0;
        for (number, code) in &self.failures {
            push_number(number - last, into);
            last = *number;
            push_number(
                match code {
                    ResultCode::Status(status) => u64::from(*status).min(KINDS - 1),
                    ResultCode::Error(kind) => {
                        let at = kinds.iter().position(|known| known == kind);
                        KINDS + at.unwrap_or_default() as u64
                    }
                },
                into,
            );
        }
        match self.output {
            None => into.push(0),
            Some(output) => {
                into.push(1);
                push_bytes(output, into);
            }
        }
    }

    fn parse(payload: &'a [u8]) -> Option<Self> {
        let mut rest = Parser(payload);
        let is_complete = rest.byte()? == 1;
        let round = u32::try_from(rest.number()?).ok()?;
        let (mut done, mut last) = (Vec::new(), 0_u64);
        for _ in 0..rest.number()? {
            let start = last.checked_add(rest.number()?)?;
            last = start.checked_add(rest.number()?)?;
            done.push((start, last));
        }
        let mut kinds = Vec::new();
        for _ in 0..rest.number()? {
            kinds.push(std::str::from_utf8(rest.bytes()?).ok()?);
        }
        let (mut failures, mut last) = (Vec::new(), 0_u64);
        for _ in 0..rest.number()? {
            last = last.checked_add(rest.number()?)?;
            let code = rest.number()?;
            let code = match code.checked_sub(KINDS) {
                None => ResultCode::Status(u16::try_from(code).ok()?),
                Some(at) => ResultCode::Error(kinds.get(usize::try_from(at).ok()?)?),
            };
            failures.push((last, code));
        }
        let output = match rest.byte()? {
            0 => None,
            _ => Some(rest.bytes()?),
        };
        Some(Self { is_complete, round, done, failures, output })
    }
}

/// Appends a number, seven bits a byte, the lowest first.
fn push_number(mut number: u64, into: &mut Vec<u8>) {
    while number >= 0x80 {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn push_bytes(bytes: &[u8], into: &mut Vec<u8>) {
    push_number(bytes.len() as u64, into);
    into.extend_from_slice(bytes);
}

/// What is left of a payload.
struct Parser<'a>(&'a [u8]);

impl<'a> Parser<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn progress() -> Progress<'static> {
        Progress {
            is_complete: true,
            round: 300,
            done: vec![(0, 1), (5, 1_000_000), (u64::MAX - 1, u64::MAX)],
            failures: vec![
                (0, ResultCode::Error("dns_nxdomain")),
                (5, ResultCode::Status(503)),
                (7, ResultCode::Error("reset")),
                (900, ResultCode::Error("dns_nxdomain")),
            ],
            output: Some(b"state"),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut journal = Vec::new();
        Entry::Header(b"{}").push(&mut journal);
        Entry::Progress(progress()).push(&mut journal);
        Entry::Progress(Progress::default()).push(&mut journal);
        let (mut rest, mut payload) = (&journal[..], Vec::new());
        for expected in [
            Entry::Header(b"{}"),
            Entry::Progress(progress()),
            Entry::Progress(Progress::default()),
        ] {
            assert!(read_payload(&mut rest, &mut payload).expect("memory"));
            assert_eq!(parse(&payload), Some(expected));
        }
        assert!(!read_payload(&mut rest, &mut payload).expect("memory"));
    }

    #[test]
    fn an_entry_that_is_cut_or_changed_is_none() {
        let mut journal = Vec::new();
        Entry::Progress(progress()).push(&mut journal);
        let mut payload = Vec::new();
        for length in 0..journal.len() {
            let mut cut = &journal[..length];
            assert!(!read_payload(&mut cut, &mut payload).expect("memory"), "{length}");
        }
        for at in 0..journal.len() {
            let mut changed = journal.clone();
            changed[at] ^= 1;
            assert!(!read_payload(&mut &changed[..], &mut payload).expect("memory"), "{at}");
        }
        assert_eq!(parse(&journal[8..journal.len() - 1]), None);
    }
}
