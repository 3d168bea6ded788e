//! The server over HTTP/2: many exchanges at a time, each as it would be alone.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Method;
use stoop::{Body, ErrorKind, Request, Response, ServerLimits, Versions};
use stoop_proto::h2::{ErrorCode, Reset};
use stoop_proto::{Fields, Limits};
use stoop_test::http2::{Client, Happened, preface};
use stoop_test::peer::Peer;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

use super::{connect, connect_with, dial, listen};

async fn client(peer: Peer<DuplexStream>) -> Client<DuplexStream> {
    Client::new(peer.into_parts().0).await
}

fn path(request: Request) -> String {
    request.path().to_owned()
}

async fn echo(request: Request) -> Response {
    Response::new(request.into_body())
}

fn pattern(len: usize) -> Bytes {
    (0..len).map(|at| (at % 251) as u8).collect()
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_begins_so_speaks_http2_and_others_do_not() {
    let mut client = client(connect(path)).await;
    let key = client.get("/one?two").await;
    let answer = client.answer(key).await;
    assert_eq!((answer.status, &answer.body[..]), (200, &b"/one"[..]));
    assert_eq!(answer.fields.first("content-length"), Some(&b"4"[..]));
    assert!(answer.fields.contains("date"));

    let mut peer = connect(path);
    peer.say("PRI * HTTP/2.0\r\n\r\nno").await;
    assert_eq!(peer.reply().await.unwrap().status, 505);
    let mut peer = connect(path);
    peer.say("P").await;
    sleep(Duration::from_secs(1)).await;
    peer.say("UT / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n").await;
    assert_eq!(peer.reply().await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a_preface_that_comes_byte_by_byte_is_one_and_one_that_stops_is_late() {
    let mut peer = connect(path);
    for byte in preface() {
        peer.say([byte]).await;
        tokio::task::yield_now().await;
    }
    // SETTINGS: the server has understood.
    assert_eq!(peer.bytes(9).await.unwrap()[3], 4);
    let mut peer = connect(path);
    peer.say("PRI * HTTP/2.0\r\n\r\nSM").await;
    let started = Instant::now();
    assert_eq!(peer.reply().await.unwrap().status, 408);
    assert_eq!(started.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn versions_can_be_left_out() {
    let server = stoop::Server::listen("127.0.0.1:0").unwrap();
    let server = server.versions(Versions::Http1).run_here(path).unwrap();
    let mut peer = dial(&server).await;
    peer.say(preface()).await;
    assert_eq!(peer.reply().await.unwrap().status, 505);

    let server = stoop::Server::listen("127.0.0.1:0").unwrap();
    let server = server.versions(Versions::Http2).run_here(path).unwrap();
    let mut peer = dial(&server).await;
    peer.say("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let said = peer.rest().await.unwrap();
    // SETTINGS and what else opens a connection, and then GOAWAY with PROTOCOL_ERROR.
    assert_eq!(said[3], 4);
    let text = b"the connection preface is malformed";
    assert!(said.ends_with(text), "{said:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_exchange_holds_up_no_other() {
    let mut client = client(connect(async |request: Request| {
        let seconds: u64 = request.path()[1..].parse().unwrap();
        sleep(Duration::from_secs(seconds)).await;
        request.path().to_owned()
    }))
    .await;
    for path in ["/3", "/1", "/0", "/2"] {
        client.get(path).await;
    }
    let mut order = Vec::new();
    while order.len() < 4 {
        if let Happened::Data(_, data, true) = client.next().await {
            order.push(String::from_utf8(data).unwrap());
        }
    }
    assert_eq!(order, ["/0", "/1", "/2", "/3"]);
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_a_hundred_at_a_time_are_answered() {
    let mut client = client(connect(path)).await;
    let (mut asked, mut answered) = (0, 0);
    while answered < 1_000 {
        while asked < 1_000 && asked - answered < 100 {
            client.get(&format!("/{asked}")).await;
            asked += 1;
        }
        match client.next().await {
            Happened::Data(_, _, true) => answered += 1,
            Happened::Head(_, head, _) => assert_eq!(head.status(), 200),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(client.machine.streams(), 0);
}

#[tokio::test(start_paused = true)]
async fn content_streams_both_ways_at_once_in_many_times_the_windows() {
    const LEN: usize = 1 << 20;
    let mut client = client(connect(echo)).await;
    let key = client.ask(Method::POST, "/", &[], false).await;
    let all = pattern(LEN);
    let (mut sent, mut got, mut ended) = (0, Vec::new(), false);
    while !ended {
        if sent < LEN {
            sent += client.send(key, all.slice(sent..), true).await;
        }
        match client.next().await {
            Happened::Data(of, data, end) => {
                assert_eq!(of, key);
                got.extend(data);
                ended = end;
            }
            Happened::Head(_, head, end) => assert_eq!((head.status().as_u16(), end), (200, false)),
            other => panic!("{other:?}"),
        }
    }
    assert!(got == all);
    assert_eq!(client.machine.streams(), 0);
}

/// What the handler takes of content when it is the response's turn is room for more, too.
#[tokio::test(start_paused = true)]
async fn content_that_waited_to_be_sent_back_makes_room_for_more() {
    const WINDOW: usize = 65_535;
    let (mut ours, mut theirs) = (Limits::client(), ServerLimits::default());
    ours.http2.stream_window_bytes = WINDOW as u32;
    theirs.wire.http2.stream_window_bytes_max = WINDOW as u32;
    let (peer, _) = connect_with(theirs, echo);
    let mut client = Client::with_limits(peer.into_parts().0, ours).await;
    client.reads = false;
    let key = client.ask(Method::POST, "/", &[], false).await;
    let (mut sent, mut got) = (0, 0);
    // Twice as much as comes back while nobody reads it.
    while got < 2 * WINDOW {
        sent += client.send(key, pattern(2 * WINDOW - sent), false).await;
        let next = tokio::time::timeout(Duration::from_secs(1), client.next()).await;
        match next {
            Ok(Happened::Data(_, data, _)) => got += data.len(),
            Ok(Happened::Head(_, head, _)) => assert_eq!(head.status(), 200),
            Ok(other) => panic!("{other:?}"),
            Err(_) if (sent, got) == (2 * WINDOW, WINDOW) => {
                client.machine.consumed(key, WINDOW as u32);
                client.flush().await;
            }
            Err(_) => panic!("it stopped: {sent} sent, {got} came back"),
        }
    }
    let _ = tokio::time::timeout(Duration::from_secs(1), client.next()).await;
    assert!(client.machine.sendable(key) > 0);
}

#[tokio::test(start_paused = true)]
async fn content_is_made_only_while_the_client_takes_it() {
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let handler = move |_: Request| {
        let made = counted.clone();
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            while sender.send(vec![0; 16_384]).await.is_ok() {
                made.fetch_add(1, Ordering::Relaxed);
            }
        });
        Response::stream(body)
    };
    let mut client = client(connect(handler)).await;
    client.reads = false;
    let key = client.get("/").await;
    // The stream's window is 256 KiB: sixteen pieces, and a few on their way.
    let mut got = 0;
    while got < 256 * 1024 {
        if let Happened::Data(_, data, _) = client.next().await {
            got += data.len();
        }
    }
    sleep(Duration::from_secs(5)).await;
    let before = made.load(Ordering::Relaxed);
    assert!((16..=19).contains(&before), "{before} pieces were made");
    client.machine.consumed(key, 256 * 1024);
    client.flush().await;
    while got < 512 * 1024 {
        if let Happened::Data(_, data, _) = client.next().await {
            got += data.len();
        }
    }
    client.reset(key, ErrorCode::CANCEL).await;
    sleep(Duration::from_secs(1)).await;
    let after = made.load(Ordering::Relaxed);
    assert!((32..=35).contains(&after), "{after} pieces were made");
}

#[tokio::test(start_paused = true)]
async fn content_that_nobody_reads_holds_up_nothing_and_is_given_up() {
    let mut client = client(connect(path)).await;
    let key = client.ask(Method::POST, "/", &[], false).await;
    assert_eq!(client.answer(key).await.status, 200);
    // Some of it is thrown away, and of much of it the client is told that it need not come.
    for _ in 0..3 {
        assert_eq!(client.send(key, pattern(16_384), false).await, 16_384);
        let other = client.get("/other").await;
        assert_eq!(client.answer(other).await.body, b"/other");
    }
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::NO_ERROR));
    // What it has in its windows it may send again.
    let key = client.ask(Method::POST, "/", &[], false).await;
    assert_eq!(client.machine.sendable(key), 16_384);
}

#[tokio::test(start_paused = true)]
async fn whoever_reads_content_is_told_how_it_went_wrong() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| {
        let told = told.clone();
        // A task of its own: the handler is dropped with its stream.
        tokio::spawn(async move {
            told.send(request.into_body().bytes(1_000).await.unwrap_err().kind()).unwrap();
        });
        std::future::pending::<&'static str>()
    };
    let mut client = client(connect(handler)).await;
    let key = client.ask(Method::POST, "/", &[("content-length", "5")], false).await;
    client.reset(key, ErrorCode::CANCEL).await;
    assert_eq!(tell.recv().await, Some(ErrorKind::ClosedEarly));
    let key = client.ask(Method::POST, "/", &[], false).await;
    let id = client.machine.stream_id(key).unwrap();
    // WINDOW_UPDATE by nothing.
    client.say(&[0, 0, 4, 8, 0, 0, 0, 0, id as u8, 0, 0, 0, 0]).await;
    assert_eq!(tell.recv().await, Some(ErrorKind::H2Protocol));
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::PROTOCOL_ERROR));
}

#[tokio::test(start_paused = true)]
async fn a_reset_drops_the_handlers_future() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let mut client = client(connect(move |_: Request| {
        let dropped = Dropped(counted.clone());
        async move {
            std::future::pending::<()>().await;
            drop(dropped);
        }
    }))
    .await;
    let (first, second) = (client.get("/").await, client.get("/").await);
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 0);
    client.reset(first, ErrorCode::CANCEL).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 1);
    client.reset(second, ErrorCode::CANCEL).await;
    sleep(Duration::from_millis(10)).await;
    assert_eq!(count.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_waits_for_a_100_gets_one_when_its_content_is_wanted() {
    let mut client = client(connect(async |request: Request| {
        sleep(Duration::from_secs(1)).await;
        request.into_body().bytes(100).await.map(|bytes| bytes.len().to_string())
    }))
    .await;
    let key = client.ask(Method::POST, "/", &[("expect", "100-continue")], false).await;
    let Happened::Head(_, head, false) = client.next().await else { panic!() };
    assert_eq!(head.status(), 100);
    client.send(key, pattern(10), true).await;
    assert_eq!(client.answer(key).await.body, b"10");

    let key = client.ask(Method::POST, "/", &[("expect", "wonders")], false).await;
    assert_eq!(client.answer(key).await.status, 417);
}

#[tokio::test(start_paused = true)]
async fn and_gets_it_before_a_response_that_reads_on() {
    let late = async |request: Request| {
        sleep(Duration::from_secs(1)).await;
        Response::new(request.into_body())
    };
    for mut client in [client(connect(echo)).await, client(connect(late)).await] {
        let key = client.ask(Method::POST, "/", &[("expect", "100-continue")], false).await;
        for status in [100, 200] {
            let Happened::Head(_, head, false) = client.next().await else { panic!() };
            assert_eq!(head.status(), status);
        }
        client.send(key, pattern(10), true).await;
        assert_eq!(client.answer(key).await.body, pattern(10));
    }
    // Where nobody reads, it is none.
    let mut client = client(connect(path)).await;
    let key = client.ask(Method::POST, "/", &[("expect", "100-continue")], false).await;
    let Happened::Head(_, head, false) = client.next().await else { panic!() };
    assert_eq!(head.status(), 200);
    assert_eq!(client.answer(key).await.body, b"/");
}

#[tokio::test(start_paused = true)]
async fn trailers_go_both_ways() {
    let mut client = client(connect(echo)).await;
    let key = client.ask(Method::POST, "/", &[], false).await;
    client.send(key, pattern(3), false).await;
    let mut trailers = Fields::new();
    trailers.push("X-Sum", b"6").unwrap();
    let mut out = Vec::new();
    client.machine.finish(key, Some(&trailers), &mut out).unwrap();
    client.say(&out).await;
    let answer = client.answer(key).await;
    assert_eq!(answer.body, [0, 1, 2]);
    assert_eq!(answer.trailers.unwrap().first("x-sum"), Some(&b"6"[..]));
}

#[tokio::test(start_paused = true)]
async fn what_panics_or_fails_ends_its_own_stream() {
    let mut client = client(connect(|request: Request| match request.path() {
        "/panic" => panic!("on purpose"),
        "/fail" => {
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                sender.send("some").await.unwrap();
                sender.fail("on purpose").await;
            });
            Response::stream(body)
        }
        _ => Response::text("fine"),
    }))
    .await;
    let key = client.get("/panic").await;
    assert_eq!(client.answer(key).await.status, 500);
    let key = client.get("/fail").await;
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::INTERNAL_ERROR));
    let key = client.get("/").await;
    assert_eq!(client.answer(key).await.body, b"fine");
}

