//! An exchange whose response head came before its request was sent, run as a task: the caller may now wait
//! for something else, such as the producer of the request's content, and sending must go on.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use stoop_proto::Fields;

use crate::body::{Body, BodySender, ChannelItem, Incoming};
use crate::client::http1::exchange::Http1Exchange;
use crate::error::Error;
use crate::header_map::into_map;

/// Pieces of the response's content that the task is ahead of its reader: as little as there can be.
const AHEAD: usize = 1;

/// The content of a response, by a task that goes on sending the request meanwhile.
///
/// Dropping the content gives the exchange up. Once it was read to its end the request goes on to
/// be sent until it is complete, or its time is.
pub(super) fn spawn_upload(exchange: Box<Http1Exchange>) -> Body {
    let (sender, body) = Body::channel(AHEAD);
    tokio::spawn(drive(exchange, sender));
    Body::incoming(Promoted(body))
}

/// The content of a response, as the task of its exchange hands it over.
struct Promoted(Body);

impl Incoming for Promoted {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        self.0.poll_chunk(cx)
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.0.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        self.0.len()
    }
}

async fn drive(mut exchange: Box<Http1Exchange>, sender: BodySender) {
    while !exchange.has_ended() {
        // Room first, so that nothing is received that is not taken.
        let room = while_sending(&mut exchange, sender.0.reserve()).await;
        if let Err(error) = room {
            // The exchange is broken; its reader learns of it, if it ever comes for more.
            return sender.clone().fail(error).await;
        }
        let Ok(Ok(room)) = room else { return };
        let mut unwanted = pin!(sender.0.closed());
        let next = poll_fn(|cx| match exchange.poll_chunk(cx) {
            Poll::Ready(next) => Poll::Ready(Some(next)),
            Poll::Pending => unwanted.as_mut().poll(cx).map(|()| None),
        });
        match next.await {
            None => return,
            Some(Some(Ok(piece))) => room.send(ChannelItem::Frame(Frame::data(piece))),
            Some(Some(Err(error))) => return room.send(ChannelItem::Failed(error.into())),
            Some(None) => {}
        }
    }
    let end = match exchange.take_trailers() {
        Some(trailers) => ChannelItem::Frame(Frame::trailers(into_map(&trailers))),
        None => ChannelItem::Finished,
    };
    let ending = async move { drop(sender.0.send(end).await) };
    // The response is complete. What the rest of the request comes to, no caller can be told any more.
    let mut ending = pin!(ending);
    let (mut has_ended, mut is_sent) = (false, false);
    poll_fn(|cx| {
        has_ended = has_ended || ending.as_mut().poll(cx).is_ready();
        is_sent = is_sent || exchange.poll_upload(cx).is_ready();
        if has_ended && is_sent { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

/// Waits for `what` and goes on sending meanwhile.
async fn while_sending<T>(
    exchange: &mut Http1Exchange,
    what: impl Future<Output = T>,
) -> Result<T, Error> {
    let mut what = pin!(what);
    let mut sent = false;
    poll_fn(|cx| {
        if !sent {
            match exchange.poll_upload(cx) {
                Poll::Ready(Ok(())) => sent = true,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {}
            }
        }
        what.as_mut().poll(cx).map(Ok)
    })
    .await
}
