//! Client and server in one runtime, on one thread: the server answers while the client waits.
//!
//! ```text
//! cargo run -p stoop --example together
//! ```

use stoop::{Client, Request, Response, Server};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), stoop::Error> {
    let server = Server::listen("127.0.0.1:0")?.run_here(|request: Request| {
        Response::from_text(format!("Hello from {}", request.path()))
    })?;

    let client = Client::new();
    let response = client.get(format!("{}/here", server.endpoint())).await?;
    println!("{} {:?}", response.status(), response.into_body().bytes(1024).await?);

    server.drain(std::time::Duration::from_secs(1)).await;
    Ok(())
}
