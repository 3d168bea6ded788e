//! The requests of a job as they were sent, with the heads of their responses: told by the client while it sends.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::net::IpAddr;
use std::pin::pin;

use bytes::Bytes;
use stoop::{ClientEvent, Fields, Method, Version};

thread_local! {
    /// What is told goes here: to the job whose request this thread polls.
    static CURRENT: RefCell<Option<Recording>> = const { RefCell::new(None) };
    /// What was told to a job that was dropped last on this thread, before its sending had an output.
    static LEFT: RefCell<Vec<Exchange>> = const { RefCell::new(Vec::new()) };
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
    /// The content of the request, shared with all that have the same. A redirect that is followed by a GET leaves it behind.
    pub request_content: Bytes,
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

/// The exchanges of a job that were told so far, and the content that its requests have.
#[derive(Default)]
struct Recording {
    exchanges: Vec<Exchange>,
    content: Bytes,
}

impl Recording {
    /// The content of a request that has so many bytes of it.
    fn content_of(&self, length: Option<u64>) -> Bytes {
        match length == Some(self.content.len() as u64) {
            true => self.content.clone(),
            // It was left behind, or is not the run's.
            false => Bytes::new(),
        }
    }
}

/// Listens to the client, wherever `recorded` is polled.
pub(crate) fn listen(event: &ClientEvent<'_>) {
    CURRENT.with_borrow_mut(|current| {
        let Some(recording) = current else { return };
        match event {
            ClientEvent::Sending { head, url, content_length, remote, .. } => {
                let request_content = recording.content_of(*content_length);
                recording.exchanges.push(Exchange {
                    url: (*url).to_owned(),
                    method: head.method().clone(),
                    target: head.target().to_owned(),
                    request_fields: head.fields().clone(),
                    request_content,
                    remote_ip: remote.map(|remote| remote.ip()),
                    response: None,
                });
            }
            ClientEvent::Responded { head, .. } => {
                if let Some(exchange) = recording.exchanges.last_mut() {
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

/// The output of `sending`, whose requests have this content, and the exchanges that the client told of meanwhile, behind
/// those before.
pub(crate) async fn recorded<T>(
    before: Vec<Exchange>,
    content: Bytes,
    sending: impl Future<Output = T>,
) -> (T, Vec<Exchange>) {
    /// Takes what was recorded out of the thread's place, also after a panic.
    struct Place<'a>(&'a mut Recording);
    impl Drop for Place<'_> {
        fn drop(&mut self) {
            *self.0 = CURRENT.take().unwrap_or_default();
        }
    }
    /// Leaves what was recorded where it is found after a drop.
    struct Unfinished(Recording);
    impl Drop for Unfinished {
        fn drop(&mut self) {
            if !self.0.exchanges.is_empty() {
                LEFT.set(std::mem::take(&mut self.0.exchanges));
            }
        }
    }
    let mut sending = pin!(sending);
    let mut unfinished = Unfinished(Recording { exchanges: before, content });
    let output = poll_fn(|cx| {
        CURRENT.set(Some(std::mem::take(&mut unfinished.0)));
        let _place = Place(&mut unfinished.0);
        sending.as_mut().poll(cx)
    })
    .await;
    (output, std::mem::take(&mut unfinished.0.exchanges))
}

/// Forgets what was left on this thread, so that [`left`] is what is dropped between the two.
pub(crate) fn forget_left() {
    LEFT.take();
}

/// The exchanges of what was [recorded] and dropped on this thread since [`forget_left`].
pub(crate) fn left() -> Vec<Exchange> {
    LEFT.take()
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;

    #[test]
    fn what_was_told_before_a_drop_is_left() {
        let exchange = || Exchange {
            url: "http://a/".to_owned(),
            method: Method::GET,
            target: "/".to_owned(),
            request_fields: Fields::new(),
            request_content: Bytes::new(),
            remote_ip: None,
            response: None,
        };
        let mut context = Context::from_waker(Waker::noop());
        for is_ready in [false, true] {
            forget_left();
            let told = {
                let mut recorded = pin!(recorded(
                    vec![exchange()],
                    Bytes::new(),
                    poll_fn(|_| {
                        let mut current = CURRENT.take().expect("it is polled");
                        current.exchanges.push(exchange());
                        CURRENT.set(Some(current));
                        if is_ready { Poll::Ready(()) } else { Poll::Pending }
                    })
                ));
                match recorded.as_mut().poll(&mut context) {
                    Poll::Ready(((), exchanges)) => exchanges.len(),
                    Poll::Pending => 0,
                }
            };
            assert_eq!((told, left().len()), if is_ready { (2, 0) } else { (0, 2) });
            assert!(left().is_empty());
        }
    }
}
