//! How long a connection, or what reads content, works before the other tasks of its thread get their turn.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::now;

/// A turn ends with the step in which this has passed: ten connections that always have something to
/// do then hold an eleventh up for some milliseconds.
const TURN: Duration = Duration::from_micros(250);

/// The clock is not read before this step, which is as far as a connection comes with one request:
/// reading it costs a twentieth of a pipelined one.
const FIRST_LOOK: u32 = 3;

/// Afterwards it is read when the turn is over if the steps go on to take as long as they did, and
/// at least once in so many: they may not.
const LOOK_EVERY: u32 = 16;

/// Steps that each kind of work has in a turn all the same, if others have used up its time: a
/// connection whose handlers always have something to do goes on reading and sending.
pub(crate) const STEPS_MIN: u32 = 4;

/// One turn of a connection: a poll of its task. A step is what may call a handler or a body, or
/// reads one event of the protocol. A poll that finds its turn over always asks for another one,
/// whatever it was about to wait for: something may have been left to do.
#[derive(Debug)]
pub(crate) struct Turn {
    steps: u32,
    /// The step at which the clock is read next.
    look_at: u32,
    /// When the clock was read first, from which on a turn's time counts.
    begun: Option<Instant>,
    is_over: bool,
}

impl Default for Turn {
    fn default() -> Self {
        Self { steps: 0, look_at: FIRST_LOOK, begun: None, is_over: false }
    }
}

impl Turn {
    /// A new turn begins.
    #[inline]
    pub(crate) fn begin(&mut self) {
        *self = Self::default();
    }

    /// Counts a step. True if the turn has taken its time: what is left to do waits for the next.
    #[inline]
    pub(crate) fn step(&mut self) -> bool {
        self.steps += 1;
        if self.steps >= self.look_at {
            self.look();
        }
        #[cfg(test)]
        if let Some(steps) = tests::ENDS_WITH.get() {
            self.is_over = self.steps >= steps;
        }
        self.is_over
    }

    /// Counts a step, and begins anew after a turn that has taken its time. Pending where other tasks come first.
    #[inline]
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over {
            self.begin();
            yield_turn(cx);
            return Poll::Pending;
        }
        self.step();
        Poll::Ready(())
    }

    /// Whether it has taken its time.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    #[cold]
    fn look(&mut self) {
        let now = now();
        let Some(begun) = self.begun else {
            (self.begun, self.look_at) = (Some(now), self.steps + 1);
            return;
        };
        let passed = now.saturating_duration_since(begun);
        self.is_over = passed >= TURN;
        let steps = (self.steps - FIRST_LOOK) as f32;
        let left = (TURN.div_duration_f32(passed) - 1.0) * steps;
        self.look_at = self.steps + (left as u32).clamp(1, LOOK_EVERY);
    }
}

/// Has the task polled again, after the runtime has looked at its sockets and timers and has polled
/// every other task that is ready. A plain wake-up would come before that look, many times over.
pub(crate) fn yield_turn(cx: &mut Context<'_>) {
    // Its first poll has the runtime wake the task; after that it is not needed.
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(test)]
pub(crate) mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        /// The step with which turns end, in place of the clock.
        pub(crate) static ENDS_WITH: Cell<Option<u32>> = const { Cell::new(None) };
    }

    /// Steps of so long each in one turn.
    async fn steps(each: Duration) -> u32 {
        let mut turn = Turn::default();
        let mut steps = 1;
        while !turn.step() && steps < 10_000 {
            tokio::time::advance(each).await;
            steps += 1;
        }
        steps
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_ends_when_its_time_has_passed_however_long_its_steps_are() {
        assert_eq!(steps(Duration::from_millis(10)).await, 4);
        assert_eq!(steps(Duration::from_micros(50)).await, 8);
        assert_eq!(steps(Duration::from_micros(1)).await, 253);
        assert_eq!(steps(Duration::ZERO).await, 10_000);
    }

    /// A task that always has something to do, and one whose socket has become readable.
    #[tokio::test]
    async fn sockets_are_looked_at_before_a_task_that_yields_has_its_next_turn() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let (mut near, mut far) = tokio::net::UnixStream::pair().unwrap();
        let reader = tokio::spawn(async move { far.read_u8().await.unwrap() });
        tokio::task::yield_now().await;
        near.write_u8(7).await.unwrap();
        let mut turns = 0;
        std::future::poll_fn(|cx| {
            if reader.is_finished() || turns == 1_000 {
                return Poll::Ready(());
            }
            turns += 1;
            yield_turn(cx);
            Poll::Pending
        })
        .await;
        assert!(turns <= 3, "{turns} turns");
        assert_eq!(reader.await.unwrap(), 7);
    }
}
