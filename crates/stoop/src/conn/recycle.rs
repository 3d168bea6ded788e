//! Heads in boxes that are used again: an exchange allocates none while its thread has one.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};

use http::Extensions;
use stoop_io::Peer;
use stoop_proto::{RequestHead, ResponseHead};
use url::Url;

use crate::conn::deadlines::Wish;
use crate::timings::Timings;

/// Boxes of each kind that a thread keeps.
const KEPT_MAX: usize = 64;

/// What is kept of a request besides its content.
#[derive(Clone)]
pub(crate) struct RequestParts {
    pub(crate) head: RequestHead,
    /// Who is at the other end of its connection.
    pub(crate) peer: Option<Peer>,
    /// Where a client sends it.
    pub(crate) url: Option<Url>,
    /// What a client measured of it.
    pub(crate) timings: Timings,
    /// What it says of its deadlines.
    pub(crate) deadlines: Wish,
    /// What its owner keeps with it.
    pub(crate) extensions: Extensions,
}

/// Something whose memory can serve again.
pub(crate) trait Recycled: Sized + 'static {
    fn fresh() -> Self;
    fn clear(&mut self);
    fn shelf<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R>;
}

/// The boxes themselves are kept: they are what is handed out again.
type Shelf<T> = RefCell<Vec<Box<T>>>;

thread_local! {
    static REQUESTS: Shelf<RequestParts> = const { RefCell::new(Vec::new()) };
    static RESPONSES: Shelf<ResponseHead> = const { RefCell::new(Vec::new()) };
}

impl Recycled for RequestParts {
    fn fresh() -> Self {
        let (head, timings) = (RequestHead::default(), Timings::default());
        let (deadlines, extensions) = (Wish::Default, Extensions::new());
        Self { head, peer: None, url: None, timings, deadlines, extensions }
    }
    fn clear(&mut self) {
        self.head.clear();
        self.peer = None;
        self.url = None;
        self.timings = Timings::default();
        self.deadlines = Wish::Default;
        if !self.extensions.is_empty() {
            self.extensions = Extensions::new();
        }
    }
    fn shelf<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R> {
        REQUESTS.try_with(|shelf| with(&mut shelf.borrow_mut())).ok()
    }
}

impl Recycled for ResponseHead {
    fn fresh() -> Self {
        Self::default()
    }
    fn clear(&mut self) {
        self.clear();
    }
    fn shelf<R>(with: impl FnOnce(&mut Vec<Box<Self>>) -> R) -> Option<R> {
        RESPONSES.try_with(|shelf| with(&mut shelf.borrow_mut())).ok()
    }
}

/// A box that goes back to its thread's shelf, not to the allocator.
pub(crate) struct Recycle<T: Recycled>(Option<Box<T>>);

impl<T: Recycled> Recycle<T> {
    #[inline]
    pub(crate) fn new() -> Self {
        let shelved = T::shelf(Vec::pop).flatten();
        Self(Some(shelved.unwrap_or_else(|| Box::new(T::fresh()))))
    }

    pub(crate) fn from(value: T) -> Self {
        Self(Some(Box::new(value)))
    }
}

impl<T: Recycled> Deref for Recycle<T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        self.0.as_deref().expect("a box is only taken when it is dropped")
    }
}

impl<T: Recycled> DerefMut for Recycle<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.as_deref_mut().expect("a box is only taken when it is dropped")
    }
}

impl<T: Recycled> Drop for Recycle<T> {
    #[inline]
    fn drop(&mut self) {
        let Some(mut value) = self.0.take() else { return };
        value.clear();
        T::shelf(|shelf| {
            if shelf.len() < KEPT_MAX {
                shelf.push(value);
            }
        });
    }
}

impl<T: Recycled + Clone> Clone for Recycle<T> {
    fn clone(&self) -> Self {
        Self::from(T::clone(self))
    }
}
