//! One request from the call to the head of its final response: redirects, retries, connections.

use std::future::poll_fn;
use std::time::{Duration, Instant};

use crate::dns_stub::is_public;
use base64::prelude::{BASE64_STANDARD, Engine};
use percent_encoding::percent_decode_str;
use stoop_io::{Liveness, Look, Peer, Transport, now};
use stoop_proto::ResponseHead;
use tokio::runtime::Handle;
use url::{Position, Url};

use crate::body::{Body, Kind};
use crate::client::connect::{Terms, private_address};
use crate::client::pool::Grant;
use crate::client::{Shared, redirect};
use crate::conn::exchange::{Answered, Exchange, Http1, Lease};
use crate::conn::recycle::Recycle;
use crate::error::{Error, ErrorKind, Phase};
use crate::request::Request;
use crate::response::Response;
use crate::upgrade::Upgraded;

type Interim<'a> = &'a mut (dyn FnMut(&ResponseHead) + Send);

/// A connection that idled for less is not asked whether it still lives: the answer would be stale
/// as soon as it is there, and a retry covers the rest.
const TRUSTED_FOR: Duration = Duration::from_millis(1);

pub(crate) async fn send(
    shared: &Shared,
    mut request: Request,
    total: Option<Instant>,
    interim: Interim<'_>,
) -> Result<Response, Error> {
    let mut url = prepare(shared, &mut request)?;
    let mut redirects = 0;
    let mut public_only = false;
    loop {
        let body = std::mem::take(&mut request.body);
        let copy = copy_of(&body);
        let job = Job { shared, url: &url, total, public_only };
        let outcome = job.run(&request, body, copy.as_ref(), interim).await?;
        let (head, exchange, peer) = match outcome {
            Outcome::Response { head, exchange, peer } => (head, exchange, peer),
            Outcome::Switched(_) => {
                let error = Error::new(ErrorKind::H1Parse, Phase::Wait);
                return Err(error.with_detail("the server switched protocols; use Client::switch"));
            }
        };
        let Some(next) = follow(shared, &mut request, copy, &head, &url, redirects)? else {
            let mut response = Response::received(head, promoted(exchange));
            response.redirects = redirects;
            response.url = Some(Box::new(url));
            return Ok(response);
        };
        redirects += 1;
        public_only |= !shared.allow_private && is_public_peer(peer);
        // What the redirect says in its content is of no interest; short content is read so that
        // the connection can serve again.
        drop(exchange);
        url = next;
        retarget(&mut request, &url)?;
    }
}

/// Sends a request that offers to switch protocols.
pub(crate) async fn switch(
    shared: &Shared,
    mut request: Request,
    total: Option<Instant>,
) -> Result<Result<Upgraded, Response>, Error> {
    let url = prepare(shared, &mut request)?;
    let body = std::mem::take(&mut request.body);
    let job = Job { shared, url: &url, total, public_only: false };
    Ok(match job.run(&request, body, None, &mut |_| {}).await? {
        Outcome::Switched(upgraded) => Ok(upgraded),
        Outcome::Response { head, exchange, .. } => {
            Err(Response::received(head, promoted(exchange)))
        }
    })
}

/// Takes the URL out of a request and puts in what every request has.
fn prepare(shared: &Shared, request: &mut Request) -> Result<Url, Error> {
    let Some(mut url) = request.parts.url.take() else {
        let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
        return Err(error.with_detail(format_args!("{:?} is not a whole URL", request.target())));
    };
    if !url.username().is_empty() || url.password().is_some() {
        authorize(request, &url)?;
        let _ = url.set_username("").and_then(|()| url.set_password(None));
    }
    if let Some(user_agent) = &shared.user_agent
        && !request.fields().contains("user-agent")
    {
        request.fields_mut().push("user-agent", user_agent.as_bytes())?;
    }
    if !request.fields().contains("accept") {
        request.fields_mut().push("accept", b"*/*")?;
    }
    retarget(request, &url)?;
    Ok(url)
}

