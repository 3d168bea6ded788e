//! reqwest as a library, over HTTP/2. A `Client` of reqwest has only one connection to an origin; where
//! several are allowed, there are as many clients, which take turns.

use std::error::Error;

use reqwest::{Client, StatusCode};
use stoop_bench_peer::{HELLO, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn Error>> {
    let batch = RequestBatch::of_process("reqwest");
    let client = || Client::builder().http2_prior_knowledge().no_proxy().build();
    let clients: Vec<Client> =
        (0..batch.connections.max(1)).map(|_| client()).collect::<Result<_, _>>()?;
    let content = (batch.body_bytes > 0).then(|| text(batch.body_bytes));
    let url = batch.url.clone();
    send_all(&batch, move |number| {
        let client = &clients[number % clients.len()];
        let request = match &content {
            Some(content) => client.post(&url).body(content.clone()),
            None => client.get(&url),
        };
        async move {
            let response = request.send().await.map_err(text_of)?;
            let status = response.status();
            let answer = response.bytes().await.map_err(text_of)?;
            match status == StatusCode::OK && answer == HELLO {
                true => Ok(()),
                false => Err(format!("{status} and {} bytes", answer.len())),
            }
        }
    });
    Ok(())
}

/// The error with its causes, which reqwest's `Display` leaves out.
fn text_of(error: reqwest::Error) -> String {
    format!("{error:?}")
}
