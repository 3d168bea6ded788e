//! What a journal says: which jobs are done, which of them failed, and where the output is.

use std::collections::BTreeMap;
use std::io::{self, BufReader, Read};

use serde::{Deserialize, Serialize};

use super::entry::{Entry, Progress, entry_bytes, parse, read_payload};
use super::ranges::Ranges;
use crate::summary::ResultCode;

/// The version of what is written here.
const VERSION: u32 = 1;

/// How many ranges or failures an entry has at most where all are written anew.
const ENTRY_ITEMS_MAX: usize = 100_000;

/// What a journal begins with.
#[derive(Serialize, Deserialize)]
struct Header {
    stoop_journal: u32,
    options: BTreeMap<String, String>,
}

/// What a journal says.
#[derive(Debug, Default)]
pub(super) struct JournalState {
    pub(super) options: BTreeMap<String, String>,
    pub(super) done: Ranges,
    pub(super) failures: Failures,
    pub(super) output: Option<Vec<u8>>,
    pub(super) is_complete: bool,
    pub(super) round: u32,
}

/// Jobs that failed, with what came of them, in 16 bytes each.
#[derive(Debug, Default)]
pub(super) struct Failures {
    codes: BTreeMap<u64, u16>,
    kinds: Vec<String>,
}

/// The number that the first kind has in place of a status.
const KINDS: u16 = 1000;

impl Failures {
    fn insert(&mut self, number: u64, code: ResultCode<'_>) {
        let code = match code {
            ResultCode::Status(status) => status.min(KINDS - 1),
            ResultCode::Error(kind) => {
                let at = self.kinds.iter().position(|known| known == kind).unwrap_or_else(|| {
                    self.kinds.push(kind.to_owned());
                    self.kinds.len() - 1
                });
                KINDS.saturating_add(u16::try_from(at).unwrap_or(u16::MAX))
            }
        };
        self.codes.insert(number, code);
    }

    fn code(&self, code: u16) -> ResultCode<'_> {
        match code.checked_sub(KINDS) {
            None => ResultCode::Status(code),
            Some(at) => ResultCode::Error(self.kinds.get(usize::from(at)).map_or("", |kind| kind)),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    fn iter(&self) -> impl Iterator<Item = (u64, ResultCode<'_>)> {
        self.codes.iter().map(|(number, code)| (*number, self.code(*code)))
    }
}

impl JournalState {
    /// Reads a journal up to its end, or to what is not whole, and counts the bytes that were read. None if it is not a
    /// journal of this version.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn read_counted(journal: impl Read) -> io::Result<Option<(Self, u64)>> {
        let mut journal = BufReader::with_capacity(256 << 10, journal);
        let mut payload = Vec::new();
        if !read_payload(&mut journal, &mut payload)? {
            return Ok(None);
        }
        let Some(Entry::Header(json)) = parse(&payload) else { return Ok(None) };
        let Ok(Header { stoop_journal: VERSION, options }) = serde_json::from_slice(json) else {
            return Ok(None);
        };
        let mut state = Self { options, ..Self::default() };
        let mut bytes = entry_bytes(&payload);
        while read_payload(&mut journal, &mut payload)? {
            let Some(Entry::Progress(progress)) = parse(&payload) else { break };
            state.add(&progress);
            bytes += entry_bytes(&payload);
        }
        Ok(Some((state, bytes)))
    }

    #[cfg(test)]
    pub(super) fn read(journal: impl Read) -> io::Result<Option<Self>> {
        Ok(Self::read_counted(journal)?.map(|(state, _)| state))
    }

    fn add(&mut self, progress: &Progress<'_>) {
        (self.is_complete, self.round) = (progress.is_complete, progress.round);
        for (start, end) in &progress.done {
            self.done.insert(*start, *end);
        }
        for (number, code) in &progress.failures {
            self.failures.insert(*number, *code);
        }
        if let Some(output) = progress.output {
            self.output = Some(output.to_vec());
        }
    }

    /// Has the failed jobs for which `which` says so done again, and returns how many there are.
    pub(super) fn retry(&mut self, which: impl Fn(ResultCode<'_>) -> bool) -> u64 {
        let again: Vec<u64> = self
            .failures
            .iter()
            .filter(|(_, code)| which(*code))
            .map(|(number, _)| number)
            .collect();
        for number in &again {
            self.failures.codes.remove(number);
            self.done.remove(*number);
        }
        (self.is_complete, self.round) = (false, self.round.saturating_add(1));
        again.len() as u64
    }

    /// Appends a journal that says the same, in as few entries as it takes.
    pub(super) fn push(&self, into: &mut Vec<u8>) {
        let header = Header { stoop_journal: VERSION, options: self.options.clone() };
        let header = serde_json::to_vec(&header).expect("plain data, into memory");
        Entry::Header(&header).push(into);
        let done: Vec<_> = self.done.iter().collect();
        let failures: Vec<_> = self.failures.iter().collect();
        let part = || Progress { round: self.round, ..Progress::default() };
        for done in done.chunks(ENTRY_ITEMS_MAX) {
            Entry::Progress(Progress { done: done.to_vec(), ..part() }).push(into);
        }
        for failures in failures.chunks(ENTRY_ITEMS_MAX) {
            Entry::Progress(Progress { failures: failures.to_vec(), ..part() }).push(into);
        }
        let (is_complete, output) = (self.is_complete, self.output.as_deref());
        Entry::Progress(Progress { is_complete, output, ..part() }).push(into);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_is_written_anew_says_the_same() {
        let mut state = JournalState { round: 2, is_complete: true, ..JournalState::default() };
        state.options.insert("format".to_owned(), "csv".to_owned());
        state.add(&Progress {
            is_complete: true,
            round: 2,
            done: vec![(0, 10), (12, 20)],
            failures: vec![(3, ResultCode::Status(500)), (4, ResultCode::Error("reset"))],
            output: Some(b"here"),
        });
        let mut journal = Vec::new();
        state.push(&mut journal);
        let read = JournalState::read(&journal[..]).expect("memory").expect("a journal");
        assert_eq!(format!("{read:?}"), format!("{state:?}"));
        // What is torn at its end says what was said before.
        journal.extend_from_slice(&[7; 5]);
        let read = JournalState::read(&journal[..]).expect("memory").expect("a journal");
        assert_eq!(format!("{read:?}"), format!("{state:?}"));
        assert!(JournalState::read(&b"url,code"[..]).expect("memory").is_none());
        let counted = JournalState::read_counted(&journal[..]).expect("memory").expect("a journal");
        assert_eq!(counted.1, journal.len() as u64 - 5);
    }

    #[test]
    fn what_is_tried_again_is_not_done() {
        let mut state = JournalState::default();
        let failures = vec![
            (3, ResultCode::Status(500)),
            (4, ResultCode::Error("reset")),
            (5, ResultCode::Status(404)),
        ];
        let is_complete = true;
        state.add(&Progress { is_complete, done: vec![(0, 10)], failures, ..Progress::default() });
        let again = state.retry(|code| code != ResultCode::Status(404));
        assert_eq!((again, state.round, state.is_complete), (2, 1, false));
        assert_eq!(state.done.iter().collect::<Vec<_>>(), [(0, 3), (5, 10)]);
        assert_eq!(state.failures.iter().collect::<Vec<_>>(), [(5, ResultCode::Status(404))]);
    }
}
