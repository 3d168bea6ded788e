//! Connections that a function of the caller's makes.

use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use stoop::{Client, ConnectTarget, ErrorKind, Phase, ServerLimits};
use tokio::io::DuplexStream;

use super::kit::{kind_and_phase, limited};

/// A stream to a server that answers each request by its target.
fn serving() -> DuplexStream {
    let (ours, theirs) = tokio::io::duplex(4096);
    let echo = |request: stoop::Request| request.target().to_owned();
    tokio::spawn(stoop::rt::serve(theirs, echo, ServerLimits::default()));
    ours
}

#[tokio::test(start_paused = true)]
async fn a_connector_is_told_the_target_and_the_deadline() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = seen.clone();
    let connect = move |target: ConnectTarget| {
        let left = target.deadline().map(|by| by.saturating_duration_since(Instant::now()));
        let line = (target.host().to_owned(), target.port(), target.is_secure(), left);
        noted.lock().unwrap().push(line);
        async { io::Result::Ok(serving()) }
    };
    let builder = limited(|limits| {
        limits.time.connect = Some(Duration::from_secs(7));
        limits.time.total = None;
        limits.time.head = None;
    });
    let client = stoop::rt::connector(builder, connect).build().unwrap();
    for url in ["http://a.test/1", "http://a.test/2", "http://b.test:81/3", "http://[::1]/4"] {
        let text = client.get(url).await.unwrap().text().await.unwrap();
        assert_eq!(text, url[url.len() - 2..]);
    }
    client.get("http://c.test/5").timeout(Duration::from_secs(2)).await.unwrap();
    let seen = seen.lock().unwrap();
    let targets: Vec<_> = seen.iter().map(|(host, port, tls, _)| (&**host, *port, *tls)).collect();
    assert_eq!(
        targets,
        [("a.test", 80, false), ("b.test", 81, false), ("[::1]", 80, false), ("c.test", 80, false)]
    );
    let seconds: Vec<_> =
        seen.iter().map(|(.., left)| left.unwrap().as_secs_f64().round()).collect();
    assert_eq!(seconds, [7.0, 7.0, 7.0, 2.0]);
}

#[tokio::test(start_paused = true)]
async fn the_errors_of_a_connector_keep_what_they_say() {
    let connect = |target: ConnectTarget| async move {
        let error: stoop::BoxError = match target.host() {
            "refused" => io::Error::from(io::ErrorKind::ConnectionRefused).into(),
            "ours" => stoop::Error::new(ErrorKind::DnsNxdomain, Phase::Dns).into(),
            _ => "the tunnel is shut".into(),
        };
        Err::<DuplexStream, _>(error)
    };
    let client = stoop::rt::connector(Client::builder(), connect).build().unwrap();
    let connect = Phase::Connect;
    for (host, expected, text) in [
        ("refused", (ErrorKind::ConnectRefused, connect), "connection refused"),
        ("ours", (ErrorKind::DnsNxdomain, Phase::Dns), "the name does not exist"),
        ("other", (ErrorKind::ConnectUnreachable, connect), "the tunnel is shut"),
    ] {
        let error = client.get(format!("http://{host}/")).await.unwrap_err();
        assert!(error.to_string().contains(text), "{error}");
        assert_eq!(error.source().is_some(), host != "ours", "{error}");
        assert_eq!(kind_and_phase(error), expected, "{host}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connector_that_takes_too_long_is_dropped() {
    let kept = Arc::new(());
    let held = kept.clone();
    let connect = move |_: ConnectTarget| {
        let held = held.clone();
        async move {
            std::future::pending::<()>().await;
            drop(held);
            io::Result::Ok(serving())
        }
    };
    let builder = limited(|limits| limits.time.connect = Some(Duration::from_millis(300)));
    let client = stoop::rt::connector(builder, connect).build().unwrap();
    let outcome = client.get("http://a.test/").await.map_err(kind_and_phase).err();
    assert_eq!(outcome, Some((ErrorKind::ConnectTimeout, Phase::Connect)));
    drop(client);
    assert_eq!(Arc::strong_count(&kept), 1);
}
