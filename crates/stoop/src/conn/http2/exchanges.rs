//! The exchanges of an HTTP/2 connection: by the keys of their streams, and which of them were woken.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use stoop_proto::h2::StreamKey;

use crate::conn::http2::progress::WireProgress;
use crate::conn::http2::ready::WokenExchanges;

/// What is kept of each exchange. Its index is that of its stream's key.
pub(crate) struct Exchanges<T> {
    kept: Vec<Option<T>>,
    ready: Arc<WokenExchanges>,
    /// Made when they are first needed.
    wakers: Vec<Option<Waker>>,
    /// Room for the indexes that were woken.
    woken: VecDeque<usize>,
    /// The index that is polled first: that of the first that was not polled the last time.
    first: usize,
}

impl<T> Exchanges<T> {
    pub(crate) fn new(ready: Arc<WokenExchanges>) -> Self {
        Self { kept: Vec::new(), ready, wakers: Vec::new(), woken: VecDeque::new(), first: 0 }
    }

    /// What the driver and the tunnels among the exchanges share with those that have their other ends.
    pub(crate) fn ready(&self) -> &Arc<WokenExchanges> {
        &self.ready
    }

    #[inline]
    pub(super) fn progress(&self) -> &WireProgress {
        &self.ready.progress
    }

    /// Remembers the task that polls.
    pub(crate) fn register(&self, task: &Waker) {
        self.ready.register(task);
    }

    /// The waker of the exchange at that index.
    pub(crate) fn waker(&mut self, index: usize) -> Waker {
        if self.wakers.len() <= index {
            self.wakers.resize(index + 1, None);
        }
        let ready = &self.ready;
        self.wakers[index].get_or_insert_with(|| ready.waker(index)).clone()
    }

    /// The indexes that were woken since they were polled, each once. Those that were not polled the last
    /// time come before those that were.
    pub(crate) fn take_woken(&mut self) -> VecDeque<usize> {
        let mut woken = std::mem::take(&mut self.woken);
        self.ready.take(&mut woken);
        let behind = woken.partition_point(|&index| index < self.first);
        woken.rotate_left(behind);
        woken
    }

    /// Returns those that were not polled, for a poll that is to follow: it is not asked for here.
    pub(crate) fn put_back(&mut self, mut woken: VecDeque<usize>) {
        self.first = woken.front().copied().unwrap_or(0);
        woken.drain(..).for_each(|index| self.ready.keep(index));
        self.woken = woken;
    }

    pub(crate) fn keep(&mut self, key: StreamKey, exchange: T) {
        let index = key.index();
        if self.kept.len() <= index {
            self.kept.resize_with(index + 1, || None);
        }
        self.kept[index] = Some(exchange);
    }

    #[inline]
    pub(crate) fn at(&mut self, index: usize) -> Option<&mut T> {
        self.kept.get_mut(index)?.as_mut()
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

    /// How many there are at most: as many as there were at a time since the connection was idle.
    #[inline]
    pub(crate) fn count_max(&self) -> usize {
        self.kept.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kept.iter().all(Option::is_none)
    }

    /// Frees memory that an idle connection has no use for. True if there was any.
    pub(crate) fn shrink(&mut self) -> bool {
        let any = self.kept.capacity() > 0 || self.wakers.capacity() > 0;
        if any {
            (self.kept, self.wakers, self.woken) = (Vec::new(), Vec::new(), VecDeque::new());
        }
        any
    }
}
