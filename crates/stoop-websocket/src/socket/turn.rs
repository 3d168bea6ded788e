//! How long a connection works before the other tasks of its thread get their turn.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::Instant;

/// A turn ends with the step in which this has passed, as a turn of a connection of stoop's server: ten peers that
/// send without end then hold an eleventh up for some milliseconds.
const TURN: Duration = Duration::from_micros(250);

/// The clock is not read before this step: a peer that waits for answers comes to two.
const FIRST_LOOK: u32 = 4;

/// Afterwards it is read when the turn is over if the steps go on to take as long as they did, and
/// at least once in so many: they may not.
const LOOK_EVERY: u32 = 16;

/// What a connection does from one wait to the next. A step is one event, or one read.
///
/// It is counted beside what the caller does with messages: a caller that receives and waits for nothing else is one task
/// that always has something to do.
#[derive(Debug)]
pub(crate) struct Turn {
    /// Since the clock was read first, once it was.
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

    /// Counts a step, and begins anew after a turn that has taken its time. Pending where other tasks come first.
    #[inline]
    pub(crate) fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.is_over {
            self.begin();
            yield_turn(cx);
            return Poll::Pending;
        }
        self.steps += 1;
        if self.steps >= self.look_at {
            self.look();
        }
        Poll::Ready(())
    }

    /// Counts a step that may be long. True if the turn has taken its time: what is left waits for the next.
    pub(crate) fn long_step(&mut self) -> bool {
        self.steps += 1;
        self.look();
        self.is_over
    }

    /// Whether it has taken its time.
    #[inline]
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let Some(begun) = self.begun else {
            (self.begun, self.steps, self.look_at) = (Some(now), 0, 1);
            return;
        };
        let passed = now.saturating_duration_since(begun);
        self.is_over = passed >= TURN;
        let left = (TURN.div_duration_f32(passed) - 1.0) * self.steps as f32;
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
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// Steps of so long each before other tasks come first.
    async fn steps(each: Duration) -> u32 {
        let mut turn = Turn::default();
        let mut steps = 0;
        while steps < 10_000 && poll_fn(|cx| Poll::Ready(turn.poll_step(cx).is_ready())).await {
            tokio::time::advance(each).await;
            steps += 1;
        }
        assert!(!turn.is_over(), "a new turn begins");
        steps
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_ends_when_its_time_has_passed_however_long_its_steps_are() {
        assert_eq!(steps(Duration::from_millis(10)).await, 5);
        let some = steps(Duration::from_micros(50)).await;
        assert!((8..=16).contains(&some), "{some}");
        let many = steps(Duration::from_micros(1)).await;
        assert!((253..=280).contains(&many), "{many}");
        assert_eq!(steps(Duration::ZERO).await, 10_000);
    }

    #[tokio::test(start_paused = true)]
    async fn long_steps_end_a_turn_as_soon_as_its_time_has_passed() {
        let mut turn = Turn::default();
        assert!(!turn.long_step());
        tokio::time::advance(TURN).await;
        assert!(turn.long_step() && turn.is_over());
    }
}
