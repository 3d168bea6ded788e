//! Acquires what a request is sent over: an idle connection, a stream of a shared one, or a new one.

use std::borrow::Cow;
use std::time::Instant;

use stoop_io::{AnyTransport, LivenessCheck, PeerAddress, Transport, is_public, now};
use stoop_proto::Violation;
use url::{Position, Url};

use super::repeat::Tries;
use super::run::RequestRun;
#[cfg(feature = "proxy")]
use crate::client::connect::address_of;
use crate::client::connect::private_address;
use crate::client::descriptor_wait::DescriptorWait;
use crate::client::http1::Http1;
use crate::client::http2;
use crate::client::outgoing::Outgoing;
use crate::client::pool::{Acquire, ConnectPermit, Grant, Lease, StreamPermit};
use crate::client::terms::{ConnectLimits, within};
use crate::conn::wire::LIVENESS_CACHE;
use crate::error::{Error, Phase};
use crate::limits::after;
use crate::timings::Stopwatch;
use crate::versions::Versions;

/// What a request is sent over, acquired for it.
pub(super) struct Acquired {
    pub(super) carrier: Carrier,
    /// The connection was used or shared before.
    pub(super) reused: bool,
}

pub(super) enum Carrier {
    Lease(Lease),
    Stream(StreamPermit),
}

