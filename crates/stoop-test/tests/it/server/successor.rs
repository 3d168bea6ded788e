//! Sockets that a process hands over to another that it starts, by what any program could call. Clients connect all the
//! while: none is refused, none is reset, each is answered.

use std::fs::File;
use std::io::{Read, Write, pipe, stdin};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use stoop::{Binding, Request, Server, ServerHandle};
use stoop_io::{hand_descriptor, take_inherited_descriptor};

use super::process::{ServerProcess, announce, count, wait_for_the_end};
use super::seconds;

/// The variable that names the descriptors to the new process: the sockets, and a pipe.
const HANDED: &str = "STOOP_TEST_HANDED";

const WORKERS: usize = 2;

const CLOSE: &[u8] = b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";

/// One connection with one request. Returns which process has answered.
fn ask(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).expect("no connection is refused");
    stream.set_read_timeout(Some(seconds(20))).unwrap();
    stream.write_all(CLOSE).expect("no connection is reset");
    let mut response = String::new();
    stream.read_to_string(&mut response).expect("no connection is reset");
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    response.split_once("\r\n\r\n").expect("a whole head").1.to_owned()
}

/// Waits until that many more requests were answered.
fn wait_for(answered: &AtomicU64, more: u64) {
    let before = answered.load(Relaxed);
    for _ in 0..20_000 {
        if answered.load(Relaxed) >= before + more {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
    panic!("{} of {more} are answered", answered.load(Relaxed) - before);
}

#[test]
fn no_client_notices_that_another_process_takes_the_place() {
    let mut server = ServerProcess::start("successor::a_server_that_hands_over", "true");
    let address = server.address;
    let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, answered) = (stop.clone(), answered.clone());
            thread::spawn(move || {
                let mut processes = Vec::new();
                while !stop.load(Relaxed) {
                    processes.push(ask(address));
                    answered.fetch_add(1, Relaxed);
                }
                processes
            })
        })
        .collect();
    wait_for(&answered, 50);
    server.tell("hand over");
    assert_eq!(server.told("cut off "), "0");
    wait_for(&answered, 50);
    stop.store(true, Relaxed);
    let clients = clients.into_iter().map(|client| client.join().unwrap());
    let processes: Vec<String> = clients.flatten().collect();
    let counts = server.finish();
    for process in ["old", "new"] {
        let answers = processes.iter().filter(|by| *by == process).count() as u64;
        assert!(answers >= 20 && answers == counts[process], "{process}: {answers}, {counts:?}");
    }
}

#[test]
#[ignore = "a process that the test above starts, and that starts another"]
fn a_server_that_hands_over() {
    // Before anything else is opened, so that their numbers are small.
    let nothing = || File::open("/dev/null").unwrap().into();
    let places: Vec<OwnedFd> = (0..=WORKERS).map(|_| nothing()).collect();
    let Ok(handed) = std::env::var(HANDED) else {
        let server = start(Binding::new("127.0.0.1:0").unwrap(), "old");
        announce(&server);
        stdin().read_line(&mut String::new()).unwrap();
        hand_over(&server, places);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let cut_off = runtime.block_on(server.drain(seconds(10)));
        println!("cut off {cut_off}");
        return count("old", server.stats().accepted);
    };
    let numbers = handed.split(',').map(|number| number.parse().unwrap());
    let mut handed: Vec<_> = numbers.map(|n| take_inherited_descriptor(n).unwrap()).collect();
    let ready = handed.pop().unwrap();
    let server = start(Binding::from_sockets(handed).unwrap(), "new");
    File::from(ready).write_all(b"ready").unwrap();
    wait_for_the_end();
    count("new", server.stats().accepted);
}

fn start(place: Binding, name: &'static str) -> ServerHandle {
    Server::listen(place).unwrap().workers(WORKERS).run(move |_: Request| name).unwrap()
}

/// Starts this program again with the sockets of `server`, and waits until it serves.
#[expect(clippy::zombie_processes, reason = "it outlives this process")]
fn hand_over(server: &ServerHandle, mut places: Vec<OwnedFd>) {
    let (mut ready, told) = pipe().unwrap();
    let mut handed = server.sockets().unwrap().remove(0);
    handed.push(told.into());
    assert!(handed.len() <= places.len());
    let hand = |(descriptor, place)| hand_descriptor(descriptor, place).unwrap().to_string();
    let numbers: Vec<String> = handed.into_iter().zip(&mut places).map(hand).collect();
    let mut successor = Command::new(std::env::current_exe().unwrap());
    successor.args(std::env::args().skip(1)).env(HANDED, numbers.join(","));
    successor.spawn().unwrap();
    // If the new process ends, so does the pipe.
    drop(places);
    let mut word = [0; 5];
    ready.read_exact(&mut word).expect("the new process serves");
    assert_eq!(&word, b"ready");
}
