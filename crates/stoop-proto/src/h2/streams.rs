//! [`Streams`]: the streams of a connection, and the order in which they send.
//!
//! A stream keeps one place as long as it exists, and its place is its key; keys of ended streams are
//! used again. Streams that have content to send, and may, are in a queue for their urgency (RFC 9218
//! §4.1), linked through the streams themselves.

use crate::h2::map::StreamMap;
use crate::h2::priority::Priority;
use crate::h2::state::{StreamInput, StreamState};
use crate::h2::window::{ReceiveWindow, SendWindow};

/// The key of a stream: a small number, used again after its stream has ended, so that a caller can keep
/// its own data of streams in a `Vec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey(u32);

impl StreamKey {
    /// The number.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// No place.
const NONE: u32 = u32::MAX;

const URGENCIES: usize = 8;

/// The bytes of a response that are sent before others of its urgency have a turn, even if it is not
/// incremental: no stream waits for an endless response.
const BURST_BYTES_MAX: u32 = 1 << 20;

/// The turns that streams of an urgency wait for more urgent ones before one of them has a turn.
const TURNS_WAITED_MAX: u8 = 16;

/// A stream, or a free place.
#[derive(Debug)]
pub(super) struct StreamEntry {
    /// The stream identifier; 0 if the place is free.
    pub(super) id: u32,
    pub(super) state: StreamState,
    pub(super) send: SendWindow,
    pub(super) receive: ReceiveWindow,
    /// Bytes still to be received by the peer's Content-Length.
    pub(super) content_to_receive: Option<u64>,
    /// Bytes still to be sent by our Content-Length.
    pub(super) content_to_send: Option<u64>,
    /// Bytes of content received.
    pub(super) received: u64,
    pub(super) priority: Priority,
    /// Number of interim responses received, and their bytes.
    pub(super) interim: u32,
    pub(super) interim_bytes: u32,
    /// Whether the peer's request, or final response, was received.
    pub(super) head_received: bool,
    /// Whether our request, or final response, was sent.
    pub(super) head_sent: bool,
    /// Whether the request is a HEAD: its response has no content, whatever it announces.
    pub(super) is_head: bool,
    /// Whether the request is a CONNECT: DATA belongs to a tunnel.
    pub(super) is_connect: bool,
    /// Whether the stream has content, or the end of it, to send.
    wants_to_send: bool,
    queued: bool,
    /// Bytes sent in this turn.
    burst: u32,
    next: u32,
    previous: u32,
}

impl StreamEntry {
    pub(super) fn new(id: u32, send: SendWindow, receive: ReceiveWindow) -> Self {
        Self {
            id,
            state: StreamState::Idle,
            send,
            receive,
            content_to_receive: None,
            content_to_send: None,
            received: 0,
            priority: Priority::UNTOLD,
            interim: 0,
            interim_bytes: 0,
            head_received: false,
            head_sent: false,
            is_head: false,
            is_connect: false,
            wants_to_send: false,
            queued: false,
            burst: 0,
            next: NONE,
            previous: NONE,
        }
    }

    /// Applies an input that is known to be allowed.
    #[inline]
    pub(super) fn step(&mut self, input: StreamInput) {
        debug_assert!(self.state.next(input).is_some(), "{:?} {input:?}", self.state);
        self.state = self.state.next(input).unwrap_or(StreamState::Closed);
    }
}

/// The first and last stream of a queue, by place.
#[derive(Debug)]
struct StreamQueue {
    first: u32,
    last: u32,
}

/// The streams of a connection.
#[derive(Debug)]
pub(super) struct Streams {
    /// A free place is a stream without identifier, whose `next` is the next free place.
    places: Vec<StreamEntry>,
    free: u32,
    map: StreamMap,
    len: usize,
    queues: [StreamQueue; URGENCIES],
    /// Bits of the queues that are not empty.
    nonempty_queues: u8,
    /// Turns that the streams of each urgency have waited for more urgent ones.
    turns_waited: [u8; URGENCIES],
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            free: NONE,
            map: StreamMap::default(),
            len: 0,
            queues: std::array::from_fn(|_| StreamQueue { first: NONE, last: NONE }),
            nonempty_queues: 0,
            turns_waited: [0; URGENCIES],
        }
    }
}

impl Streams {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(super) fn find(&self, id: u32) -> Option<StreamKey> {
        self.map.get(id).map(StreamKey)
    }

