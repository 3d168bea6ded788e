//! stoop as a library, with its default features: one `Client` for all requests, with default limits and
//! deadlines, except the number of connections if that is limited.

use stoop::{Client, ClientLimits, Error, Request, Versions};
use stoop_bench_peer::{HELLO, HttpVersion, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let batch = RequestBatch::of_process("stoop");
    let mut limits = ClientLimits::default();
    let versions = match batch.version {
        HttpVersion::Http1 => Versions::Http1,
        HttpVersion::Http2 => Versions::Http2,
    };
    if batch.connections > 0 {
        limits.pool.http2_per_origin_max = batch.connections;
    }
    let client = Client::builder().versions(versions).limits(limits).build()?;
    let content = (batch.body_bytes > 0).then(|| text(batch.body_bytes));
    let numbered = batch.clone();
    send_all(&batch, move |number| {
        let url = numbered.url(number);
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
