//! [`Watch`]: the timers of a connection.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::Duration;

use tokio::task::coop::has_budget_remaining;
use tokio::time::{Instant, Sleep, sleep};

use crate::limits::Limits;

/// Timers that are looked at only where a connection waits, and that a message does not move.
#[derive(Default)]
pub(crate) struct Watch {
    timer: Timer,
    silence: Silence,
    /// Of a message that has begun. It is there from the first that was waited for until it is next ready without one.
    message_timer: Timer,
    /// When more of the message under way was first waited for.
    message_begun: Option<Instant>,
}

/// A time that is waited for, by whichever task polls it last.
#[derive(Default)]
pub(crate) struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    /// What it wakes, if it does: polled by another task, it has to be told.
    waker: Option<Waker>,
}

/// How far the peer's silence has gone.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Silence {
    /// Something came since the timer was last ready.
    Broken,
    /// Nothing did.
    #[default]
    Begun,
    /// A Ping was sent, and nothing came since.
    Asked,
}

/// What is to be done about a peer's silence.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SilenceStep {
    /// It is to be sent a Ping.
    Ask,
    /// It has not answered one.
    GiveUp,
}

impl Watch {
    /// Lets the next wait begin again.
    pub(crate) fn stop(&mut self) {
        (self.timer, self.message_timer) = (Timer::default(), Timer::default());
        self.message_begun = None;
    }

    /// Something came.
    pub(crate) fn note_received(&mut self) {
        self.silence = Silence::Broken;
    }

    /// A message has ended.
    #[inline]
    pub(crate) fn note_message(&mut self) {
        self.message_begun = None;
    }

    /// Ready when the message under way, if there is one, has been waited for as long as it may take.
    #[inline]
    pub(crate) fn poll_message(
        &mut self,
        limit: Duration,
        is_within: bool,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if !is_within && self.message_timer.sleep.is_none() {
            return Poll::Pending;
        }
        self.poll_begun(limit, is_within, cx)
    }

    fn poll_begun(&mut self, limit: Duration, is_within: bool, cx: &mut Context<'_>) -> Poll<()> {
        if limit == Duration::MAX {
            return Poll::Pending;
        }
        let mut left = limit;
        if is_within {
            let now = Instant::now();
            let begun = *self.message_begun.get_or_insert(now);
            left = limit.saturating_sub(now.saturating_duration_since(begun));
        }
        while self.message_timer.poll(left, cx).is_ready() {
            let Some(begun) = self.message_begun else { return Poll::Pending };
            left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }

    /// Whether the timer of silence wakes this task later: then there is nothing to do about it yet.
    #[inline]
    pub(crate) fn is_waiting(&self, cx: &Context<'_>) -> bool {
        self.timer.is_running(cx)
    }

    /// Ready when the peer was silent for as long as it may be.
    pub(crate) fn poll_silence(
        &mut self,
        limits: &Limits,
        cx: &mut Context<'_>,
    ) -> Poll<SilenceStep> {
        loop {
            let was = self.silence;
            let wait = match was {
                Silence::Broken | Silence::Begun => limits.ping_interval,
                Silence::Asked => limits.ping_timeout,
            };
            ready!(self.poll(wait, cx));
            match was {
                Silence::Broken => self.silence = Silence::Begun,
                Silence::Begun => {
                    self.silence = Silence::Asked;
                    return Poll::Ready(SilenceStep::Ask);
                }
                Silence::Asked => return Poll::Ready(SilenceStep::GiveUp),
            }
        }
    }

    /// Ready when `wait` has passed since it was first polled, or was ready.
    pub(crate) fn poll(&mut self, wait: Duration, cx: &mut Context<'_>) -> Poll<()> {
        self.timer.poll(wait, cx)
    }
}

impl Timer {
    /// Whether it wakes this task later. A connection with much to do comes by here after each message.
    #[inline]
    fn is_running(&self, cx: &Context<'_>) -> bool {
        let is_known = self.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
        is_known && self.sleep.as_ref().is_some_and(|sleep| !sleep.is_elapsed())
    }

    /// Ready when `wait` has passed since it was first polled, or was ready.
    pub(crate) fn poll(&mut self, wait: Duration, cx: &mut Context<'_>) -> Poll<()> {
        if wait == Duration::MAX {
            return Poll::Pending;
        }
        if self.is_running(cx) {
            return Poll::Pending;
        }
        let timer = self.sleep.get_or_insert_with(|| Box::pin(sleep(wait)));
        // With its budget used up the task is woken at once, but the sleep does not note its waker: it is to be polled again.
        self.waker = has_budget_remaining().then(|| cx.waker().clone());
        ready!(timer.as_mut().poll(cx));
        *self = Self::default();
        Poll::Ready(())
    }
}
