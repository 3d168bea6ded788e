//! The state table of one direction of an HTTP/1 connection.
//!
//! A connection has two halves, each a sequence of messages in one direction (RFC 9112 §1, §9.3).
//! `Server` and `Client` couple them, not the table: the last request makes its response the last, a
//! tunnel switches both.
//!
//! ```text
//!    Interim                          Data
//!     ┌──┐                             ┌──┐
//!     │  ▼          Head               │  ▼
//!    ┌──────┐ ──────────────────────▶ ┌──────┐
//!    │ Idle │                         │ Body │
//!    └──────┘ ◀────────────────────── └──────┘
//!     │ │ │           End                 │ Last
//!     │ │ │                               ▼
//!     │ │ │       LastHead            ┌──────────┐   End    ┌────────┐
//!     │ │ └─────────────────────────▶ │ LastBody │ ───────▶ │ Closed │
//!     │ │                             └──────────┘          └────────┘
//!     │ │                              │  ▲ Data, Last          ▲  ▲
//!     │ │                              └──┘                     │  │
//!     │ └──────────────────────────── Last ─────────────────────┘  │
//!     │       Switch                 ┌──────────┐                  │
//!     └────────────────────────────▶ │ Switched │             Close, from anywhere
//!                                    └──────────┘
//! ```

/// The state of one direction of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Between messages: a head may follow.
    Idle,
    /// Within a message that another may follow.
    Body,
    /// Within the last message.
    LastBody,
    /// Switched to another protocol: RFC 9110 §7.8, §9.3.6.
    Switched,
    /// Closed: nothing more follows in this direction.
    Closed,
}

/// An input of the state table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// An interim (1xx) response head.
    Interim,
    /// The head of a message that another may follow.
    Head,
    /// The head of a message that is the last.
    LastHead,
    /// Content.
    Data,
    /// The current message becomes the last.
    Last,
    /// The end of a message.
    End,
    /// The connection becomes a tunnel.
    Switch,
    /// The direction is aborted.
    Close,
}

impl Half {
    /// All states.
    pub const ALL: [Self; 5] =
        [Self::Idle, Self::Body, Self::LastBody, Self::Switched, Self::Closed];

    /// The state that follows. The table is complete; a pair without a row is a defect of the machine or
    /// of its caller.
    #[inline]
    pub const fn next(self, input: Input) -> Option<Self> {
        use Half::*;
        use Input::*;
        Some(match (self, input) {
            (Idle, Interim) => Idle,
            (Idle, Head) => Body,
            (Idle, LastHead) => LastBody,
            (Body, Data) => Body,
            (LastBody, Data | Last) => LastBody,
            (Body, Last) => LastBody,
            (Body, End) => Idle,
            (LastBody, End) => Closed,
            (Idle, Last) => Closed,
            (Idle, Switch) => Switched,
            (_, Close) => Closed,
            _ => return None,
        })
    }
}

impl Input {
    /// All inputs.
    pub const ALL: [Self; 8] = [
        Self::Interim,
        Self::Head,
        Self::LastHead,
        Self::Data,
        Self::Last,
        Self::End,
        Self::Switch,
        Self::Close,
    ];
}
