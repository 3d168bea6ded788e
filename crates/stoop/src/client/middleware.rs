//! Functions around the call of a client.

use std::future::Future;
use std::sync::Arc;

use stoop_io::now;
use stoop_proto::ResponseHead;
use tokio::sync::mpsc;

use crate::client::shared::{ClientShared, Next};
use crate::client::{retry, send};
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::after;
use crate::request::{Request, RequestDeadlines};
use crate::response::Response;

/// Interim responses that arrive in one poll of a call and are then shown to its caller. Beyond it they are
/// dropped; of one exchange there are no more than
/// [`interim_max`](crate::limits::WireLimits::interim_max).
const INTERIM_MAX: usize = 64;

/// Middleware that does not end is left one part in so many of the deadline after it.
const PATIENCE: u32 = 20;

impl Next {
    pub(super) fn new(
        shared: Arc<ClientShared>,
        interim: Option<mpsc::Sender<ResponseHead>>,
    ) -> Self {
        Self { shared, index: 0, interim }
    }

    /// Sends the request on and waits for the head of its response: see [`Client::send`](crate::Client::send).
    ///
    /// # Errors
    /// Those of the middleware further in, and of the client.
    pub async fn run(self, request: Request) -> Result<Response, Error> {
        let Self { shared, index, interim } = self;
        if let Some(middleware) = shared.middleware.get(index) {
            let next = Self { shared: Arc::clone(&shared), index: index + 1, interim };
            return middleware(request, next).await;
        }
        let mut show = |head: &ResponseHead| {
            if let Some(interim) = &interim {
                let _ = interim.try_send(head.clone());
            }
        };
        if shared.retries.max > 0 {
            return retry::send(&shared, request, &mut show).await;
        }
        send::send(&shared, request, &mut show).await
    }
}

/// Sends a request through all middleware, whose time counts: the deadline of the request is that of the call.
pub(super) async fn send_through(
    shared: &Arc<ClientShared>,
    mut request: Request,
    interim: Option<&mut (dyn FnMut(&ResponseHead) + Send)>,
) -> Result<Response, Error> {
    // Without middleware the client keeps the deadline by itself.
    let total = retry::total(&request, shared).filter(|_| !shared.middleware.is_empty());
    let Some(total) = total else {
        return call(shared, request, interim).await;
    };
    let by = after(now(), total);
    let is_default = matches!(request.parts.deadlines, RequestDeadlines::Default);
    request.parts.deadlines = RequestDeadlines::Until { total: by, is_default };
    // What is left of it is the client's to keep, which knows more of what it waits for.
    let patience = after(by, total / PATIENCE);
    let called = tokio::time::timeout_at(patience.into(), call(shared, request, interim)).await;
    called.unwrap_or_else(|_| {
        let error = Error::new(ErrorKind::TotalTimeout, Phase::Request);
        Err(error.with_detail("in the middleware around the call"))
    })
}

async fn call(
    shared: &Arc<ClientShared>,
    request: Request,
    interim: Option<&mut (dyn FnMut(&ResponseHead) + Send)>,
) -> Result<Response, Error> {
    let Some(interim) = interim else {
        return Next::new(Arc::clone(shared), None).run(request).await;
    };
    let (sender, mut heads) = mpsc::channel(INTERIM_MAX);
    let mut call = Box::pin(Next::new(Arc::clone(shared), Some(sender)).run(request));
    std::future::poll_fn(|cx| {
        let polled = call.as_mut().poll(cx);
        while let Ok(head) = heads.try_recv() {
            interim(&head);
        }
        polled
    })
    .await
}
