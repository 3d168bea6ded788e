//! A job that is started, and the host that counts it.

use crate::source::Extent;

/// A host among those of a worker. It is valid until the host's last job has finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HostId(u32);

impl HostId {
    pub(super) fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("fewer hosts than jobs are held"))
    }

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of a job that is started now, beside its URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Started {
    pub(crate) extent: Extent,
    /// None where no host is counted.
    pub(crate) host: Option<HostId>,
}
