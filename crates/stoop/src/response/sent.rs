//! Being told when a response was sent, or why it was not.
//!
//! A response may have a [`SentHook`], which its connection takes when it begins to write it. The hook keeps what is
//! known of the response so far, and is called once: when all of it is the kernel's, or when it was given up.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use http::StatusCode;
use stoop_io::now;

/// What became of a response: the argument of [`Response::on_sent`](crate::Response::on_sent).
///
/// *Sent* means handed to the kernel, which sends it as fast as the client takes it. Whether it arrived is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentResponse {
    progress: SentProgress,
    ended_at: Instant,
    cut_short: Option<CutShort>,
}

/// Why a response was not sent to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CutShort {
    /// The client closed or reset the connection or the stream, or violated the protocol.
    Client,
    /// A time limit passed: the client did not take the response, or did not send the request's content.
    Timeout,
    /// Its content failed, or was not as long as the response had said: by what error,
    /// [`ContentError::current`](crate::ContentError::current) tells meanwhile.
    Content,
    /// The server closed the connection, or the runtime that it was served on ended.
    Server,
    /// It was dropped before it was begun: replaced by another response, or not needed because the client had left.
    Dropped,
}

impl CutShort {
    /// A word for it, for logs and labels: `client`, `timeout`, `content`, `server`, `dropped`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Timeout => "timeout",
            Self::Content => "content",
            Self::Server => "server",
            Self::Dropped => "dropped",
        }
    }
}

impl fmt::Display for CutShort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl SentResponse {
    /// Whether all of it was sent.
    pub fn is_complete(&self) -> bool {
        self.cut_short.is_none()
    }

    /// Why it was not sent to its end; `None` if it was.
    pub fn cut_short(&self) -> Option<CutShort> {
        self.cut_short
    }

    /// The status that was sent, which is not that of the response where that could not be sent: then a failure was
    /// sent in its place. `None` if nothing was.
    pub fn status(&self) -> Option<StatusCode> {
        self.progress.status
    }

    /// Bytes of content, without what frames it: none in answer to HEAD. Of a response that was cut short, those
    /// that were written to the connection, less those that are known to wait for the kernel still.
    pub fn content_bytes(&self) -> u64 {
        self.progress.content_bytes
    }

    /// When the connection had it from the handler, with all middleware around that. It is the same as
    /// [`head_at`](Self::head_at) unless the response had to wait for those before it, over HTTP/1.1. `None` if the
    /// connection did not have it.
    pub fn answered_at(&self) -> Option<Instant> {
        self.progress.answered_at
    }

    /// When its head was written to the connection's output; `None` if it was not.
    pub fn head_at(&self) -> Option<Instant> {
        self.progress.head_at
    }

    /// When the last of it was handed to the kernel, or it was given up.
    pub fn ended_at(&self) -> Instant {
        self.ended_at
    }
}

/// What is known of a response so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SentProgress {
    status: Option<StatusCode>,
    answered_at: Option<Instant>,
    head_at: Option<Instant>,
    content_bytes: u64,
}

/// A function to be told of a response, and what there is to tell, in one allocation.
struct SentWatch<F> {
    progress: SentProgress,
    /// Never locked: a response may be looked at from several threads, which nothing here is by.
    tell: Mutex<F>,
}

trait TellSent: Send + Sync {
    fn progress(&mut self) -> &mut SentProgress;
    fn tell(self: Box<Self>, sent: SentResponse);
}

impl<F: FnOnce(SentResponse) + Send> TellSent for SentWatch<F> {
    fn progress(&mut self) -> &mut SentProgress {
        &mut self.progress
    }

    fn tell(self: Box<Self>, sent: SentResponse) {
        // The caller's code: a panic in it is no reason to fail the connection. Its message has been shown by the
        // program's panic hook.
        let tell = self.tell.into_inner().unwrap_or_else(PoisonError::into_inner);
        let _ = catch_unwind(AssertUnwindSafe(|| tell(sent)));
    }
}

/// Who is to be told of a response, if anything is. Dropped, it tells that the response was cut short.
#[derive(Default)]
pub(crate) struct SentHook(Option<Box<dyn TellSent>>);

