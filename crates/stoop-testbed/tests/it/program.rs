//! The testbed as a command line runs it.

use std::path::PathBuf;

use stoop_testbed::{EntryKind, LogEntry, RunArgs, run};
use tokio::sync::oneshot;

use crate::resolve::resolve;

/// A directory of this test's own, removed at its end.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("stoop-testbed-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test]
async fn a_run_writes_its_files_and_ends_cleanly() {
    let directory = Directory::new("run");
    let at = |name: &str| directory.0.join(name);
    let args = RunArgs {
        urls: 50,
        list: Some(at("list")),
        expected: Some(at("expected.csv")),
        ca: Some(at("ca.pem")),
        log: Some(at("log.csv")),
        ..RunArgs::default()
    };
    let (tell, told) = oneshot::channel();
    let (stop, stopping) = oneshot::channel::<()>();
    let running = tokio::spawn(run(
        args,
        move |internet| {
            let first = internet.planned().url(0).unwrap();
            tell.send((internet.dns_addr(), internet.planned().clone(), first)).unwrap();
        },
        async move {
            let _ = stopping.await;
        },
    ));
    let (dns, plan, first) = told.await.unwrap();
    let list = std::fs::read_to_string(at("list")).unwrap();
    assert!(list.lines().map(str::to_owned).eq(plan.iter().map(|url| url.text)));
    assert!(!at("list.part").exists() && !at("expected.csv.part").exists());
    let expected = std::fs::read_to_string(at("expected.csv")).unwrap();
    let urls = expected.lines().skip(1).map(|line| line.split(',').next().unwrap());
    assert!(urls.eq(list.lines()));
    assert!(std::fs::read_to_string(at("ca.pem")).unwrap().starts_with("-----BEGIN CERTIFICATE"));
    resolve(dns, &first.host).await.unwrap();
    stop.send(()).unwrap();
    let stats = running.await.unwrap().unwrap();
    assert_eq!(stats.dns_queries, 1);

    let log = std::fs::read_to_string(at("log.csv")).unwrap();
    assert!(log.ends_with('\n'));
    let entries: Vec<LogEntry> = log.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    let kinds: Vec<EntryKind> = entries.iter().map(|entry| entry.kind).collect();
    assert_eq!(kinds, [EntryKind::Start, EntryKind::Dns, EntryKind::Stop]);
    assert_eq!((entries[1].host.as_str(), entries[1].url), (first.host.as_str(), Some(0)));
}

#[tokio::test]
async fn errors_name_the_option_and_the_file() {
    let file = || Some("/no/such/directory/file".into());
    for (option, args) in [
        ("--log", RunArgs { log: file(), ..RunArgs::default() }),
        ("--ca", RunArgs { ca: file(), ..RunArgs::default() }),
        ("--list", RunArgs { list: file(), ..RunArgs::default() }),
        ("--expected", RunArgs { expected: file(), ..RunArgs::default() }),
    ] {
        let error = run(args, |_| panic!("it started"), std::future::pending()).await.unwrap_err();
        let begin = format!("{option} /no/such/directory/file: ");
        assert!(error.to_string().starts_with(&begin), "{error}");
    }
    let public = RunArgs { dns: ([192, 0, 2, 1], 53).into(), ..RunArgs::default() };
    let error = run(public, |_| panic!("it started"), std::future::pending()).await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
}
