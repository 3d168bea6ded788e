//! The streams of a connection, and whose turn it is to send.
//!
//! A stream stands in one place for as long as it lives, and its place is its key; keys of streams
//! that ended are used again. Those that have something to send and may are in a queue for their
//! urgency (RFC 9218 §4.1), linked through the streams themselves.

use crate::h2::map::StreamMap;
use crate::h2::priority::Priority;
use crate::h2::state::{StreamInput, StreamState};
use crate::h2::window::{ReceiveWindow, SendWindow};

/// Which stream: a small number, used again after its stream has ended, so that a caller can keep
/// what belongs to a stream in a `Vec` of its own.
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

/// So much of a response goes out before others of its urgency have a turn, even if it is of no use
/// piece by piece: nobody waits for an endless one.
const BURST_BYTES_MAX: u32 = 1 << 20;

/// After so many turns in which the streams of an urgency waited for more urgent ones, one of them
/// has one.
const TURNS_WAITED_MAX: u8 = 16;

#[derive(Debug)]
pub(super) struct Stream {
    /// 0 where there is none: the place is free.
    pub(super) id: u32,
    pub(super) state: StreamState,
    pub(super) send: SendWindow,
    pub(super) receive: ReceiveWindow,
    /// What is still to come by the peer's Content-Length.
    pub(super) content_to_receive: Option<u64>,
    /// What is still to go by ours.
    pub(super) content_to_send: Option<u64>,
    /// Content that came.
    pub(super) received: u64,
    pub(super) priority: Priority,
    /// Interim responses that came, and their sizes together, in bytes.
    pub(super) interim: u32,
    pub(super) interim_bytes: u32,
    /// The peer's request, or final response, was received.
    pub(super) head_received: bool,
    /// Ours was sent.
    pub(super) head_sent: bool,
    /// The request is a HEAD: its response has no content, whatever it says.
    pub(super) is_head: bool,
    /// The request is a CONNECT: DATA is a tunnel's.
    pub(super) is_connect: bool,
    /// It has content to send, or an end.
    wants_to_send: bool,
    queued: bool,
    /// What it sent in this turn.
    burst: u32,
    next: u32,
    previous: u32,
}

impl Stream {
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

    /// Takes a step that is known to be allowed.
    #[inline]
    pub(super) fn step(&mut self, input: StreamInput) {
        debug_assert!(self.state.next(input).is_some(), "{:?} {input:?}", self.state);
        self.state = self.state.next(input).unwrap_or(StreamState::Closed);
    }
}

#[derive(Debug)]
struct StreamQueue {
    first: u32,
    last: u32,
}

#[derive(Debug)]
pub(super) struct Streams {
    /// A free place has a stream without identifier, whose `next` is the next free place.
    places: Vec<Stream>,
    free: u32,
    map: StreamMap,
    len: usize,
    queues: [StreamQueue; URGENCIES],
    /// Which queues are not empty.
    nonempty_queues: u8,
    /// Turns in which the streams of an urgency waited for more urgent ones.
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
    pub(super) fn get(&self, key: StreamKey) -> Option<&Stream> {
        self.places.get(key.index()).filter(|stream| stream.id != 0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: StreamKey) -> Option<&mut Stream> {
        self.places.get_mut(key.index()).filter(|stream| stream.id != 0)
    }

    #[inline]
    pub(super) fn insert(&mut self, stream: Stream) -> StreamKey {
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

    /// Forgets a stream.
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

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.places.iter_mut().filter(|stream| stream.id != 0)
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Stream>() + self.map.heap_bytes()
    }

    /// Gives memory back while there are none.
    pub(super) fn shrink(&mut self) {
        if self.len == 0 {
            self.places = Vec::new();
            self.free = NONE;
            self.map.shrink();
        }
    }

    /// Says whether a stream has content to send.
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

    /// Puts a stream into its queue or takes it out, after its wish, window or state changed.
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

    /// Whether a stream has content that its own window lets through.
    #[inline]
    pub(super) fn has_sendable(&self) -> bool {
        self.nonempty_queues != 0
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

    /// A stream sent so much: the turn may be another's. Says whether its window is used up.
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

    /// A stream of that urgency had a turn: less urgent ones have waited for it.
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
