//! One stream as a table: RFC 9113 §5.1.
//!
//! The two reserved states are left out: our client refuses pushes (§8.4), our server makes none. What
//! the diagram calls `send ES` and `recv ES` are inputs of their own here, behind the frame that
//! carries them.
//!
//! ```text
//!                      ┌──────┐
//!                      │ Idle │
//!                      └──────┘
//!                         │ SendHead, ReceiveHead
//!                         ▼
//!                      ┌──────┐ ◀─┐ SendHead, SendData,
//!          ReceiveEnd  │ Open │ ──┘ ReceiveHead, ReceiveData
//!          ┌────────── └──────┘ ──────────┐ SendEnd
//!          ▼              │               ▼
//!   ┌──────────────────┐  │     ┌─────────────────┐
//!   │ HalfClosedRemote │  │     │ HalfClosedLocal │
//!   └──────────────────┘  │     └─────────────────┘
//!     │  ▲ SendHead,      │        ▲  │ ReceiveHead,
//!     │  └─ SendData      │        └──┘ ReceiveData
//!     │ SendEnd, Reset    │ Reset     │ ReceiveEnd, Reset
//!     │                   ▼           │
//!     │                ┌────────┐     │
//!     └──────────────▶ │ Closed │ ◀───┘
//!                      └────────┘
//! ```

/// Where a stream is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing was sent or received.
    Idle,
    /// Both sides may send.
    Open,
    /// We have sent all we will.
    HalfClosedLocal,
    /// The peer has sent all it will.
    HalfClosedRemote,
    /// It is over.
    Closed,
}

/// What can happen to a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamInput {
    /// We send a header section: a request, a response, interim or not, or trailers.
    SendHead,
    /// We send content.
    SendData,
    /// What we sent last was the last.
    SendEnd,
    /// The peer sends a header section.
    ReceiveHead,
    /// The peer sends content.
    ReceiveData,
    /// What the peer sent last was the last.
    ReceiveEnd,
    /// Either side gives the stream up.
    Reset,
}

impl StreamState {
    /// Each of them.
    pub const ALL: [Self; 5] =
        [Self::Idle, Self::Open, Self::HalfClosedLocal, Self::HalfClosedRemote, Self::Closed];

    /// The state that follows. These rows are all of it; a pair without a row is the peer's fault
    /// where the peer sends, and ours where we do.
    #[inline]
    pub const fn next(self, input: StreamInput) -> Option<Self> {
        use StreamInput::*;
        use StreamState::*;
        Some(match (self, input) {
            (Idle, SendHead | ReceiveHead) => Open,
            (Open, SendHead | SendData | ReceiveHead | ReceiveData) => Open,
            (Open, SendEnd) => HalfClosedLocal,
            (Open, ReceiveEnd) => HalfClosedRemote,
            (HalfClosedLocal, ReceiveHead | ReceiveData) => HalfClosedLocal,
            (HalfClosedLocal, ReceiveEnd) => Closed,
            (HalfClosedRemote, SendHead | SendData) => HalfClosedRemote,
            (HalfClosedRemote, SendEnd) => Closed,
            (Open | HalfClosedLocal | HalfClosedRemote, Reset) => Closed,
            _ => return None,
        })
    }

    /// Whether we may still send.
    #[inline]
    pub const fn may_send(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedRemote)
    }

    /// Whether the peer may still send.
    #[inline]
    pub const fn may_receive(self) -> bool {
        matches!(self, Self::Open | Self::HalfClosedLocal)
    }
}

impl StreamInput {
    /// Each of them.
    pub const ALL: [Self; 7] = [
        Self::SendHead,
        Self::SendData,
        Self::SendEnd,
        Self::ReceiveHead,
        Self::ReceiveData,
        Self::ReceiveEnd,
        Self::Reset,
    ];
}
