//! Accepting without free descriptors: in a process of its own, limited to 64 of them.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use stoop_io::{
    Accepted, Balance, ConnectionSlot, ListenOptions, Listener, PlacedConnection, Wheel,
};
use tokio::runtime::{Builder, LocalOptions};

const CLIENTS: usize = 150;

#[test]
fn a_listener_survives_without_descriptors_and_recovers_at_once() {
    let mut child = Command::new("sh")
        .args(["-c", "ulimit -n 64 && exec \"$0\" --exact a_worker_without_descriptors_serves_what_it_has --ignored --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    let address: SocketAddr = loop {
        line.clear();
        assert_ne!(lines.read_line(&mut line).unwrap(), 0, "the child says nothing");
        if let Some(address) = line.trim().strip_prefix("listening on ") {
            break address.parse().unwrap();
        }
    };
    // The queue of the listening socket takes all of them at once.
    let clients: Vec<_> = (0..CLIENTS).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut rest = String::new();
    lines.read_to_string(&mut rest).unwrap();
    println!("{rest}");
    assert!(child.wait().unwrap().success(), "{rest}");
    drop(clients);
}

type ServedConnections = Rc<RefCell<Vec<(Accepted, Option<ConnectionSlot>)>>>;

#[test]
#[ignore = "run by the test above, in a process with few descriptors"]
fn a_worker_without_descriptors_serves_what_it_has() {
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        tokio::task::spawn_local(Wheel::run());
        let any = SocketAddr::from(([127, 0, 0, 1], 0)).into();
        let mut listener = Listener::bind(&any, &ListenOptions::default()).unwrap();
        println!("listening on {}", listener.address());
        let (served, handle) = (ServedConnections::default(), Balance::new(1).handle(0));
        let into = Rc::clone(&served);
        let starved = Rc::new(RefCell::new(0));
        let counted = Rc::clone(&starved);
        tokio::task::spawn_local(async move {
            loop {
                let accept = std::future::poll_fn(|cx| {
                    let polled = listener.poll_accept(cx);
                    *counted.borrow_mut() = listener.starved();
                    polled
                });
                let PlacedConnection { connection, slot } =
                    handle.place(accept.await.unwrap()).unwrap();
                into.borrow_mut().push((connection, Some(slot)));
            }
        });

        // This is about real time and the kernel's view of it: no paused clock has a say.
        let wait = |millis| tokio::time::sleep(Duration::from_millis(millis));
        while *starved.borrow() == 0 {
            wait(1).await;
        }
        let full = served.borrow().len();
        assert!(full > 32 && full < 64, "{full} accepted");

        // 1. Starved for two seconds: a few tries, hardly any work, nothing accepted or lost.
        let (began, cpu) = (Instant::now(), cpu_time());
        wait(2_000).await;
        let share = (cpu_time() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        println!("{} tries, {:.3} % of a core", starved.borrow(), share * 100.0);
        assert!(share < 0.05);
        assert!(*starved.borrow() < 20);
        assert_eq!(served.borrow().len(), full);

        // 2. Descriptors that come free with their slots are used at once, although by now the
        //    pauses are a second long.
        let began = Instant::now();
        served.borrow_mut().truncate(full - 20);
        while served.borrow().len() < full {
            wait(1).await;
        }
        println!("20 more after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_millis(300));

        // 3. Descriptors whose release is not reported, at the next attempt.
        while *starved.borrow() < 15 {
            wait(10).await;
        }
        let began = Instant::now();
        for (_, slot) in served.borrow_mut().iter_mut() {
            std::mem::forget(slot.take());
        }
        served.borrow_mut().truncate(full - 20);
        while served.borrow().len() < full {
            wait(1).await;
        }
        println!("20 more, untold, after {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_millis(1_300));
    });
}

/// CPU time of this thread.
fn cpu_time() -> Duration {
    if let Ok(stat) = std::fs::read_to_string("/proc/thread-self/schedstat") {
        let nanos = stat.split(' ').next().and_then(|nanos| nanos.parse().ok());
        return Duration::from_nanos(nanos.unwrap());
    }
    Duration::ZERO
}
