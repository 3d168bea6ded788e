//! A job that is started, and the host that counts it.

use crate::job::{Extent, Job, JobOptions};

/// How much memory is kept for the next URL. Longer ones are rare, and a thousand slots would each keep room for the
/// longest.
const URL_KEPT_BYTES: usize = 2048;

/// A host among those of a worker. It is valid until the host's last job has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostId(u32);

impl HostId {
    pub(crate) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer hosts than jobs are held"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Why the jobs of a host are not tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspension {
    /// It did not answer.
    Silent,
    /// It answered nothing but 429 and 503.
    Overloaded,
    /// It answered that, and asked for a longer pause than is waited for it.
    LongPause,
}

impl Suspension {
    /// The text of their records.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Silent => "its host did not answer for so long that it is left alone for a while",
            Self::Overloaded => {
                "its host answered nothing but 429 or 503 for so long that it is left alone for a while"
            }
            Self::LongPause => {
                "its host answered 429 or 503, and asks by Retry-After for a longer pause than is waited for it"
            }
        }
    }
}

/// A job that is started, or given up, with memory for its URL that is used again.
#[derive(Debug)]
pub(crate) struct Started {
    pub(crate) url: Vec<u8>,
    pub(crate) extent: Extent,
    pub(crate) options: Option<Box<JobOptions>>,
    pub(crate) number: u64,
    /// None where no host is counted.
    pub(crate) host: Option<HostId>,
    /// No host counts it, because none was in trouble when it was started.
    pub(crate) is_uncounted: bool,
    /// Why the job is not tried, if it is not.
    pub(crate) suspension: Option<Suspension>,
}

impl Started {
    /// How many bytes of memory its text takes.
    pub(crate) fn held_bytes(&self) -> usize {
        self.url.len() + self.options.as_ref().map_or(0, |options| options.held_bytes())
    }

    /// Takes the place of what was here.
    pub(crate) fn put(&mut self, job: Job<'_>, host: Option<HostId>) {
        self.url.clear();
        self.url.shrink_to(URL_KEPT_BYTES);
        self.url.extend_from_slice(job.url);
        (self.extent, self.options, self.host) = (job.extent, job.options, host);
        (self.number, self.suspension, self.is_uncounted) = (job.number, None, false);
    }
}

impl Default for Started {
    fn default() -> Self {
        Self {
            url: Vec::new(),
            extent: Extent::Whole,
            options: None,
            number: 0,
            host: None,
            is_uncounted: false,
            suspension: None,
        }
    }
}
