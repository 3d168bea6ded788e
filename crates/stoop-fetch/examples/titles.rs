//! The titles of the pages of a list, by host: each record goes to a function of the program.
//!
//! ```text
//! cargo run -p stoop-fetch --example titles
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::io;

use stoop::{IntoResponse, Request, Response, Server};
use stoop_fetch::source::Lines;
use stoop_fetch::{Extract, Fetch, OwnedRecord};
use url::Url;

/// The host of a record, and its title, or what came of it.
fn title(record: OwnedRecord) -> (String, String) {
    let url = Url::parse(&String::from_utf8_lossy(&record.url)).ok();
    let host = url.as_ref().and_then(Url::host_str).unwrap_or("(no host)");
    let code = format!("{:?}", record.outcome.code);
    let extracted = record.outcome.details.and_then(|details| details.extracted);
    (host.to_owned(), extracted.and_then(|it| it.title).unwrap_or(code))
}

fn page(request: Request) -> Response {
    let html = format!("<!doctype html><title>Page {}</title>", request.path());
    ([("content-type", "text/html; charset=utf-8")], html).into_response()
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::listen("127.0.0.1:0")?.workers(1).run(page)?;
    let port = server.port();
    let hosts = ["cod.test", "eel.test", "ray.test"];
    let urls = hosts.iter().flat_map(|host| (1..=3).map(move |n| format!("{host}:{port}/{n}")));
    let list: String = urls.map(|url| format!("http://{url}\n")).collect();

    let fetch = Fetch::new().extract([Extract::Title]).client(move |client| {
        // No DNS knows the names of this example: each is the server above.
        client.resolve("*", [[127, 0, 0, 1].into()])
    });
    let mut titles = BTreeMap::<String, Vec<String>>::new();
    let finished = fetch.run_records(Lines::new(io::Cursor::new(list)), |record| {
        let (host, title) = title(record);
        titles.entry(host).or_default().push(title);
        Ok(())
    })?;

    for (host, titles) in &titles {
        println!("{host}: {} titles, such as {:?}", titles.len(), titles[0]);
    }
    println!("{} records in all", finished.figures().total_urls);
    Ok(())
}