    #[inline]
    pub(super) fn get(&self, key: StreamKey) -> Option<&StreamEntry> {
        self.places.get(key.index()).filter(|stream| stream.id != 0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: StreamKey) -> Option<&mut StreamEntry> {
        self.places.get_mut(key.index()).filter(|stream| stream.id != 0)
    }

    #[inline]
    pub(super) fn insert(&mut self, stream: StreamEntry) -> StreamKey {
        let id = stream.id;
        let place = match self.places.get_mut(self.free as usize) {
            Some(free) => {
                let place = std::mem::replace(&mut self.free, free.next);
                *free = stream;
                place
            }
            None => {
                self.places.push(stream);
                (self.places.len() - 1) as u32
            }
        };
        self.map.insert(id, place);
        self.len += 1;
        StreamKey(place)
    }

    /// Removes a stream.
    #[inline]
    pub(super) fn remove(&mut self, key: StreamKey) {
        self.leave_queue(key);
        let free = self.free;
        let Some(stream) = self.get_mut(key) else { return };
        let id = std::mem::take(&mut stream.id);
        stream.next = free;
        self.map.remove(id);
        self.free = key.0;
        self.len -= 1;
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = StreamKey> {
        let live = self.places.iter().enumerate();
        live.filter(|(_, stream)| stream.id != 0).map(|(place, _)| StreamKey(place as u32))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut StreamEntry> {
        self.places.iter_mut().filter(|stream| stream.id != 0)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.places.capacity() * size_of::<StreamEntry>() + self.map.heap_bytes()
    }

    /// Frees the memory if there are no streams.
    pub(super) fn shrink(&mut self) {
        if self.len == 0 {
            self.places = Vec::new();
            self.free = NONE;
            self.map.shrink();
        }
    }

    /// Sets whether a stream has content to send.
    #[inline]
    pub(super) fn set_wants_to_send(&mut self, key: StreamKey, wants: bool) {
        if let Some(stream) = self.get_mut(key) {
            stream.wants_to_send = wants;
            self.update_queue(key);
        }
    }

    pub(super) fn set_priority(&mut self, key: StreamKey, priority: Priority) {
        self.leave_queue(key);
        if let Some(stream) = self.get_mut(key) {
            stream.priority = priority;
            self.update_queue(key);
        }
    }

    /// Puts a stream into its queue or takes it out, after its `wants_to_send`, window or state changed.
    #[inline]
    pub(super) fn update_queue(&mut self, key: StreamKey) {
        let Some(stream) = self.get(key) else { return };
        let may_send = stream.head_sent && stream.state.may_send();
        let due = stream.wants_to_send && may_send && stream.send.available() > 0;
        match (due, stream.queued) {
            (true, false) => self.join_queue(key),
            (false, true) => self.leave_queue(key),
            _ => {}
        }
    }

    /// The stream whose turn it is.
    #[inline]
    pub(super) fn next_to_send(&self) -> Option<StreamKey> {
        let first = self.nonempty_queues.trailing_zeros() as usize;
        let has_waited = |urgency: &usize| {
            self.nonempty_queues >> urgency & 1 == 1
                && self.turns_waited[*urgency] >= TURNS_WAITED_MAX
        };
        let urgency = match self.nonempty_queues & self.nonempty_queues.wrapping_sub(1) {
            0 => first,
            _ => (first + 1..URGENCIES).find(has_waited).unwrap_or(first),
        };
        Some(StreamKey(self.queues.get(urgency)?.first))
    }

    /// Counts bytes that a stream sent, and may end its turn. Returns whether its window is used up.
    #[inline]
    pub(super) fn sent(&mut self, key: StreamKey, bytes: u32) -> bool {
        let Some(stream) = self.places.get_mut(key.index()) else { return false };
        stream.send.take(bytes);
        stream.burst = stream.burst.saturating_add(bytes);
        let has_room = stream.send.available() > 0;
        if stream.queued {
            let urgency = stream.priority.urgency;
            let gives_way = stream.priority.incremental || stream.burst >= BURST_BYTES_MAX;
            self.count_turn(urgency);
            if gives_way || !has_room {
                self.leave_queue(key);
                if has_room {
                    self.join_queue(key);
                }
            }
        }
        !has_room
    }

    /// Counts a turn of a stream of that urgency, for which less urgent ones have waited.
    #[inline]
    fn count_turn(&mut self, urgency: u8) {
        self.turns_waited[usize::from(urgency)] = 0;
        let mut less_urgent = self.nonempty_queues & !(u8::MAX >> (7 - urgency));
        while less_urgent != 0 {
            let turns_waited = &mut self.turns_waited[less_urgent.trailing_zeros() as usize];
            *turns_waited = turns_waited.saturating_add(1);
            less_urgent &= less_urgent - 1;
        }
    }

    fn join_queue(&mut self, key: StreamKey) {
        let Some(stream) = self.places.get_mut(key.index()) else { return };
        let urgency = usize::from(stream.priority.urgency);
        let queue = &mut self.queues[urgency];
        let last = std::mem::replace(&mut queue.last, key.0);
        (stream.queued, stream.burst) = (true, 0);
        (stream.previous, stream.next) = (last, NONE);
        match self.places.get_mut(last as usize) {
            Some(last) => last.next = key.0,
            None => self.queues[urgency].first = key.0,
        }
        self.nonempty_queues |= 1 << urgency;
    }

    fn leave_queue(&mut self, key: StreamKey) {
        let Some(stream) = self.places.get_mut(key.index()) else { return };
        if !std::mem::replace(&mut stream.queued, false) {
            return;
        }
        let urgency = usize::from(stream.priority.urgency);
        let (previous, next) = (stream.previous, stream.next);
        match self.places.get_mut(previous as usize) {
            Some(previous) => previous.next = next,
            None => self.queues[urgency].first = next,
        }
        match self.places.get_mut(next as usize) {
            Some(next) => next.previous = previous,
            None => self.queues[urgency].last = previous,
        }
        if self.queues[urgency].first == NONE {
            self.nonempty_queues &= !(1 << urgency);
        }
    }
}

#[cfg(test)]
mod tests;
