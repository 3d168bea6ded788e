//! The socket over streams in memory: what it sends, what it waits for, and for how long.

use std::time::Duration;

use bytes::Bytes;
use stoop_websocket::machine::Event;
use stoop_websocket::{CloseCode, Deflate, Error, Fault, Limits, Message, Misuse, WebSocket};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::time::{Instant, timeout};

use crate::kit::{masked, unmasked};

type Socket = WebSocket<DuplexStream>;

/// A server, and the client's end of its stream, of which `bytes` are on their way at most.
fn server_with(bytes: usize, limits: Limits) -> (Socket, DuplexStream) {
    let (ours, theirs) = duplex(bytes);
    (WebSocket::server(ours, limits, None), theirs)
}

fn server() -> (Socket, DuplexStream) {
    server_with(64 * 1024, Limits::default())
}

fn pair(bytes: usize) -> (Socket, Socket) {
    let (ours, theirs) = duplex(bytes);
    let limits = Limits::default();
    (WebSocket::client(ours, limits, None), WebSocket::server(theirs, limits, None))
}

async fn read(stream: &mut DuplexStream, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    stream.read_exact(&mut bytes).await.unwrap();
    bytes
}

async fn read_all(stream: &mut DuplexStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    bytes
}

#[tokio::test(start_paused = true)]
async fn messages_of_all_sizes_go_both_ways() {
    for pipe in [1, 100, 64 * 1024, 1 << 20] {
        let (mut client, mut server) = pair(pipe);
        let sizes = [0, 1, 125, 126, 4_096, 4_097, 16_384, 65_535, 65_536, 300_000];
        let sizes = if pipe == 1 { &sizes[..5] } else { &sizes[..] };
        for &size in sizes {
            let text = Message::from("é".repeat(size / 2));
            let bytes = Message::from((0..size).map(|i| i as u8).collect::<Vec<_>>());
            for message in [text, bytes] {
                let (sent, received) = tokio::join!(client.send(message.clone()), server.recv());
                sent.unwrap();
                assert_eq!(received.unwrap().as_ref(), Some(&message), "{size} {pipe}");
                let (sent, received) = tokio::join!(server.send(message.clone()), client.recv());
                sent.unwrap();
                assert_eq!(received.unwrap(), Some(message), "{size} {pipe}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn messages_that_came_together_are_received_one_by_one() {
    let (mut server, mut client) = server();
    let mut frames: Vec<u8> =
        (0..1000).flat_map(|i| masked(0x81, i.to_string().as_bytes())).collect();
    let last = frames.split_off(frames.len() - 3);
    client.write_all(&frames).await.unwrap();
    for i in 0..999 {
        assert_eq!(server.recv().await.unwrap(), Some(Message::from(i.to_string())));
    }
    assert!(timeout(Duration::from_secs(1), server.recv()).await.is_err());
    client.write_all(&last).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), Some(Message::from("999")));
}

#[tokio::test(start_paused = true)]
async fn what_is_fed_leaves_when_a_message_is_waited_for() {
    let (mut server, mut client) = server();
    server.feed("a".into()).await.unwrap();
    server.feed("b".into()).await.unwrap();
    assert!(timeout(Duration::from_secs(1), client.read_u8()).await.is_err());
    let _ = timeout(Duration::from_secs(1), server.recv()).await;
    assert_eq!(read(&mut client, 6).await, b"\x81\x01a\x81\x01b");
    server.feed("c".into()).await.unwrap();
    server.flush().await.unwrap();
    assert_eq!(read(&mut client, 3).await, b"\x81\x01c");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_makes_senders_wait_at_the_limit() {
    let mut limits = Limits::default();
    limits.write_buffer_bytes_max = 100_000;
    let (mut server, mut client) = server_with(1_000, limits);
    let message = Message::from(vec![7; 10_000]);
    let mut taken = 0;
    while timeout(Duration::from_secs(1), server.feed(message.clone())).await.is_ok() {
        taken += 1;
        assert!(taken < 20, "more than the limit is taken");
    }
    assert!(taken >= 10, "{taken}");
    // Once it reads, all of it comes, in order.
    let reading = tokio::spawn(async move { read(&mut client, taken * 10_004).await });
    server.flush().await.unwrap();
    let read = reading.await.unwrap();
    assert!(read.chunks(10_004).all(|frame| frame[..5] == [0x82, 126, 0x27, 0x10, 7]));
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_given_up_while_it_is_sent_is_sent_whole() {
    let (mut server, mut client) = server_with(10, Limits::default());
    let sending = server.send(Message::from(vec![1; 5_000]));
    assert!(timeout(Duration::from_secs(1), sending).await.is_err());
    let reading = tokio::spawn(async move { read(&mut client, 5_004 + 3).await });
    server.send_text("x").await.unwrap();
    assert!(reading.await.unwrap().ends_with(b"\x01\x81\x01x"));
}

/// RFC 6455 §5.5.2.
#[tokio::test(start_paused = true)]
async fn pings_are_answered_while_a_message_is_waited_for() {
    let (mut server, mut client) = server();
    client.write_all(&masked(0x89, b"hi")).await.unwrap();
    client.write_all(&masked(0x81, b"m")).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), Some("m".into()));
    server.flush().await.unwrap();
    assert_eq!(read(&mut client, 4).await, b"\x8a\x02hi");
    client.write_all(&masked(0x8A, b"pong")).await.unwrap();
    let event = server.recv_event().await.unwrap();
    assert_eq!(event, Some(Event::Pong(Bytes::from_static(b"pong"))));
    server.ping(b"p").await.unwrap();
    server.pong(b"q").await.unwrap();
    assert_eq!(read(&mut client, 6).await, b"\x89\x01p\x8a\x01q");
    let long = server.ping(&[0; 126]).await;
    assert!(matches!(long, Err(Error::Misuse(Misuse::ControlTooLong))));
}

#[tokio::test(start_paused = true)]
async fn answers_to_the_pings_of_a_peer_that_does_not_read_are_bounded() {
    let (mut server, mut client) = server_with(100, Limits::default());
    let pinging = tokio::spawn(async move {
        for i in 0..2_000_u32 {
            client.write_all(&masked(0x89, &[i as u8; 125])).await.unwrap();
        }
        client.write_all(&masked(0x81, b"done")).await.unwrap();
        client
    });
    assert_eq!(server.recv().await.unwrap(), Some("done".into()));
    let mut client = pinging.await.unwrap();
    let answers = tokio::spawn(async move { read_all(&mut client).await });
    server.flush().await.unwrap();
    drop(server);
    let answers = answers.await.unwrap();
    assert!(answers.len() < 20_000, "{} bytes of Pongs", answers.len());
    assert!(answers.ends_with(&unmasked(0x8A, &[1_999_u32 as u8; 125])), "the newest is answered");
}

/// RFC 6455 §7.1.2: "Once an endpoint has both sent and received a Close control frame".
/// The echoes are more than Pongs wait behind, and are taken at once.
#[tokio::test(start_paused = true)]
async fn a_ping_behind_much_that_is_fed_is_answered_at_once() {
    let mut limits = Limits::default();
    limits.ping_interval = Duration::MAX;
    let (mut server, mut client) = server_with(1 << 20, limits);
    let mut bytes = masked(0x82, &[7; 100]).repeat(200);
    bytes.extend(masked(0x89, b"here?"));
    client.write_all(&bytes).await.unwrap();
    let echoing = tokio::spawn(async move {
        while let Ok(Some(message)) = server.recv().await {
            server.feed(message).await.unwrap();
        }
    });
    let mut echoes = unmasked(0x82, &[7; 100]).repeat(200);
    echoes.extend(unmasked(0x8A, b"here?"));
    let came = timeout(Duration::from_secs(1), read(&mut client, echoes.len()));
    assert_eq!(came.await.expect("the Pong leaves at once"), echoes);
    drop(client);
    echoing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_close_of_the_client_is_answered_and_the_stream_ended() {
    let (mut server, mut client) = server();
    client.write_all(&masked(0x88, b"\x03\xe9bye")).await.unwrap();
    assert_eq!(server.recv().await.unwrap(), None);
    assert_eq!(server.close_reason().unwrap().to_string(), "1001: bye");
    assert_eq!(read_all(&mut client).await, b"\x88\x02\x03\xe9");
    assert_eq!(server.recv().await.unwrap(), None);
    let late = server.send_text("late").await;
    assert!(matches!(late, Err(Error::Misuse(Misuse::Closed))));
}

#[tokio::test(start_paused = true)]
async fn both_ends_close_and_the_server_ends_the_stream() {
    let (mut client, mut server) = pair(1_000);
    let closing = async {
        server.send_text("last").await.unwrap();
        server.close(CloseCode::GOING_AWAY, "restart").await.unwrap();
        drop(server);
    };
    let receiving = async {
        assert_eq!(client.recv().await.unwrap(), Some("last".into()));
        assert_eq!(client.recv().await.unwrap(), None);
    };
    tokio::join!(closing, receiving);
    assert_eq!(client.close_reason().unwrap().code, CloseCode::GOING_AWAY);
    // Closing what is closed is nothing.
    client.close(CloseCode::NORMAL, "").await.unwrap();
}

/// RFC 6455 §7.1.1: "the client SHOULD wait for the server to close the connection but MAY" not.
#[tokio::test(start_paused = true)]
async fn a_client_waits_for_the_end_of_the_stream_within_the_limit() {
    let (ours, mut theirs) = duplex(1_000);
    let mut client = WebSocket::client(ours, Limits::default(), None);
    theirs.write_all(b"\x88\x00").await.unwrap();
    let begun = Instant::now();
    assert_eq!(client.recv().await.unwrap(), None);
    assert_eq!(begun.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_answer_a_close_is_given_up() {
    let (mut server, mut client) = server();
    let begun = Instant::now();
    let closed = server.close(CloseCode::NORMAL, "").await;
    assert!(matches!(closed, Err(Error::CloseTimeout)), "{closed:?}");
    assert_eq!(begun.elapsed().as_secs(), 5);
    drop(server);
    assert_eq!(read_all(&mut client).await, b"\x88\x02\x03\xe8");
    // Messages do not prolong it.
    let (mut server, mut client) = self::server();
    let talking = tokio::spawn(async move {
        while client.write_all(&masked(0x81, b"more")).await.is_ok() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    });
    let begun = Instant::now();
    assert!(matches!(server.close(CloseCode::NORMAL, "").await, Err(Error::CloseTimeout)));
    assert_eq!(begun.elapsed().as_secs(), 5);
    drop(server);
    talking.await.unwrap();
}

/// RFC 6455 §7.1.7.
#[tokio::test(start_paused = true)]
async fn a_peer_at_fault_is_told_so_and_what_it_still_sends_is_discarded() {
    let (mut server, mut client) = server();
    let sending = tokio::spawn(async move {
        client.write_all(b"\x81\x05Hello").await.unwrap();
        // More than the pipe holds.
        client.write_all(&[0; 200_000]).await.unwrap();
        client.shutdown().await.unwrap();
        read_all(&mut client).await
    });
    let begun = Instant::now();
    let error = server.recv().await.unwrap_err();
    assert!(matches!(error, Error::Fault(Fault::MaskMissing)), "{error}");
    assert_eq!(error.close_code(), Some(CloseCode::PROTOCOL_ERROR));
    assert_eq!((error.culprit(), begun.elapsed()), (stoop::Culprit::Peer, Duration::ZERO));
    drop(server);
    assert_eq!(sending.await.unwrap()[..4], *b"\x88\x34\x03\xea");
}

#[tokio::test(start_paused = true)]
async fn a_peer_at_fault_that_does_not_end_is_given_up() {
    let (mut server, mut client) = server();
    client.write_all(b"\xff").await.unwrap();
    let begun = Instant::now();
    assert!(matches!(server.recv().await, Err(Error::Fault(Fault::ReservedBit))));
    assert_eq!(begun.elapsed().as_secs(), 5);
    assert_eq!(server.recv().await.unwrap(), None);
}

/// RFC 6455 §7.1.5: 1006.
#[tokio::test(start_paused = true)]
async fn an_end_without_a_close_frame_is_an_error() {
    for sent in [&b""[..], b"\x81", &masked(0x01, b"part"), &masked(0x82, &[0; 20_000])[..9_000]] {
        let (mut server, mut client) = server();
        client.write_all(sent).await.unwrap();
        drop(client);
        assert!(matches!(server.recv().await, Err(Error::EndedEarly)), "{sent:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_peer_is_asked_and_then_given_up() {
    let (mut server, mut client) = server();
    let begun = Instant::now();
    let answering = tokio::spawn(async move {
        let mut asked = Vec::new();
        for _ in 0..3 {
            assert_eq!(read(&mut client, 2).await, b"\x89\x00");
            asked.push(begun.elapsed().as_secs());
            client.write_all(&masked(0x8A, b"")).await.unwrap();
        }
        assert_eq!(read(&mut client, 2).await, b"\x89\x00");
        asked.push(begun.elapsed().as_secs());
        (client, asked)
    });
    let error = server.recv().await.unwrap_err();
    assert!(matches!(error, Error::PingTimeout), "{error}");
    let (_client, asked) = answering.await.unwrap();
    assert_eq!(begun.elapsed().as_secs() - asked[3], 20);
    // The answer is noticed when the time for it has passed; then an interval begins.
    assert_eq!(asked, [30, 80, 130, 180]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_talks_is_not_asked() {
    let (mut server, mut client) = server();
    let talking = tokio::spawn(async move {
        for _ in 0..20 {
            tokio::time::sleep(Duration::from_secs(25)).await;
            client.write_all(&masked(0x81, b"x")).await.unwrap();
        }
        client.write_all(&masked(0x88, b"")).await.unwrap();
        read_all(&mut client).await
    });
    while server.recv().await.unwrap().is_some() {}
    assert_eq!(talking.await.unwrap(), b"\x88\x00", "and no Ping");
}

#[tokio::test(start_paused = true)]
async fn without_an_interval_nothing_is_asked() {
    let mut limits = Limits::default();
    limits.ping_interval = Duration::MAX;
    let (mut server, _client) = server_with(100, limits);
    assert!(timeout(Duration::from_secs(100_000), server.recv()).await.is_err());
}

mod split {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_task_sends_while_another_receives() {
        let (client, server) = pair(500);
        let (mut sender, mut receiver) = server.split();
        let (mut client_sender, mut client_receiver) = client.split();
        let numbers = |n: u32| Message::from(n.to_be_bytes().repeat(50));
        let echoing = tokio::spawn(async move {
            while let Some(message) = receiver.recv().await.unwrap() {
                sender.send(message).await.unwrap();
            }
            receiver.close_reason().unwrap()
        });
        let sending = tokio::spawn(async move {
            for n in 0..500 {
                client_sender.send(numbers(n)).await.unwrap();
            }
            client_sender
        });
        for n in 0..500 {
            assert_eq!(client_receiver.recv().await.unwrap(), Some(numbers(n)));
        }
        let mut client_sender = sending.await.unwrap();
        client_sender.close(CloseCode::NORMAL, "done").await.unwrap();
        client_sender.close(CloseCode::NORMAL, "done").await.unwrap();
        assert_eq!(client_receiver.recv().await.unwrap(), None);
        assert_eq!(echoing.await.unwrap().text, "done");
        assert!(client_sender.send_text("late").await.is_err());
    }

    /// Both write: the receiver's Pongs must not take the sender's wake-up.
    #[tokio::test(start_paused = true)]
    async fn a_sender_that_waits_is_woken_although_the_receiver_answers_pings() {
        let (ours, mut client) = duplex(64);
        let (mut sender, mut receiver) = WebSocket::server(ours, Limits::default(), None).split();
        let sending = tokio::spawn(async move { sender.send_binary(&[1; 5_000]).await });
        let receiving = tokio::spawn(async move { receiver.recv().await });
        tokio::task::yield_now().await;
        for _ in 0..10 {
            client.write_all(&masked(0x89, b"?")).await.unwrap();
            tokio::task::yield_now().await;
        }
        let read = timeout(Duration::from_secs(1), read(&mut client, 5_004)).await.unwrap();
        assert_eq!(read[..5], [0x82, 126, 0x13, 0x88, 1]);
        timeout(Duration::from_secs(1), sending).await.unwrap().unwrap().unwrap();
        assert!(!receiving.is_finished());
    }

    /// Its message was thrown away, it was told that it had been sent, and the next one was written into the middle of it.
    #[tokio::test(start_paused = true)]
    async fn a_sender_learns_that_its_peer_was_given_up_and_writes_nothing_more() {
        let mut limits = Limits::default();
        limits.send_timeout = Duration::MAX;
        let (ours, mut client) = duplex(64);
        let (mut sender, mut receiver) = WebSocket::server(ours, limits, None).split();
        let sending = tokio::spawn(async move {
            let first = sender.send_binary(&[1; 5_000]).await;
            let second = timeout(Duration::from_secs(60), sender.send_text("second")).await;
            let flushed = sender.flush().await;
            (first, second.expect("it is not waited for"), flushed)
        });
        assert!(matches!(receiver.recv().await, Err(Error::PingTimeout)));
        let (first, second, flushed) = sending.await.unwrap();
        for sent in [first, second, flushed] {
            assert!(matches!(sent, Err(Error::Io(_))), "{sent:?}");
        }
        assert_eq!(receiver.recv().await.unwrap(), None);
        drop(receiver);
        let came = read_all(&mut client).await;
        assert_eq!((came.len(), came.ends_with(&[1; 60])), (64, true), "the first 64 bytes alone");
    }

    /// A stream whose writes fail once, and which has nothing to be read.
    struct Broken;

    impl tokio::io::AsyncRead for Broken {
        fn poll_read(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &mut tokio::io::ReadBuf<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Pending
        }
    }

    impl tokio::io::AsyncWrite for Broken {
        fn poll_write(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
            _: &[u8],
        ) -> std::task::Poll<std::io::Result<usize>> {
            std::task::Poll::Ready(Err(std::io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn poll_shutdown(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<std::io::Result<()>> {
            std::task::Poll::Ready(Ok(()))
        }
    }

    /// Its timers went with the connection, and nothing else woke it.
    #[tokio::test(start_paused = true)]
    async fn a_receiver_that_waits_learns_of_an_error_of_the_sender() {
        let (mut sender, mut receiver) = WebSocket::server(Broken, Limits::default(), None).split();
        let receiving = tokio::spawn(async move { receiver.recv().await });
        tokio::task::yield_now().await;
        assert!(matches!(sender.send_text("x").await, Err(Error::Io(_))));
        let end = timeout(Duration::from_secs(3_600), receiving).await.expect("it is woken");
        assert_eq!(end.unwrap().unwrap(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_receiver_that_waits_gives_up_after_a_close_without_answer() {
        let (server, _client) = server();
        let (mut sender, mut receiver) = server.split();
        let receiving = tokio::spawn(async move { receiver.recv().await });
        tokio::time::sleep(Duration::from_secs(10)).await;
        let begun = Instant::now();
        sender.close(CloseCode::NORMAL, "").await.unwrap();
        assert!(matches!(receiving.await.unwrap(), Err(Error::CloseTimeout)));
        assert_eq!(begun.elapsed().as_secs(), 5);
    }
}

#[tokio::test(start_paused = true)]
async fn compressed_messages_go_both_ways() {
    let terms = Deflate::default();
    let (servers, answer) = terms.accept([terms.offer().as_bytes()]).unwrap().unwrap();
    let clients = terms.verify([answer.as_bytes()]).unwrap();
    let (ours, theirs) = duplex(1_000);
    let mut client = WebSocket::client(ours, Limits::default(), clients);
    let mut server = WebSocket::server(theirs, Limits::default(), Some(servers));
    let message = Message::from("compress me ".repeat(5_000));
    let echoing = async {
        let message = server.recv().await.unwrap().unwrap();
        server.send(message).await.unwrap();
    };
    let asking = async {
        client.send(message.clone()).await.unwrap();
        assert_eq!(client.recv().await.unwrap(), Some(message));
    };
    tokio::join!(echoing, asking);
}