/// `user:password@` of a URL becomes Basic credentials (RFC 7617), if the request has none.
fn authorize(request: &mut Request, url: &Url) -> Result<(), Error> {
    if request.fields().contains("authorization") {
        return Ok(());
    }
    let mut credentials: Vec<u8> = percent_decode_str(url.username()).collect();
    credentials.push(b':');
    credentials.extend(percent_decode_str(url.password().unwrap_or_default()));
    let value = format!("Basic {}", BASE64_STANDARD.encode(credentials));
    Ok(request.fields_mut().push("authorization", value.as_bytes())?)
}

/// Points a request at a URL: origin-form target and Host (RFC 9112 §3.2.1, §3.2).
fn retarget(request: &mut Request, url: &Url) -> Result<(), Error> {
    let head = &mut request.parts.head;
    head.set_target(&url[Position::BeforePath..Position::AfterQuery])?;
    // As `url` has it: the port only where it is not the scheme's own.
    let host = &url[Position::BeforeHost..Position::AfterPort];
    if head.fields().first("host") != Some(host.as_bytes()) {
        head.fields_mut().set("host", host.as_bytes())?;
    }
    Ok(())
}

/// A copy of content that can be sent more than once.
fn copy_of(body: &Body) -> Option<Body> {
    match &body.0 {
        Kind::Empty => Some(Body::empty()),
        Kind::Full(bytes) => Some(bytes.clone().into()),
        Kind::Request(_) | Kind::Response(_) | Kind::Stream(_) => None,
    }
}

/// Where a response leads, and the request changed accordingly; `None` if it is to be returned.
fn follow(
    shared: &Shared,
    request: &mut Request,
    body: Option<Body>,
    head: &ResponseHead,
    url: &Url,
    redirects: u16,
) -> Result<Option<Url>, Error> {
    let status = head.status();
    if !redirect::is_redirect(status) || shared.redirects.max == 0 {
        return Ok(None);
    }
    let Some(location) = head.fields().first("location") else { return Ok(None) };
    if redirects >= shared.redirects.max {
        let error = Error::new(ErrorKind::RedirectLimit, Phase::Redirect);
        return Err(error.with_detail(format_args!("more than {}, at {url}", shared.redirects.max)));
    }
    let next = redirect::target(url, location, &shared.redirects)?;
    let method = redirect::method(status, request.method());
    if method != *request.method() {
        request.parts.head.set_method(method);
        redirect::strip_content(request.fields_mut());
    } else if let Some(body) = body {
        request.body = body;
    } else {
        // A stream that was sent cannot be sent again: the caller has to.
        return Ok(None);
    }
    if !redirect::same_origin(url, &next) {
        redirect::strip_credentials(request.fields_mut());
    }
    Ok(Some(next))
}

fn is_public_peer(peer: Peer) -> bool {
    matches!(peer, Peer::Inet(address) if is_public(address.ip()))
}

/// One request to one URL.
struct Job<'a> {
    shared: &'a Shared,
    url: &'a Url,
    total: Option<Instant>,
    public_only: bool,
}

enum Outcome {
    Response { head: Recycle<ResponseHead>, exchange: Option<Exchange>, peer: Peer },
    Switched(Upgraded),
}

