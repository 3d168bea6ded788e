//! Finds the concurrency of a run by what becomes of it: grows while more jobs are answered in a second, and
//! keeps the least that does as well as the best.
//!
//! ```text
//!        the rate grows                   a probe pays: it is kept, and the next one follows
//!        ┌───┐                               ┌───┐
//!        │   ▼        does not grow          │   ▼
//! start ─► ramp ────────────────────────► hold ⇄ up, down
//!            ▲                               │
//!            └───────────────────────────────┘ the rate changed by itself, or a probe pays in full
//! ```
//!
//! It is told what happened every few dozen milliseconds, and has neither a clock nor a thread: [`tuning`](crate::tuning)
//! has. What it compares are rates over *windows*, which begin one latency after a change, when what was started before
//! has ended, and are as long as it takes to tell the rates apart. While nothing speaks against it, the ramp does not
//! wait for them: hosts that take a second for an answer would hold it up for seconds at each step.

mod level;
mod recent;
mod search;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod tick;
mod window;

pub(crate) use self::level::Hindrance;
pub(crate) use self::search::Tuner;
pub(crate) use self::tick::Tick;
