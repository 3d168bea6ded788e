//! A streaming upload: content is made piece by piece, while the server reads and counts it. Neither
//! end ever holds more than a few pieces.
//!
//! ```text
//! cargo run --release -p stoop --example upload
//! ```

use stoop::{Body, Client, Request, Response, Server};

const PIECE: &[u8] = &[b'x'; 64 * 1024];
const PIECES: usize = 1024;

async fn count(request: Request) -> Result<Response, stoop::Error> {
    let bytes = request.into_body().discard().await?;
    Ok(Response::from_text(format!("{bytes} bytes")))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::listen("127.0.0.1:0")?.run(count)?;

    // At most two pieces wait: the sender is held up while the server is slow.
    let (sender, content) = Body::channel(2);
    let feeding = tokio::spawn(async move {
        for _ in 0..PIECES {
            sender.send(PIECE).await?;
        }
        // Else it would be broken off, and the server see that it is incomplete.
        sender.finish().await
    });
    let request = Request::post(&server.endpoint().to_string(), content)?;
    let response = Client::new().send(request).await?;
    feeding.await??;

    let answer = response.into_body().bytes(1024).await?;
    println!("{}", String::from_utf8_lossy(&answer));
    server.drain(std::time::Duration::from_secs(1)).await;
    Ok(())
}
