//! The server over HTTP/2: many exchanges at a time, each as it would be alone.

mod attacks;
mod clients;
mod closing;
mod content;
mod exchanges;
mod floods;
mod patience;
mod slow;
mod unread;
mod waits;

use stoop::{Request, Response};
use stoop_test::http2::Client;
use stoop_test::peer::Peer;
use tokio::io::DuplexStream;

async fn client(peer: Peer<DuplexStream>) -> Client<DuplexStream> {
    Client::new(peer.into_parts().0).await
}

fn path(request: Request) -> String {
    request.path().to_owned()
}

async fn echo(request: Request) -> Response {
    Response::new(request.into_body())
}
