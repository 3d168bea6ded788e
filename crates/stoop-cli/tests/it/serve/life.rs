//! Signals: the files are read again, what runs is finished, a new process takes over.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::{Folder, Served, command};

#[test]
fn sigterm_and_sigint_end_it_with_0() {
    let folder = Folder::new(&[]);
    for name in ["TERM", "INT"] {
        let mut served = Served::start(&folder, "");
        served.signal(name);
        assert_eq!(served.child.wait().unwrap().code(), Some(0), "{name}");
    }
}

/// A response of which a part is sent is sent to its end.
#[test]
fn what_runs_is_finished_before_the_end() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20))]);
    let mut served = Served::start(&folder, "");
    let mut stream = TcpStream::connect(&served.authority).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(&head, b"HTTP/1.1 200");
    served.signal("TERM");
    let authority = served.authority.clone();
    while TcpStream::connect(&authority).is_ok() {
        thread::sleep(Duration::from_millis(10));
    }
    assert!(served.child.try_wait().unwrap().is_none());
    let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert!(rest > 40 << 20);
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20))]);
    let mut served = Served::start(&folder, "");
    let mut stream = TcpStream::connect(&served.authority).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    let begun = Instant::now();
    served.signal("TERM");
    let mut said = String::new();
    BufReader::new(served.child.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert_eq!(said, "stoop: waits for 1 connection to end, 30 s at most, or another signal\n");
    served.signal("TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn sighup_reads_the_file_of_options_again() {
    let folder = Folder::new(&[("one/f", "one"), ("two/f", "two")]);
    let write = |text: &str| folder.write("serve.toml", text);
    write("directory = 'one'\nlisten = ['127.0.0.1:0']\n");
    let mut command = crate::stoop::stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = BufReader::new(served.child.stderr.take().unwrap()).lines();
    // A file that is written while it is read would be half a file.
    let mut told = |end: &str| {
        let line = messages.next().unwrap().unwrap();
        assert!(line.ends_with(end), "{line}");
    };
    served.until("/f", "one");
    write("directory = 'two'\n");
    served.signal("HUP");
    told("read again what is served, and how; with the next process change: where it listens");
    served.until("/f", "two");
    write("directory = 'three'\n");
    served.signal("HUP");
    told("everything stays as it was");
    served.until("/f", "two");
    write("directory = 'two'\nlisting = true\nlisten = ['127.0.0.1:0']\n");
    served.signal("HUP");
    told("read again what is served, and how");
    for _ in 0..500 {
        if served.get("/", "accept: text/html\r\n").0.starts_with("HTTP/1.1 200") {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the listing is not there");
}

/// Clients connect all the while, and each is answered.
#[test]
fn sigusr2_hands_the_sockets_over_to_a_new_process() {
    let folder = Folder::new(&[("f", "content")]);
    let mut old = Served::run(command(&folder, "--workers 2 -l 127.0.0.1:0"));
    let (ended, authority) = (Arc::new(AtomicBool::new(false)), old.authority.clone());
    let (told, counts) = mpsc::channel();
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (ended, authority, told) = (ended.clone(), authority.clone(), told.clone());
            thread::spawn(move || {
                let mut answered = 0_u32;
                while !ended.load(Relaxed) {
                    let request = "GET /f HTTP/1.1\r\nhost: a\r\n";
                    let (_, content) = super::exchange(&authority, request);
                    assert_eq!(content, "content");
                    answered += 1;
                }
                told.send(answered).unwrap();
            })
        })
        .collect();
    old.signal("USR2");
    // Its end is the sign that the new one serves.
    assert_eq!(old.child.wait().unwrap().code(), Some(0));
    for _ in 0..20 {
        assert_eq!(super::exchange(&authority, "GET /f HTTP/1.1\r\nhost: a\r\n").1, "content");
    }
    ended.store(true, Relaxed);
    for client in clients {
        client.join().expect("no connection is refused or reset");
    }
    drop(told);
    assert!(counts.iter().sum::<u32>() > 20);
    // The new process has the other end of this pipe too.
    let mut told = String::new();
    BufReader::new(old.child.stderr.take().unwrap()).read_line(&mut told).unwrap();
    let process = told.split_whitespace().nth(2).unwrap();
    assert_eq!(told, format!("stoop: process {process} took over\n"));
    let ended = std::process::Command::new("kill").arg(process).status().unwrap();
    assert!(ended.success(), "process {process} serves");
}

/// At once, where nothing was told in the last minute, and at the end.
#[test]
fn lines_that_the_access_log_loses_are_told() {
    if !std::path::Path::new("/dev/full").exists() {
        return crate::stoop::skip("serve::life::lines_that_are_lost", "needs /dev/full");
    }
    let folder = Folder::new(&[("f", "content")]);
    let mut served = Served::start(&folder, "--access-log-file /dev/full");
    let mut messages = BufReader::new(served.child.stderr.take().unwrap()).lines();
    let mut told = || messages.next().unwrap().unwrap();
    served.get("/f", "");
    assert_eq!(told(), "stoop: the access log loses lines: 1 write failed");
    served.get("/f", "");
    served.signal("TERM");
    assert_eq!(told(), "stoop: the access log loses lines: 1 write failed");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}
