//! The turns of hosts for requests that follow from others: those that redirects lead to, and those that are sent again.
//!
//! The first request of a job has its turn when the job is started: see [`schedule`](crate::schedule). Each further one waits
//! for a turn of its own, at the worker to which the host of its URL belongs. That may be another worker than the job's, so
//! each has a mailbox:
//!
//! ```text
//! client ─► pace ─► InTurn, in the job's task ─► Mail::Want ─► mailbox ─► the host's worker ─► its schedule
//!                          ▲                                                                      │
//!                          └────── the ticket is answered: it has a turn and a permit ◄───────────┘
//! ```
//!
//! While it waits, a job is not in flight: it has given its permit back, and left its place unless the next request goes to
//! the same host. So jobs in flight never wait for those that wait, and no jobs wait for each other in a circle. The worker
//! of the host takes a permit for each turn that it gives, before it takes one for a job that was not started yet.
//!
//! Where robots.txt counts, and that of the origin to which a redirect leads is not known yet, it is asked for once the request
//! has its turn, as for the first request of a job: until a host's file is known, its requests have their turns one by one, so
//! that one job asks and the others wait out of flight. The job that asks is in flight, with its place and its permit, and its
//! clock stands still. What the file says is told to the host, and so is that there was no response.
//!
//! A request that is sent again after a delay asks for its turn once that is over. The job is not in flight meanwhile either,
//! but its clock goes on, as that of its client does.
//!
//! A job that no host counts, because none was in trouble when it was started, waits for turns from the first attempt on that
//! says so of its host.
//!
//! Sitemaps that others name wait in the same way, all their requests.

mod following;
mod in_turn;
mod mailbox;
mod redirected;
mod said;
mod ticket;

pub(crate) use self::in_turn::{Asker, InTurn};
pub(crate) use self::mailbox::{Mail, Mailboxes, Post};
pub(crate) use self::said::{take_troubles, wait_for_turn};
#[cfg(test)]
pub(crate) use self::ticket::Ticket;
pub(crate) use self::ticket::{Answer, Turn};
