//! Which of a name's addresses is connected to: the first that answers (RFC 8305 §5).
//!
//! The addresses are tried in their order. While one does not answer, the next is tried beside it, after
//! a delay; one that fails makes the next begin at once. What is left out: the order itself (RFC 8305 §4,
//! RFC 6724), which is the resolver's.

use std::future::{Future, poll_fn};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use stoop_io::{LocalEnd, PeerAddress, Tcp};
use tokio::time::{Instant, Sleep, sleep};

use super::terms::ConnectLimits;
use crate::error::{Error, ErrorKind, Phase};

/// RFC 8305 §5, the Connection Attempt Delay: "a recommended value for a default delay is 250
/// milliseconds".
const DELAY: Duration = Duration::from_millis(250);

/// Attempts at a time: each has a descriptor. One more takes the place of the oldest, which has had a
/// second by then: the time in which a lost SYN is not repeated (RFC 6298 §2).
const ATTEMPTS_MAX: usize = 4;

/// Connects to the first of the addresses that answers, within the time for connecting.
///
/// # Errors
/// One that names every address that was tried, each with its reason. Its kind is that of the address
/// whose reason says most.
pub(super) async fn dial(
    addresses: &[IpAddr],
    port: u16,
    local: &LocalEnd,
    terms: ConnectLimits<'_>,
) -> Result<Tcp, Error> {
    let connect = |address| async move {
        match *local == LocalEnd::default() {
            true => Tcp::connect(address).await,
            false => Tcp::connect_from(local, address).await,
        }
    };
    let [only] = addresses else { return first_of(addresses, port, terms, connect).await };
    let address = SocketAddr::new(*only, port);
    let connecting = connect(address);
    let connected = terms.within(terms.time.connect, Phase::Connect, connecting).await;
    let connected = connected.and_then(|tcp| tcp.map_err(|e| Error::io(e, Phase::Connect)));
    connected.map_err(|error| error.with_detail(address).with_peer(PeerAddress::Inet(address)))
}

async fn first_of<T, F>(
    addresses: &[IpAddr],
    port: u16,
    terms: ConnectLimits<'_>,
    connect: impl Fn(SocketAddr) -> F,
) -> Result<T, Error>
where
    F: Future<Output = io::Result<T>>,
{
    let mut race = Race {
        rest: addresses.iter().map(|address| SocketAddr::new(*address, port)),
        connect,
        attempts: Vec::new(),
        failed: Vec::new(),
        next: Box::pin(sleep(Duration::ZERO)),
    };
    let racing = poll_fn(|cx| race.poll(cx));
    match terms.within(terms.time.connect, Phase::Connect, racing).await {
        Ok(Some(connected)) => Ok(connected),
        Ok(None) => Err(all_failed(race.failed)),
        Err(late) => {
            race.failed.extend(race.attempts.into_iter().map(|(address, _)| (address, silent())));
            let last = race.failed.last().map(|(address, _)| *address);
            let late = late.with_detail(Reasons(&race.failed));
            Err(match last {
                Some(address) => late.with_peer(PeerAddress::Inet(address)),
                None => late,
            })
        }
    }
}

type Attempt<F> = (SocketAddr, Pin<Box<F>>);

/// Attempts to connect, some of them under way.
struct Race<I, C, F> {
    /// What was not tried yet.
    rest: I,
    connect: C,
    /// The oldest first.
    attempts: Vec<Attempt<F>>,
    failed: Vec<(SocketAddr, io::Error)>,
    /// When the next address is tried.
    next: Pin<Box<Sleep>>,
}

impl<T, I, C, F> Race<I, C, F>
where
    I: Iterator<Item = SocketAddr>,
    C: Fn(SocketAddr) -> F,
    F: Future<Output = io::Result<T>>,
{
    /// Ready with the first connection; with none if there is no address left that could become one.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            let mut is_due = self.attempts.is_empty();
            let mut at = 0;
            while let Some((address, attempt)) = self.attempts.get_mut(at) {
                match attempt.as_mut().poll(cx) {
                    Poll::Ready(Ok(connected)) => return Poll::Ready(Some(connected)),
                    Poll::Ready(Err(error)) => {
                        self.failed.push((*address, error));
                        drop(self.attempts.remove(at));
                        is_due = true;
                    }
                    Poll::Pending => at += 1,
                }
            }
            if !is_due && self.next.as_mut().poll(cx).is_pending() {
                return Poll::Pending;
            }
            let Some(address) = self.rest.next() else {
                return if self.attempts.is_empty() { Poll::Ready(None) } else { Poll::Pending };
            };
            if self.attempts.len() >= ATTEMPTS_MAX {
                let (oldest, _) = self.attempts.remove(0);
                self.failed.push((oldest, silent()));
            }
            self.attempts.push((address, Box::pin((self.connect)(address))));
            self.next.as_mut().reset(Instant::now() + DELAY);
        }
    }
}

fn silent() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer")
}

/// The error that says most, and of several the last, with the others in its details.
fn all_failed(mut failed: Vec<(SocketAddr, io::Error)>) -> Error {
    let weight = |(address, error): &(SocketAddr, io::Error)| error_rank(*address, error);
    let Some(most) = failed.iter().map(weight).max() else {
        return Error::new(ErrorKind::DnsOther, Phase::Dns).with_detail("the name has no address");
    };
    // There is one at least.
    let at = failed.iter().rposition(|attempt| weight(attempt) == most).unwrap_or(0);
    let (address, reason) = failed.remove(at);
    let error = Error::io(reason, Phase::Connect).with_peer(PeerAddress::Inet(address));
    // Its reason is its source, which is shown behind this.
    match failed.is_empty() {
        true => error.with_detail(address),
        false => error.with_detail(format_args!("{}; {address}", Reasons(&failed))),
    }
}

/// How much an error says of why a name could not be connected to. A missing descriptor or port is this
/// machine's fault and temporary; a host that answered exists; an address without a route may be reached
/// from elsewhere. A machine without IPv6 reports its want of a route to an IPv6 address as that of an
/// address of its own.
fn error_rank(address: SocketAddr, error: &io::Error) -> u8 {
    match Error::io(copy(error), Phase::Connect).kind() {
        ErrorKind::TooManyFiles => 4,
        ErrorKind::NoLocalPorts if address.is_ipv6() => 0,
        ErrorKind::NoLocalPorts => 3,
        ErrorKind::ConnectRefused | ErrorKind::ConnectReset => 2,
        ErrorKind::ConnectTimeout => 1,
        _ => 0,
    }
}

/// As much of it as tells what it means.
fn copy(error: &io::Error) -> io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error)
}

/// Addresses that an error names with their reasons: a name may have 32, and a line of text has
/// room for few.
const REASONS_MAX: usize = 4;

/// Addresses and why each could not be connected to.
struct Reasons<'a>(&'a [(SocketAddr, io::Error)]);

impl std::fmt::Display for Reasons<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (address, error)) in self.0.iter().take(REASONS_MAX).enumerate() {
            let separator = if at > 0 { "; " } else { "" };
            write!(f, "{separator}{address}: {error}")?;
        }
        match self.0.len().saturating_sub(REASONS_MAX) {
            0 => Ok(()),
            more => write!(f, "; {more} more"),
        }
    }
}

#[cfg(test)]
mod tests;
