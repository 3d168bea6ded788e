//! What the programs in Rust that send requests have in common: their command line, and the loops that
//! keep so many requests in flight.

use std::collections::HashMap;
use std::fmt::Display;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Builder;
use tokio::task::JoinSet;

/// What is to be sent.
pub struct RequestBatch {
    pub url: String,
    pub count: usize,
    /// In flight at once.
    pub concurrency: usize,
    /// Of each POST; none is a GET.
    pub body_bytes: usize,
    /// The most that may be open; none is as many as the client likes.
    pub connections: usize,
}

impl RequestBatch {
    /// That of this process, which ends if it is not what it should be.
    pub fn of_process(name: &str) -> Self {
        Self::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
            let usage = "--url URL --count N --concurrency N --body-bytes N --connections N";
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
        let plan = Self {
            url: value("--url")?,
            count: number(&value("--count")?)?,
            concurrency: number(&value("--concurrency")?)?,
            body_bytes: number(&value("--body-bytes")?)?,
            connections: number(&value("--connections")?)?,
        };
        match values.keys().next() {
            Some(unknown) => Err(format!("{unknown} is not an option")),
            None => Ok(plan),
        }
    }
}

fn number<T: FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

/// Calls `exchange` for each request by its number, on one current-thread runtime, with a task for
/// each that may be in flight. The process ends at the first that goes wrong.
pub fn send_all<F, E>(plan: &RequestBatch, exchange: impl Fn(usize) -> F + Clone + Send + 'static)
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let runtime = Builder::new_current_thread().enable_all().build();
    let outcome =
        runtime.map_err(problem).and_then(|runtime| runtime.block_on(exchanges(plan, exchange)));
    if let Err(problem) = outcome {
        eprintln!("a request went wrong: {problem}");
        std::process::exit(1);
    }
}

async fn exchanges<F, E>(
    plan: &RequestBatch,
    exchange: impl Fn(usize) -> F + Clone + Send + 'static,
) -> Result<(), String>
where
    F: Future<Output = Result<(), E>> + Send + 'static,
    E: Display + Send + 'static,
{
    let count = plan.count;
    let next = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for _ in 0..plan.concurrency.min(count) {
        let (next, exchange) = (Arc::clone(&next), exchange.clone());
        tasks.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return Ok::<(), E>(());
                }
                exchange(number).await?;
            }
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended.map_err(problem)?.map_err(problem)?;
    }
    Ok(())
}

fn problem(error: impl Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "--url http://a/ --count 9 --concurrency 2 --body-bytes 0 --connections 1";

    fn parse(line: &str) -> Result<RequestBatch, String> {
        RequestBatch::parse(line.split(' ').map(str::to_owned))
    }

    #[test]
    fn every_option_is_wanted_and_no_other() {
        let plan = parse(LINE).ok().unwrap();
        assert_eq!((plan.url.as_str(), plan.count, plan.connections), ("http://a/", 9, 1));
        assert!(parse(&format!("{LINE} --more 1")).is_err());
        assert!(parse("--url http://a/ --count 9").is_err());
    }

    #[test]
    fn each_request_is_sent_once() {
        let plan = parse(LINE).ok().unwrap();
        let sum = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&sum);
        send_all(&plan, move |number| {
            counted.fetch_add(number, Ordering::Relaxed);
            std::future::ready(Ok::<(), String>(()))
        });
        assert_eq!(sum.load(Ordering::Relaxed), 36);
    }
}
