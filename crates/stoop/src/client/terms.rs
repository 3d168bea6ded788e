//! What limits the making of a connection, beside the limits of each of its phases.

use std::future::Future;
use std::time::{Duration, Instant};

use stoop_io::now;

use crate::client::deadlines::Due;
use crate::client::observe::RequestObserver;
#[cfg(feature = "proxy")]
use crate::client::proxy::Via;
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{ClientTime, after};

/// Why a request may be sent to public addresses alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublicOnly {
    /// It [says so](crate::Request::public_only).
    Wished,
    /// A public server led to it.
    Redirected,
}

/// The limits that apply while a connection is made for a request.
#[derive(Clone, Copy)]
pub(crate) struct ConnectLimits<'a> {
    pub(crate) time: &'a ClientTime,
    /// The exchange's deadlines.
    pub(crate) due: Due,
    /// When name, connection and TLS have to be done, by the limit for all of them.
    pub(crate) setup_by: Option<Instant>,
    /// Why only public addresses will do, if that is so.
    pub(crate) public_only: Option<PublicOnly>,
    /// What is told of the request that it is made for.
    pub(crate) observer: &'a RequestObserver,
    /// The proxy that the connection goes through.
    #[cfg(feature = "proxy")]
    pub(crate) via: Option<&'a Via>,
}

impl ConnectLimits<'_> {
    /// Waits for `what`, but not past its own limit, nor past the limit for name, connection and
    /// TLS, which makes the same kind of error in each phase, nor past the exchange's deadlines.
    pub(super) async fn within<T>(
        &self,
        limit: Option<Duration>,
        phase: Phase,
        what: impl Future<Output = T>,
    ) -> Result<T, Error> {
        let Some(by) = self.setup_by else { return within(limit, self.due, phase, what).await };
        let own = limit.map_or(by, |limit| after(now(), limit).min(by));
        let left = own.saturating_duration_since(now());
        within(Some(left), self.due, phase, what).await.map_err(|error| match error.kind() {
            ErrorKind::DnsTimeout | ErrorKind::TlsTimeout if own == by => {
                Error::new(ErrorKind::ConnectTimeout, phase)
            }
            _ => error,
        })
    }
}

/// Waits for `what`, but not past its own limit nor past the exchange's deadlines.
pub(super) async fn within<T>(
    limit: Option<Duration>,
    due: Due,
    phase: Phase,
    what: impl Future<Output = T>,
) -> Result<T, Error> {
    let own = limit.map(|limit| after(now(), limit));
    let Some(by) = own.into_iter().chain(due.before_head()).min() else { return Ok(what.await) };
    tokio::time::timeout_at(by.into(), what).await.map_err(|_| {
        let own = match phase {
            Phase::Queue => ErrorKind::QueueTimeout,
            Phase::Dns => ErrorKind::DnsTimeout,
            Phase::Tls => ErrorKind::TlsTimeout,
            _ => ErrorKind::ConnectTimeout,
        };
        Error::new(due.kind(by).unwrap_or(own), phase)
    })
}
