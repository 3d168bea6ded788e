//! The titles of the pages of a list, by host: each record goes to a function of the program.
//!
//! ```text
//! cargo run -p stoop-fetch --example titles
//! ```

use std::collections::BTreeMap;
use std::error::Error;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use stoop::{IntoResponse, Request, Response, Server};
use stoop_fetch::format::RecordFormat;
use stoop_fetch::source::Lines;
use stoop_fetch::{Extract, Fetch, Record};
use url::Url;

/// Takes records in place of writing them. Each worker thread has a clone.
#[derive(Clone, Default)]
struct Titles(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl RecordFormat for Titles {
    fn format(&mut self, record: &Record<'_>, _: &mut Vec<u8>) {
        let url = Url::parse(&String::from_utf8_lossy(record.url)).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or("(no host)");
        let extracted = record.outcome.details.as_ref().and_then(|it| it.extracted.as_ref());
        let title = extracted.and_then(|it| it.title.clone());
        let mut titles = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let of_host = titles.entry(host.to_owned()).or_default();
        of_host.push(title.unwrap_or_else(|| format!("{:?}", record.outcome.code)));
    }
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

    let titles = Titles::default();
    let fetch = Fetch::new().extract([Extract::Title]).client(move |client| {
        // No DNS knows the names of this example: each is the server above.
        client.resolve("*", [[127, 0, 0, 1].into()])
    });
    let finished = fetch.run(Lines::new(io::Cursor::new(list)), titles.clone(), io::sink())?;

    for (host, titles) in &*titles.0.lock().unwrap_or_else(PoisonError::into_inner) {
        println!("{host}: {} titles, such as {:?}", titles.len(), titles[0]);
    }
    println!("{} records in all", finished.figures().total_urls);
    Ok(())
}
