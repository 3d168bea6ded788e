use super::*;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::task::Waker;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn clean() -> Link {
    Link::default()
}

async fn send(to: &mut Sim, bytes: &[u8]) -> io::Result<()> {
    let mut out = Output::default();
    out.put(bytes);
    poll_fn(|cx| to.poll_flush(cx, &mut out)).await
}

async fn fill(from: &mut Sim) -> io::Result<FillResult> {
    poll_fn(|cx| from.poll_fill(cx, usize::MAX)).await
}

/// The sizes of all reads until the end.
async fn reads(from: &mut Sim) -> Vec<usize> {
    let mut sizes = Vec::new();
    while let FillResult::Bytes(n) = fill(from).await.unwrap() {
        sizes.push(n);
    }
    sizes
}

async fn shutdown(end: &mut Sim) {
    poll_fn(|cx| end.poll_shutdown(cx)).await.unwrap();
}

fn kind<T>(result: io::Result<T>) -> ErrorKind {
    result.err().expect("an error").kind()
}

/// Whether something happens within a minute.
async fn stalls<T>(what: impl Future<Output = T>) -> bool {
    tokio::time::timeout(Duration::from_secs(60), what).await.is_err()
}

#[tokio::test(start_paused = true)]
async fn a_default_link_is_a_plain_connection() {
    let (mut a, mut b, log) = Sim::pair(1, &clean(), &clean());
    send(&mut a, b"ping").await.unwrap();
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(4));
    send(&mut b, b"pong").await.unwrap();
    shutdown(&mut b).await;
    assert_eq!(reads(&mut a).await, [4]);
    assert_eq!((b.take(4), a.take(4)), ("ping".into(), "pong".into()));
    assert_eq!((log.sent(Way::There), log.delivered(Way::Back)), ("ping".into(), "pong".into()));
    assert_eq!(log.to_string(), "+0.000s > ping\n+0.000s < pong\n");
}

#[tokio::test(start_paused = true)]
async fn bytes_arrive_after_the_latency_and_keep_their_order() {
    let jittery = Link { latency: 50 * MS, jitter: 20 * MS, ..clean() };
    let (mut a, mut b, _) = Sim::pair(7, &jittery, &clean());
    let begin = now();
    for n in 0..100 {
        send(&mut a, &[n]).await.unwrap();
    }
    shutdown(&mut a).await;
    fill(&mut b).await.unwrap();
    assert!((50 * MS..=71 * MS).contains(&(now() - begin)), "{:?}", now() - begin);
    reads(&mut b).await;
    assert!(now() - begin <= 72 * MS);
    assert_eq!(b.received(), (0..100).collect::<Vec<u8>>());
}

#[tokio::test(start_paused = true)]
async fn reads_are_split_as_the_link_says() {
    for (split, sizes) in [
        (Split::Whole, vec![10]),
        (Split::Each(1), vec![1; 10]),
        (Split::Each(4), vec![4, 4, 2]),
        (Split::Each(0), vec![1; 10]),
        (Split::Sizes(vec![3, 1]), vec![3, 1, 6]),
    ] {
        let (mut a, mut b, _) = Sim::pair(1, &Link::split(split), &clean());
        send(&mut a, b"0123456789").await.unwrap();
        shutdown(&mut a).await;
        assert_eq!(reads(&mut b).await, sizes);
        assert_eq!(b.received(), b"0123456789");
    }
}

#[tokio::test(start_paused = true)]
async fn the_seed_decides_where_reads_are_split() {
    let mut seen = Vec::new();
    for seed in [1, 1, 2, 3] {
        let (mut a, mut b, _) = Sim::pair(seed, &Link::split(Split::UpTo(7)), &clean());
        send(&mut a, &[0; 200]).await.unwrap();
        shutdown(&mut a).await;
        let sizes = reads(&mut b).await;
        assert!(sizes.iter().all(|n| (1..=7).contains(n)));
        assert!((1..=7).all(|n| sizes.contains(&n)), "{sizes:?}");
        seen.push(sizes);
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[1], seen[2]);
    assert_ne!(seen[2], seen[3]);
}

#[tokio::test(start_paused = true)]
async fn a_short_write_goes_on_at_the_next_poll() {
    let link = Link { writes: Split::Each(4), ..clean() };
    let (mut a, mut b, log) = Sim::pair(1, &link, &clean());
    let mut out = Output::default();
    out.put(b"0123456789");
    let mut cx = Context::from_waker(Waker::noop());
    assert!(a.poll_flush(&mut cx, &mut out).is_pending());
    assert_eq!(out.len(), 6);
    poll_fn(|cx| a.poll_flush(cx, &mut out)).await.unwrap();
    shutdown(&mut a).await;
    assert_eq!(reads(&mut b).await, [4, 4, 2]);
    let writes: Vec<_> = log.writes(Way::There).into_iter().map(|write| write.bytes).collect();
    assert_eq!(writes, ["0123", "4567", "89"]);
}

#[tokio::test(start_paused = true)]
async fn a_full_direction_stops_the_writer_until_the_reader_reads() {
    let (mut a, mut b, _) = Sim::pair(1, &Link { capacity: 10, ..clean() }, &clean());
    let write = async {
        send(&mut a, &[0; 25]).await.unwrap();
        shutdown(&mut a).await;
    };
    let ((), sizes) = tokio::join!(write, reads(&mut b));
    assert_eq!(sizes.iter().sum::<usize>(), 25);
    assert!(sizes.iter().all(|&n| n <= 10));
    assert!(stalls(send(&mut b, &[0; 100_000])).await);
}

