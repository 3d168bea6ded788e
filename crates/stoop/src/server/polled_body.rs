//! Content of a response that is polled once when its head is sent.
//!
//! What a service of tower or a handler of axum answers is most often a buffer in a body of another type. It is there
//! at the first poll, and is sent like any buffer: with its head, and without the state of a response that goes on.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::body::request_body::RequestBodyWriter;
use crate::error::BoxError;

/// What the first poll brought: a frame, an error or the end, or the payload of a panic.
type FirstPoll = Result<Option<Result<Frame<Bytes>, BoxError>>, Box<dyn Any + Send>>;

/// Content that may have been polled once: what that brought comes first, and then the rest.
pub(in crate::server) struct PolledBody<B> {
    // Few have one, and it is large.
    first: Option<Box<FirstPoll>>,
    body: PinnedBody<B>,
}

/// Content in a place of its own, empty only while that is free.
type PinnedBody<B> = Pin<Box<Option<B>>>;

/// The place in which a core polls content for the first time, used again unless the content stays there: most is all
/// there, and gone at once. Behind a lock that is never contended, as the slots of futures.
pub(in crate::server) struct BodyPlace<B>(Mutex<Option<PinnedBody<B>>>);

impl<B> Default for BodyPlace<B> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<B> BodyPlace<B> {
    fn put(&self, body: B) -> PinnedBody<B> {
        let free = self.free().take();
        match free {
            Some(mut place) => {
                place.set(Some(body));
                place
            }
            None => Box::pin(Some(body)),
        }
    }

    /// Takes the place back, and drops what is in it.
    fn put_back(&self, mut place: PinnedBody<B>) {
        place.set(None);
        *self.free() = Some(place);
    }

    fn free(&self) -> MutexGuard<'_, Option<PinnedBody<B>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Polls content once, if its length is known: if all of it is there, it is a buffer. Else it is to be polled again, by
/// a task that waits for it. `content` is that of the request, which the response may be made from.
pub(in crate::server) fn poll_once<B: Body<Data = Bytes, Error: Into<BoxError>>>(
    place: &BodyPlace<B>,
    body: B,
    content: Option<&RequestBodyWriter>,
) -> Result<Bytes, PolledBody<B>> {
    let mut body = place.put(body);
    RequestBodyWriter::set_polled(content, true);
    // The caller's code: a panic in it fails this response alone, as soon as it is polled by the connection.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut body = body.as_mut().as_pin_mut()?;
        let size = body.size_hint().exact()?;
        // It is polled again at once if it is not ready.
        let cx = &mut Context::from_waker(Waker::noop());
        let Poll::Ready(frame) = body.as_mut().poll_frame(cx) else { return None };
        let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref);
        let is_whole = data.is_some_and(|data| data.len() as u64 == size) && body.is_end_stream();
        Some((frame, is_whole))
    }));
    RequestBodyWriter::set_polled(content, false);
    let first = match outcome {
        Ok(None) => None,
        Ok(Some((Some(Ok(frame)), true))) => match frame.into_data() {
            Ok(bytes) => {
                place.put_back(body);
                return Ok(bytes);
            }
            Err(frame) => Some(Ok(Some(Ok(frame)))),
        },
        Ok(Some((frame, _))) => Some(Ok(frame.map(|frame| frame.map_err(Into::into)))),
        Err(panic) => Some(Err(panic)),
    };
    Err(PolledBody { first: first.map(Box::new), body })
}

impl<B: Body<Data = Bytes, Error: Into<BoxError>>> Body for PolledBody<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match self.first.take().map(|first| *first) {
            None => {
                let Some(body) = self.body.as_mut().as_pin_mut() else { return Poll::Ready(None) };
                body.poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
            }
            Some(Ok(frame)) => Poll::Ready(frame),
            // The program's panic hook has shown its message.
            Some(Err(panic)) => resume_unwind(panic),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && Option::as_ref(&self.body).is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        Option::as_ref(&self.body).map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Content that says how long it is, and has these frames; `None` is a poll without one.
    struct Frames {
        size: Option<u64>,
        frames: VecDeque<Option<Result<Frame<Bytes>, &'static str>>>,
    }

    impl Body for Frames {
        type Data = Bytes;
        type Error = &'static str;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
            match self.frames.pop_front() {
                None => Poll::Ready(None),
                Some(None) => Poll::Pending,
                Some(Some(Err("panic"))) => panic!("on purpose"),
                Some(Some(frame)) => Poll::Ready(Some(frame)),
            }
        }