#[tokio::test(start_paused = true)]
async fn a_tunnel_does_not_open_by_accident() {
    let mut client = client(connect(path)).await;
    let mut head = stoop_proto::RequestHead::new(Method::CONNECT, "a:1").unwrap();
    head.fields_mut().push("host", b"a:1").unwrap();
    let mut out = Vec::new();
    let size = stoop_proto::BodySize::Exact(0);
    let key = client.machine.open(&head, "http", size, &mut out).unwrap();
    client.say(&out).await;
    assert_eq!(client.answer(key).await.status, 501);
}

#[tokio::test(start_paused = true)]
async fn every_wait_that_a_client_causes_ends() {
    // Between requests.
    let mut idle = client(connect(path)).await;
    let started = Instant::now();
    let key = idle.get("/").await;
    idle.answer(key).await;
    assert_eq!(idle.end().await, [ErrorCode::NO_ERROR]);
    assert_eq!(started.elapsed().as_secs(), 60);

    // Before SETTINGS; and within a header block.
    let half: [&[u8]; 2] = [b"", &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]];
    for rest in half {
        let mut peer = connect(path);
        let started = Instant::now();
        peer.say([&preface()[..if rest.is_empty() { 24 } else { 33 }], rest].concat()).await;
        peer.rest().await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 10);
    }

    // Content that is waited for and does not come.
    let mut client = client(connect(echo)).await;
    let started = Instant::now();
    let key = client.ask(Method::POST, "/", &[], false).await;
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::CANCEL));
    assert!((5..8).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_window_that_stays_shut_is_waited_for_and_then_not() {
    let mut limits = Limits::client();
    limits.http2.stream_window_bytes = 65_535;
    let stream = connect(|_: Request| Response::bytes(vec![0; 100_000])).into_parts().0;
    let mut client = Client::with_limits(stream, limits).await;
    client.reads = false;
    let started = Instant::now();
    let key = client.get("/").await;
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::CANCEL));
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_at_all_is_cut_off() {
    let (peer, task) =
        connect_with(ServerLimits::default(), |_: Request| Response::bytes(vec![0; 1 << 20]));
    let mut client = client(peer).await;
    for _ in 0..4 {
        client.get("/").await;
    }
    let started = Instant::now();
    task.await.unwrap();
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_drained_server_finishes_what_it_took_and_names_it() {
    let (go, gone) = tokio::sync::watch::channel(false);
    let handler = move |_: Request| {
        let mut gone = gone.clone();
        async move {
            let _ = gone.wait_for(|go| *go).await;
            "done"
        }
    };
    let server = listen(ServerLimits::default(), handler);
    let stream = dial(&server).await.into_parts().0;
    let mut client: Client<TcpStream> = Client::new(stream).await;
    let key = client.get("/").await;
    sleep(Duration::from_millis(50)).await;
    let drained = tokio::spawn(async move { server.drain(Duration::from_secs(10)).await });
    // First that it ends, then, a round trip later, with which stream.
    assert_eq!(client.next().await, Happened::GoAway(ErrorCode::NO_ERROR));
    assert_eq!(client.next().await, Happened::GoAway(ErrorCode::NO_ERROR));
    go.send(true).unwrap();
    assert_eq!(client.answer(key).await.body, b"done");
    assert_eq!(client.next().await, Happened::Closed);
    drop(client);
    drained.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_early_answer_does_not_end_the_upload_of_whoever_reads_on() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let mut client = client(connect(move |request: Request| {
        let told = told.clone();
        tokio::spawn(async move {
            let read = request.into_body().bytes(1 << 20).await.unwrap();
            told.send(read.len()).unwrap();
        });
        "accepted"
    }))
    .await;
    let key = client.ask(Method::POST, "/", &[], false).await;
    assert_eq!(client.answer(key).await.body, b"accepted");
    sleep(Duration::from_secs(3)).await;
    client.send(key, pattern(50_000), true).await;
    assert_eq!(tell.recv().await, Some(50_000));
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_nothing_is_no_endless_loop() {
    let mut client = client(connect(|request: Request| {
        let endless = request.path() == "/endless";
        let frames = std::iter::repeat_with(Bytes::new);
        let count = if endless { usize::MAX } else { 1_000 };
        Response::stream(Pieces(Box::new(frames.take(count))))
    }))
    .await;
    let endless = client.get("/endless").await;
    let key = client.get("/").await;
    assert_eq!(client.answer(key).await.body, b"");
    client.reset(endless, ErrorCode::CANCEL).await;
}

/// Content of pieces that are there at once.
struct Pieces(Box<dyn Iterator<Item = Bytes> + Send>);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Infallible>>> {
        std::task::Poll::Ready(self.0.next().map(http_body::Frame::data).map(Ok))
    }
}
