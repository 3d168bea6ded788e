//! Connections are spread evenly over workers, whichever of them accepts a connection.

use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::{Arc, Barrier, Mutex};
use std::task::{Context, Waker};

use stoop_io::{
    Accepted, Balance, ListenOptions, Listener, Output, PlacedConnection, Transport, WorkerHandle,
    WorkerOptions, Workers,
};

/// Random numbers from a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
        (self.0 >> 33) as usize % limit
    }
}

fn picked_up(handle: &mut WorkerHandle<usize>) -> Vec<PlacedConnection<usize>> {
    let mut cx = Context::from_waker(Waker::noop());
    let mut all = Vec::new();
    while let std::task::Poll::Ready(placed) = handle.poll_handed(&mut cx) {
        assert_eq!(placed.slot.worker(), handle.worker());
        all.push(placed);
    }
    all
}

#[test]
fn a_worker_within_its_share_keeps_what_it_accepts() {
    let balance = Balance::new(3);
    let handles: Vec<_> = (0..3).map(|worker| balance.handle(worker)).collect();
    let mut kept = Vec::new();
    for n in 0..300 {
        kept.extend(handles[n % 3].place(n));
    }
    assert_eq!(kept.len(), 300);
    assert_eq!(balance.connections(), [100, 100, 100]);
    drop(kept);
    assert_eq!(balance.connections(), [0, 0, 0]);
}

#[test]
fn any_order_of_64_connections_is_split_within_12_percent_of_even() {
    for seed in 0..1_000 {
        let mut random = Random(seed);
        let balance = Balance::new(2);
        let mut handles = [balance.handle(0), balance.handle(1)];
        let (mut kept, mut opened) = (Vec::new(), 0);
        while opened < 64 {
            let (worker, burst) = (random.below(2), 1 + random.below(20));
            for _ in 0..burst.min(64 - opened) {
                kept.extend(handles[worker].place(opened));
                opened += 1;
            }
            if random.below(2) == 0 {
                kept.extend(handles.iter_mut().flat_map(picked_up));
            }
        }
        kept.extend(handles.iter_mut().flat_map(picked_up));
        let mut numbers: Vec<_> = kept.iter().map(|placed| placed.connection).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..64).collect::<Vec<_>>(), "each once");
        let split = balance.connections();
        assert!(split.iter().all(|n| (28..=36).contains(n)), "seed {seed}: {split:?}");
    }
}

#[test]
fn new_connections_make_up_for_those_that_ended_unevenly() {
    let balance = Balance::new(2);
    let mut handles = [balance.handle(0), balance.handle(1)];
    let mut kept: Vec<_> = (0..64).flat_map(|n| handles[n % 2].place(n)).collect();
    kept.retain(|placed| placed.slot.worker() == 0);
    assert_eq!(balance.connections(), [32, 0]);
    for n in 0..32 {
        kept.extend(handles[0].place(n));
    }
    kept.extend(picked_up(&mut handles[1]));
    assert!(balance.connections()[1] >= 28, "{:?}", balance.connections());
}

#[test]
fn no_connection_is_handed_to_an_absent_worker() {
    let balance = Balance::new(2);
    let handle = balance.handle(0);
    let kept: Vec<_> = (0..10).flat_map(|n| handle.place(n)).collect();
    assert_eq!(kept.len(), 10, "the other has not come yet");
    let other = balance.handle(1);
    assert!(handle.place(10).is_none());
    let waiting = other.close();
    assert_eq!(waiting.len(), 1, "what was handed over is returned");
    assert!(handle.place(11).is_some(), "the other has left");
    assert_eq!((balance.lost(), balance.connections()), (0, vec![10, 1]));
}

