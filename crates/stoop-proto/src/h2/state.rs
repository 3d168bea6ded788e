//! The state table of a stream: RFC 9113 §5.1.
//!
//! The two reserved states are left out: our client refuses pushes (§8.4), our server makes none. The
//! RFC's `send ES` and `recv ES` are inputs of their own here, behind the frame that carries them.
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

/// The state of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamState {
    /// Nothing was sent or received.
    Idle,
    /// Both sides may send.
    Open,
    /// We have sent END_STREAM.
    HalfClosedLocal,
    /// The peer has sent END_STREAM.
    HalfClosedRemote,
    /// The stream has ended.
    Closed,
}

/// An input of the state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamInput {
    /// We send a field section: a request, a response, interim or final, or trailers.
    SendHead,
    /// We send content.
    SendData,
    /// We end our message.
    SendEnd,
    /// The peer sends a field section.
    ReceiveHead,
    /// The peer sends content.
    ReceiveData,
    /// The peer ends its message.
    ReceiveEnd,
    /// Either end resets the stream.
    Reset,
}

impl StreamState {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Idle, Self::Open, Self::HalfClosedLocal, Self::HalfClosedRemote, Self::Closed];

    /// The state that follows. The table is complete; a pair without a row is a fault of the peer if the
    /// peer sends, and a defect of this end if we send.
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
    /// All inputs.
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
