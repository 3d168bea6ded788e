//! Hosts that are one because they are at one address, by the logs of the hosts and of the name server.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use stoop_testbed::{DnsAnswer, DnsServer, Records};

use crate::server::Server;
use crate::stoop::{feed, finish, finish_watched, kill, run, stoop, wait_for};

/// The URLs of `names`, `count` of each, in turn.
fn urls(names: &[&str], port: u16, path: &str, count: usize) -> String {
    let each = |n: usize| {
        names
            .iter()
            .map(move |name| format!("http://{name}:{port}{path}?{n}\n"))
            .collect::<String>()
    };
    (0..count).map(each).collect()
}

/// Options by which all `names` are at the address of `server`.
fn resolve(names: &[&str], server: &Server) -> String {
    let (ip, port) = (server.address.ip(), server.address.port());
    names.iter().map(|name| format!(" --resolve {name}:{port}:{ip}")).collect()
}

/// A name server that runs until the test's process ends.
fn name_server(records: Records) -> Arc<DnsServer> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let server = DnsServer::start(records).await.expect("a free port");
            sender.send(Arc::new(server)).expect("the test waits");
            std::future::pending::<()>().await;
        });
    });
    receiver.recv().expect("it has started")
}

/// A name server that never answers.
fn silent_name_server() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    (socket, address)
}

const SIX: [&str; 6] = ["a.test", "b.test", "c.test", "d.test", "e.test", "f.test"];

#[test]
fn six_names_of_one_address_have_no_more_in_flight_than_one_host() {
    for cores in 1..=2 {
        let server = Server::on([127, 0, 7, 1].into());
        // And the address itself, and a port of its own.
        let port = server.address.port();
        let list = urls(&[&SIX[..], &["127.0.7.1"]].concat(), port, "/delay/20", 8);
        let options = format!("-f csv --summary none --per-host 2 --cores {cores}");
        let options = options + &resolve(&SIX, &server);
        let ran = run(stoop(&format!("fetch {options} --by-address")), list.clone());
        assert_eq!((ran.code, ran.lines().len()), (Some(0), 56), "{}", ran.stderr);
        assert!(ran.lines().iter().all(|line| line.code == "200"), "{:?}", ran.codes());
        assert_eq!(server.most_in_flight(), 2, "{cores}");
        let ran = run(stoop(&format!("fetch {options}")), list);
        assert_eq!(ran.lines().len(), 56);
        assert!(server.most_in_flight() > 2, "each name has its own share otherwise");
    }
}

#[test]
fn names_of_different_addresses_do_not_wait_for_each_other() {
    let (hot, other) = (Server::on([127, 0, 7, 2].into()), Server::on([127, 0, 7, 3].into()));
    let list = urls(&["a.test", "b.test"], hot.address.port(), "/delay/20", 100)
        + &urls(&["c.test"], other.address.port(), "/ok/1", 20);
    let options = resolve(&["a.test", "b.test"], &hot) + &resolve(&["c.test"], &other);
    let line = format!("fetch -f csv --summary none --per-host 2 --by-address --cores 1 {options}");
    let ran = run(stoop(&line), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 220), "{}", ran.stderr);
    let last = ran.lines().iter().rposition(|line| line.url.starts_with(b"http://c.test"));
    assert!(last.is_some_and(|last| last < 100), "{last:?}");
    assert_eq!(hot.most_in_flight(), 2);
}

#[test]
fn the_lowest_of_several_addresses_counts_and_each_name_is_asked_for_once() {
    let server = Server::on([127, 0, 7, 4].into());
    let port = server.address.port();
    // Nothing listens at the other addresses, at that port.
    let records = SIX.iter().enumerate().fold(Records::default(), |records, (n, name)| {
        let higher = [127, 0, 7, 100 + n as u8];
        records.with(name, DnsAnswer::addresses([[127, 0, 7, 4], higher], 600))
    });
    let names = name_server(records);
    let list = urls(&SIX, port, "/delay/10", 10);
    let line = "fetch -f csv --summary none --per-host 2 --cores 2 --by-address";
    let ran = run(stoop(&format!("{line} --dns {}", names.address())), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 60), "{}", ran.stderr);
    assert!(ran.lines().iter().all(|line| line.code == "200"), "{:?}", ran.codes());
    assert_eq!(server.most_in_flight(), 2);
    // For IPv4 and for IPv6.
    assert_eq!(names.stats().dns_queries, 2 * 6);
}

#[test]
fn names_that_are_not_found_have_their_errors_and_hold_nothing_up() {
    let server = Server::on([127, 0, 7, 5].into());
    let port = server.address.port();
    let records = Records::default()
        .with("good.test", DnsAnswer::addresses([[127, 0, 7, 5]], 600))
        .with("fails.test", DnsAnswer::ServFail)
        .with("silent.test", DnsAnswer::Silence);
    let names = name_server(records);
    let list = urls(&["silent.test", "gone.test", "fails.test", "good.test"], port, "/ok/1", 10);
    let line = "fetch -f csv --summary none --per-host 8 --cores 2 --by-address -t 2";
    let ran = run(stoop(&format!("{line} --dns {}", names.address())), list);
    let lines = ran.lines();
    assert_eq!((ran.code, lines.len()), (Some(0), 40), "{}", ran.stderr);
    for line in &lines {
        let host = line.url[b"http://".len()..].split(|byte| *byte == b'.').next();
        let expected: &[_] = match host.expect("a host") {
            b"good" => &["200"],
            b"gone" => &["dns_nxdomain"],
            b"fails" => &["dns_servfail"],
            _ => &["total_timeout", "dns_timeout"],
        };
        assert!(expected.contains(&&*line.code), "{line:?}");
    }
    let last_other = lines.iter().rposition(|line| !line.url.starts_with(b"http://silent"));
    assert_eq!(last_other, Some(29), "{lines:?}");
}