#[test]
fn connections_handed_to_a_worker_that_panicked_are_closed_and_counted() {
    let balance = Balance::new(2);
    let (handle, broken) = (balance.handle(0), balance.handle(1));
    let connection = Rc::new(());
    let kept: Vec<_> = (0..10).flat_map(|_| handle.place(Rc::clone(&connection))).collect();
    let handed = 10 - kept.len();
    assert!(handed > 0);
    drop(broken);
    assert_eq!(balance.lost(), handed as u64);
    assert_eq!(Rc::strong_count(&connection), 1 + kept.len(), "closed");
    assert_eq!(balance.connections(), [kept.len(), 0]);
    drop(balance.handle(1));
}

#[test]
fn a_worker_that_does_not_keep_up_is_handed_a_bounded_number() {
    let balance = Balance::new(2);
    let (handle, idle) = (balance.handle(0), balance.handle(1));
    let kept: Vec<_> = (0..10_000).flat_map(|n| handle.place(n)).collect();
    assert_eq!(kept.len(), 10_000 - 1_024);
    assert_eq!(idle.close().len(), 1_024);
}

/// Serves a connection: sends one byte, and waits for the client to close.
async fn serve(PlacedConnection { connection, slot }: PlacedConnection<Accepted>) {
    let mut transport = connection.register().unwrap();
    let mut out = Output::default();
    out.put(b"!");
    poll_fn(|cx| transport.poll_flush(cx, &mut out)).await.unwrap();
    let _ = poll_fn(|cx| transport.poll_fill(cx, 1)).await;
    drop(transport);
    drop(slot);
}

#[test]
fn two_workers_get_64_connections_within_12_percent_of_even_50_times() {
    let any = SocketAddr::from(([127, 0, 0, 1], 0)).into();
    let listeners = Listener::per_core(&any, 2, &ListenOptions::default()).unwrap();
    let address = listeners[0].address().inet().unwrap();
    let listeners = Mutex::new(listeners);
    let balance = Balance::new(2);
    let shared = balance.clone();
    // Nothing is handed to a worker that has not taken its handle: the rounds begin when both have.
    let started = Arc::new(Barrier::new(3));
    let worker_started = Arc::clone(&started);
    let options = WorkerOptions { count: 2, ..WorkerOptions::default() };
    let workers = Workers::start(&options, move |mut worker| {
        let mut listener = listeners.lock().unwrap().pop().unwrap();
        let mut handle = shared.handle(worker.index());
        worker_started.wait();
        async move {
            let run = async {
                loop {
                    let placed = poll_fn(|cx| {
                        if let std::task::Poll::Ready(placed) = handle.poll_handed(cx) {
                            return std::task::Poll::Ready(Some(placed));
                        }
                        listener.poll_accept(cx).map(|accepted| handle.place(accepted.unwrap()))
                    });
                    if let Some(placed) = placed.await {
                        tokio::task::spawn_local(serve(placed));
                    }
                }
            };
            tokio::select! { () = run => (), () = worker.stopped() => () }
        }
    })
    .unwrap();
    started.wait();

    let mut splits = Vec::new();
    for round in 0..50 {
        let mut random = Random(round);
        let mut clients = Vec::new();
        while clients.len() < 64 {
            let burst = (1 + random.below(64)).min(64 - clients.len());
            let from = clients.len();
            clients.extend((0..burst).map(|_| TcpStream::connect(address).unwrap()));
            // Some bursts come one behind the other, some on top of each other.
            for client in clients[from..].iter_mut().filter(|_| random.below(2) == 0) {
                client.write_all(b"").unwrap();
            }
        }
        for client in &mut clients {
            client.read_exact(&mut [0]).unwrap();
        }
        let split = balance.connections();
        assert_eq!(split.iter().sum::<usize>(), 64);
        assert!(split.iter().all(|n| (28..=36).contains(n)), "round {round}: {split:?}");
        splits.push(split[0]);
        drop(clients);
        while balance.connections() != [0, 0] {
            std::thread::yield_now();
        }
    }
    println!("first worker's share: {splits:?}");
    workers.stop();
    workers.wait().unwrap();
    assert_eq!(balance.lost(), 0);
}
