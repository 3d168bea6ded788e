//! A client and a server, and the bytes on their way between them.

use std::time::Duration;

use stoop_proto::{CloseReason, Limits};
use stoop_test::frames::{ping, priority_update, settings};
use stoop_test::pair::PlannedExchange;
use stoop_test::random::Random;

use super::peer::TestPeer;

/// The smallest initial window in a peer's limits; SETTINGS in between may make it smaller.
const INITIAL: usize = 65_535;

/// Both peers of one connection.
#[derive(Debug)]
pub(super) struct Peers {
    pub(super) client: TestPeer,
    pub(super) server: TestPeer,
    started: usize,
    drains: bool,
}

impl Peers {
    pub(super) fn new(random: &mut Random) -> Self {
        let client = TestPeer::new(false, limits(Limits::client(), random));
        let server = TestPeer::new(true, limits(Limits::server(), random));
        let mut peers = Self { client, server, started: 0, drains: random.one_in(4) };
        peers.client.flush();
        peers.server.flush();
        peers
    }

    /// How many of the exchanges were started.
    pub(super) fn started(&self) -> usize {
        self.started
    }

    /// Runs all exchanges to their ends.
    pub(super) fn run(&mut self, exchanges: &[PlannedExchange], random: &mut Random) {
        let mut idle = 0;
        let mut goes_away = false;
        loop {
            let wants = self.started < exchanges.len() && !self.client.machine.is_going_away();
            let is_over = self.client.keys().is_empty() && self.server.keys().is_empty();
            let is_quiet = self.client.sent.is_empty() && self.server.sent.is_empty();
            if !wants && is_over && is_quiet {
                break;
            }
            let moved = self.step(exchanges, random);
            if self.drains && !goes_away && random.one_in(300) {
                goes_away = true;
                self.server.machine.drain(self.server.now, CloseReason::Draining);
            }
            self.client.flush();
            self.server.flush();
            idle = if moved { 0 } else { idle + 1 };
            if idle == 300 {
                // A window that was made smaller holds up all streams.
                let all = [(4, self.client.limits.http2.stream_window_bytes), (1, 4_096)];
                self.client.sent.extend(settings(&all));
                let all = [(4, self.server.limits.http2.stream_window_bytes), (1, 4_096), (3, 100)];
                self.server.sent.extend(settings(&all));
                self.client.flush();
                self.server.flush();
            }
            assert!(idle < 3_000, "nothing moves: {self:?}");
        }
        while self.client.consume_content(random) || self.server.consume_content(random) {}
        for _ in 0..4 {
            self.client.flush();
            self.server.flush();
            self.deliver(true, usize::MAX);
            self.deliver(false, usize::MAX);
        }
    }

    /// Does one thing, if there is something to do.
    fn step(&mut self, exchanges: &[PlannedExchange], random: &mut Random) -> bool {
        let time = Duration::from_micros(random.below(3_000) as u64);
        self.client.now += time;
        self.server.now += time;
        self.server.machine.handle_timeout(self.server.now);
        let to_server = random.one_in(2);
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        match random.below(10) {
            0 | 1 => match exchanges.get(self.started) {
                Some(exchange) if self.client.send_request(self.started, exchange) => {
                    self.started += 1;
                    true
                }
                _ => false,
            },
            2 | 3 => self.server.send_response_head(exchanges, random),
            4 | 5 => from.send_content(random),
            6 => to.consume_content(random),
            7 => match random.below(60) {
                0 => from.reset_stream(random),
                1 => {
                    from.sent.extend(unprompted_frames(from, to_server, random));
                    false
                }
                _ => false,
            },
            _ => self.deliver(to_server, 1 + random.scaled(15)),
        }
    }

    /// Delivers some of the bytes that were sent in one direction. Returns whether there were any.
    fn deliver(&mut self, to_server: bool, bytes: usize) -> bool {
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        let bytes = from.take(bytes);
        to.receive(&bytes);
        !bytes.is_empty()
    }

    pub(super) fn assert_nothing_left(&self) {
        self.client.assert_nothing_left();
        self.server.assert_nothing_left();
    }
}

/// Frames that a peer may send at any time, and our machines do not send unasked.
fn unprompted_frames(peer: &TestPeer, is_client: bool, random: &mut Random) -> Vec<u8> {
    let largest = peer.limits.http2.stream_window_bytes as usize;
    match random.below(5) {
        0 => ping(0, b"whatever"),
        1 => settings(&[(4, random.below(largest.min(2 * INITIAL)) as u32)]),
        2 => settings(&[(1, random.below(4_097) as u32), (1, random.below(4_097) as u32)]),
        3 if !is_client => settings(&[(3, 1 + random.below(100) as u32)]),
        _ => match peer.keys().first().and_then(|&key| peer.machine.stream_id(key)) {
            Some(stream) if is_client => priority_update(stream, "u=5, i"),
            _ => settings(&[]),
        },
    }
}

/// Limits with windows of random sizes.
fn limits(mut limits: Limits, random: &mut Random) -> Limits {
    let http2 = &mut limits.http2;
    let size = |random: &mut Random| (INITIAL + random.scaled(18)) as u32;
    http2.stream_window_bytes = size(random);
    http2.stream_window_bytes_max = size(random);
    http2.connection_window_bytes = size(random);
    http2.connection_window_bytes_max = size(random);
    http2.streams_max = 1 + random.below(100) as u32;
    http2.encoder_table_bytes_max = random.scaled(14) as u32;
    limits.head_bytes_max = 256 * 1024;
    limits.trailers_bytes_max = 256 * 1024;
    limits.fields_max = 500;
    limits
}
