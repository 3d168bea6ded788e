//! The faults of the behaviours over HTTP/2 alone.

/// A fault of a server over HTTP/2, or something unusual that clients must be able to handle.
///
/// Unless it says otherwise everything before it is as it should be, and the connection stays open for
/// more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum BadHttp2 {
    /// The first two requests of a connection are refused (REFUSED_STREAM), all others answered.
    RefusedTwice,
    /// The first request of a connection is answered; the second is met by a GOAWAY that says it was
    /// not come to, and the connection is closed.
    GoAwayOnReuse,
    /// One stream at a time (SETTINGS_MAX_CONCURRENT_STREAMS); others are refused.
    OneStream,
    /// The request is refused for another version (HTTP_1_1_REQUIRED), in which it is answered.
    WantsHttp1,
    /// A good response, and DATA behind its end.
    DataAfterEnd,

    /// Every request is refused (REFUSED_STREAM), for as often as it is sent again.
    Refused,
    /// A GOAWAY that says that no request was come to, and the connection is closed; the next, too.
    GoAway,
    /// A GOAWAY that complains (ENHANCE_YOUR_CALM), and the connection is closed.
    Calm,
    /// The stream is reset (INTERNAL_ERROR) in the middle of the body.
    ResetMidBody,
    /// The connection is closed, in order, in the middle of the body.
    ClosedMidBody,
    /// The stream ends before all bytes came that `content-length` announces.
    TooLittle,
    /// More bytes come than `content-length` announces.
    TooMuch,
    /// A head of 16 MiB, by one long field that is named again and again: little of it is ever sent.
    HeaderBomb,
    /// A head that never ends, in one CONTINUATION after the other.
    ContinuationFlood,
    /// A PUSH_PROMISE, and a good response for a client that did not forbid it.
    Push,
    /// Text in place of a frame, and the connection is closed.
    Garbage,
    /// A WINDOW_UPDATE of three bytes, and the connection is closed.
    FrameSize,
    /// A WINDOW_UPDATE that makes the client's window larger than any may be, and the connection is
    /// closed.
    WindowOverflow,

    /// Reads everything after the handshake, and never sends anything, not even SETTINGS.
    Silence,
    /// A good head and half of the body, and then nothing; PINGs are answered.
    Stall,
    /// The same, and PINGs are not answered either.
    PingIgnored,
    /// A good head, then one byte of the body at a time, four a second.
    Drip,
    /// A body that never ends, of 64 KiB ten times a second.
    EndlessBody,
}

impl BadHttp2 {
    /// All of them, and the last part of their names.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::RefusedTwice, "refused-twice"),
        (Self::GoAwayOnReuse, "go-away-on-reuse"),
        (Self::OneStream, "one-stream"),
        (Self::WantsHttp1, "wants-http1"),
        (Self::DataAfterEnd, "data-after-end"),
        (Self::Refused, "refused"),
        (Self::GoAway, "go-away"),
        (Self::Calm, "calm"),
        (Self::ResetMidBody, "reset-mid-body"),
        (Self::ClosedMidBody, "closed-mid-body"),
        (Self::TooLittle, "too-little"),
        (Self::TooMuch, "too-much"),
        (Self::HeaderBomb, "header-bomb"),
        (Self::ContinuationFlood, "continuation-flood"),
        (Self::Push, "push"),
        (Self::Garbage, "garbage"),
        (Self::FrameSize, "frame-size"),
        (Self::WindowOverflow, "window-overflow"),
        (Self::Silence, "silence"),
        (Self::Stall, "stall"),
        (Self::PingIgnored, "ping-ignored"),
        (Self::Drip, "drip"),
        (Self::EndlessBody, "endless-body"),
    ];
}
