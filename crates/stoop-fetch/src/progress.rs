//! How far a run is, and what it waits for.

/// How far a run is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Jobs that were read from the source.
    pub read: u64,
    /// Bytes of the input that were read, if the source counts them.
    pub read_bytes: u64,
    /// Jobs that have their records.
    pub done: u64,
    /// Those among them that came to an error.
    pub errors: u64,
    /// Bytes of content that have come, decoded where the client decodes it: also of jobs in flight, of those that came to
    /// an error, and of attempts before a retry. Content of redirects that were followed and of robots.txt is not counted.
    pub content_bytes: u64,
    /// Jobs that were done before the run was resumed; they are not in [`done`](Self::done).
    pub resumed: u64,
    /// Jobs of which a request is under way. Those whose next request waits are not among them.
    pub in_flight: u64,
    /// Jobs whose next request, of a redirect or a retry, waits for the turn of its host, or for the delay of the retry
    /// before that. At most about 2,048, and no more than hold 16 MiB: then no more jobs are started.
    pub waiting: u64,
    /// How many may be in flight now: the concurrency.
    pub in_flight_max: u64,
    /// What keeps more from being in flight; none while the run finds that out.
    pub bottleneck: Option<Bottleneck>,
}

/// What keeps more jobs from being in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Bottleneck {
    /// No job is left, or the source does not tell of any fast enough.
    Source,
    /// The jobs that are left have to wait for their hosts.
    Hosts,
    /// The [rate of all requests](crate::Politeness::total_interval).
    Rate,
    /// The [bandwidth of the run](crate::Fetch::bandwidth_max): content waits for its turn to be read.
    Bandwidth,
    /// The writer is behind.
    Output,
    /// More than half of the [memory for content](crate::Fetch::content_memory) is taken.
    ContentMemory,
    /// The concurrency is what was asked for, or may be no higher.
    Concurrency,
    /// The concurrency that is found may be no higher: each job in flight takes a descriptor.
    OpenFiles,
    /// The concurrency that is found may be no higher: each job in flight takes memory.
    Memory,
    /// The workers have no more processor time.
    Cores,
    /// More in flight are not answered faster: the network is full, or what is behind it.
    Network,
}
