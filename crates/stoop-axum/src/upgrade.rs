//! Requests that ask to switch protocols.
//!
//! axum's extractors take the upgrade from the request as hyper's `OnUpgrade`, which hyper alone can make. So
//! for such a request, and for no other, a connection of hyper's is opened in memory. It reads a request for an
//! upgrade, which gives the `OnUpgrade`; and once the application has accepted, it writes a 101 and hands over
//! its transport, [`UpgradeIo`], which becomes the connection to the client.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use http::{Method, StatusCode, Version, header};
use hyper::body::Incoming;
use hyper::server::conn::http1::{Builder, UpgradeableConnection};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use stoop::{Body, Draining, Response};
use tokio::sync::oneshot;

use crate::upgrade_io::{PROTOCOL, UpgradeIo};

/// Polls of hyper's connection until it has read a request, or written a response, at most. Nothing in memory
/// makes it wait, so that one is enough; a change of hyper's must not make a request hang.
const POLLS_MAX: u32 = 8;

/// What a request that asks to switch protocols may switch to.
pub(crate) struct Offer {
    connection: MemoryConnection,
    /// Gives hyper's connection its response.
    answer: oneshot::Sender<http::Response<Body>>,
    /// Gives its transport the connection to the client.
    client: oneshot::Sender<stoop::OnUpgrade>,
    /// It was CONNECT that asked, which a 2xx accepts.
    is_connect: bool,
}

/// Notes with a request that asks to switch protocols how its server tells of its end: for what it switches to, and
/// for [`offer`]. It asks by Upgrade, which means nothing in HTTP/1.0 (RFC 9110 §7.8), by CONNECT (RFC 9110 §9.3.6), or by an
/// extended CONNECT over HTTP/2 (RFC 8441 §4).
pub(crate) fn note(request: &mut stoop::Request) {
    // HTTP/2 has no Upgrade (RFC 9113 §8.6).
    let upgrades = request.version() == Version::HTTP_11 && request.field("upgrade").is_some();
    if upgrades || *request.method() == Method::CONNECT {
        let draining = request.draining();
        request.extensions_mut().insert(draining);
    }
}

/// Gives the request its `OnUpgrade`, if it asks to switch protocols.
pub(crate) fn offer(request: &mut http::Request<Body>) -> Option<Offer> {
    let is_connect = *request.method() == Method::CONNECT;
    // What no request of HTTP/2 but CONNECT has is not looked for in them.
    if request.version() != Version::HTTP_11 && !is_connect {
        return None;
    }
    request.extensions().get::<Draining>()?;
    #[cfg(feature = "http2")]
    if let Some(protocol) = request.extensions().get::<stoop::ConnectProtocol>() {
        let protocol = hyper::ext::Protocol::from(protocol.as_str());
        request.extensions_mut().insert(protocol);
    }
    let (offer, on_upgrade) = Offer::begin(is_connect)?;
    request.extensions_mut().insert(on_upgrade);
    Some(offer)
}

impl Offer {
    fn begin(is_connect: bool) -> Option<(Self, OnUpgrade)> {
        let (answer, answered) = oneshot::channel();
        let (client, connected) = oneshot::channel();
        let (made, mut on_upgrade) = oneshot::channel();
        let service = AnswerLater(Mutex::new(Some((made, answered))));
        let io = TokioIo::new(UpgradeIo::new(connected));
        let connection = Builder::new().serve_connection(io, service).with_upgrades();
        let mut offer = Self { connection, answer, client, is_connect };
        for _ in 0..POLLS_MAX {
            let _ = poll_now(&mut offer.connection);
            if let Ok(on_upgrade) = on_upgrade.try_recv() {
                return Some((offer, on_upgrade));
            }
        }
        None
    }

    /// Switches, if the response says so: then the connection to the client follows it, and becomes the
    /// transport of what the application got.
    pub(crate) fn answered<B>(self, response: &mut http::Response<B>) {
        let Self { mut connection, answer, client, is_connect } = self;
        let switches = match response.status() {
            StatusCode::SWITCHING_PROTOCOLS => true,
            // To CONNECT; to any other request it is an ordinary response.
            status => status.is_success() && is_connect,
        };
        if !switches {
            return;
        }
        let accepted = http::Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
        let accepted = accepted.header(header::CONNECTION, "upgrade");
        let Ok(accepted) = accepted.header(header::UPGRADE, PROTOCOL).body(Body::empty()) else {
            return;
        };
        if answer.send(accepted).is_err() {
            return;
        }
        for _ in 0..POLLS_MAX {
            if poll_now(&mut connection).is_ready() {
                let (carrier, switched) = Response::tunnel();
                let (carrier, _) = http::Response::from(carrier).into_parts();
                // A response that switches by itself, as `stoop::Response` can, has what it takes.
                let its_own = std::mem::replace(response.extensions_mut(), carrier.extensions);
                response.extensions_mut().extend(its_own);
                let _ = client.send(switched);
                return;
            }
        }
    }
}

/// A connection of hyper's in memory.
type MemoryConnection = UpgradeableConnection<TokioIo<UpgradeIo>, AnswerLater>;

/// Polls a connection that nothing wakes: each step that it waits for is taken here.
fn poll_now(connection: &mut MemoryConnection) -> Poll<Result<(), hyper::Error>> {
    Pin::new(connection).poll(&mut Context::from_waker(Waker::noop()))
}

/// hyper's service: it gives the `OnUpgrade` away, and answers once the application has.
struct AnswerLater(Mutex<Option<Waiting>>);

/// Where its request's `OnUpgrade` goes, and where its response comes from.
type Waiting = (oneshot::Sender<OnUpgrade>, oneshot::Receiver<http::Response<Body>>);

impl hyper::service::Service<http::Request<Incoming>> for AnswerLater {
    type Response = http::Response<Body>;
    type Error = oneshot::error::RecvError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn call(&self, mut request: http::Request<Incoming>) -> Self::Future {
        let waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let on_upgrade = hyper::upgrade::on(&mut request);
        Box::pin(async move {
            // There is one request on this connection.
            let Some((made, answer)) = waiting else { return std::future::pending().await };
            let _ = made.send(on_upgrade);
            answer.await
        })
    }
}
