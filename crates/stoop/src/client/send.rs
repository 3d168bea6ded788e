//! One request from the call to the head of its final response: redirects, retries, connections.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use http::Method;
use stoop_io::{Look, Peer, Transport, is_public, now};
use stoop_proto::{ResponseHead, Violation};
use url::{Position, Url};

use crate::body::{Body, Kind};
use crate::client::connect::{Terms, private_address, within};
use crate::client::outgoing::Outgoing;
use crate::client::pool::{Asked, Grant};
use crate::client::starved::Starved;
use crate::client::{Shared, promote};
use crate::conn::exchange::{Answered, Exchange};
use crate::conn::http1::{self, Http1, Lease};
use crate::conn::http2::{self, Reserved};
use crate::conn::recycle::Recycle;
use crate::conn::wire::TRUSTED_FOR;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::Request;
use crate::response::Response;
use crate::timings::Stopwatch;
use crate::upgrade::Upgraded;
use crate::versions::Versions;

type Interim<'a> = &'a mut (dyn FnMut(&ResponseHead) + Send);

/// How long a refused request waits before it is sent again, and at most.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(320);

pub(crate) async fn send(
    shared: &Shared,
    request: Request,
    total: Option<Instant>,
    interim: Interim<'_>,
) -> Result<Response, Error> {
    let mut outgoing = Outgoing::new(shared, request)?;
    let mut redirects = 0;
    let mut public_only = false;
    loop {
        let job = Job { shared, total, public_only, http1: false };
        let (head, exchange, peer) = match job.run(&mut outgoing, interim).await? {
            Outcome::Response { head, exchange, peer } => (head, exchange, peer),
            Outcome::Switched(_) => {
                let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
                return Err(error.with_detail("to switch protocols, use Client::switch"));
            }
        };
        let followed = outgoing.follow(&head, redirects, shared);
        if !followed.map_err(|error| error.with_peer(peer).with_timings(outgoing.parts.timings))? {
            let mut response = Response::received(head, content(exchange));
            response.redirects = redirects;
            response.sent = Some(outgoing.parts);
            return Ok(response);
        }
        redirects += 1;
        public_only |= !shared.allow_private && is_public_peer(peer);
        // What the redirect says in its content is of no interest; short content is read so that
        // the connection can serve again.
        drop(exchange);
        if total.is_some_and(|total| total <= now()) {
            return Err(Error::new(ErrorKind::TotalTimeout, Phase::Redirect));
        }
    }
}

/// Sends a request that offers to switch protocols.
pub(crate) async fn switch(
    shared: &Shared,
    request: Request,
    total: Option<Instant>,
) -> Result<Result<Upgraded, Response>, Error> {
    let mut outgoing = Outgoing::new(shared, request)?;
    // An Upgrade is HTTP/1.1's; over HTTP/2 there are only tunnels.
    let may_choose = shared.connector.versions(outgoing.url()) == Versions::All;
    let http1 = may_choose && *outgoing.method() != Method::CONNECT;
    let job = Job { shared, total, public_only: false, http1 };
    Ok(match job.run(&mut outgoing, &mut |_| {}).await? {
        Outcome::Switched(upgraded) => Ok(upgraded),
        Outcome::Response { head, exchange, .. } => {
            let mut response = Response::received(head, content(exchange));
            response.sent = Some(outgoing.parts);
            Err(response)
        }
    })
}

/// The content of a response. If its request is still being sent over HTTP/1, somebody must go on
/// sending even while the owner looks elsewhere: then the exchange becomes a task.
fn content(exchange: Exchange) -> Body {
    match exchange {
        Exchange::Http1(exchange) if exchange.is_uploading() => promote::promote(exchange),
        exchange if exchange.has_ended() => Body::empty(),
        exchange => Body(Kind::Response(Box::new(exchange))),
    }
}

fn is_public_peer(peer: Peer) -> bool {
    matches!(peer, Peer::Inet(address) if is_public(address.ip()))
}

/// How one request is to be sent.
#[derive(Clone, Copy)]
struct Job<'a> {
    shared: &'a Shared,
    total: Option<Instant>,
    public_only: bool,
    /// It is for HTTP/1.1 alone.
    http1: bool,
}

enum Outcome {
    Response { head: Recycle<ResponseHead>, exchange: Exchange, peer: Peer },
    Switched(Upgraded),
}

