//! A handler tested without a socket: the client is pointed straight at it. Both protocol machines
//! run as ever, over memory.
//!
//! ```text
//! cargo run -p stoop --example without_socket
//! ```

use stoop::{Client, Request, Response, StatusCode};

/// What is to be tested.
async fn greet(request: Request) -> Response {
    match request.query().and_then(|query| query.strip_prefix("name=")) {
        Some(name) => Response::from_text(format!("Hello, {name}!")),
        None => Response::from_status(StatusCode::BAD_REQUEST),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), stoop::Error> {
    let client = Client::builder().handler(greet).build()?;

    let response = client.get("http://test/?name=falcon").await?;
    assert_eq!(response.status(), 200);
    assert_eq!(response.into_body().bytes(1024).await?, "Hello, falcon!");

    let response = client.get("http://test/").await?;
    assert_eq!(response.status(), 400);

    println!("greet greets");
    Ok(())
}
