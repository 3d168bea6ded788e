//! The bandwidth of a run: all content that its workers read takes turns in one queue, so that no more than so many bytes
//! are read in a second.
//!
//! A piece is read when the bytes before it have taken their time. How long it is is not known before that: until then it
//! counts with the length that it may have, but for one that the server has not sent yet: that counts when it comes, so that
//! silent servers hold up none. Nothing of content is asked for meanwhile, so that the system takes no more of it from the
//! server than fits into its buffers, and no time limit for content counts that time.

mod queue;
mod starts;

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use bytes::Bytes;
use stoop::{Body, ClientLimits, Error, ErrorKind, Phase};
use tokio::time::{Instant as TimerInstant, Sleep, sleep_until};

use self::queue::{PIECE_BYTES, Queue, Ticket, Turn};
use self::starts::Starts;

/// How much content a run reads in a second.
#[derive(Debug)]
pub(crate) struct Bandwidth {
    queue: Mutex<Queue>,
    starts: Starts,
    /// What the client reads of content that nothing asks for, to use the connection again.
    drained_max: u64,
}

/// Reads the content of one response, in turn where the run has a bandwidth.
#[derive(Debug)]
pub(crate) struct ContentReader<'a> {
    bandwidth: Option<&'a Bandwidth>,
    /// The last piece was of what had come before: the next may be, too, and waits for no turn.
    is_within: bool,
}

impl Bandwidth {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        let queue = Mutex::new(Queue::new(bytes_per_second, now()));
        let drained_max = ClientLimits::default().drain_bytes_max;
        Self { queue, starts: Starts::new(), drained_max }
    }

    /// Whether content waits.
    pub(crate) fn is_short(&self) -> bool {
        self.queue().is_short()
    }

    /// Whether another job may start where so many are in flight.
    pub(crate) fn may_start(&self, in_flight: usize) -> bool {
        self.starts.may_start(in_flight, &self.queue(), now())
    }

    /// A job has started, and so many are in flight with it.
    pub(crate) fn job_started(&self, in_flight: usize) {
        self.starts.started(in_flight, &mut self.queue(), now());
    }

    /// A job has ended, and so many are in flight yet.
    pub(crate) fn job_ended(&self, in_flight: usize) {
        self.starts.ended(in_flight, self.is_short());
    }

    /// So many bytes were read that have not waited: those that come later wait longer.
    pub(crate) fn pay(&self, bytes: usize) {
        self.queue().add(bytes as u64, now());
    }

    /// Counts what has come of content that nothing asks for, as far as the client reads it to use the connection again.
    pub(crate) fn drain(&self, content: &mut Body) {
        let mut left = self.drained_max;
        let mut cx = Context::from_waker(Waker::noop());
        while content.len().is_none_or(|length| length > 0 && length <= left) {
            let before = content.wire_bytes();
            let Poll::Ready(Ok(Some(piece))) = pin!(content.chunk()).poll(&mut cx) else { return };
            let read = arrived(before, content, &piece);
            self.pay(usize::try_from(read).unwrap_or(usize::MAX));
            match left.checked_sub(read.max(1)) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> ContentReader<'a> {
    /// Nothing was read yet.
    pub(crate) fn new(bandwidth: Option<&'a Bandwidth>) -> Self {
        Self { bandwidth, is_within: false }
    }

    /// The next piece; `None` at the end. It waits for its turn no longer than until its deadline: that of its client, or
    /// `due` where that has none.
    ///
    /// # Errors
    /// Those of the content. What is late is not read any more: [`TotalTimeout`](ErrorKind::TotalTimeout).
    pub(crate) async fn chunk(
        &mut self,
        content: &mut Body,
        due: impl FnOnce() -> Option<Instant>,
    ) -> Result<Option<Bytes>, Error> {
        match self.bandwidth {
            None => content.chunk().await,
            // In memory of its own: all slots would be larger by it.
            Some(bandwidth) => Box::pin(self.chunk_in_turn(bandwidth, content, due())).await,
        }
    }

    /// Reads all of it, and says how long it is. `look` is told of each piece.
    ///
    /// # Errors
    /// Those of the content.
    pub(crate) async fn count(
        mut self,
        content: &mut Body,
        due: Option<Instant>,
        look: impl Fn(usize),
    ) -> Result<u64, Error> {
        let mut total = 0;
        while let Some(piece) = self.chunk(content, || due).await? {
            total += piece.len() as u64;
            look(piece.len());
        }
        Ok(total)
    }

    async fn chunk_in_turn(
        &mut self,
        bandwidth: &Bandwidth,
        content: &mut Body,
        due: Option<Instant>,
    ) -> Result<Option<Bytes>, Error> {
        if content.is_empty() {
            return content.chunk().await;
        }
        let before = content.wire_bytes();
        // What decoded content is made of is not told by its length, and one piece that came is many that are read.
        let length = content.len().filter(|_| before.is_none());
        let counted = match self.is_within {
            true => 0,
            false => length.map_or(PIECE_BYTES, |length| length.min(PIECE_BYTES)),
        };
        if !self.is_within {
            // A pause ends before the deadline is asked for, which would come later as long as it goes on.
            if let Some(late) = content.overdue() {
                return Err(late);
            }
            let (ticket, timer, due) = (None, None, content.due().or(due));
            if !(AwaitTurn { bandwidth, bytes: counted, due, ticket, timer }).await {
                return Err(late(content));
            }
        }
        let mut reading = Reading { bandwidth, counted: Some(counted), read: 0 };
        let piece = {
            let mut piece = pin!(content.chunk());
            poll_fn(|cx| {
                let polled = piece.as_mut().poll(cx);
                if polled.is_pending() {
                    reading.give_back();
                }
                polled
            })
            .await
        };
        if let Ok(Some(piece)) = &piece {
            reading.read = arrived(before, content, piece);
            self.is_within = reading.read == 0;
        }
        piece
    }
}

/// The error of content whose deadline has passed.
fn late(content: &mut Body) -> Error {
    content.overdue().unwrap_or_else(|| Error::new(ErrorKind::TotalTimeout, Phase::Receive))
}

/// How many bytes have come for a piece that was read, where so many had come before if content is decoded.
fn arrived(before: Option<u64>, content: &Body, piece: &Bytes) -> u64 {
    let decoded = content.wire_bytes().zip(before);
    decoded.map_or(piece.len() as u64, |(now, before)| now - before)
}

/// The time, which tests may have stand still.
fn now() -> Instant {
    TimerInstant::now().into_std()
}

/// A piece that is read, and counts with another length until it is there.
struct Reading<'a> {
    bandwidth: &'a Bandwidth,
    /// None where it is not there yet.
    counted: Option<u64>,
    read: u64,
}