impl Job<'_> {
    /// Sends the request, again if the connection it was given turns out to have been closed, or the
    /// server did nothing of it. How long that took is kept beside the request.
    async fn run(&self, outgoing: &mut Outgoing, interim: Interim<'_>) -> Result<Outcome, Error> {
        let mut watch = Stopwatch::new(outgoing.parts.timings);
        let mut tries = Tries { http1: self.http1, ..Tries::default() };
        let error = loop {
            let had = match self.have(outgoing.url(), &tries, &mut watch).await {
                Ok(had) => had,
                Err(error) => break error,
            };
            let reused = had.reused;
            let failed = match self.exchange(had, outgoing, watch.since, interim).await {
                Ok(outcome) => {
                    watch.lap(Phase::Wait);
                    outgoing.parts.timings = watch.timings;
                    return Ok(outcome);
                }
                Err(failed) => failed,
            };
            if !self.may_repeat(outgoing, &failed, reused, &mut tries) {
                break failed.error;
            }
            let again = failed.error.kind() == ErrorKind::H2Refused || tries.refused > 1;
            let waits = again && !failed.error.wants_http1();
            if waits && !Box::pin(self.pause(tries.refused)).await {
                break failed.error;
            }
            match failed.unsent {
                Some(body) => outgoing.body = body,
                None => outgoing.repeat(),
            }
            watch.lap(if waits { Phase::Queue } else { failed.error.phase() });
            tries.http1 |= failed.error.wants_http1();
        };
        watch.lap(error.phase());
        Err(error.with_timings(watch.timings))
    }

    /// Whether a request that failed is sent again.
    fn may_repeat(
        &self,
        outgoing: &Outgoing,
        failed: &Failed,
        reused: bool,
        tries: &mut Tries,
    ) -> bool {
        let (error, limits) = (&failed.error, &self.shared.limits);
        if failed.unsent.is_none() && !outgoing.is_repeatable() {
            return false;
        }
        // RFC 9113 §8.7: whatever it is, if the server did nothing of it.
        if error.is_refused() {
            tries.refused += 1;
            return tries.refused <= limits.refusals_max;
        }
        // RFC 9110 §9.2.2, RFC 9112 §9.3.1: only what is idempotent, only on a connection that
        // may have been closed before we wrote, only unanswered.
        let is_stale = reused
            && !failed.received
            && matches!(error.kind(), ErrorKind::ClosedEarly | ErrorKind::Reset)
            && outgoing.method().is_idempotent();
        tries.stale += 1;
        is_stale && tries.stale <= limits.retries_max
    }

    /// Waits before a refused request is sent for the n-th time. False if the deadline comes before
    /// that: that it was refused says more than that it took too long.
    async fn pause(&self, n: u32) -> bool {
        let until = now() + (PAUSE * 2u32.saturating_pow(n.saturating_sub(1))).min(PAUSE_MAX);
        let is_in_time = self.total.is_none_or(|total| until < total);
        if is_in_time {
            tokio::time::sleep_until(until.into()).await;
        }
        is_in_time
    }

    /// A connection to the URL's origin, or a share of one. Had since the watch says, which is as good
    /// as now.
    async fn have(&self, url: &Url, tries: &Tries, watch: &mut Stopwatch) -> Result<Had, Error> {
        let (fresh, origin) = (tries.stale > 0, &url[..Position::BeforePath]);
        let (versions, origin) = match tries.http1 {
            // Connections of their own: those of HTTP/2 are for everything else.
            true => (Versions::Http1, &*format!("{origin} over HTTP/1.1")),
            false => (self.shared.connector.versions(url), origin),
        };
        let mut starved = Starved::default();
        loop {
            let grant = match self.shared.pool.ask(origin, versions, fresh) {
                Asked::Now(grant) => grant,
                // Boxed, as all that is rare: what is awaited here is part of every request's size.
                Asked::Later(turn) => {
                    let grant = Box::pin(within(None, self.total, Phase::Queue, turn)).await?;
                    watch.lap(Phase::Queue);
                    grant
                }
            };
            let permit = match grant {
                Grant::Connect(permit) => permit,
                Grant::Stream(reserved) => {
                    self.allowed(reserved.connection.peer, url)?;
                    return Ok(Had { way: Way::Stream(reserved), reused: true });
                }
                Grant::Reuse(mut lease) => {
                    if !fresh && self.may_reuse(&mut lease, watch.since) {
                        return self.leased(lease, url, true);
                    }
                    match lease.close() {
                        Some(permit) if fresh => permit,
                        _ => continue,
                    }
                }
            };
            let terms = Terms {
                time: &self.shared.limits.time,
                total: self.total,
                public_only: self.public_only,
            };
            let connecting = self.shared.connector.connect(url, versions, terms, watch);
            let io = match Box::pin(connecting).await {
                Ok(io) => io,
                Err(error) => {
                    // Whoever has a place and no descriptor for it may take what comes back.
                    drop(permit);
                    let pool = &self.shared.pool;
                    let waited = starved.wait(error, pool, terms.time.connect, self.total);
                    Box::pin(waited).await?;
                    watch.lap(Phase::Queue);
                    continue;
                }
            };
            if versions.begin_with_http2(io.alpn()) {
                let peer = io.peer();
                let reserved = http2::connect(permit, io, self.shared.limits.clone());
                self.allowed(peer, url)?;
                return Ok(Had { way: Way::Stream(reserved), reused: false });
            }
            let mut connection = Http1::new(io);
            if connection.has_spoken() {
                // RFC 9112 §9.2: never taken for an answer.
                let error = Error::violation(Violation::Unsolicited, Phase::Wait);
                return Err(error.with_peer(connection.io.peer()));
            }
            return self.leased(permit.fill(connection), url, false);
        }
    }

    fn leased(&self, mut lease: Lease, url: &Url, reused: bool) -> Result<Had, Error> {
        if let Some(connection) = lease.connection() {
            self.allowed(connection.io.peer(), url)?;
        }
        Ok(Had { way: Way::Lease(lease), reused })
    }

    /// Whether a connection that idled is still fit: alive, silent, not too old, and on this runtime.
    fn may_reuse(&self, lease: &mut Lease, now: Instant) -> bool {
        let Some(connection) = lease.connection() else { return false };
        let rested = now.saturating_duration_since(connection.idle_since);
        let look = if rested > TRUSTED_FOR { Look::Kernel } else { Look::Cached };
        rested < self.shared.limits.pool.idle
            && connection.is_viable()
            && connection.is_quiet(look)
            && lease.come_here()
    }

    /// Whoever it was made for, and however: a connection may lead where a redirect may not.
    fn allowed(&self, peer: Peer, url: &Url) -> Result<(), Error> {
        match peer {
            Peer::Inet(address) if self.public_only && !is_public(address.ip()) => {
                Err(private_address(url, address.ip()))
            }
            _ => Ok(()),
        }
    }

    async fn exchange(
        &self,
        had: Had,
        outgoing: &mut Outgoing,
        begun: Instant,
        interim: Interim<'_>,
    ) -> Result<Outcome, Failed> {
        let unsent = |error| Failed { error, received: false, unsent: None };
        let limits = self.shared.limits.clone();
        let body = std::mem::take(&mut outgoing.body);
        let times = (begun, self.total);
        let (mut exchange, peer) = match had.way {
            Way::Lease(mut lease) => {
                let peer = lease.connection().map_or(Peer::Memory, |http1| http1.io.peer());
                outgoing.parts.peer = Some(peer);
                let head = outgoing.head();
                let started = http1::exchange::Exchange::start(lease, head, body, limits, times);
                (Exchange::Http1(started.map_err(unsent)?), peer)
            }
            Way::Stream(reserved) => {
                let peer = reserved.connection.peer;
                outgoing.parts.peer = Some(peer);
                let parts = std::mem::replace(&mut outgoing.parts, Recycle::new());
                let started =
                    http2::exchange::Exchange::start(reserved, parts, body, limits, times);
                let started = started.map_err(|(parts, body)| {
                    outgoing.parts = parts;
                    let gone = Error::new(ErrorKind::ClosedEarly, Phase::Wait).unprocessed();
                    Failed { unsent: Some(body), ..unsent(gone.with_peer(peer)) }
                });
                (Exchange::Http2(Box::new(started?)), peer)
            }
        };
        let mut head = Recycle::<ResponseHead>::new();
        let answered = poll_fn(|cx| exchange.poll_head(cx, &mut head, interim)).await;
        if let Exchange::Http2(exchange) = &exchange
            && let Some(parts) = exchange.take_request()
        {
            outgoing.parts = parts;
        }
        match answered {
            Ok(Answered::Head) => Ok(Outcome::Response { head, exchange, peer }),
            Ok(Answered::Switched) => {
                exchange.into_upgraded().map(Outcome::Switched).map_err(unsent)
            }
            Err(error) => {
                let unsent = match &exchange {
                    Exchange::Http1(_) => None,
                    Exchange::Http2(exchange) => exchange.take_unsent(),
                };
                Err(Failed { error, received: exchange.has_received(), unsent })
            }
        }
    }
}

