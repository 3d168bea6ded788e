//! The requests of a job as they were sent, with the heads of their responses: told by the client while it sends.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;

use stoop::{ClientEvent, Fields, Method, Version};

thread_local! {
    /// What is told goes here: to the job whose request this thread polls.
    static CURRENT: RefCell<Option<Vec<Exchange>>> = const { RefCell::new(None) };
}

/// A request as it was sent, and the head of its response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Exchange {
    /// The URL. It may have a password.
    pub url: String,
    /// The method.
    pub method: Method,
    /// The request-target.
    pub target: String,
    /// The fields of the request.
    pub request_fields: Fields,
    /// The address that it was sent to, if over TCP.
    pub remote_ip: Option<IpAddr>,
    /// The head of the final response; none if there was none.
    pub response: Option<ExchangeResponse>,
}

/// The head of a response.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExchangeResponse {
    /// The status.
    pub status: u16,
    /// The version of HTTP.
    pub version: Version,
    /// The fields, as they came.
    pub fields: Fields,
}

/// Listens to the client, wherever `recorded` is polled.
pub(crate) fn listen(event: &ClientEvent<'_>) {
    CURRENT.with_borrow_mut(|current| {
        let Some(exchanges) = current else { return };
        match event {
            ClientEvent::Sending { head, url, remote, .. } => exchanges.push(Exchange {
                url: (*url).to_owned(),
                method: head.method().clone(),
                target: head.target().to_owned(),
                request_fields: head.fields().clone(),
                remote_ip: remote.map(|remote| remote.ip()),
                response: None,
            }),
            ClientEvent::Responded { head, .. } => {
                if let Some(exchange) = exchanges.last_mut() {
                    exchange.response = Some(ExchangeResponse {
                        status: head.status().as_u16(),
                        version: head.version(),
                        fields: head.fields().clone(),
                    });
                }
            }
            _ => {}
        }
    });
}

/// The output of `sending`, and the exchanges that the client told of meanwhile.
pub(crate) async fn recorded<T>(sending: impl Future<Output = T>) -> (T, Vec<Exchange>) {
    /// Takes what was recorded out of the thread's place, also after a panic.
    struct Place<'a>(&'a mut Vec<Exchange>);
    impl Drop for Place<'_> {
        fn drop(&mut self) {
            *self.0 = CURRENT.take().unwrap_or_default();
        }
    }
    let mut sending = pin!(sending);
    let mut exchanges = Vec::new();
    let output = poll_fn(|cx| {
        CURRENT.set(Some(std::mem::take(&mut exchanges)));
        let _place = Place(&mut exchanges);
        sending.as_mut().poll(cx)
    })
    .await;
    (output, exchanges)
}
