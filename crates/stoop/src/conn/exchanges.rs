//! The exchanges of an HTTP/2 connection: by the keys of their streams, and which of them were woken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use stoop_proto::h2::StreamKey;

use crate::conn::ready::Ready;

/// What is kept of each exchange. Its place is the index of its stream's key.
pub(crate) struct Exchanges<T> {
    kept: Vec<Option<T>>,
    ready: Arc<Ready>,
    /// Made when they are first needed.
    wakers: Vec<Option<Waker>>,
    /// Places that were woken before, and not polled since.
    woken: VecDeque<usize>,
}

impl<T> Exchanges<T> {
    pub(crate) fn new(ready: Arc<Ready>) -> Self {
        Self { kept: Vec::new(), ready, wakers: Vec::new(), woken: VecDeque::new() }
    }

    /// Remembers the task that polls.
    pub(crate) fn register(&self, task: &Waker) {
        self.ready.register(task);
    }

    /// The waker of the exchange at that place.
    pub(crate) fn waker(&mut self, place: usize) -> Waker {
        if self.wakers.len() <= place {
            self.wakers.resize(place + 1, None);
        }
        let ready = &self.ready;
        self.wakers[place].get_or_insert_with(|| ready.waker(place)).clone()
    }

    /// The places that were woken and not polled since, in that order.
    pub(crate) fn take_woken(&mut self) -> VecDeque<usize> {
        let mut woken = std::mem::take(&mut self.woken);
        self.ready.take(&mut woken);
        woken
    }

    /// Returns those that were not polled. They come first the next time.
    pub(crate) fn put_back(&mut self, woken: VecDeque<usize>) {
        self.woken = woken;
    }

    pub(crate) fn keep(&mut self, key: StreamKey, exchange: T) {
        let place = key.index();
        if self.kept.len() <= place {
            self.kept.resize_with(place + 1, || None);
        }
        self.kept[place] = Some(exchange);
    }

    #[inline]
    pub(crate) fn at(&mut self, place: usize) -> Option<&mut T> {
        self.kept.get_mut(place)?.as_mut()
    }

    #[inline]
    pub(crate) fn get(&mut self, key: StreamKey) -> Option<&mut T> {
        self.at(key.index())
    }

    pub(crate) fn take(&mut self, key: StreamKey) -> Option<T> {
        self.kept.get_mut(key.index())?.take()
    }

    pub(crate) fn iter(&mut self) -> impl Iterator<Item = &mut T> {
        self.kept.iter_mut().flatten()
    }

    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.kept.drain(..).flatten()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.iter().all(Option::is_none)
    }

    /// Gives memory back that an idle connection has no use for. True if there was any.
    pub(crate) fn rest(&mut self) -> bool {
        let any = self.kept.capacity() > 0 || self.wakers.capacity() > 0;
        if any {
            (self.kept, self.wakers, self.woken) = (Vec::new(), Vec::new(), VecDeque::new());
        }
        any
    }
}
