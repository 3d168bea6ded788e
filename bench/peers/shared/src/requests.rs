//! The code that the programs in Rust that send requests share: their command line, and the tasks that keep
//! the requests in flight.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// The version of HTTP that requests are sent over, without TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HttpVersion {
    Http1,
    Http2,
}

impl FromStr for HttpVersion {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "1" => Ok(Self::Http1),
            "2" => Ok(Self::Http2),
            _ => Err(()),
        }
    }
}

/// The runtime of tokio that sends them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeKind {
    Multi,
    Current,
}

impl FromStr for RuntimeKind {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "multi" => Ok(Self::Multi),
            "current" => Ok(Self::Current),
            _ => Err(()),
        }
    }
}

/// The requests to send.
#[derive(Clone)]
pub struct RequestBatch {
    pub url: String,
    pub count: usize,
    /// How many are in flight at once.
    pub concurrency: usize,
    /// The bytes of content of each POST; 0 is a GET.
    pub body_bytes: usize,
    /// The most connections that may be open; 0 is any number.
    pub connections: usize,
    pub version: HttpVersion,
    pub runtime: RuntimeKind,
    pub failures: Failures,
}

/// What becomes of requests that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failures {
    /// The first ends the process.
    Fatal,
    /// They are counted, and the count is printed as JSON. Each request has its number behind the URL.
    Counted,
}

impl FromStr for Failures {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "fatal" => Ok(Self::Fatal),
            "counted" => Ok(Self::Counted),
            _ => Err(()),
        }
    }
}

impl RequestBatch {
    /// The URL of a request.
    pub fn url(&self, number: usize) -> Cow<'_, str> {
        match self.failures {
            Failures::Fatal => Cow::Borrowed(&self.url),
            Failures::Counted => Cow::Owned(format!("{}{number}", self.url)),
        }
    }

    /// Parses the arguments of this process, which ends if they are wrong.
    pub fn of_process(name: &str) -> Self {
        Self::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
            let usage = "--url URL --count N --concurrency N --body-bytes N --connections N \
                         --http 1|2 --runtime multi|current \
                         --failures fatal|counted";
            eprintln!("{name}: {problem}\nusage: stoop-bench-{name}-requests {usage}");
            std::process::exit(2);
        })
    }

    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut values = HashMap::new();
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} wants a value"))?;
            values.insert(word, value);
        }
        let mut value =
            |name: &str| values.remove(name).ok_or_else(|| format!("{name} is missing"));
        let batch = Self {
            url: value("--url")?,
            count: parsed(&value("--count")?)?,
            concurrency: parsed(&value("--concurrency")?)?,
            body_bytes: parsed(&value("--body-bytes")?)?,
            connections: parsed(&value("--connections")?)?,
            version: parsed(&value("--http")?)?,
            runtime: parsed(&value("--runtime")?)?,
            failures: parsed(&value("--failures")?)?,
        };
        match values.keys().next() {
            Some(unknown) => Err(format!("{unknown} is not an option")),
            None => Ok(batch),
        }
    }
}

fn parsed<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not a value of its option"))
}

/// Calls `exchange` with the number of each request, on the batch's runtime, with a task for each that may be
/// in flight.
pub fn send_all<F, E>(batch: &RequestBatch, exchange: impl Fn(usize) -> F + Clone + Send + 'static)
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let runtime = match batch.runtime {
        RuntimeKind::Multi => Builder::new_multi_thread().enable_all().build(),
        RuntimeKind::Current => Builder::new_current_thread().enable_all().build(),
    };
    let outcome =
        runtime.map_err(text_of).and_then(|runtime| runtime.block_on(send_batch(batch, exchange)));
    if let Err(problem) = outcome {
        eprintln!("a request failed: {problem}");
        std::process::exit(1);
    }
}

async fn send_batch<F, E>(
    batch: &RequestBatch,
    exchange: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Result<(), String>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let count = batch.count;
    let (next, failed) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let is_fatal = batch.failures == Failures::Fatal;
    let mut tasks = JoinSet::new();
    for _ in 0..batch.concurrency.min(count) {
        let (next, failed, exchange) = (Arc::clone(&next), Arc::clone(&failed), exchange.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(), E>(());
                }
                match exchange(number).await {
                    Err(error) if is_fatal => return Err(error),
                    Err(_) => drop(failed.fetch_add(1, Ordering::Relaxed)),
                    Ok(()) => {}
                }
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(text_of)?.map_err(text_of)?;
    }
    if !is_fatal {
        println!("{{\"failed\":{}}}", failed.load(Ordering::Relaxed));
    }
    Ok(())
}

fn text_of(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "--url http://a/ --count 9 --concurrency 2 --body-bytes 0 --connections 1 \
                        --http 2 --runtime current --failures fatal";

    fn parse(line: &str) -> Result<RequestBatch, String> {
        RequestBatch::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn every_option_is_required_and_no_other_allowed() {
        let batch = parse(LINE).ok().unwrap();
        assert_eq!((batch.url.as_str(), batch.count, batch.connections), ("http://a/", 9, 1));
        assert!(parse(&format!("{LINE} --more 1")).is_err());
        assert!(parse("--url http://a/ --count 9").is_err());
    }

    #[test]
    fn each_request_is_sent_once() {
        let batch = parse(LINE).ok().unwrap();
        let sum = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sum);
        send_all(&batch, move |number| {
            counted.fetch_add(number, Ordering::Relaxed);
            std::future::ready(Ok::<(), String>(()))
        });
        assert_eq!(sum.load(Ordering::Relaxed), 36);
    }
}
