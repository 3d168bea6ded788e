//! What a program gives a run: jobs by a queue, and sitemaps whose settings are made later.

use std::thread;
use std::time::Instant;

use stoop::Request;
use stoop_fetch::Fetch;
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::{Sitemap, queue};

use super::{LIMIT, Written, run};

/// They had the settings of the time when they were asked for.
#[test]
fn sitemaps_are_fetched_with_settings_that_are_made_after_them() {
    let index = "<sitemapindex><sitemap><loc>http://a.test/a.xml</loc></sitemap></sitemapindex>";
    let mut fetch = Fetch::new();
    let mut nested = fetch.nested_sitemaps();
    let source = Sitemap::new(index.as_bytes()).open_nested(move |url| nested.open(url));
    let site = |request: Request| match (request.path(), request.field("x-key")) {
        ("/a.xml", Some(_)) => "<urlset><url><loc>http://a.test/page</loc></url></urlset>",
        ("/page", Some(_)) => "a page",
        _ => "no key",
    };
    let fetch = fetch.field("x-key", b"7").client(move |client| client.handler(site));
    let written = Written::default();
    let finished = run(fetch, source, JsonLines::new(), written.clone());
    finished.check().expect("nothing went wrong");
    let lines = String::from_utf8(written.0.lock().expect("no panic").clone()).expect("text");
    assert!(lines.contains(r#""url":"http://a.test/page""#), "{lines}");
    assert_eq!((finished.figures().total_urls, finished.figures().body_bytes), (1, 6), "{lines}");
}

#[test]
fn jobs_that_are_sent_to_a_queue_are_fetched_until_its_senders_are_gone() {
    let (jobs, queued) = queue(3);
    let sender = thread::spawn(move || {
        for number in 0..500 {
            jobs.blocking_send(format!("http://a.test/{number}")).expect("they are taken");
        }
    });
    let fetch = Fetch::new().client(|client| client.handler(|_: Request| "a page"));
    let finished = run(fetch, queued, JsonLines::new(), Written::default());
    sender.join().expect("no panic");
    assert_eq!((finished.figures().total_urls, finished.figures().ok), (500, 500));
}

#[test]
fn a_run_that_is_stopped_takes_no_more_jobs_of_its_queue() {
    let (jobs, queued) = queue(1);
    let fetch = Fetch::new().client(|client| client.handler(|_: Request| "a page"));
    let run = fetch.start(queued, JsonLines::new(), Written::default()).expect("it starts");
    jobs.blocking_send("http://a.test/").expect("they are taken");
    run.stop();
    let begin = Instant::now();
    while jobs.blocking_send("http://a.test/late").is_ok() {
        assert!(begin.elapsed() < LIMIT, "jobs are taken for ever");
    }
    run.wait().check().expect("nothing went wrong");
}
