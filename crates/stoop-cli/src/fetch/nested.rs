//! Fetches the sitemaps that an index names, with a client that is set as those of the URLs are.

use std::io::{self, Cursor, Read};

use stoop::{Client, ClientLimits, ErrorKind, Request};
use stoop_fetch::Stop;
use tokio::runtime::{Builder, Runtime};

use super::describe;
use super::plan::FetchPlan;

/// What sitemaps.org allows a sitemap to have.
const BYTES_MAX: usize = 50 << 20;

/// Fetches sitemaps, one at a time.
pub(super) struct NestedSitemaps {
    plan: FetchPlan,
    stop: Stop,
    /// Made for the first one.
    made: Option<(Runtime, Client)>,
}

impl NestedSitemaps {
    /// Fetches nothing yet, and nothing more once `stop` is requested.
    pub(super) fn new(plan: FetchPlan, stop: Stop) -> Self {
        Self { plan, stop, made: None }
    }

    /// The content of a sitemap, all of it: its pages are read as slowly as they are fetched, which no server waits for.
    ///
    /// # Errors
    /// It cannot be fetched within the deadline of a URL, or the run ended.
    pub(super) fn open(&mut self, url: &str) -> io::Result<Box<dyn Read + Send>> {
        let (runtime, client) = match &mut self.made {
            Some(made) => made,
            empty => empty.insert((runtime()?, client(&self.plan)?)),
        };
        let request = match &self.plan.template {
            Some(template) => template.get(url),
            None => Request::get(url),
        };
        let request = request.map_err(io::Error::other)?;
        let stop = &self.stop;
        let content = runtime.block_on(async {
            tokio::select! {
                biased;
                () = stop.requested() => Err(io::Error::other("the run ended before")),
                content = fetch(client, request) => content,
            }
        })?;
        Ok(Box::new(Cursor::new(content)))
    }
}

async fn fetch(client: &Client, request: Request) -> io::Result<Vec<u8>> {
    let failed = |error: &stoop::Error| {
        let kind = match error.kind() {
            ErrorKind::BodyTooLarge => "more than 50 MiB".to_owned(),
            kind => format!("{}: {error}", kind.as_str()),
        };
        io::Error::other(kind)
    };
    let response = client.send(request).await.map_err(|error| failed(&error))?;
    if !response.status().is_success() {
        return Err(io::Error::other(format!("status {}", response.status())));
    }
    let content = response.into_body().bytes(BYTES_MAX).await;
    content.map(Vec::from).map_err(|error| failed(&error))
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn client(plan: &FetchPlan) -> io::Result<Client> {
    let mut limits = ClientLimits::default();
    limits.wire.body_bytes_max = Some(BYTES_MAX as u64);
    limits.decoded_bytes_max = BYTES_MAX as u64;
    limits.time.total = Some(plan.timeout);
    describe::client(plan, Client::builder().limits(limits))
}
