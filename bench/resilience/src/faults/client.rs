//! The client: sends the requests, and compares each outcome with those that are allowed.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stoop::{Client, ClientTls, Error, Resolver, Versions};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::process;

/// The deadline of each request.
const DEADLINE: Duration = Duration::from_secs(2);
/// A request that has not ended by then hangs.
const HANGS_AFTER: Duration = Duration::from_secs(6);
/// Of ten requests, so many meet a fault.
const FAULTY_OF_TEN: usize = 3;
/// Requests of the phases in which descriptors and ports run out.
const SCARCE_REQUESTS: usize = 1_000;
/// Descriptors that are left to the client in the first of them.
const DESCRIPTORS_LEFT: usize = 64;

#[derive(Clone)]
struct Target {
    name: String,
    url: String,
    http2: bool,
    outcomes: Vec<String>,
}

/// What became of all requests.
#[derive(Default)]
struct Tally {
    hung: usize,
    slowest: Duration,
    /// By fault and outcome, the text of one error.
    wrong: BTreeMap<(String, String), String>,
    wrong_count: usize,
    failed_good: usize,
}

/// Sends the requests, and prints the figures.
pub(crate) fn fetch(runtime: &Runtime, requests: usize, concurrency: usize) -> io::Result<()> {
    let plan: Value = serde_json::from_str(&io::read_to_string(io::stdin())?)?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let good: Vec<Target> = list(&plan["good"])
        .iter()
        .map(|url| Target {
            name: "good".into(),
            url: text(url),
            http2: false,
            outcomes: vec!["200".into()],
        })
        .collect();
    let faults: Vec<Target> = list(&plan["faults"])
        .iter()
        .map(|fault| Target {
            name: text(&fault["name"]),
            url: text(&fault["url"]),
            http2: fault["http2"] == true,
            outcomes: list(&fault["outcomes"]).iter().map(text).collect(),
        })
        .collect();
    let nth = |number: usize| match number % 10 {
        at @ 0..FAULTY_OF_TEN => &faults[(number / 10 * FAULTY_OF_TEN + at) % faults.len()],
        at => &good[at % good.len()],
    };
    let targets: Vec<Target> = (0..requests).map(|number| nth(number).clone()).collect();
    let build = || {
        let _entered = runtime.enter();
        let name_server = text(&plan["dns"]).parse().map_err(io::Error::other)?;
        let tls = ClientTls::builder().platform_cas(false).ca_pem(text(&plan["ca"])).build();
        let resolver =
            Resolver::builder().servers(&[name_server]).build().map_err(io::Error::other)?;
        let builder = Client::builder().tls(tls.map_err(io::Error::other)?).resolver(resolver);
        builder.build().map_err(io::Error::other)
    };
    let before = (process::open_descriptors(), runtime.metrics().num_alive_tasks());

    let client = build()?;
    let mut tally = Tally::default();
    runtime.block_on(send_all(&client, targets, concurrency, &mut tally));
    let faulty = (tally.hung, tally.slowest.as_secs_f64() / DEADLINE.as_secs_f64());

    // Each request makes a connection of its own, and there are descriptors for a few.
    let plain = good.iter().find(|target| target.url.starts_with("http:")).cloned();
    let plain = plain.ok_or_else(|| io::Error::other("there is no good origin without TLS"))?;
    let few = Target {
        name: "descriptors".into(),
        outcomes: ["200", "too_many_files@connect", "total_timeout@queue"]
            .map(str::to_owned)
            .to_vec(),
        ..plain.clone()
    };
    process::set_descriptor_limit((process::open_descriptors() + DESCRIPTORS_LEFT) as u64)?;
    runtime.block_on(send_all(&client, vec![few; SCARCE_REQUESTS], concurrency, &mut tally));
    process::raise_descriptor_limit()?;

    // There is no local port for every other connection.
    let made = AtomicUsize::new(0);
    let address = plain.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let scarce = stoop::rt::connector(Client::builder(), move |_| {
        let (number, address) = (made.fetch_add(1, Ordering::Relaxed), address.clone());
        async move {
            match number % 2 {
                0 => Err(io::Error::from_raw_os_error(libc::EADDRNOTAVAIL)),
                _ => tokio::net::TcpStream::connect(address).await,
            }
        }
    });
    let scarce = scarce.build().map_err(io::Error::other)?;
    let ports = Target {
        name: "ports".into(),
        outcomes: ["200", "no_local_ports@connect"].map(str::to_owned).to_vec(),
        ..plain
    };
    runtime.block_on(send_all(&scarce, vec![ports; SCARCE_REQUESTS], concurrency, &mut tally));

    drop((client, scarce));
    let settled = runtime.block_on(async {
        let begun = Instant::now();
        loop {
            let now = (process::open_descriptors(), runtime.metrics().num_alive_tasks());
            if now <= before || begun.elapsed() > HANGS_AFTER {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    for ((name, outcome), text) in &tally.wrong {
        eprintln!("not as it must end: {name}: {outcome}: {text}");
    }
    let figures = json!({
        "hung": tally.hung,
        "slowest_of_deadline": tally.slowest.as_secs_f64() / DEADLINE.as_secs_f64(),
        "faulty_hung": faulty.0,
        "faulty_slowest_of_deadline": faulty.1,
        "wrong": tally.wrong_count,
        "failed_good": tally.failed_good,
        "descriptors_left": settled.0.saturating_sub(before.0),
        "tasks_left": settled.1.saturating_sub(before.1),
        "faults": faults.len(),
    });
    println!("{figures}");
    Ok(())
}

async fn send_all(client: &Client, targets: Vec<Target>, concurrency: usize, tally: &mut Tally) {
    let (targets, next) = (Arc::new(targets), Arc::new(AtomicUsize::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..concurrency {
        let (client, targets, next) = (client.clone(), targets.clone(), next.clone());
        tasks.spawn(async move {
            let mut outcomes = Vec::new();
            while let Some(target) = targets.get(next.fetch_add(1, Ordering::Relaxed)) {
                let begun = Instant::now();
                let outcome = tokio::time::timeout(HANGS_AFTER, exchange(&client, target)).await;
                outcomes.push((target.clone(), outcome.ok(), begun.elapsed()));
            }
            outcomes
        });
    }
    while let Some(ended) = tasks.join_next().await {
        for (target, outcome, took) in ended.unwrap_or_default() {
            tally.slowest = tally.slowest.max(took);
            let Some((outcome, text)) = outcome else {
                tally.hung += 1;
                continue;
            };
            // So many wait for one of an origin's connections that the deadline of some passes meanwhile.
            let is_late = matches!(&*outcome, "total_timeout@queue" | "total_timeout@connect");
            let waits = target.outcomes.iter().any(|allowed| allowed.starts_with("total_timeout"));
            if !target.outcomes.contains(&outcome) && !(is_late && waits) {
                tally.wrong_count += 1;
                tally.failed_good += usize::from(target.name == "good");
                tally.wrong.entry((target.name, outcome)).or_insert(text);
            }
        }
    }
}

/// One request, its content read: the outcome, `200` or kind and phase of the error, and the error's text.
async fn exchange(client: &Client, target: &Target) -> (String, String) {
    let versions = if target.http2 { Versions::Http2 } else { Versions::Http1 };
    let mut request = client.get(&target.url).timeout(DEADLINE);
    if target.url.starts_with("http:") {
        request = request.versions(versions);
    }
    if target.name == "descriptors" {
        request = request.header("connection", "close");
    }
    let ended = async { request.await?.bytes().await };
    match ended.await {
        Ok(_) => ("200".to_owned(), String::new()),
        Err(error) => (outcome(&error), format!("{error} {:?}", error.timings())),
    }
}

fn outcome(error: &Error) -> String {
    format!("{}@{}", error.kind().as_str(), error.phase().as_str())
}