        fn is_end_stream(&self) -> bool {
            self.frames.is_empty()
        }

        fn size_hint(&self) -> SizeHint {
            self.size.map_or_else(SizeHint::default, SizeHint::with_exact)
        }
    }

    fn data(bytes: &'static str) -> Option<Result<Frame<Bytes>, &'static str>> {
        Some(Ok(Frame::data(bytes.into())))
    }

    fn polled<const N: usize>(
        size: Option<u64>,
        frames: [Option<Result<Frame<Bytes>, &'static str>>; N],
    ) -> Result<Bytes, PolledBody<Frames>> {
        poll_once(&BodyPlace::default(), Frames { size, frames: frames.into() }, None)
    }

    /// All frames that are left: data, or what else came.
    fn rest(body: Result<Bytes, PolledBody<Frames>>) -> Vec<String> {
        let mut body = body.expect_err("it was not all there");
        let cx = &mut Context::from_waker(Waker::noop());
        let mut told = Vec::new();
        loop {
            assert!(told.is_empty() || body.first.is_none());
            told.push(match Pin::new(&mut body).poll_frame(cx) {
                Poll::Pending => "pending".into(),
                Poll::Ready(None) => return told,
                Poll::Ready(Some(Err(error))) => format!("error: {error}"),
                Poll::Ready(Some(Ok(frame))) => match frame.into_data() {
                    Ok(data) => String::from_utf8(data.into()).unwrap(),
                    Err(_) => "trailers".into(),
                },
            });
        }
    }

    #[test]
    fn content_that_is_all_there_is_a_buffer() {
        assert_eq!(polled(Some(5), [data("hello")]).ok().unwrap(), "hello");
    }

    #[test]
    fn the_place_is_used_again_unless_content_stays_in_it() {
        let place = BodyPlace::default();
        let free = || place.free().as_ref().map(|free| (&raw const **free, free.is_none()));
        let whole = || Frames { size: Some(5), frames: [data("hello")].into() };
        assert!(poll_once(&place, whole(), None).is_ok());
        let first = free().unwrap();
        assert!(first.1);
        assert!(poll_once(&place, whole(), None).is_ok());
        assert_eq!(free(), Some(first));
        let kept = poll_once(&place, Frames { size: None, frames: [].into() }, None).unwrap_err();
        assert_eq!((&raw const *kept.body, free()), (first.0, None));
        assert!(poll_once(&place, whole(), None).is_ok());
        assert_ne!(free().unwrap().0, first.0);
    }

    #[test]
    fn no_frame_is_lost_of_content_that_goes_on() {
        assert_eq!(rest(polled(Some(5), [data("he"), data("llo")])), ["he", "llo"]);
        assert_eq!(rest(polled(Some(5), [None, data("hello")])), ["hello"]);
        assert_eq!(rest(polled(Some(5), [Some(Err("late")), data("x")])), ["error: late", "x"]);
        assert_eq!(rest(polled(Some(5), [])), [""; 0]);
        // It is not polled before it has to be.
        assert_eq!(rest(polled(None, [data("hello")])), ["hello"]);
        assert_eq!(rest(polled(None, [None, data("hello")])), ["pending", "hello"]);
    }

    #[test]
    fn what_is_behind_the_content_is_not_lost() {
        let trailers = Some(Ok(Frame::trailers(http::HeaderMap::new())));
        assert_eq!(rest(polled(Some(5), [data("hello"), trailers])), ["hello", "trailers"]);
    }

    #[test]
    fn content_of_another_length_than_it_says_goes_on_to_fail() {
        assert_eq!(rest(polled(Some(5), [data("hell")])), ["hell"]);
        assert_eq!(rest(polled(Some(5), [data("hello!")])), ["hello!"]);
    }

    #[test]
    fn content_whose_first_frame_is_taken_has_not_ended() {
        let body = polled(Some(5), [data("hell")]).unwrap_err();
        assert!(!body.is_end_stream() && body.size_hint().exact() == Some(5));
    }

    #[test]
    fn a_panic_is_left_to_the_connection() {
        let mut body = polled(Some(5), [Some(Err("panic"))]).unwrap_err();
        let cx = &mut Context::from_waker(Waker::noop());
        let panic =
            catch_unwind(AssertUnwindSafe(|| Pin::new(&mut body).poll_frame(cx).is_ready()));
        assert_eq!(panic.unwrap_err().downcast_ref(), Some(&"on purpose"));
    }
}
