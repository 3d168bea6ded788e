//! What a tuner is told.

/// What happened since the last tick.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tick {
    /// How long that took, in seconds.
    pub(crate) seconds: f64,
    /// Jobs that came to a response.
    pub(crate) answered: u64,
    /// How long these took, in seconds, as a sum.
    pub(crate) latency: f64,
    /// Jobs that came to nothing as they do where too much is asked for: by a time limit, or of this machine.
    pub(crate) lost: u64,
    /// How long these took, in seconds, as a sum.
    pub(crate) lost_latency: f64,
    /// Jobs that were started, but for those that came to something else.
    pub(crate) started: u64,
    /// How many jobs are in flight.
    pub(crate) in_flight: usize,
    /// Jobs wait that could be started, if the limit were higher.
    pub(crate) is_wanted: bool,
    /// The part of the time in which the busiest worker's event loop had something to do.
    pub(crate) busy: f64,
    /// The same of the worker that had least to do.
    pub(crate) least_busy: f64,
    /// A job came to nothing for want of a descriptor or a port.
    pub(crate) is_exhausted: bool,
}