#[test]
fn a_run_that_is_stopped_while_names_are_looked_up_has_a_line_for_each_url() {
    let (_socket, address) = silent_name_server();
    let list: String = (0..400).map(|n| format!("http://n{}.test/{n}\n", n / 2)).collect();
    let line = "fetch -f csv --summary none --by-address -t 60 --cores 2";
    let ran = run(stoop(&format!("{line} --dns {address} --duration 1")), list.clone());
    let lines = ran.lines();
    assert_eq!(lines.len(), 400, "{}", ran.stderr);
    assert!(lines.iter().all(|line| line.code == "cancelled"), "{:?}", ran.codes());
    // By a signal, too, where the list goes on.
    let server = Server::on([127, 0, 7, 6].into());
    let mut list = list;
    list += &(0..40).map(|n| server.url(&format!("/ok/1?{n}\n"))).collect::<String>();
    let line = format!("{line} --dns {address}");
    let mut child = stoop(&line).spawn().expect("the binary runs");
    feed(&mut child, list);
    wait_for("the others", || server.requests() == 40);
    kill(&child, "-INT");
    let lines = finish(child).lines();
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert_eq!((lines.len(), count("200"), count("cancelled")), (440, 40, 400));
}

/// Records of silent names, and URLs of them.
fn silent_names(count: usize) -> (Records, String) {
    let name = |n: usize| format!("silent-{n}.test");
    let with = |records: Records, n| records.with(&name(n), DnsAnswer::Silence);
    let records = (0..count).fold(Records::default(), with);
    (records, (0..count).map(|n| format!("http://{}/\n", name(n))).collect())
}

#[test]
fn a_name_is_found_before_the_silent_ones_in_front_of_it_are_given_up() {
    let server = Server::on([127, 0, 7, 7].into());
    let (records, list) = silent_names(200);
    let names = name_server(records.with("good.test", DnsAnswer::addresses([[127, 0, 7, 7]], 600)));
    let list = list + &urls(&["good.test"], server.address.port(), "/ok/1", 2);
    let line = "fetch -f csv --summary none --by-address --per-host 1 -t 60 --cores 1";
    let mut child =
        stoop(&format!("{line} --dns {}", names.address())).spawn().expect("the binary runs");
    feed(&mut child, list);
    // The second comes once the first is done.
    wait_for("both", || server.requests() == 2);
    kill(&child, "-INT");
    let lines = finish(child).lines();
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert!(count("200") > 0 && count("200") + count("cancelled") == 202, "{lines:?}");
}

#[test]
fn a_redirect_to_a_name_does_not_wait_for_the_silent_ones_of_the_list() {
    let server = Server::on([127, 0, 7, 8].into());
    let (records, list) = silent_names(600);
    let names = name_server(records.with("good.test", DnsAnswer::addresses([[127, 0, 7, 8]], 600)));
    let asked_for = {
        let names = Arc::clone(&names);
        move || names.log().into_iter().map(|entry| entry.host).collect::<HashSet<_>>().len()
    };
    // Answers once as many names are looked up as may be.
    let from = TcpListener::bind("127.0.7.9:0").expect("a free port");
    let from_url = format!("http://{}/", from.local_addr().expect("bound"));
    let location = format!("http://good.test:{}/ok/1", server.address.port());
    thread::spawn(move || {
        for mut stream in from.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            wait_for("as many as may be", || asked_for() >= 480);
            let head = format!("HTTP/1.1 302 Found\r\nLocation: {location}\r\n");
            let _ = write!(stream, "{head}Content-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    let line = "fetch -f csv --summary none --by-address --per-host 1 -t 60 --cores 1";
    let mut child =
        stoop(&format!("{line} --dns {}", names.address())).spawn().expect("the binary runs");
    feed(&mut child, list + &format!("{from_url}1\n{from_url}2\n"));
    wait_for("both", || server.requests() == 2);
    kill(&child, "-INT");
    let lines = finish(child).lines();
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert!(count("200") > 0 && count("200") + count("cancelled") == 602, "{lines:?}");
}

#[test]
fn the_memory_for_urls_whose_names_are_looked_up_is_bounded() {
    let (_socket, address) = silent_name_server();
    let list: String = (0..400_000).map(|n| format!("http://name-number-{n}.test/\n")).collect();
    let line = "fetch -f csv --summary none --by-address -t 60 --cores 1";
    let mut child =
        stoop(&format!("{line} --dns {address} --duration 2")).spawn().expect("the binary runs");
    feed(&mut child, list);
    let (ran, peak_kib) = finish_watched(child);
    let read = ran.lines().len();
    assert!((5_000..30_000).contains(&read), "{read}");
    assert!(peak_kib < 64 << 10, "{peak_kib} KiB");
}

#[test]
fn by_address_is_an_option_of_its_own() {
    for (options, text) in
        [("--by-domain", "'--by-domain'"), ("--no-politeness", "'--no-politeness'")]
    {
        let ran = run(stoop(&format!("fetch --by-address {options} http://127.0.0.1:1/")), "");
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    }
}