impl Reading<'_> {
    /// The server has not sent it: it counts no more until it comes.
    fn give_back(&mut self) {
        if let Some(counted) = self.counted.take().filter(|counted| *counted > 0) {
            self.bandwidth.queue().correct(counted, 0);
        }
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        match self.counted {
            Some(counted) if counted == self.read => {}
            Some(counted) => self.bandwidth.queue().correct(counted, self.read),
            None if self.read > 0 => self.bandwidth.queue().add(self.read, now()),
            None => {}
        }
    }
}

/// Waits until so many bytes may be read, or until `due`; says whether they may.
struct AwaitTurn<'a> {
    bandwidth: &'a Bandwidth,
    bytes: u64,
    due: Option<Instant>,
    ticket: Ticket,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Future for AwaitTurn<'_> {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        let Self { bandwidth, bytes, due, ticket, timer } = &mut *self;
        loop {
            let now = now();
            let mut queue = bandwidth.queue();
            if due.is_some_and(|due| due <= now) {
                queue.leave(ticket);
                return Poll::Ready(false);
            }
            let turn = queue.ask(ticket, *bytes, now, cx.waker());
            if turn == Turn::Now {
                return Poll::Ready(true);
            }
            drop(queue);
            let own = if let Turn::At(then) = turn { Some(then) } else { None };
            let Some(at) = own.into_iter().chain(*due).min() else { return Poll::Pending };
            let at = TimerInstant::from_std(at);
            let timer = timer.get_or_insert_with(|| Box::pin(sleep_until(at)));
            if timer.deadline() != at {
                timer.as_mut().reset(at);
            }
            if timer.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

impl Drop for AwaitTurn<'_> {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.bandwidth.queue().leave(&mut self.ticket);
        }
    }
}

#[cfg(test)]
mod tests;
