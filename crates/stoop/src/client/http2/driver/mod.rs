//! The client's role in an HTTP/2 connection, and the task that drives it.
//!
//! The driver is [`StreamDriver`]. `requests` opens streams for requests, `send` sends their content,
//! `upload` limits how long that takes, `receive` hands responses over; `wait` has the deadlines, `liveness`
//! checks whether the server is there, `abandoned` ends exchanges whose owners have left, and `end` ends the
//! connection and tells the owners why.

mod abandoned;
mod end;
mod exchange;
mod liveness;
mod receive;
mod requests;
mod send;
mod upload;
mod wait;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, Timer, Transport, now};
use stoop_proto::Limits;
use stoop_proto::h2::{self, Event, Fault, StreamKey};
use tokio::runtime::Handle;

use super::{STREAMS_ASSUMED, SharedConnection, SharedState};
use crate::client::pool::{ConnectPermit, Membership, StreamPermit};
use crate::conn::http2::driver::{DriverRole, Round, SendFailure, StreamDriver, TransportFailure};
use crate::conn::http2::exchanges::Exchanges;
use crate::conn::http2::ready::WokenExchanges;
use crate::conn::linger::Linger;
use crate::conn::wire::Wire;
use crate::error::Error;
use crate::limits::ClientLimits;

use abandoned::AbandonedCheck;
use end::{DriverEndCause, Retirement};
use exchange::ClientExchange;
use liveness::ServerLiveness;
use requests::Requests;

/// How much input is read and dropped, and for how long, after the server broke the protocol: it is to read the
/// GOAWAY that names its fault.
const LINGER_BYTES_MAX: u64 = 256 * 1024;
const LINGER_TIME: Duration = Duration::from_secs(1);

/// Makes a connection of a transport, and a task that drives it; the first exchange is the caller's.
pub(crate) fn connect(
    permit: ConnectPermit,
    io: AnyTransport,
    limits: Arc<ClientLimits>,
    wire_limits: Arc<Limits>,
) -> StreamPermit {
    let ready = Arc::new(WokenExchanges::default());
    let shared = Arc::new(SharedConnection {
        state: Mutex::new(SharedState::default()),
        ready: ready.clone(),
        peer: io.peer(),
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        tls: io.tls_session(),
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        certificate: io.tls().and_then(|tls| tls.kept_chain().cloned()),
        runtime: Handle::current().id(),
    });
    let own_max = wire_limits.http2.streams_max.max(1) as usize;
    let machine = h2::Connection::client(wire_limits);
    let (membership, stream) = permit.share(&shared, own_max.min(STREAMS_ASSUMED));
    let expires_at = now().checked_add(limits.pool.lifetime);
    let role = ClientRole {
        shared,
        membership,
        limits,
        requests: Requests::default(),
        liveness: ServerLiveness::new(now()),
        abandoned: AbandonedCheck::default(),
        retirement: Retirement::default(),
        uploads_moved_at: now(),
        timer: Timer::coarse(),
        expires_at,
    };
    tokio::spawn(Task(ClientDriver::new(Wire::new(io), machine, Exchanges::new(ready), role)));
    stream
}

/// Drives one connection.
type ClientDriver = StreamDriver<ClientRole>;

/// What a connection has because it is a client's.
struct ClientRole {
    shared: Arc<SharedConnection>,
    membership: Membership,
    limits: Arc<ClientLimits>,
    requests: Requests,
    liveness: ServerLiveness,
    abandoned: AbandonedCheck,
    retirement: Retirement,
    /// When content of a request was written last, of whichever it was.
    uploads_moved_at: Instant,
    timer: Timer,
    /// When it has served for as long as it may.
    expires_at: Option<Instant>,
}

/// The task of a connection.
struct Task(ClientDriver);

impl Future for Task {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        ready!(self.0.poll(cx));
        self.0.terminate(&DriverEndCause::Closed);
        Poll::Ready(())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // The runtime has ended before the connection did.
        self.0.terminate(&DriverEndCause::Abandoned);
    }
}

impl DriverRole for ClientRole {
    type Exchange = ClientExchange;

    const EVENTS_MAX: u32 = 1024;
    const PEER_OPENS_STREAMS: bool = false;

    #[inline]
    fn output_bytes_max(&self) -> usize {
        self.limits.output_bytes_max
    }

    #[inline]
    fn begin_round(driver: &mut ClientDriver, cx: &mut Context<'_>) -> Option<Round> {
        if driver.machine.streams() == 0 { driver.read_before_requests(cx) } else { None }
    }

    #[inline]
    fn open_streams(driver: &mut ClientDriver) -> bool {
        driver.take_submitted()
    }

    #[inline]
    fn end_round(driver: &mut ClientDriver) {
        driver.report_ended();
    }

    #[inline]
    fn received(&mut self, now: Instant) {
        self.liveness.received(now);
    }

    #[inline]
    fn event(driver: &mut ClientDriver, event: Event) {
        driver.event(event);
    }

    #[inline]
    fn deliver(driver: &mut ClientDriver, key: StreamKey, len: usize, end: bool) {
        driver.deliver(key, len, end);
    }

    #[inline]
    fn run(driver: &mut ClientDriver, index: usize) {
        driver.run(index);
    }

    #[inline]
    fn piece_sent(&mut self, exchange: &mut ClientExchange, wire: &Wire, now: Instant) {
        self.uploads_moved_at = now;
        exchange.piece_sent(wire.position(), now, &self.limits.time);
    }

    #[inline]
    fn sent(driver: &mut ClientDriver, key: StreamKey) {
        driver.sent(key);
    }

    fn send_failed(driver: &mut ClientDriver, key: StreamKey, failure: SendFailure<Error>) {
        driver.send_failed(key, failure);
    }

    #[inline]
    fn exchange_taken(driver: &mut ClientDriver, _: &ClientExchange) {
        driver.role.requests.ended(1);
    }

    fn machine_ended(driver: &mut ClientDriver) {
        driver.terminate(&DriverEndCause::Machine);
    }

    fn transport_failed(driver: &mut ClientDriver, failure: TransportFailure) {
        // What was received before may explain the failure.
        driver.read_rest();
        driver.terminate(&match failure {
            TransportFailure::Read(error) => DriverEndCause::Io(error),
            TransportFailure::Write => DriverEndCause::Reset,
            TransportFailure::Overflow => DriverEndCause::Closed,
        });
    }

    fn linger(driver: &ClientDriver) -> Option<Linger> {
        // The server may send more before it reads our GOAWAY, which says what it did wrong. One that does
        // not answer reads nothing either.
        let fault = driver.machine.fault()?;
        let is_silent = matches!(fault, Fault::PingIgnored | Fault::SettingsIgnored);
        (!is_silent).then(|| Linger::new(LINGER_BYTES_MAX, driver.now, LINGER_TIME))
    }

    fn shrink(&mut self) {
        self.requests.shrink();
    }

    fn wait(driver: &mut ClientDriver, cx: &mut Context<'_>) -> Round {
        driver.wait(cx)
    }
}
