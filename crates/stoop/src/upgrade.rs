//! Connections that stop speaking HTTP: after a 101 or a 2xx to CONNECT.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use stoop_io::AnyTransport;
use stoop_proto::ResponseHead;
use tokio::sync::oneshot;

use crate::conn::recycle::Recycle;
use crate::conn::tunnel::TunnelProgress;
use crate::error::{Error, ErrorKind, Phase};

/// A connection that is no longer HTTP's. What the peer sent behind the head is read first.
///
/// With [`stoop::rt`](crate::rt) it is read and written as any stream of tokio's.
pub struct Upgraded {
    pub(crate) io: AnyTransport,
    pub(crate) keep: Option<Keep>,
    /// What has switched it, at a client.
    pub(crate) head: Option<Recycle<ResponseHead>>,
    /// How far what is written gets, if it is a tunnel over a stream of HTTP/2.
    pub(crate) tunnel: Option<Arc<TunnelProgress>>,
}

impl Upgraded {
    /// The head of the response that has switched the connection, which may say on what terms: at a client. `None` at a
    /// server.
    pub fn response_head(&self) -> Option<&ResponseHead> {
        self.head.as_deref()
    }
}

/// What is to be kept as long as a connection, and dropped after it: its place among a server's.
pub(crate) type Keep = Box<dyn Send + Sync>;

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgraded")
    }
}

pub(crate) type UpgradeSender = oneshot::Sender<Upgraded>;

pub(crate) fn upgrade() -> (UpgradeSender, OnUpgrade) {
    let (sender, receiver) = oneshot::channel();
    (sender, OnUpgrade(receiver))
}

/// What switches the connection, on its way through the extensions of an `http::Response`.
#[derive(Clone)]
pub(crate) struct UpgradeExtension(Arc<Mutex<Option<UpgradeSender>>>);

impl UpgradeExtension {
    pub(crate) fn new(sender: UpgradeSender) -> Self {
        Self(Arc::new(Mutex::new(Some(sender))))
    }

    /// The sender, for the first of the copies that asks for it.
    pub(crate) fn take(&self) -> Option<UpgradeSender> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Gives the connection once it was switched; fails if it never is.
#[derive(Debug)]
pub struct OnUpgrade(oneshot::Receiver<Upgraded>);

impl Future for OnUpgrade {
    type Output = Result<Upgraded, Error>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(|_| {
            let error = Error::new(ErrorKind::Cancelled, Phase::Wait);
            error.with_detail("the connection was not switched")
        })
    }
}