impl SentHook {
    /// Has `tell` called too, after those that were to be told before.
    pub(crate) fn add(&mut self, tell: impl FnOnce(SentResponse) + Send + 'static) {
        let progress = SentProgress::default();
        self.0 = Some(match self.0.take() {
            None => Box::new(SentWatch { progress, tell: Mutex::new(tell) }),
            Some(first) => {
                let tell = |sent| {
                    first.tell(sent);
                    tell(sent);
                };
                Box::new(SentWatch { progress, tell: Mutex::new(tell) })
            }
        });
    }

    #[inline]
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Notes that the response is there, and has to wait.
    #[inline]
    pub(crate) fn answered(&mut self) {
        if let Some(watched) = &mut self.0 {
            watched.progress().answered_at = Some(now());
        }
    }

    /// Notes that the head was written.
    #[inline]
    pub(crate) fn begin(&mut self, status: StatusCode) {
        if let Some(watched) = &mut self.0 {
            let (progress, now) = (watched.progress(), now());
            (progress.status, progress.head_at) = (Some(status), Some(now));
            progress.answered_at.get_or_insert(now);
        }
    }

    /// Notes that content was written.
    #[inline]
    pub(crate) fn add_content(&mut self, bytes: u64) {
        if let Some(watched) = &mut self.0 {
            watched.progress().content_bytes += bytes;
        }
    }

    /// Tells that all of it was sent at that time.
    pub(crate) fn complete(mut self, at: Instant) {
        self.tell(None, 0, at);
    }

    /// Tells that it was cut short, while so many bytes were waiting for the kernel.
    #[inline]
    pub(crate) fn cut(mut self, why: CutShort, unsent: u64) {
        if !self.is_none() {
            self.tell(Some(why), unsent, now());
        }
    }

    fn tell(&mut self, cut_short: Option<CutShort>, unsent: u64, ended_at: Instant) {
        let Some(mut watched) = self.0.take() else { return };
        let mut progress = *watched.progress();
        progress.content_bytes = progress.content_bytes.saturating_sub(unsent);
        let cut_short = match progress.status {
            None => cut_short.map(|_| CutShort::Dropped),
            Some(_) => cut_short,
        };
        watched.tell(SentResponse { progress, ended_at, cut_short });
    }
}

impl Drop for SentHook {
    #[inline]
    fn drop(&mut self) {
        if self.0.is_some() {
            self.tell(Some(CutShort::Server), 0, now());
        }
    }
}

/// A hook on its way through the extensions of an `http::Response`.
#[derive(Clone)]
pub(crate) struct SentExtension(Arc<Mutex<SentHook>>);

impl SentExtension {
    pub(crate) fn new(hook: SentHook) -> Self {
        Self(Arc::new(Mutex::new(hook)))
    }

    /// The hook, for the first of the copies that asks for it.
    pub(crate) fn take(&self) -> SentHook {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::response::Response;

    #[test]
    fn a_response_that_is_dropped_tells_so_once() {
        let (told, tell) = channel();
        let other = told.clone();
        let response = Response::from_text("hello")
            .on_sent(move |sent| told.send((1, sent)).unwrap())
            .on_sent(move |sent| other.send((2, sent)).unwrap());
        // On its way through another type it is still the same one.
        let response: http::Response<crate::Body> = response.into();
        let response = Response::from(response);
        assert!(tell.try_recv().is_err());
        drop(response);
        let told: Vec<_> = tell.iter().collect();
        assert_eq!((told[0].0, told[1].0, told.len()), (1, 2, 2));
        for (_, sent) in told {
            assert_eq!(sent.cut_short(), Some(CutShort::Dropped));
            assert_eq!((sent.status(), sent.head_at(), sent.content_bytes()), (None, None, 0));
        }
    }

    #[test]
    fn a_panic_of_one_who_is_told_ends_there() {
        let (told, tell) = channel();
        let response = Response::from_text("hello")
            .on_sent(|_| panic!("on purpose"))
            .on_sent(move |sent| told.send(sent.is_complete()).unwrap());
        drop(response);
        assert_eq!(tell.recv(), Ok(false));
    }
}
