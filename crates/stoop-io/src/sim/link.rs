//! The properties of one direction of a simulated connection: delay, splits and faults.

use std::time::Duration;

/// One direction of a simulated connection. By default: no delay, 64 KiB of room, nothing cut and
/// no faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The delay of bytes, and of the end of the stream.
    pub latency: Duration,
    /// The most by which the delay varies, at random. Bytes never overtake each other.
    pub jitter: Duration,
    /// Bytes that may be under way; a writer with more waits for the reader.
    pub capacity: usize,
    /// How many bytes one read yields at most.
    pub reads: Split,
    /// How many bytes one write accepts at most; the rest waits for the next turn.
    pub writes: Split,
    /// The fault of this direction, if any.
    pub fault: LinkFault,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            capacity: 64 * 1024,
            reads: Split::Whole,
            writes: Split::Whole,
            fault: LinkFault::None,
        }
    }
}

impl Link {
    /// A link on which bytes take `latency`.
    pub fn late(latency: Duration) -> Self {
        Self { latency, ..Self::default() }
    }

    /// A link on which each read yields what `reads` says.
    pub fn split(reads: Split) -> Self {
        Self { reads, ..Self::default() }
    }

    /// A link that fails.
    pub fn faulty(fault: LinkFault) -> Self {
        Self { fault, ..Self::default() }
    }
}

/// How a stream is split. Zero counts as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Split {
    /// Nowhere: all there is.
    Whole,
    /// Into pieces of this size.
    Each(usize),
    /// Into pieces of one byte up to this many, by the seed.
    UpTo(usize),
    /// Into these sizes, one after the other; when there are no more, all there is.
    Sizes(Vec<usize>),
}

/// The fault of one direction, after a number of bytes on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    /// No fault.
    None,
    /// Once the reader has received this many bytes the connection is reset, both ways. It keeps those.
    ResetAfter(u64),
    /// The reader gets this many bytes and then nothing, not even an end.
    StallAfter(u64),
    /// The reader gets this many bytes and then the end; what is sent beyond is accepted and lost.
    EndAfter(u64),
    /// This many bytes are accepted from the writer and no more: the peer's window stays shut.
    RefuseAfter(u64),
}

/// The sizes of a [`Split`], in order.
pub(super) struct Sizes {
    split: Split,
    drawn: usize,
}

impl Sizes {
    pub(super) fn new(split: &Split) -> Self {
        Self { split: split.clone(), drawn: 0 }
    }

    pub(super) fn next(&mut self, random: &mut LinkRandom) -> usize {
        self.drawn += 1;
        let size = match &self.split {
            Split::Whole => usize::MAX,
            Split::Each(size) => *size,
            Split::UpTo(most) => 1 + random.below(*most as u64) as usize,
            Split::Sizes(sizes) => sizes.get(self.drawn - 1).copied().unwrap_or(usize::MAX),
        };
        size.max(1)
    }
}

/// Numbers from a seed: a counter, mixed. Good enough to cut with, and the same everywhere.
pub(super) struct LinkRandom(u64);

impl LinkRandom {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number below `limit`; 0 if that is 0.
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        for shift in [30, 27, 31] {
            mixed = (mixed ^ (mixed >> shift)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        }
        mixed.checked_rem(limit).unwrap_or(0)
    }

    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(self.below(nanos.saturating_add(1)))
    }
}
