//! Functions around the call of a client.

use std::future::Future;
use std::sync::Arc;

use stoop_proto::ResponseHead;
use tokio::sync::mpsc;

use crate::client::shared::{ClientShared, Next};
use crate::client::{retry, send};
use crate::error::Error;
use crate::request::Request;
use crate::response::Response;

/// Interim responses that arrive in one poll of a call and are then shown to its caller. Beyond it they are
/// dropped; of one exchange there are no more than
/// [`interim_max`](crate::limits::WireLimits::interim_max).
const INTERIM_MAX: usize = 64;

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

/// Sends a request through all middleware.
pub(super) async fn send_through(
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
