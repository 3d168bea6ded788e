//! stoop as a library, over HTTP/2: one `Client` for all requests, with default limits and deadlines, except
//! the number of connections if that is limited.

use stoop::{Client, ClientLimits, Error, Request, Versions};
use stoop_bench_peer::{HELLO, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batch = RequestBatch::of_process("stoop");
    let mut limits = ClientLimits::default();
    if batch.connections > 0 {
        limits.pool.http2_per_origin_max = batch.connections;
    }
    let client = Client::builder().versions(Versions::Http2).limits(limits).build()?;
    let content = (batch.body_bytes > 0).then(|| text(batch.body_bytes));
    let url = batch.url.clone();
    send_all(&batch, move |_| {
        let request = match &content {
            Some(content) => Request::post(&url, content.clone()),
            None => Request::get(&url),
        };
        exchange(client.clone(), request)
    });
    Ok(())
}

async fn exchange(client: Client, request: Result<Request, Error>) -> Result<(), String> {
    let response = client.send(request.map_err(text_of)?).await.map_err(text_of)?;
    let status = response.status();
    let answer = response.into_body().bytes(1 << 20).await.map_err(text_of)?;
    match status == 200 && answer == HELLO {
        true => Ok(()),
        false => Err(format!("{status} and {} bytes", answer.len())),
    }
}

fn text_of(error: Error) -> String {
    error.to_string()
}
