//! How long a connection, or what reads content, works before the other tasks of its thread get their turn: [`Turn`].

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

/// A turn of a task that may always have something to do: 250 µs of work, after which the other tasks of its thread have
/// theirs. It is for protocols on upgraded connections, whose peers may send without end; connections of HTTP have it.
///
/// A step is what may take long: of a connection of HTTP, what may call a handler or a body, or reads one event of the
/// protocol. The clock is read at few of them. A poll that finds its turn over always asks for another one, whatever it
/// was about to wait for: something may have been left to do.
///
/// ```
/// use std::task::{Context, Poll, ready};
/// use stoop::rt::Turn;
///
/// struct Numbers {
///     turn: Turn,
///     input: Vec<u64>,
///     sum: u64,
/// }
///
/// impl Numbers {
///     /// Ready once all input is used up.
///     fn poll_all(&mut self, cx: &mut Context<'_>) -> Poll<u64> {
///         while !self.input.is_empty() {
///             ready!(self.turn.poll_step(cx));
///             self.sum += self.input.pop().unwrap_or_default();
///         }
///         // What is waited for comes in another turn.
///         self.turn.begin();
///         Poll::Ready(self.sum)
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
/// let mut numbers = Numbers { turn: Turn::default(), input: (0..100_000).collect(), sum: 0 };
/// assert_eq!(std::future::poll_fn(|cx| numbers.poll_all(cx)).await, 4_999_950_000);
/// # });
/// ```
#[derive(Debug)]
pub struct Turn {
    steps: u32,
    /// The step at which the clock is read next.
    look_at: u32,
    /// The step at which the clock was read first, from which on a turn's time counts.
    looked_at: u32,
    /// When that was.
    begun: Option<Instant>,
    is_over: bool,
}

impl Default for Turn {
    fn default() -> Self {
        Self { steps: 0, look_at: FIRST_LOOK, looked_at: 0, begun: None, is_over: false }
    }
}

impl Turn {
    /// A new turn begins.
    #[inline]
    pub fn begin(&mut self) {
        *self = Self::default();
    }

    /// Counts a step. True if the turn has taken its time: what is left to do waits for the next.
    #[inline]
    pub fn step(&mut self) -> bool {
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

    /// Counts a step whose length nothing bounds but what came: the clock is read at it. True if the turn has taken its time.
    pub fn long_step(&mut self) -> bool {
        self.look_at = self.steps;
        self.step()
    }

    /// Counts a step, and begins anew after a turn that has taken its time. Pending where other tasks come first: the
    /// task is polled again, as by [`yield_turn`].
    #[inline]
    pub fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<()> {
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
    pub fn is_over(&self) -> bool {
        self.is_over
    }

    #[cold]
    fn look(&mut self) {
        let now = now();
        let Some(begun) = self.begun else {
            (self.begun, self.looked_at, self.look_at) = (Some(now), self.steps, self.steps + 1);
            return;
        };
        let passed = now.saturating_duration_since(begun);
        self.is_over = passed >= TURN;
        let steps = (self.steps - self.looked_at) as f32;
        let left = (TURN.div_duration_f32(passed) - 1.0) * steps;
        self.look_at = self.steps + (left as u32).clamp(1, LOOK_EVERY);
    }
}

/// Has the task polled again, after the runtime has looked at its sockets and timers and has polled
/// every other task that is ready. A plain wake-up would come before that look, many times over.
pub fn yield_turn(cx: &mut Context<'_>) {
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

    #[tokio::test(start_paused = true)]
    async fn long_steps_end_a_turn_as_soon_as_its_time_has_passed() {
        let mut turn = Turn::default();
        assert!(!turn.long_step());
        tokio::time::advance(TURN).await;
        assert!(turn.long_step() && turn.is_over());
        turn.begin();
        assert!(!turn.is_over() && !turn.long_step());
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
