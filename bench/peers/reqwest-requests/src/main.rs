//! reqwest as a library, with the features that are stoop's defaults. Over HTTP/2 a `Client` of reqwest has only
//! one connection to an origin; where several are allowed, there are as many clients, which take turns.

use std::error::Error;

use reqwest::{Client, StatusCode};
use stoop_bench_peer::{HELLO, HttpVersion, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn Error>> {
    let batch = RequestBatch::of_process("reqwest");
    let client = || {
        let builder = Client::builder().no_proxy();
        match batch.version {
            HttpVersion::Http1 => builder.build(),
            HttpVersion::Http2 => builder.http2_prior_knowledge().build(),
        }
    };
    let count = match batch.version {
        // It opens as many connections as there are requests at once.
        HttpVersion::Http1 => 1,
        HttpVersion::Http2 => batch.connections.max(1),
    };
    let clients: Vec<Client> = (0..count).map(|_| client()).collect::<Result<_, _>>()?;
    let content = (batch.body_bytes > 0).then(|| text(batch.body_bytes));
    let numbered = batch.clone();
    send_all(&batch, move |number| {
        let client = &clients[number % clients.len()];
        let url = numbered.url(number);
        let request = match &content {
            Some(content) => client.post(&*url).body(content.clone()),
            None => client.get(&*url),
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
