//! What a program gives a run: jobs by a queue.

use std::thread;
use std::time::Instant;

use stoop::Request;
use stoop_fetch::Fetch;
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::queue;

use super::{LIMIT, Written, run};

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