#[tokio::test(start_paused = true)]
async fn a_reset_after_n_bytes_reaches_both_ends() {
    for n in [0, 1, 4] {
        let (mut a, mut b, log) = Sim::pair(1, &Link::faulty(LinkFault::ResetAfter(n)), &clean());
        send(&mut a, b"012345").await.unwrap();
        if n > 0 {
            assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(n as usize));
        }
        assert_eq!(kind(fill(&mut b).await), ErrorKind::ConnectionReset);
        assert_eq!(kind(fill(&mut a).await), ErrorKind::ConnectionReset);
        assert_eq!(kind(send(&mut a, b"x").await), ErrorKind::ConnectionReset);
        assert_eq!(a.liveness(LivenessCheck::Kernel), Liveness::Dead);
        assert_eq!(log.sent(Way::There), "012345");
        assert_eq!(log.delivered(Way::There), "012345"[..n as usize]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_delivers_neither_bytes_nor_an_end() {
    let (mut a, mut b, _) = Sim::pair(1, &Link::faulty(LinkFault::StallAfter(4)), &clean());
    send(&mut a, b"012345").await.unwrap();
    shutdown(&mut a).await;
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(4));
    assert!(stalls(fill(&mut b)).await);
    assert_eq!(b.received(), b"0123");
    b.consume(4);
    assert_eq!(b.liveness(LivenessCheck::Kernel), Liveness::Quiet);
    send(&mut b, b"the other way works").await.unwrap();
    assert_eq!(fill(&mut a).await.unwrap(), FillResult::Bytes(19));
}

#[tokio::test(start_paused = true)]
async fn an_early_end_loses_what_is_sent_after_it() {
    let (mut a, mut b, _) = Sim::pair(1, &Link::faulty(LinkFault::EndAfter(4)), &clean());
    send(&mut a, b"012").await.unwrap();
    send(&mut a, b"345").await.unwrap();
    for _ in 0..10 {
        send(&mut a, &[0; 50_000]).await.unwrap();
    }
    assert_eq!(reads(&mut b).await, [3, 1]);
    assert_eq!(b.received(), b"0123");
    b.consume(4);
    assert_eq!(b.liveness(LivenessCheck::Kernel), Liveness::Dead);
}

#[tokio::test(start_paused = true)]
async fn a_shut_window_stops_the_writer_for_ever() {
    let (mut a, mut b, log) = Sim::pair(1, &Link::faulty(LinkFault::RefuseAfter(4)), &clean());
    assert!(stalls(send(&mut a, b"012345")).await);
    assert_eq!(fill(&mut b).await.unwrap(), FillResult::Bytes(4));
    assert!(stalls(send(&mut a, b"more")).await);
    assert_eq!(log.sent(Way::There), "0123");
    drop(b);
    assert_eq!(kind(send(&mut a, b"x").await), ErrorKind::ConnectionReset, "unread bytes");
}

#[tokio::test(start_paused = true)]
async fn closing_ends_the_stream_after_the_latency() {
    let late = Link::late(100 * MS);
    let (mut a, mut b, _) = Sim::pair(1, &late, &late);
    send(&mut a, b"last").await.unwrap();
    drop(a);
    let begin = now();
    assert_eq!(
        b.liveness(LivenessCheck::Kernel),
        Liveness::Dead,
        "the peer would not read what we send"
    );
    assert_eq!(reads(&mut b).await, [4]);
    assert_eq!((now() - begin).as_millis(), 100);
    assert_eq!(kind(send(&mut b, b"x").await), ErrorKind::BrokenPipe);
}

#[tokio::test(start_paused = true)]
async fn closing_with_unread_bytes_resets_the_connection() {
    let (mut a, mut b, _) = Sim::pair(1, &clean(), &clean());
    send(&mut b, b"unread").await.unwrap();
    send(&mut a, b"lost").await.unwrap();
    drop(a);
    assert_eq!(kind(fill(&mut b).await), ErrorKind::ConnectionReset);
    let (a, mut b, _) = Sim::pair(1, &clean(), &clean());
    a.reset();
    assert_eq!(kind(fill(&mut b).await), ErrorKind::ConnectionReset);
}

/// For every seed, whatever it splits, the bytes are the same.
#[tokio::test(start_paused = true)]
async fn all_bytes_arrive_however_reads_and_writes_are_split() {
    let all: Vec<u8> = (0..5_000_u32).map(|n| (n % 253) as u8).collect();
    for seed in 1..100 {
        let link = Link {
            latency: 3 * MS,
            jitter: 5 * MS,
            capacity: 1 + seed as usize * 10,
            reads: Split::UpTo(1 + seed as usize),
            writes: Split::UpTo(200),
            ..clean()
        };
        let (mut a, mut b, log) = Sim::pair(seed, &link, &clean());
        let write = async {
            send(&mut a, &all).await.unwrap();
            shutdown(&mut a).await;
        };
        tokio::join!(write, reads(&mut b));
        assert!(b.received() == all && log.delivered(Way::There) == all, "seed {seed}");
    }
}