impl Job<'_> {
    /// Sends the request, again if the connection it was given turns out to have been closed.
    async fn run(
        &self,
        request: &Request,
        body: Body,
        again: Option<&Body>,
        interim: Interim<'_>,
    ) -> Result<Outcome, Error> {
        let mut body = Some(body);
        let mut retries = 0;
        loop {
            let (lease, reused) = self.connection(retries > 0).await?;
            let sent = body.take().unwrap_or_default();
            let error = match self.exchange(lease, request, sent, interim).await {
                Ok(outcome) => return Ok(outcome),
                Err(Failed { error, received }) => {
                    // RFC 9110 §9.2.2, RFC 9112 §9.3.1: only what is idempotent, only on a
                    // connection that may have been closed before we wrote, only unanswered.
                    let stale = reused
                        && !received
                        && matches!(error.kind(), ErrorKind::ClosedEarly | ErrorKind::Reset);
                    let may = error.is_unprocessed() || request.method().is_idempotent();
                    if !(stale && may) || retries >= self.shared.limits.retries_max {
                        return Err(error);
                    }
                    error
                }
            };
            match again.and_then(copy_of) {
                Some(copy) => body = Some(copy),
                None => return Err(error),
            }
            retries += 1;
        }
    }

    /// A connection to the URL's origin, and whether it has served before.
    async fn connection(&self, fresh: bool) -> Result<(Lease, bool), Error> {
        let origin = &self.url[..Position::BeforePath];
        loop {
            let grant = self.in_time(async {
                match fresh {
                    true => Grant::Connect(self.shared.pool.ask_fresh(origin).await),
                    false => self.shared.pool.ask(origin).await,
                }
            });
            match grant.await? {
                Grant::Reuse(mut lease) => {
                    if !may_reuse(&mut lease) {
                        lease.close();
                        continue;
                    }
                    if self.public_only
                        && let Some(connection) = lease.connection()
                        && let Peer::Inet(address) = connection.io.peer()
                        && !is_public(address.ip())
                    {
                        return Err(private_address(self.url, address.ip()));
                    }
                    return Ok((lease, true));
                }
                Grant::Connect(permit) => {
                    let terms = Terms {
                        time: &self.shared.limits.time,
                        total: self.total,
                        public_only: self.public_only,
                    };
                    let io = self.shared.connector.connect(self.url, terms).await?;
                    return Ok((permit.fill(Http1::new(io, Handle::current().id())), false));
                }
            }
        }
    }

    async fn in_time<T>(&self, what: impl Future<Output = T>) -> Result<T, Error> {
        let mut what = std::pin::pin!(what);
        // Most of the time it is ready at once, and no timer needs to be made.
        let first = poll_fn(|cx| std::task::Poll::Ready(what.as_mut().poll(cx))).await;
        if let std::task::Poll::Ready(done) = first {
            return Ok(done);
        }
        let Some(total) = self.total else { return Ok(what.await) };
        let late = |_| Error::new(ErrorKind::TotalTimeout, Phase::Queue);
        tokio::time::timeout_at(total.into(), what).await.map_err(late)
    }

    async fn exchange(
        &self,
        mut lease: Lease,
        request: &Request,
        body: Body,
        interim: Interim<'_>,
    ) -> Result<Outcome, Failed> {
        let unsent = |error| Failed { error, received: false };
        let peer = lease.connection().map_or(Peer::Memory, |connection| connection.io.peer());
        let limits = self.shared.limits.clone();
        let mut exchange = Exchange::start(lease, &request.parts.head, body, limits, self.total)
            .map_err(unsent)?;
        let mut head = Recycle::<ResponseHead>::new();
        let answered = poll_fn(|cx| exchange.poll_head(cx, &mut head, interim)).await;
        match answered {
            Ok(Answered::Head { end }) => {
                let exchange = (!end).then_some(exchange);
                Ok(Outcome::Response { head, exchange, peer })
            }
            Ok(Answered::Switched) => {
                exchange.into_upgraded().map(Outcome::Switched).map_err(unsent)
            }
            Err(error) => Err(Failed { error, received: exchange.has_received() }),
        }
    }
}

struct Failed {
    error: Error,
    received: bool,
}

/// Whether a connection that idled is still fit: alive, silent, and on this runtime.
fn may_reuse(lease: &mut Lease) -> bool {
    let Some(connection) = lease.connection() else { return false };
    let rested = now().saturating_duration_since(connection.idle_since);
    if rested > TRUSTED_FOR && connection.io.liveness(Look::Kernel) != Liveness::Quiet {
        return false;
    }
    connection.is_viable() && lease.come_here()
}

/// The content of a response. If its request is still being sent, somebody must go on sending even
/// while the owner looks elsewhere: then the exchange becomes a task.
fn promoted(exchange: Option<Exchange>) -> Body {
    let Some(mut exchange) = exchange else { return Body::empty() };
    if !exchange.is_uploading() {
        return Body(Kind::Response(Box::new(exchange)));
    }
    let (sender, body) = Body::channel(2);
    tokio::spawn(async move {
        loop {
            match poll_fn(|cx| exchange.poll_chunk(cx)).await {
                Some(Ok(piece)) => match sender.send(piece).await {
                    Ok(()) => {}
                    Err(_unwanted) => return,
                },
                Some(Err(error)) => return sender.fail(error).await,
                None => return,
            }
        }
    });
    body
}
