//! `memory`: the memory of its own that an idle connection costs the server.

mod slow_reader;
mod upload;

use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::arguments::MemoryOptions;
use crate::bench::Bench;
use crate::figure::{Figure, Limit};
use crate::holder::Holder;
use crate::participants::{self, Participants};
use crate::report::{Report, Subject};
use crate::rounds;
use crate::run_server::{RunningServer, ServerMode, ServerProgram};
use crate::series::{Metric, Sample, Series, metric};
use crate::work;
use crate::{descriptors, usage};

const KIB: &str = "kib_per_connection";

const METRICS: &[Metric] = &[
    metric(KIB, "KiB/connection", 2),
    metric("before_mib", "before, MiB", 1),
    metric("after_mib", "after, MiB", 1),
];

/// The time for work that a server does after its last response.
const SETTLE_TIME: Duration = Duration::from_millis(500);

pub(crate) fn run(bench: &Bench, options: &MemoryOptions) -> Result<Report> {
    let mode = match (options.http2, options.tls) {
        _ if options.websocket => ServerMode::WebSocket,
        (false, false) => ServerMode::Plain,
        (false, true) => ServerMode::Tls,
        (true, false) => ServerMode::Http2,
        (true, true) => ServerMode::Http2Tls,
    };
    if options.upload {
        return upload::run(bench, options, mode);
    }
    if options.slow_reader {
        return slow_reader::run(bench, options, mode);
    }
    check_descriptors(options)?;
    let defaults: &[&str] = match mode {
        ServerMode::Plain if options.axum => &["axum-stoop", "axum-serve"],
        ServerMode::Plain => &["floor", "hyper", "nginx"],
        ServerMode::Tls => &["hyper", "nginx"],
        ServerMode::WebSocket => &["tungstenite", "tungstenite-lean", "fastwebsockets", "gorilla"],
        _ => &["h2o", "hyper", "nginx"],
    };
    let names = work::names(&options.common, defaults);
    let Participants { ready, mut skipped } = participants::servers(bench, &names, mode)?;
    bench.leave_server_core()?;
    let series =
        rounds::interleave(options.common.rounds(), ready, &mut skipped, |series, contender| {
            turn(bench, options, mode, series, contender)
        });
    Ok(Report::new(subject(options, mode), series, skipped))
}

/// Checks that there are enough descriptors: a connection takes one in a process that needs others too.
fn check_descriptors(options: &MemoryOptions) -> Result<()> {
    const OTHER_DESCRIPTORS: u32 = 200;
    let available = descriptors::limit().saturating_sub(OTHER_DESCRIPTORS).max(1);
    let share = options.connections.div_ceil(options.servers);
    ensure!(
        share <= available,
        "{share} connections to one process are more than the {available} that it has descriptors \
         for; spread them: --servers {}",
        options.connections.div_ceil(available)
    );
    Ok(())
}

fn turn(
    bench: &Bench,
    options: &MemoryOptions,
    mode: ServerMode,
    series: &mut Series,
    contender: &ServerProgram,
) -> Result<Sample> {
    let servers: Vec<RunningServer> = (0..options.servers)
        .map(|_| contender.start(bench, mode, series))
        .collect::<Result<_>>()?;
    // Memory that a server allocates once does not count for a connection.
    for server in &servers {
        drop(Holder::start(bench, server.address, 1, mode).context("the first connection")?);
    }
    std::thread::sleep(SETTLE_TIME);

    let before = anonymous_bytes(&servers)?;
    let share = options.connections.div_ceil(options.servers);
    let mut left = options.connections;
    let mut holders = Vec::new();
    for server in &servers {
        let count = share.min(left);
        left -= count;
        holders.push(Holder::start(bench, server.address, count, mode)?);
    }
    std::thread::sleep(SETTLE_TIME);
    let after = anonymous_bytes(&servers)?;
    let connections = options.connections as usize;
    let open: usize = servers.iter().map(|server| usage::tcp_connections(server.pid())).sum();
    ensure!(
        open >= connections,
        "the servers hold {open} of {connections} connections: they close idle ones too early to \
         be measured"
    );
    Ok(Sample::from([
        (KIB, (after - before) / 1024.0 / connections as f64),
        ("before_mib", before / 1024.0 / 1024.0),
        ("after_mib", after / 1024.0 / 1024.0),
    ]))
}

fn anonymous_bytes(servers: &[RunningServer]) -> Result<f64> {
    servers.iter().map(|server| usage::anonymous_bytes(server.pid()).map(|n| n as f64)).sum()
}

fn subject(options: &MemoryOptions, mode: ServerMode) -> Subject {
    let (work, limit) = match mode {
        ServerMode::Tls => ("memory --tls", Some(10.0)),
        ServerMode::Http2 => ("memory --http2", Some(6.0)),
        ServerMode::Http2Tls => ("memory --http2 --tls", None),
        ServerMode::WebSocket => ("memory --websocket", Some(4.0)),
        ServerMode::Plain if options.axum => ("memory --axum", Some(2.0)),
        _ => ("memory", Some(2.0)),
    };
    let protocol = mode.protocol();
    let what = format!(
        "user memory (RssAnon) of {} idle {protocol} connections that did one {} each, \
         over {}, {} rounds",
        options.connections,
        if options.websocket { "message" } else { "request" },
        match options.servers {
            1 => "one server".to_owned(),
            servers => format!("{servers} servers"),
        },
        options.common.rounds()
    );
    let figure = |limit| Figure::median("KiB per connection", KIB, "stoop", Limit::AtMost(limit));
    let mut figures: Vec<_> = limit.map(figure).into_iter().collect();
    if options.axum {
        figures.push(Figure::ratio(KIB, "axum-stoop", "axum-serve", Limit::AtMost(0.15)));
    }
    Subject {
        work,
        what,
        metrics: METRICS,
        compared: KIB,
        baselines: match (options.websocket, options.axum) {
            (true, _) => &["fastwebsockets", "stoop"],
            (_, true) => &["axum-serve"],
            _ => &["hyper", "stoop"],
        },
        figures,
        sorted_by: None,
    }
}
