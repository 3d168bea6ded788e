//! Runs whose hosts are told apart by their addresses, through the public interface of the library alone.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Cursor, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use serde_json::Value;
use stoop::dns::Addresses;
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, HostGroup, Politeness};

/// A server that answers each request after a moment, and counts those that are in flight.
struct Site {
    address: SocketAddr,
    most_in_flight: Arc<AtomicUsize>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let most_in_flight = Arc::<AtomicUsize>::default();
        let (most, in_flight) = (Arc::clone(&most_in_flight), Arc::<AtomicUsize>::default());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (most, in_flight) = (Arc::clone(&most), Arc::clone(&in_flight));
                thread::spawn(move || {
                    let mut reader = BufReader::new(&stream);
                    let mut line = String::new();
                    while reader.read_line(&mut line).is_ok_and(|length| length > 2) {
                        line.clear();
                    }
                    most.fetch_max(in_flight.fetch_add(1, SeqCst) + 1, SeqCst);
                    thread::sleep(Duration::from_millis(10));
                    in_flight.fetch_sub(1, SeqCst);
                    let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
                    let _ = (&stream).write_all(head.as_bytes());
                    let _ = (&stream).read(&mut [0; 64]);
                });
            }
        });
        Self { address, most_in_flight }
    }
}

/// The memory that a run writes to.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Runs to the end, and returns the status or the kind of error of each URL, sorted by those.
fn run(fetch: Fetch, urls: &[String]) -> Vec<(String, String)> {
    let written = Written::default();
    let lines = Lines::new(Cursor::new(urls.join("\n")));
    let fetch = fetch.timeout(Duration::from_secs(30));
    let finished = fetch.run(lines, JsonLines::new(), written.clone()).expect("it runs");
    finished.check().expect("nothing went wrong with the run");
    let written = written.0.lock().expect("no panic");
    let records = written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    let mut results: Vec<_> = records
        .map(|record| {
            let record: Value = serde_json::from_slice(record).expect("JSON");
            let text = |name: &str| record[name].as_str().unwrap_or_default().to_owned();
            let result = record["status"]
                .as_u64()
                .map_or_else(|| text("error_kind"), |status| status.to_string());
            (text("url"), result)
        })
        .collect();
    results.sort();
    results
}

fn by_address(workers: usize) -> Fetch {
    let politeness = Politeness::default().per_host(2).group(HostGroup::Address);
    Fetch::new().politeness(Some(politeness)).workers(workers)
}

#[test]
fn urls_whose_filter_panics_have_records_and_so_have_all_others() {
    let site = Site::start();
    let port = site.address.port();
    let urls = [
        format!("http://127.0.7.9:{port}/first"),
        format!("http://127.0.0.1:{port}/"),
        format!("http://127.0.7.9:{port}/second"),
    ];
    let fetch = by_address(2).client(|client| {
        client.address_filter(|address| {
            assert_ne!(address, IpAddr::from([127, 0, 7, 9]), "a defect of the filter");
            true
        })
    });
    let expected = [(&urls[1], "200"), (&urls[0], "internal"), (&urls[2], "internal")];
    assert_eq!(run(fetch, &urls), expected.map(|(url, code)| (url.clone(), code.to_owned())));
}

#[test]
fn urls_whose_resolver_panics_have_records_and_so_have_all_others() {
    let site = Site::start();
    let port = site.address.port();
    let urls = ["at-once", "later", "fine"].map(|name| format!("http://{name}.test:{port}/"));
    let fetch = by_address(2).client(|client| {
        client.custom_resolver(|host: String| {
            assert_ne!(host, "at-once.test", "a defect of the resolver");
            async move {
                assert_ne!(host, "later.test", "a defect of the resolver");
                Ok::<Addresses, String>(IpAddr::from([127, 0, 0, 1]).into())
            }
        })
    });
    let expected = [(&urls[0], "internal"), (&urls[2], "200"), (&urls[1], "internal")];
    assert_eq!(run(fetch, &urls), expected.map(|(url, code)| (url.clone(), code.to_owned())));
}

#[test]
fn names_of_a_resolver_of_the_callers_are_one_host_by_their_lowest_address() {
    let site = Site::start();
    let port = site.address.port();
    let names: Vec<_> = (0..10).map(|n| format!("name-{n}.test")).collect();
    let url = |n: usize| format!("http://{}:{port}/{n}", names[n % names.len()]);
    let urls: Vec<_> = (0..40).map(url).collect();
    let asked = Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let noted = Arc::clone(&asked);
    let fetch = by_address(2).client(move |client| {
        let noted = Arc::clone(&noted);
        client.custom_resolver(move |host: String| {
            let number = {
                let mut noted = noted.lock().expect("no panic");
                *noted.entry(host).or_default() += 1;
                noted.len() as u8
            };
            // Each has another one beside it, at which nothing listens.
            let higher = IpAddr::from([127, 0, 7, number]);
            async move { Ok::<Addresses, String>(vec![[127, 0, 0, 1].into(), higher].into()) }
        })
    });
    let results = run(fetch, &urls);
    assert!(results.len() == 40 && results.iter().all(|(_, code)| code == "200"), "{results:?}");
    assert!(site.most_in_flight.load(SeqCst) <= 2);
    // Once to tell the hosts apart, and to connect.
    let asked = asked.lock().expect("no panic");
    assert!(asked.len() == 10 && asked.values().all(|times| (2..=5).contains(times)), "{asked:?}");
}
