//! Sending content: the machine says whose turn it is and how much may be sent, and the exchange's source
//! is polled for the next piece.

use std::task::Context;

use stoop_io::FILE_READ_BYTES_MAX;
use stoop_proto::h2::StreamKey;

use crate::conn::OutputSink;
use crate::conn::http2::driver::{DriverRole, SendFailure, SendingExchange, StreamDriver};
use crate::conn::http2::outflow::{Cut, Polled, RECORD_BYTES};
use crate::turn::STEPS_MIN;

/// DATA frames written in a round at most, before bytes are read again.
const FRAMES_MAX: u32 = 256;

impl<R: DriverRole> StreamDriver<R> {
    /// Lets exchanges send that have their turn, while there is room in the output. True if any did.
    pub(super) fn send(&mut self) -> bool {
        let mut any = false;
        for frames in 0..FRAMES_MAX {
            if self.is_full() || self.turn.step() && frames >= STEPS_MIN {
                break;
            }
            let Some((key, max)) = self.machine.next_to_send() else { break };
            any = true;
            let Some(exchange) = self.exchanges.get(key) else {
                self.machine.want_to_send(key, false);
                continue;
            };
            let Some(outflow) = exchange.outflow() else {
                self.machine.want_to_send(key, false);
                continue;
            };
            if outflow.needs_poll() {
                self.read_content(key);
                continue;
            }
            let Cut { piece, is_over, is_last } = outflow.cut(max);
            let sent = self.machine.data(key, piece, is_last, &mut OutputSink(&mut self.wire.out));
            match sent {
                Err(misuse) => R::send_failed(self, key, SendFailure::Misuse(misuse)),
                Ok(()) if is_last => R::sent(self, key),
                Ok(()) => {
                    self.role.piece_sent(exchange, &self.wire, self.now);
                    if is_over {
                        self.poll_content(key);
                    }
                }
            }
        }
        any
    }

    /// Polls the source of an exchange that has its turn, and may read. What the windows have room for is divided among
    /// the exchanges, down to what one turn takes: others have theirs before the second, with pieces of their own.
    fn read_content(&mut self, key: StreamKey) {
        let share = FILE_READ_BYTES_MAX / self.exchanges.count_max().max(1);
        let readable = self.machine.window_of(key).min(share.max(RECORD_BYTES));
        self.poll_source(key, readable.max(1));
    }

    /// Polls the source of an exchange's content for its next piece, and tells the machine whether there
    /// is one to send.
    pub(crate) fn poll_content(&mut self, key: StreamKey) {
        self.poll_source(key, 0);
    }

    fn poll_source(&mut self, key: StreamKey, readable: usize) {
        self.exchanges.progress().note_position(&self.wire);
        let waker = self.exchanges.waker(key.index());
        let Some(exchange) = self.exchanges.get(key) else { return };
        let polled = exchange.poll_source(&mut Context::from_waker(&waker), readable);
        let Some(polled) = polled else { return };
        match polled {
            Polled::Pending => self.machine.want_to_send(key, false),
            Polled::Piece | Polled::Unread => self.machine.want_to_send(key, true),
            Polled::End => self.finish(key),
            Polled::Failed(error) => R::send_failed(self, key, SendFailure::Source(error)),
            Polled::Panicked => R::send_failed(self, key, SendFailure::Panic),
        }
        R::source_polled(self, key);
    }

    /// Ends an exchange's content, with its trailers.
    fn finish(&mut self, key: StreamKey) {
        let Some(exchange) = self.exchanges.get(key) else { return };
        let Some(outflow) = exchange.outflow() else { return };
        let trailers = outflow.take_trailers();
        let out = &mut OutputSink(&mut self.wire.out);
        match self.machine.finish(key, trailers.as_deref(), out) {
            Ok(()) => R::sent(self, key),
            Err(misuse) => R::send_failed(self, key, SendFailure::Misuse(misuse)),
        }
    }
}
