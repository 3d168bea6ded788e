//! stoop's client over HTTP/2: one `Client` for everything, limits and deadlines as they come but for
//! the number of connections, if there is one.

use stoop::{Client, ClientLimits, Error, Request, Versions};
use stoop_bench_peer::{HELLO, RequestBatch, send_all, text};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let plan = RequestBatch::of_process("stoop");
    let mut limits = ClientLimits::default();
    if plan.connections > 0 {
        limits.pool.http2_per_origin_max = plan.connections;
    }
    let client = Client::builder().versions(Versions::Http2).limits(limits).build()?;
    let content = (plan.body_bytes > 0).then(|| text(plan.body_bytes));
    let url = plan.url.clone();
    send_all(&plan, move |_| {
        let request = match &content {
            Some(content) => Request::post(&url, content.clone()),
            None => Request::get(&url),
        };
        exchange(client.clone(), request)
    });
    Ok(())
}

async fn exchange(client: Client, request: Result<Request, Error>) -> Result<(), String> {
    let response = client.send(request.map_err(described)?).await.map_err(described)?;
    let status = response.status();
    let answer = response.into_body().bytes(1 << 20).await.map_err(described)?;
    match status == 200 && answer == HELLO {
        true => Ok(()),
        false => Err(format!("{status} and {} bytes", answer.len())),
    }
}

fn described(error: Error) -> String {
    error.to_string()
}
