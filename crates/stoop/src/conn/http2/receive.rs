//! Reading: what the transport has received becomes the machine's events, which the role handles.

use stoop_io::Transport;
use stoop_proto::h2::Event;

use crate::conn::http2::driver::{DriverRole, StreamDriver};
use crate::turn::STEPS_MIN;

impl<R: DriverRole> StreamDriver<R> {
    /// Reads what has arrived, up to a bound. Returns whether anything was read, and whether more bytes
    /// are needed to read on.
    pub(super) fn read(&mut self) -> (bool, bool) {
        let mut moved = false;
        for events in 0..R::EVENTS_MAX {
            if self.turn.step() && events >= STEPS_MIN {
                return (true, false);
            }
            let may_open = R::PEER_OPENS_STREAMS && !self.is_full();
            let input = self.wire.io.received();
            let received = self.machine.receive(self.now, input, may_open);
            if let Event::Data { key, span, end } = received.event {
                self.wire.io.consume(span.start);
                R::deliver(self, key, span.len(), end);
                self.wire.io.consume(received.consumed - span.end);
                moved = true;
                continue;
            }
            self.wire.io.consume(received.consumed);
            moved |= received.consumed > 0;
            match received.event {
                Event::NeedMore => return (moved, true),
                Event::Paused | Event::Closed => return (moved, false),
                event => R::event(self, event),
            }
            moved = true;
        }
        (moved, false)
    }

    /// Reads all that has arrived, because nothing more will arrive.
    pub(crate) fn read_rest(&mut self) {
        loop {
            self.turn.begin();
            let (true, false) = self.read() else { return };
        }
    }
}
