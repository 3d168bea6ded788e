//! What holds of an end of HTTP/2, whatever it was given.

use std::collections::BTreeMap;

use http::Method;
use stoop_proto::h2::{Event, Fault, Received, Refusal};
use stoop_proto::{BodySize, CloseReason, RequestHead};

use super::cut;
use super::h2_end::FuzzedEnd;
use super::h2_wire::{CONTINUATION, DATA, END_HEADERS, GOAWAY, HEADERS, WINDOW_UPDATE, frames};

/// Feeds two ends that are alike, one of them whole and the other in pieces.
pub(crate) fn check(make: impl Fn() -> FuzzedEnd, wire: &[u8], seed: u8) {
    let mut end = make().run(&[wire]);
    let mut in_pieces = make().run(&cut(wire, seed));
    assert_eq!(in_pieces.outcome(), end.outcome(), "in pieces, and whole");
    in_pieces.check_amount();
    end.check_amount();
    end.check_frames(wire);
    end.check_windows(wire);
    if end.machine.is_closed() {
        end.check_last_words();
    }
    end.check_after_the_end();
}

impl FuzzedEnd {
    /// What is kept is bounded by limits, and not by what came.
    pub(crate) fn check_memory(&self) {
        let http2 = &self.limits.http2;
        assert!(self.machine.streams() <= http2.streams_max as usize);
        assert_eq!(self.machine.streams(), self.machine.keys().count());
        let most = 80_000
            + 8 * self.limits.head_bytes_max
            + 8 * self.limits.trailers_bytes_max
            + 100 * http2.control_frames_max as usize
            + 400 * http2.streams_max as usize;
        assert!(self.machine.heap_bytes() <= most, "{} bytes", self.machine.heap_bytes());
    }

    /// What is sent is bounded by what came.
    fn check_amount(&self) {
        let most = self.may_have_sent + 3 * self.received;
        assert!(self.out.len() <= most, "{} bytes for {}", self.out.len(), self.received);
    }

    /// Frames are whole, as large as the peer takes at most, and header blocks are in one piece.
    fn check_frames(&self, wire: &[u8]) {
        let observed = frames(wire).flat_map(|frame| frame.settings(5)).max().unwrap_or_default();
        let (mut block, mut bytes) = (None, 0);
        for frame in frames(&self.out) {
            bytes += 9 + frame.payload.len();
            assert!(frame.payload.len() <= observed.max(16_384) as usize);
            assert_eq!(frame.kind == CONTINUATION, block.is_some());
            assert!(block.is_none_or(|stream| stream == frame.stream));
            if matches!(frame.kind, HEADERS | CONTINUATION) {
                block = (frame.flags & END_HEADERS == 0).then_some(frame.stream);
            }
        }
        let preface = self.out.len() - bytes;
        assert!(block.is_none() && preface == if self.is_client() { 24 } else { 0 });
    }

    /// No more content is sent than the peer may have allowed.
    fn check_windows(&self, wire: &[u8]) {
        const INITIAL: u64 = 65_535;
        let observed = frames(wire).flat_map(|frame| frame.settings(4)).max().unwrap_or_default();
        let mut sent = BTreeMap::<u32, u64>::new();
        for frame in frames(&self.out).filter(|frame| frame.kind == DATA) {
            *sent.entry(frame.stream).or_default() += frame.payload.len() as u64;
        }
        let opened = |stream: u32| -> u64 {
            let updates = frames(wire).filter(|frame| frame.kind == WINDOW_UPDATE);
            let of_stream = updates.filter(|frame| frame.stream == stream);
            of_stream.filter_map(|frame| frame.word(0)).map(|by| u64::from(by & !(1 << 31))).sum()
        };
        let all: u64 = sent.values().sum();
        assert!(all <= INITIAL + opened(0));
        for (stream, bytes) in sent {
            assert!(bytes <= INITIAL.max(u64::from(observed)) + opened(stream));
        }
    }

    /// A fault is observed, and it is the last that is sent.
    fn check_last_words(&self) {
        let fault = self.machine.fault().expect("nothing else closes it");
        let last = frames(&self.out).last().expect("something was said");
        assert_eq!((last.kind, last.stream), (GOAWAY, 0));
        assert_eq!(last.word(4), Some(fault.code().0));
        // What ends a stream ends the connection if there is no stream to end.
        let of_any = matches!(fault, Fault::PrioritySize | Fault::PrioritySelf);
        assert!(fault.ends_connection() || of_any, "{fault:?}");
    }

    /// When the connection is over nothing is left, and nothing is done any more.
    fn check_after_the_end(&mut self) {
        let (before, had) = (self.machine.fault(), self.machine.streams());
        self.machine.receive_end();
        assert!(self.machine.is_closed() && self.machine.is_drained());
        assert_eq!((self.machine.streams(), self.machine.room()), (0, 0));
        assert_eq!(self.machine.next_timeout(), None);
        assert!(self.machine.next_to_send().is_none());
        match before.or(self.machine.fault()) {
            Some(Fault::CutShort) | None => {}
            fault => assert_eq!((fault, had), (before, 0)),
        }
        let said = self.out.len();
        let over = self.machine.receive(self.now, b"more", true);
        assert_eq!(over, Received { consumed: 4, event: Event::Closed });
        let mut head = RequestHead::new(Method::GET, "/").expect("the target fits");
        head.fields_mut().push("host", b"a").expect("it is a field");
        let asked = self.machine.open(&head, "https", BodySize::Exact(0), &mut self.out);
        assert_eq!(asked, Err(Refusal::GoingAway));
        self.machine.drain(self.now, CloseReason::Draining);
        self.machine.ping(self.now);
        self.machine.handle_timeout(self.now);
        self.machine.transmit(self.now, &mut self.out);
        assert_eq!(self.out.len(), said);
    }
}
