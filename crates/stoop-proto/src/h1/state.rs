//! One direction of an HTTP/1 connection as a table.
//!
//! A connection has two halves, each a sequence of messages in one direction (RFC 9112 §1, §9.3).
//! What couples them is not in the table but in `Server` and `Client`: a request that is the last
//! makes its response the last, a tunnel switches both.
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

/// Where one direction of a connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// Between messages: a head may follow.
    Idle,
    /// Within a message that another may follow.
    Body,
    /// Within the last message.
    LastBody,
    /// The bytes belong to another protocol now: RFC 9110 §7.8, §9.3.6.
    Switched,
    /// Nothing more in this direction.
    Closed,
}

/// What can happen to a half.
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
    /// The message under way turns out to be the last.
    Last,
    /// The end of a message.
    End,
    /// The connection becomes a tunnel.
    Switch,
    /// The direction is given up.
    Close,
}

impl Half {
    /// Each of them.
    pub const ALL: [Self; 5] =
        [Self::Idle, Self::Body, Self::LastBody, Self::Switched, Self::Closed];

    /// The state that follows. These rows are all of it; a pair without a row is an error of ours
    /// or of our caller's.
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
    /// Each of them.
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
