//! The well-behaved servers of the internet.

use super::address;
use super::serve::Net;
use crate::answer::{self, Answer};
use crate::log::Ended;
use crate::wire::{Gone, Stream, Wire};

/// Serves a connection to a well-behaved host until one side closes it.
///
/// `host` is known from the address, or from TLS; where it is not, each request says.
pub(super) async fn serve_good<S: Stream>(
    net: &Net,
    wire: &mut Wire<S>,
    host: Option<u64>,
    tls: bool,
) -> Result<(), Gone> {
    loop {
        let request = match wire.request().await {
            Err(Gone(Ended::BadRequest)) => return refuse(wire, 400, Ended::BadRequest).await,
            request => request?,
        };
        let named = address::parse(&request.host, net.plan.domain());
        let Some((prefix, named)) = named.filter(|(_, named)| host.is_none_or(|h| h == *named))
        else {
            // A client that brings a request to the wrong connection is told so.
            return refuse(wire, 421, Ended::BadRequest).await;
        };
        let reply = net.plan.reply(named, tls, prefix, &request.target);
        wire.line.about(reply.url, &request.host);
        wire.pause(reply.delay).await?;
        let answer = Answer {
            status: reply.status,
            framing: reply.framing,
            body: reply.body,
            location: reply.location.as_deref(),
            close: reply.close,
        };
        if !answer::send(wire, &request, &answer).await? {
            return wire.finish(Ended::Complete).await;
        }
        wire.line.end(Ended::Complete);
    }
}

async fn refuse<S: Stream>(wire: &mut Wire<S>, status: u16, ended: Ended) -> Result<(), Gone> {
    answer::begin_head(wire, status);
    wire.put(b"connection: close\r\ncontent-length: 0\r\n\r\n");
    wire.finish(ended).await
}
