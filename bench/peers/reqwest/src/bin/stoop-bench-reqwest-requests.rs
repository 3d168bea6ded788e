//! reqwest over HTTP/2. A `Client` of reqwest has one connection to an origin, whatever it is asked;
//! who may have several has as many clients, which take turns.

use std::error::Error;

use reqwest::{Client, StatusCode};
use stoop_bench_peer::{HELLO, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn Error>> {
    let plan = RequestBatch::of_process("reqwest");
    let client = || Client::builder().http2_prior_knowledge().no_proxy().build();
    let clients: Vec<Client> =
        (0..plan.connections.max(1)).map(|_| client()).collect::<Result<_, _>>()?;
    let content = (plan.body_bytes > 0).then(|| text(plan.body_bytes));
    let url = plan.url.clone();
    send_all(&plan, move |number| {
        let client = &clients[number % clients.len()];
        let request = match &content {
            Some(content) => client.post(&url).body(content.clone()),
            None => client.get(&url),
        };
        async move {
            let response = request.send().await.map_err(described)?;
            let status = response.status();
            let answer = response.bytes().await.map_err(described)?;
            match status == StatusCode::OK && answer == HELLO {
                true => Ok(()),
                false => Err(format!("{status} and {} bytes", answer.len())),
            }
        }
    });
    Ok(())
}

/// With its causes, which reqwest leaves out.
fn described(error: reqwest::Error) -> String {
    format!("{error:?}")
}
