//! The server over HTTP/2: concurrent exchanges, and clients that misuse the protocol.

mod attacks;
mod clients;
mod closing;
mod content;
mod exchanges;
mod files;
mod floods;
mod limit_rows;
mod long_exchanges;
mod slow;
mod unread;
mod waits;

use stoop::{Request, Response};
use stoop_test::http2::Client;
use stoop_test::peer::RawPeer;
use tokio::io::{AsyncRead, AsyncWrite};

/// The pseudo-header fields of a GET.
pub(super) const GET: [(&str, &str); 4] =
    [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "a")];

/// A client over HTTP/2 on that connection.
pub(super) async fn client<S: AsyncRead + AsyncWrite + Unpin>(peer: RawPeer<S>) -> Client<S> {
    Client::new(peer.into_parts().0).await
}

/// A handler that answers the request's path.
fn path(request: Request) -> String {
    request.path().to_owned()
}

/// An async handler that answers the request's content.
async fn echo(request: Request) -> Response {
    Response::new(request.into_body())
}