/// What a request goes out on.
struct Had {
    way: Way,
    /// It was there before.
    reused: bool,
}

enum Way {
    Lease(Lease),
    Stream(Reserved),
}

/// How often a request was sent again, and why.
#[derive(Default)]
struct Tries {
    stale: u32,
    refused: u32,
    /// The server wants HTTP/1.1 for this one.
    http1: bool,
}

struct Failed {
    error: Error,
    received: bool,
    /// The request's content, if nothing of the request was sent.
    unsent: Option<Body>,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use stoop_io::{Peer, from_io_with_peer};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use crate::{Client, ClientBuilder, ErrorKind, Phase};

    /// Whoever spawns a request on a runtime of several threads needs this.
    #[allow(dead_code)]
    fn a_request_under_way_can_be_sent_to_another_thread(client: Client) -> impl Send {
        async move { client.get("http://a/").await?.into_body().chunk().await }
    }

    #[tokio::test]
    async fn a_request_under_way_is_small() {
        let client = Client::new();
        let future = client.get("http://a/");
        assert!(size_of_val(&future) <= 1024, "{} bytes", size_of_val(&future));
    }

    /// A client whose n-th connection is to the n-th of these addresses. Each answers `/` by a
    /// redirect to the host `inside`, and anything else by 200.
    fn going_to(builder: ClientBuilder, addresses: &'static [&'static str]) -> Client {
        let made = AtomicUsize::new(0);
        let connect = move || {
            let address = addresses[made.fetch_add(1, Ordering::Relaxed)].parse().unwrap();
            let (ours, mut theirs) = tokio::io::duplex(4096);
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while let Ok(1..) = theirs.read(&mut request).await {
                    let answer: &[u8] = match request.starts_with(b"GET / ") {
                        true => b"HTTP/1.1 302 Go\r\nlocation: http://inside/x\r\ncontent-length: 0\r\n\r\n",
                        false => b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
                    };
                    theirs.write_all(answer).await.unwrap();
                }
            });
            from_io_with_peer(ours, Peer::Inet(address))
        };
        builder.connections_from(connect).build().unwrap()
    }

    async fn outcome(client: &Client, url: &str) -> Result<u16, (ErrorKind, Phase)> {
        let response = client.get(url).await.map_err(|error| (error.kind(), error.phase()))?;
        Ok(response.status().as_u16())
    }

    #[tokio::test]
    async fn a_public_server_may_not_send_us_to_a_private_one() {
        let denied = Err((ErrorKind::RedirectDenied, Phase::Redirect));
        for private in [&["8.8.8.8:80", "10.0.0.1:80"], &["[2606::1]:80", "[::ffff:7f00:1]:80"]] {
            let client = going_to(Client::builder(), private);
            assert_eq!(outcome(&client, "http://outside/").await, denied);
            // Nor by a connection that was made for somebody who may go there.
            assert_eq!(outcome(&client, "http://inside/x").await, Ok(200));
            assert_eq!(client.connections(), (2, 2));
            assert_eq!(outcome(&client, "http://outside/").await, denied);
            let client = going_to(Client::builder().allow_private(true), private);
            assert_eq!(outcome(&client, "http://outside/").await, Ok(200));
        }
        // Who is private already may lead anywhere, and a public one to another.
        for fine in [
            &["10.0.0.1:80", "127.0.0.1:80"],
            &["10.0.0.1:80", "8.8.8.8:80"],
            &["8.8.8.8:80", "9.9.9.9:80"],
        ] {
            assert_eq!(
                outcome(&going_to(Client::builder(), fine), "http://outside/").await,
                Ok(200)
            );
        }
    }
}
