//! The responses of a connection whose senders want to know when they were sent.
//!
//! A response is written to the output first, and is sent when the kernel has taken the output up to its end. A
//! connection that never has such a response has nothing here.

use std::collections::VecDeque;
use std::time::Instant;

use http::StatusCode;
use stoop_io::now;

use crate::conn::wire::{Mark, Wire};
use crate::response::{CutShort, SentHook};

/// The watched responses of a connection.
#[derive(Default)]
pub(in crate::server) struct Watches(Option<Box<WatchedResponses>>);

#[derive(Default)]
struct WatchedResponses {
    /// That of the response that is being written, where one is written after the other: over HTTP/1.
    current: SentHook,
    /// Those of responses that are written to their end, with where that is in the output.
    written: VecDeque<(Mark, SentHook)>,
    /// When the last flush has sent the end of a response, if it has.
    sent_at: Option<Instant>,
}

impl Watches {
    /// Watches the response that is to be written now.
    #[inline]
    pub(in crate::server) fn start(&mut self, hook: SentHook) {
        if !hook.is_none() {
            self.0.get_or_insert_default().current = hook;
        }
    }

    /// Notes that the head of the current response was written.
    #[inline]
    pub(in crate::server) fn begin(&mut self, status: StatusCode) {
        if let Some(watched) = &mut self.0 {
            watched.current.begin(status);
        }
    }

    /// Notes that content of the current response was written.
    #[inline]
    pub(in crate::server) fn add_content(&mut self, bytes: usize) {
        if let Some(watched) = &mut self.0 {
            watched.current.add_content(bytes as u64);
        }
    }

    /// Notes that the current response was written to its end.
    #[inline]
    pub(in crate::server) fn end(&mut self, wire: &Wire) {
        if let Some(watched) = &mut self.0 {
            let hook = std::mem::take(&mut watched.current);
            watched.end(hook, wire);
        }
    }

    /// Notes that the current response cannot be written to its end.
    #[inline]
    pub(in crate::server) fn cut_current(&mut self, why: CutShort, wire: &Wire) {
        if let Some(watched) = &mut self.0 {
            std::mem::take(&mut watched.current).cut(why, wire.unsent() as u64);
        }
    }

    /// Notes that the response of `hook` was written to its end.
    #[inline]
    pub(in crate::server) fn add_written(&mut self, hook: SentHook, wire: &Wire) {
        if !hook.is_none() {
            self.0.get_or_insert_default().end(hook, wire);
        }
    }

    /// Tells of the responses that the kernel has taken.
    #[inline]
    pub(in crate::server) fn flushed(&mut self, wire: &Wire) {
        if let Some(watched) = &mut self.0 {
            watched.flushed(wire);
        }
    }

    /// What was noted in another round is not of now.
    #[inline]
    pub(in crate::server) fn begin_round(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.sent_at = None;
        }
    }

    /// When the round's last flush has sent the end of a response, if it has: what waits behind that needs no other time.
    /// Returned once.
    #[inline]
    pub(in crate::server) fn take_sent_at(&mut self) -> Option<Instant> {
        self.0.as_mut()?.sent_at.take()
    }

    /// Tells that no response is sent any further.
    #[inline]
    pub(in crate::server) fn cut_all(&mut self, why: CutShort, wire: &Wire) {
        if let Some(mut watched) = self.0.take() {
            watched.flushed(wire);
            for (mark, hook) in watched.written.drain(..) {
                hook.cut(why, wire.unsent_before(&mark));
            }
            std::mem::take(&mut watched.current).cut(why, wire.unsent() as u64);
        }
    }
}

impl WatchedResponses {
    fn end(&mut self, hook: SentHook, wire: &Wire) {
        if !hook.is_none() {
            self.written.push_back((wire.mark(), hook));
        }
    }

    /// The clock is read once for all of them.
    fn flushed(&mut self, wire: &Wire) {
        self.sent_at = None;
        while let Some((_, hook)) = self.written.pop_front_if(|(mark, _)| wire.has_sent(mark)) {
            hook.complete(*self.sent_at.get_or_insert_with(now));
        }
    }
}
