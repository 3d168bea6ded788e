//! A server's end of a tunnel that sends back in capitals what it receives, in both versions.

use stoop::OnUpgrade;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Sends back in capitals all that comes through a tunnel, then ` bye` once the client has ended.
pub(crate) async fn shout(switched: OnUpgrade) {
    let Ok(upgraded) = switched.await else { return };
    let mut stream = stoop::rt::stream(upgraded);
    let mut some = [0; 1024];
    while let Ok(n @ 1..) = stream.read(&mut some).await {
        stream.write_all(&some[..n].to_ascii_uppercase()).await.unwrap();
    }
    stream.write_all(b" bye").await.unwrap();
    stream.shutdown().await.unwrap();
}
