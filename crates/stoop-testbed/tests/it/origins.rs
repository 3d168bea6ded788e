//! Each behaviour, seen by a raw client: literal bytes, and how the connection ends.

use std::time::{Duration, Instant};

use stoop_testbed::{
    BadChunk, BadLength, Behaviour, EntryEnd, EntryKind, MalformedHead, Origin, is_body,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

use crate::raw::{ConnectionEnd, GET, RawConnection, ask, trusting};

async fn start(behaviour: Behaviour) -> Origin {
    Origin::start(behaviour).await.unwrap()
}

/// Head and body of what was received.
fn split(bytes: &[u8]) -> (&str, &[u8]) {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a whole head") + 4;
    (std::str::from_utf8(&bytes[..end]).unwrap(), &bytes[end..])
}

const OK: &str = "HTTP/1.1 200 OK\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n";

mod good {
    use super::*;

    #[tokio::test]
    async fn fast_keeps_the_connection() {
        let origin = start(Behaviour::Fast { body: 5 }).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        for _ in 0..3 {
            connection.send(GET).await.unwrap();
            let head = format!("{OK}content-length: 5\r\n\r\n");
            let bytes = connection.exactly(head.len() + 5).await;
            assert_eq!(split(&bytes).0, head);
            assert!(is_body(0, split(&bytes).1));
        }
        let close = b"GET / HTTP/1.1\r\nconnection: close\r\n\r\n";
        connection.send(close).await.unwrap();
        let (bytes, end) = connection.rest().await;
        assert_eq!(split(&bytes).0, format!("{OK}connection: close\r\ncontent-length: 5\r\n\r\n"));
        assert_eq!(end, ConnectionEnd::Closed);
        drop(connection);
        let lines = origin.log();
        assert_eq!(lines.len(), 4);
        assert!(
            lines
                .iter()
                .all(|line| line.ended == EntryEnd::Complete && line.kind == EntryKind::Exchange)
        );
        assert_eq!((lines[3].connection, lines[3].sent), (Some(1), bytes.len() as u64));
        assert_eq!((lines[3].status, lines[3].target.as_str()), (Some(200), "/"));
    }

    #[tokio::test]
    async fn pipelined_requests_and_bodies_are_taken() {
        let origin = start(Behaviour::Status(404)).await;
        let post = b"POST /a HTTP/1.1\r\ncontent-length: 3\r\n\r\nabc\
                     POST /b HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nx: y\r\n\r\n\
                     HEAD /c HTTP/1.0\r\n\r\n";
        let (bytes, end) = ask(&origin, post).await;
        assert_eq!(
            String::from_utf8_lossy(&bytes).matches("HTTP/1.1 404 Not Found\r\n").count(),
            3
        );
        assert!(bytes.ends_with(b"connection: close\r\ncontent-length: 100\r\n\r\n"));
        assert_eq!(end, ConnectionEnd::Closed);
    }

    #[tokio::test]
    async fn expectations_are_met() {
        let origin = start(Behaviour::Fast { body: 0 }).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        let head = b"POST / HTTP/1.1\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n";
        connection.send(head).await.unwrap();
        assert_eq!(connection.exactly(25).await, b"HTTP/1.1 100 Continue\r\n\r\n");
        connection.send(b"hi").await.unwrap();
        let (bytes, _) = connection.rest().await;
        assert!(bytes.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }

    #[tokio::test]
    async fn a_malformed_request_is_answered_400() {
        let origin = start(Behaviour::Fast { body: 0 }).await;
        let (bytes, end) = ask(&origin, b"nonsense\r\n\r\n").await;
        assert!(bytes.starts_with(b"HTTP/1.1 400 Bad Request\r\n"));
        assert_eq!(end, ConnectionEnd::Closed);
        assert_eq!(origin.log()[0].ended, EntryEnd::BadRequest);
    }

    /// One piece, two whole chunks, and a rest.
    #[tokio::test]
    async fn chunks_carry_the_same_body() {
        for (behaviour, trailers) in [
            (Behaviour::Chunked { body: 150_000 }, ""),
            (
                Behaviour::ChunkedTrailers { body: 150_000 },
                "x-length: 150000\r\nx-testbed: trailer\r\n",
            ),
        ] {
            let (bytes, end) = ask(&start(behaviour).await, GET).await;
            assert_eq!(end, ConnectionEnd::Open);
            let (mut rest, mut body) = (split(&bytes).1, Vec::new());
            loop {
                let line = rest.windows(2).position(|two| two == b"\r\n").unwrap();
                let size = std::str::from_utf8(&rest[..line]).unwrap();
                let size = usize::from_str_radix(size, 16).unwrap();
                rest = &rest[line + 2..];
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&rest[..size]);
                assert_eq!(&rest[size..size + 2], b"\r\n");
                rest = &rest[size + 2..];
            }
            assert_eq!(rest, format!("{trailers}\r\n").as_bytes());
            assert_eq!(body.len(), 150_000);
            assert!(is_body(0, &body));
        }
    }

    #[tokio::test]
    async fn the_end_of_the_connection_can_be_the_end_of_the_body() {
        for tls in [false, true] {
            let behaviour = Behaviour::CloseDelimited { body: 300_000 };
            let origin = if tls {
                Origin::start_tls(behaviour).await.unwrap()
            } else {
                start(behaviour).await
            };
            let (bytes, end) = ask(&origin, GET).await;
            assert_eq!(split(&bytes).0, format!("{OK}connection: close\r\n\r\n"));
            assert_eq!((split(&bytes).1.len(), end), (300_000, ConnectionEnd::Closed));
            assert!(is_body(0, split(&bytes).1));
        }
    }

    #[tokio::test]
    async fn a_large_head_is_as_large_as_said() {
        let (bytes, _) = ask(&start(Behaviour::LargeHead { bytes: 50_000 }).await, GET).await;
        assert_eq!(split(&bytes).0.matches("x-filler: ").count(), 500);
        assert_eq!(split(&bytes).1, b"");
    }
}

mod stalls {
    use super::*;

    #[tokio::test]
    async fn the_first_byte_is_slow() {
        let delay = Duration::from_millis(150);
        let origin = start(Behaviour::SlowFirstByte { delay, body: 3 }).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        let begin = Instant::now();
        connection.send(GET).await.unwrap();
        connection.exactly(OK.len() + "content-length: 3\r\n\r\n".len() + 3).await;
        assert!(begin.elapsed() >= delay);
    }

    #[tokio::test]
    async fn a_body_drips() {
        let every = Duration::from_millis(10);
        let origin = start(Behaviour::Drip { body: 20, every }).await;
        let begin = Instant::now();
        let (bytes, _) = ask(&origin, GET).await;
        assert!(begin.elapsed() >= 20 * every);
        assert!(is_body(0, split(&bytes).1));
        assert_eq!(split(&bytes).1.len(), 20);
    }

    #[tokio::test]
    async fn a_head_drips() {
        let every = Duration::from_millis(2);
        let origin = start(Behaviour::DripHead { every }).await;
        let begin = Instant::now();
        let (bytes, _) = ask(&origin, GET).await;
        assert_eq!(split(&bytes).0, format!("{OK}content-length: 0\r\n\r\n"));
        assert!(begin.elapsed() >= every * bytes.len() as u32);
    }

    /// The log says when the client gave up, by which deadlines are measured.
    #[tokio::test]
    async fn a_hang_ends_when_the_client_closes() {
        for (behaviour, body, kind) in [
            (Behaviour::HangAfterAccept, None, EntryKind::Connection),
            (Behaviour::HangAfterHead, Some(0), EntryKind::Exchange),
            (Behaviour::HangMidBody, Some(500), EntryKind::Exchange),
        ] {
            let origin = start(behaviour).await;
            let begin = Instant::now();
            let (bytes, end) = ask(&origin, GET).await;
            let waited = begin.elapsed();
            assert_eq!(end, ConnectionEnd::Open);
            assert_eq!((!bytes.is_empty()).then(|| split(&bytes).1.len()), body);
            let line = one_line(&origin).await;
            assert_eq!((line.kind, line.ended), (kind, EntryEnd::ClientClosed));
            let lasted = line.end - line.begin;
            assert!(lasted.abs_diff(waited) < Duration::from_millis(300), "{lasted:?} {waited:?}");
        }
    }

    #[tokio::test]
    async fn a_hanging_origin_reads_everything() {
        let origin = start(Behaviour::HangAfterAccept).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        connection.send(&vec![b'a'; 10_000_000]).await.unwrap();
        drop(connection);
        assert_eq!(one_line(&origin).await.ended, EntryEnd::ClientClosed);
    }

    #[tokio::test]
    async fn a_connection_without_a_request_has_a_kind_of_its_own() {
        let origin = start(Behaviour::Fast { body: 1 }).await;
        drop(RawConnection::to(&origin).await.unwrap());
        let line = one_line(&origin).await;
        assert_eq!((line.kind, line.ended), (EntryKind::Unused, EntryEnd::ClientClosed));
        let origin = start(Behaviour::Fast { body: 1 }).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        connection.send(b"GET / HT").await.unwrap();
        drop(connection);
        let line = one_line(&origin).await;
        assert_eq!((line.kind, line.ended), (EntryKind::Connection, EntryEnd::ClientClosed));
    }

    #[tokio::test]
    async fn a_reset_by_the_client_is_logged_as_one() {
        let origin = start(Behaviour::HangAfterHead).await;
        let stream = TcpStream::connect(origin.address()).await.unwrap();
        stream.writable().await.unwrap();
        stream.try_write(GET).unwrap();
        stream.readable().await.unwrap();
        // Closing with something unread sends RST.
        drop(stream);
        assert_eq!(one_line(&origin).await.ended, EntryEnd::ClientReset);
    }
}

/// The origin's first line, once it is there.
async fn one_line(origin: &Origin) -> stoop_testbed::LogEntry {
    for _ in 0..200 {
        if let Some(line) = origin.log().into_iter().next() {
            return line;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("the origin logged nothing");
}

mod connecting {
    use super::*;

    #[tokio::test]
    async fn a_black_hole_swallows_every_connection() {
        let origin = start(Behaviour::BlackHole).await;
        for _ in 0..3 {
            let connecting = TcpStream::connect(origin.address());
            assert!(timeout(Duration::from_millis(100), connecting).await.is_err());
        }
    }

    #[tokio::test]
    async fn a_refused_port_stays_refused() {
        let origin = start(Behaviour::Refused).await;
        for _ in 0..3 {
            let error = TcpStream::connect(origin.address()).await.unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
        }
        let other = TcpSocket::new_v4().unwrap();
        assert!(other.bind(origin.address()).is_err(), "no other socket can have the port");
    }

    #[tokio::test]
    async fn connections_end_at_once() {
        let end = async |behaviour| ask(&start(behaviour).await, b"").await;
        assert_eq!(end(Behaviour::CloseAfterAccept).await, (vec![], ConnectionEnd::Closed));
        assert_eq!(end(Behaviour::ResetAfterAccept).await, (vec![], ConnectionEnd::Reset));
    }
}

mod cuts {
    use super::*;

    #[tokio::test]
    async fn responses_end_too_early() {
        for (behaviour, framing, body, how) in [
            (
                Behaviour::TruncatedLength { sent: 10, announced: 100 },
                "content-length: 100",
                10,
                ConnectionEnd::Closed,
            ),
            (
                Behaviour::TruncatedLength { sent: 70_000, announced: 1 << 40 },
                "content-length: 1099511627776",
                70_000,
                ConnectionEnd::Closed,
            ),
            (
                Behaviour::ResetMidBody { sent: 1_000, announced: 2_000 },
                "content-length: 2000",
                1_000,
                ConnectionEnd::Reset,
            ),
            // 3e8 CRLF, 1,000 bytes, CRLF, 3e8 CRLF, 500 bytes.
            (Behaviour::TruncatedChunk, "transfer-encoding: chunked", 1_512, ConnectionEnd::Closed),
            (
                Behaviour::MissingLastChunk,
                "transfer-encoding: chunked",
                1_007,
                ConnectionEnd::Closed,
            ),
        ] {
            for tls in [false, true] {
                let origin = if tls {
                    Origin::start_tls(behaviour.clone()).await.unwrap()
                } else {
                    start(behaviour.clone()).await
                };
                let (bytes, end) = ask(&origin, GET).await;
                assert_eq!(split(&bytes).0, format!("{OK}{framing}\r\n\r\n"));
                assert_eq!((split(&bytes).1.len(), end), (body, how), "{behaviour:?} TLS: {tls}");
                assert_eq!(one_line(&origin).await.ended, EntryEnd::PlannedFault);
            }
        }
    }

    #[tokio::test]
    async fn an_early_close_sends_no_response() {
        assert_eq!(
            ask(&start(Behaviour::EarlyClose).await, GET).await,
            (vec![], ConnectionEnd::Closed)
        );
    }
}

mod floods {
    use super::*;

    #[tokio::test]
    async fn malformed_messages_are_sent_literally() {
        for (kind, _) in MalformedHead::ALL {
            let (bytes, end) = ask(&start(Behaviour::MalformedHead(*kind)).await, GET).await;
            assert_eq!((bytes.as_slice(), end), (kind.bytes(), ConnectionEnd::Closed));
        }
        for (kind, _) in BadLength::ALL {
            let (bytes, end) = ask(&start(Behaviour::BadLength(*kind)).await, GET).await;
            assert_eq!((bytes.as_slice(), end), (kind.bytes(), ConnectionEnd::Closed));
        }
        for (kind, _) in BadChunk::ALL {
            let (bytes, end) = ask(&start(Behaviour::BadChunk(*kind)).await, GET).await;
            let expected = [b"5\r\nHello\r\n", kind.bytes()].concat();
            assert_eq!((split(&bytes).1, end), (&expected[..], ConnectionEnd::Closed));
        }
    }

    /// Reads two megabytes of each, and then goes away: the origin notices.
    #[tokio::test]
    async fn an_endless_response_does_not_end() {
        for (behaviour, begins) in [
            (Behaviour::EndlessHead, format!("{OK}x-filler: abc")),
            (Behaviour::EndlessField, format!("{OK}x-filler: aaa")),
            (
                Behaviour::EndlessBody { every: Duration::ZERO },
                format!("{OK}transfer-encoding: chunked\r\n\r\nfff8\r\n"),
            ),
            (
                Behaviour::InterimFlood { count: None },
                "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\nHTTP".into(),
            ),
        ] {
            let origin = start(behaviour).await;
            let mut connection = RawConnection::to(&origin).await.unwrap();
            connection.send(GET).await.unwrap();
            let mut bytes = Vec::new();
            while bytes.len() < 2_000_000 {
                assert!(connection.receive(&mut bytes).await.unwrap());
            }
            assert!(bytes.starts_with(begins.as_bytes()));
            drop(connection);
            assert_eq!(one_line(&origin).await.ended, EntryEnd::ClientReset);
        }
    }

    #[tokio::test]
    async fn interim_responses_end_in_a_good_one() {
        let (bytes, end) =
            ask(&start(Behaviour::InterimFlood { count: Some(1_000) }).await, GET).await;
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(text.matches("HTTP/1.1 103 Early Hints\r\n").count(), 1_000);
        assert_eq!((text.matches(OK).count(), end), (1, ConnectionEnd::Open));
    }
}

mod redirects {
    use super::*;

    async fn location(origin: &Origin, target: &str) -> (String, Option<String>) {
        let (bytes, _) = ask(origin, format!("GET {target} HTTP/1.1\r\n\r\n").as_bytes()).await;
        let (head, _) = split(&bytes);
        let location = head.lines().find_map(|line| line.strip_prefix("location: "));
        (head[9..12].to_owned(), location.map(str::to_owned))
    }

    #[tokio::test]
    async fn a_redirect_chain_ends() {
        let origin = start(Behaviour::RedirectChain { hops: 2, status: 308 }).await;
        assert_eq!(location(&origin, "/").await, ("308".into(), Some("/step/1".into())));
        assert_eq!(location(&origin, "/step/1").await, ("308".into(), Some("/step/2".into())));
        assert_eq!(location(&origin, "/step/2").await, ("200".into(), None));
    }

    #[tokio::test]
    async fn a_redirect_loop_does_not_end() {
        let origin = start(Behaviour::RedirectLoop).await;
        assert_eq!(location(&origin, "/there").await.1.as_deref(), Some("/back"));
        assert_eq!(location(&origin, "/back").await.1.as_deref(), Some("/there"));
    }

    #[tokio::test]
    async fn other_redirects_lead_to_their_location() {
        let file = "file:///etc/passwd".to_owned();
        let origin = start(Behaviour::RedirectTo { status: 301, location: file.clone() }).await;
        assert_eq!(location(&origin, "/").await, ("301".into(), Some(file)));
        let origin = start(Behaviour::RedirectToDead).await;
        let dead = location(&origin, "/").await.1.unwrap();
        let dead = dead.strip_prefix("http://").unwrap().trim_end_matches('/');
        let error = TcpStream::connect(dead).await.unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionRefused);
    }
}

mod reuse {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_looks_reusable_is_closed() {
        let origin = start(Behaviour::StaleKeepAlive { after: Duration::from_millis(20) }).await;
        let (bytes, end) = ask(&origin, GET).await;
        assert!(!split(&bytes).0.contains("connection:"));
        assert_eq!((split(&bytes).1.len(), end), (100, ConnectionEnd::Closed));

        let origin = start(Behaviour::CloseOnReuse).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        connection.send(GET).await.unwrap();
        assert_eq!(connection.rest().await.1, ConnectionEnd::Open);
        connection.send(GET).await.unwrap();
        assert_eq!(connection.rest().await, (vec![], ConnectionEnd::Closed));
    }
}

mod tls {
    use stoop_io::TlsErrorKind;

    use super::*;

    async fn handshake(origin: &Origin) -> Result<RawConnection, TlsErrorKind> {
        let tls = trusting(origin.ca_pem().unwrap());
        RawConnection::secure(origin.address(), "127.0.0.1", &tls).await.map_err(|error| {
            let inner = error.into_inner().unwrap();
            inner.downcast_ref::<stoop_io::TlsError>().unwrap().kind()
        })
    }

    #[tokio::test]
    async fn everything_runs_over_tls() {
        let origin = Origin::start_tls(Behaviour::Fast { body: 200_000 }).await.unwrap();
        assert!(origin.url().starts_with("https://127.0.0.1:"));
        let (bytes, end) = ask(&origin, GET).await;
        assert_eq!((split(&bytes).1.len(), end), (200_000, ConnectionEnd::Open));
        assert!(is_body(0, split(&bytes).1));
    }

    #[tokio::test]
    async fn certificates_are_wrong_in_one_way_each() {
        for (behaviour, kind) in [
            (Behaviour::UntrustedCertificate, TlsErrorKind::CertificateUntrusted),
            (Behaviour::WrongName, TlsErrorKind::CertificateName),
            (Behaviour::ExpiredCertificate, TlsErrorKind::CertificateExpired),
        ] {
            let origin = start(behaviour).await;
            assert_eq!(handshake(&origin).await.err(), Some(kind));
            assert_eq!(one_line(&origin).await.ended, EntryEnd::HandshakeFailed);
            // A client that does not verify gets a response.
            let careless =
                stoop_io::ClientTls::builder().dangerous_accept_any_certificate().build().unwrap();
            let connection = RawConnection::secure(origin.address(), "127.0.0.1", &careless).await;
            let mut connection = connection.unwrap();
            connection.send(GET).await.unwrap();
            assert!(connection.rest().await.0.starts_with(OK.as_bytes()));
        }
    }

    #[tokio::test]
    async fn handshakes_go_wrong() {
        let origin = start(Behaviour::TlsClose).await;
        assert_eq!(handshake(&origin).await.err(), Some(TlsErrorKind::Closed));
        let origin = start(Behaviour::TlsGarbage).await;
        assert_eq!(handshake(&origin).await.err(), Some(TlsErrorKind::NotTls));
        let origin = start(Behaviour::TlsAlert).await;
        assert!(matches!(handshake(&origin).await.err(), Some(TlsErrorKind::Alert(_))));
        let origin = start(Behaviour::TlsHang).await;
        assert!(timeout(Duration::from_millis(100), handshake(&origin)).await.is_err());
        assert_eq!(one_line(&origin).await.ended, EntryEnd::ClientClosed);
    }
}

#[tokio::test]
async fn a_busy_origin_is_so_for_its_first_requests_on_any_connection() {
    let origin = start(Behaviour::Busy { requests: 3, retry_after: 7 }).await;
    let mut first = Vec::new();
    for _ in 0..2 {
        first.push(
            exchange(
                &origin,
                b"GET / HTTP/1.1\r\nhost: a\r\n\r\nGET / HTTP/1.0\r\nhost: a\r\n\r\n",
            )
            .await,
        );
    }
    let all = first.concat();
    assert_eq!(all.matches("HTTP/1.1 429 Too Many Requests\r\n").count(), 3, "{all}");
    assert_eq!(all.matches("\r\nretry-after: 7\r\n").count(), 3, "{all}");
    assert_eq!(first[1].matches("HTTP/1.1 200 OK\r\n").count(), 1, "{all}");
}

#[tokio::test]
async fn an_origin_with_a_robots_txt_serves_it_beside_its_pages() {
    let text = "User-agent: *\nDisallow: /no\n".to_owned();
    let origin = start(Behaviour::Robots { text, body: 5 }).await;
    let file = exchange(&origin, b"GET /robots.txt HTTP/1.0\r\n\r\n").await;
    assert!(
        file.ends_with("\r\ncontent-length: 28\r\n\r\nUser-agent: *\nDisallow: /no\n"),
        "{file}"
    );
    let page = exchange(&origin, b"GET /page HTTP/1.0\r\n\r\n").await;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
}

/// What an origin answers to these bytes, until it closes.
async fn exchange(origin: &Origin, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(origin.address()).await.expect("it listens");
    stream.write_all(request).await.expect("it reads");
    let mut answered = Vec::new();
    stream.read_to_end(&mut answered).await.expect("an orderly end");
    String::from_utf8_lossy(&answered).into_owned()
}

/// Every behaviour that has a name starts, and can be stopped with a client still there.
#[tokio::test]
async fn every_name_starts_and_stops() {
    for (name, behaviour) in Behaviour::all() {
        let origin = start(behaviour).await;
        let address = origin.address();
        let expected = !matches!(name.as_str(), "black-hole" | "refused");
        let patience = if expected { 5_000 } else { 20 };
        let connecting = TcpStream::connect(address);
        let connecting = timeout(Duration::from_millis(patience), connecting).await;
        assert_eq!(matches!(connecting, Ok(Ok(_))), expected, "{name}");
        origin.stop().await;
        let refused = TcpStream::connect(address).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused, "{name}");
    }
}
