//! The turns of hosts for requests that follow from others: those that redirects lead to, and those that are sent again.
//!
//! The first request of a job has its turn when the job is started: see [`schedule`](crate::schedule). Each further one waits
//! for a turn of its own, at the worker to which the host of its URL belongs. That may be another worker than the job's, so
//! each has a mailbox:
//!
//! ```text
//! client ─► pace ─► the job's worker ─► Mail::Want ─► mailbox ─► the host's worker ─► its schedule
//!                          ▲                                                              │
//!                          └──────────────────────── the ticket is answered ◄─────────────┘
//! ```
//!
//! A job has one place at most: it leaves that at one host before it waits for another's, so that no jobs wait for each other
//! in a circle.

mod following;
mod mailbox;
mod ticket;

pub(crate) use self::following::{Following, Lookup, Wait, wait_for_turn, waited};
pub(crate) use self::mailbox::{Mail, Mailboxes, Post};
#[cfg(test)]
pub(crate) use self::ticket::Ticket;
pub(crate) use self::ticket::{Answer, Turn};