impl RequestRun<'_> {
    /// A connection for a request, to its URL's origin, or a share of one. Idle connections are checked as of
    /// `watch.since`, which saves a read of the clock.
    pub(super) async fn acquire(
        &self,
        outgoing: &Outgoing,
        tries: &Tries,
        watch: &mut Stopwatch,
    ) -> Result<Acquired, Error> {
        let url = outgoing.url();
        let (versions, origin) = self.key(url, tries);
        let (new_only, origin) = (tries.stale > 0, &*origin);
        let mut descriptor_wait = DescriptorWait::default();
        loop {
            let grant = match self.shared.pool.acquire(origin, versions, new_only) {
                Acquire::Granted(grant) => grant,
                Acquire::Closed => return Err(Error::client_closed(Phase::Queue)),
                // Boxed, as all that is rare: what is awaited here is part of every request's size.
                Acquire::Queued(ticket) => {
                    let grant = Box::pin(within(
                        self.shared.limits.time.queue,
                        self.due,
                        Phase::Queue,
                        ticket,
                    ))
                    .await?;
                    watch.lap(Phase::Queue);
                    grant.ok_or_else(|| Error::client_closed(Phase::Queue))?
                }
            };
            let permit = match grant {
                Grant::Connect(permit) => permit,
                Grant::Stream(stream) => {
                    self.check_address(stream.connection.peer, url)?;
                    return Ok(Acquired { carrier: Carrier::Stream(stream), reused: true });
                }
                Grant::Reuse(mut lease) => {
                    let is_idempotent = outgoing.method().is_idempotent();
                    if !new_only && self.may_reuse(&mut lease, is_idempotent, watch.since) {
                        return self.leased(lease, url, true);
                    }
                    // One that idles is worth a try. Else the place stays this request's: none that came later
                    // gets it.
                    if !new_only && lease.has_idle_beside() {
                        drop(lease.take());
                        continue;
                    }
                    match lease.close() {
                        Some(permit) => permit,
                        None => continue,
                    }
                }
            };
            let (backoff, limits) = (&self.shared.backoff, &self.shared.limits.pool);
            backoff.check(origin, now())?;
            // Boxed with all it needs, for the same reason.
            let connecting = Box::pin(self.shared.connector.connect(
                url,
                versions,
                ConnectLimits {
                    time: &self.shared.limits.time,
                    due: self.due,
                    setup_by: self.shared.connector.setup.map(|limit| after(now(), limit)),
                    public_only: self.public_only,
                    observer: self.observer,
                    #[cfg(feature = "proxy")]
                    via: self.via,
                },
                watch,
            ));
            let io = match connecting.await {
                Ok(io) => {
                    backoff.connected(origin);
                    io
                }
                Err(error) => {
                    backoff.failed(origin, &error, now(), limits);
                    // Another request that waits may take the place and has a descriptor for it.
                    drop(permit);
                    let (pool, own) = (&self.shared.pool, self.shared.limits.time.connect);
                    let waited = descriptor_wait.wait(error, pool, own, self.due.before_head());
                    Box::pin(waited).await?;
                    watch.lap(Phase::Queue);
                    continue;
                }
            };
            return self.connected(permit, io, versions, url);
        }
    }

    /// The versions that may be spoken, and what tells the connections for a URL apart from all others.
    fn key<'u>(&self, url: &'u Url, tries: &Tries) -> (Versions, Cow<'u, str>) {
        let origin = Cow::Borrowed(&url[..Position::BeforePath]);
        #[cfg(feature = "proxy")]
        let origin = self.via.map_or(origin.clone(), |via| via.key(&origin).into());
        let chosen = match self.is_forwarded() {
            true => Versions::Http1,
            false => self.shared.connector.versions(url),
        };
        // Those of other versions are connections of their own: any other may have the client's.
        match if tries.http1 { Some(Versions::Http1) } else { self.versions } {
            Some(Versions::Http1) if chosen != Versions::Http1 => {
                (Versions::Http1, format!("{origin} over HTTP/1.1").into())
            }
            Some(Versions::Http2) if chosen != Versions::Http2 => {
                (Versions::Http2, format!("{origin} over HTTP/2").into())
            }
            _ => (chosen, origin),
        }
    }

    /// Whether a proxy reads the request.
    fn is_forwarded(&self) -> bool {
        #[cfg(feature = "proxy")]
        return self.via.is_some_and(|via| via.is_forwarded);
        #[cfg(not(feature = "proxy"))]
        false
    }

    /// The first use of a connection that was made.
    fn connected(
        &self,
        permit: ConnectPermit,
        io: AnyTransport,
        versions: Versions,
        url: &Url,
    ) -> Result<Acquired, Error> {
        if versions.begin_with_http2(io.alpn()) {
            let (limits, wire_limits) = (&self.shared.limits, &self.shared.wire_limits);
            let peer = io.peer();
            let stream = http2::connect(permit, io, limits.clone(), wire_limits.clone());
            self.check_address(peer, url)?;
            return Ok(Acquired { carrier: Carrier::Stream(stream), reused: false });
        }
        let mut connection = Http1::new(io, self.shared.limits.pool.lifetime);
        if connection.has_spoken() {
            // RFC 9112 §9.2: never taken for an answer.
            let error = Error::violation(Violation::Unsolicited, Phase::Wait);
            return Err(error.with_peer(connection.peer()));
        }
        self.leased(permit.lease(connection), url, false)
    }

    fn leased(&self, lease: Lease, url: &Url, reused: bool) -> Result<Acquired, Error> {
        if let Some(connection) = lease.connection() {
            self.check_address(connection.peer(), url)?;
        }
        Ok(Acquired { carrier: Carrier::Lease(lease), reused })
    }

    /// Whether a connection that idled is still fit: alive, silent, not too old, and on this runtime. What
    /// can be sent again is trusted to one that idled for a moment without a system call.
    fn may_reuse(&self, lease: &mut Lease, is_idempotent: bool, now: Instant) -> bool {
        let Some(connection) = lease.connection_mut() else { return false };
        let idled = now.saturating_duration_since(connection.since);
        let look = match is_idempotent && idled <= LIVENESS_CACHE {
            true => LivenessCheck::Cached,
            false => LivenessCheck::Kernel,
        };
        idled < self.shared.limits.pool.idle
            && !connection.is_expired(now)
            && connection.is_viable()
            && connection.is_quiet(look)
            && lease.rebind_to_current_runtime()
    }

    /// Checks where a connection leads, whichever request it was made for: a redirect may not go there.
    fn check_address(&self, peer: PeerAddress, url: &Url) -> Result<(), Error> {
        // What the proxy connects to is seen in the URL alone.
        #[cfg(feature = "proxy")]
        if self.via.is_some() {
            return match (address_of(url), self.public_only) {
                (Some(address), Some(why)) if !is_public(address) => {
                    Err(private_address(url, address, why))
                }
                _ => Ok(()),
            };
        }
        match (peer, self.public_only) {
            (PeerAddress::Inet(address), Some(why)) if !is_public(address.ip()) => {
                Err(private_address(url, address.ip(), why))
            }
            _ => Ok(()),
        }
    }
}
