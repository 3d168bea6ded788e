//! Behaviours that go wrong over HTTP/2 alone: frame by frame, and the result of a client.

mod outcomes;

use stoop_testbed::{BadHttp2, Behaviour, EntryEnd, EntryKind, LogEntry, Origin, is_body};

use crate::raw::{ConnectionEnd, GET, RawConnection};

/// The preface, and SETTINGS that say nothing.
const OPENING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// `GET https://test/`: three fields of the static table, and one that is not indexed.
const BLOCK: &[u8] = b"\x82\x87\x84\x41\x04test";

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [a, b] = (payload.len() as u16).to_be_bytes();
    [&[0, a, b, kind, flags, 0, 0, 0, stream], payload].concat()
}

fn get(stream: u8) -> Vec<u8> {
    frame(1, 5, stream, BLOCK)
}

/// A line for each frame: type, flags, stream and payload.
fn lines(mut bytes: &[u8]) -> Vec<String> {
    let (mut lines, mut offset) = (Vec::new(), 0);
    while let Some((header, rest)) = bytes.split_first_chunk::<9>() {
        let [_, a, b, kind, flags, _, _, _, stream] = *header;
        let length = usize::from(u16::from_be_bytes([a, b]));
        let Some((payload, rest)) = rest.split_at_checked(length) else { break };
        let names = ["DATA", "HEADERS", "", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING"];
        let more = ["GOAWAY", "WINDOW_UPDATE", "CONTINUATION"];
        let name = names.iter().chain(&more).nth(kind.into()).unwrap();
        let shown = match payload {
            body if kind == 0 && is_body(offset, body) => format!("{length} bytes of the body"),
            other => other.escape_ascii().to_string(),
        };
        offset += if kind == 0 { length as u64 } else { 0 };
        lines.push(format!("{name} {flags} {stream} {shown}"));
        bytes = rest;
    }
    lines.extend((!bytes.is_empty()).then(|| bytes.escape_ascii().to_string()));
    lines
}

const SETTINGS: &str = r"SETTINGS 0 0 \x00\x03\x00\x00\x00d";
const ACK: &str = "SETTINGS 1 0 ";
const HEAD: &str = r"\x88\x00\x06server\rstoop-testbed\x00\x0ccontent-type\ttext/html";
const LENGTH: &str = r"\x00\x0econtent-length\x0210";

fn head(stream: u8) -> String {
    format!("HEADERS 4 {stream} {HEAD}{LENGTH}")
}

fn body(stream: u8) -> String {
    format!("DATA 1 {stream} 10 bytes of the body")
}

async fn start(kind: BadHttp2) -> Origin {
    Origin::start(Behaviour::BadHttp2 { kind, body: 10 }).await.unwrap()
}

/// What comes to requests on streams 1, 3 and so on that are sent together, behind SETTINGS and their
/// acknowledgement; how the connection ends; and the log.
async fn ask(kind: BadHttp2, requests: u8) -> (Vec<String>, ConnectionEnd, Vec<LogEntry>) {
    let origin = start(kind).await;
    let mut connection = RawConnection::to(&origin).await.unwrap();
    let requests: Vec<u8> = (0..requests).flat_map(|n| get(2 * n + 1)).collect();
    connection.send(&[OPENING, &requests].concat()).await.unwrap();
    let (bytes, end) = connection.rest().await;
    drop(connection);
    let mut lines = lines(&bytes);
    assert_eq!(lines[..2], [SETTINGS, ACK]);
    lines.drain(..2);
    let mut log = origin.log();
    while log.is_empty() {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        log = origin.log();
    }
    (lines, end, log)
}

#[tokio::test]
async fn faults_that_pass_are_answered_in_the_end() {
    let refused = |stream: u8| format!(r"RST_STREAM 0 {stream} \x00\x00\x00\x07");
    let (lines, end, log) = ask(BadHttp2::RefusedTwice, 3).await;
    assert_eq!(lines, [refused(1), refused(3), head(5), body(5)]);
    let ended: Vec<_> = log.iter().map(|line| (line.kind, line.ended, line.status)).collect();
    let fault = (EntryKind::Exchange, EntryEnd::PlannedFault, None);
    assert_eq!(ended, [fault, fault, (EntryKind::Exchange, EntryEnd::Complete, Some(200))]);
    assert_eq!(end, ConnectionEnd::Open);

    let (lines, end, _) = ask(BadHttp2::GoAwayOnReuse, 2).await;
    let last = r"GOAWAY 0 0 \x00\x00\x00\x01\x00\x00\x00\x00".to_owned();
    assert_eq!((lines, end), (vec![head(1), body(1), last], ConnectionEnd::Closed));

    let (lines, _, log) = ask(BadHttp2::WantsHttp1, 1).await;
    assert_eq!(lines, [r"RST_STREAM 0 1 \x00\x00\x00\r"]);
    assert_eq!(log[0].ended, EntryEnd::PlannedFault);

    let (lines, end, _) = ask(BadHttp2::DataAfterEnd, 1).await;
    assert_eq!(
        (lines, end),
        (vec![head(1), body(1), "DATA 0 1 more".to_owned()], ConnectionEnd::Open)
    );
}

#[tokio::test]
async fn an_origin_with_one_stream_refuses_a_second() {
    let origin = start(BadHttp2::OneStream).await;
    let mut connection = RawConnection::to(&origin).await.unwrap();
    // No window, so that the first is not answered before the second comes.
    let no_window = frame(4, 0, 0, b"\0\x04\0\0\0\0");
    let requests = [get(1), get(3), frame(8, 0, 1, b"\0\0\0\x0a"), get(5)].concat();
    connection.send(&[OPENING, &no_window, &requests].concat()).await.unwrap();
    let (bytes, _) = connection.rest().await;
    let one = r"SETTINGS 0 0 \x00\x03\x00\x00\x00\x01";
    let mut expected = vec![one.to_owned(), ACK.to_owned(), ACK.to_owned(), head(1)];
    expected.push(r"RST_STREAM 0 3 \x00\x00\x00\x07".to_owned());
    // The third has a window of nothing.
    expected.extend([body(1), head(5)]);
    assert_eq!(lines(&bytes), expected);
}

#[tokio::test]
async fn streams_and_connections_are_cut() {
    let half = || "DATA 0 1 5 bytes of the body".to_owned();
    let go_away = |rest: &str| format!(r"GOAWAY 0 0 \x00\x00\x00{rest}");
    for (kind, expected, end) in [
        (
            BadHttp2::Refused,
            vec![r"RST_STREAM 0 1 \x00\x00\x00\x07".to_owned()],
            ConnectionEnd::Open,
        ),
        (BadHttp2::GoAway, vec![go_away(r"\x00\x00\x00\x00\x00")], ConnectionEnd::Closed),
        (BadHttp2::Calm, vec![go_away(r"\x01\x00\x00\x00\x0b")], ConnectionEnd::Closed),
        (
            BadHttp2::ResetMidBody,
            vec![head(1), half(), r"RST_STREAM 0 1 \x00\x00\x00\x02".to_owned()],
            ConnectionEnd::Open,
        ),
        (BadHttp2::ClosedMidBody, vec![head(1), half()], ConnectionEnd::Closed),
        (
            BadHttp2::TooLittle,
            vec![head(1), "DATA 1 1 5 bytes of the body".to_owned()],
            ConnectionEnd::Open,
        ),
        (
            BadHttp2::TooMuch,
            vec![head(1), "DATA 1 1 11 bytes of the body".to_owned()],
            ConnectionEnd::Open,
        ),
    ] {
        let (lines, ended, log) = ask(kind, 1).await;
        assert_eq!((lines, ended), (expected, end), "{kind:?}");
        assert_eq!(log[0].ended, EntryEnd::PlannedFault, "{kind:?}");
    }
}

#[tokio::test]
async fn wrong_frames_are_sent_literally() {
    let push = r"\x00\x00\x00\x02\x00\x07:method\x03GET\x00\x07:scheme\x05https\x00\n:authority\x0bpushed.test\x00\x05:path\n/style.css";
    let text = r"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n".to_owned();
    let window = |bytes: &str| vec![format!("WINDOW_UPDATE 0 0 {bytes}")];
    for (kind, expected, end) in [
        (
            BadHttp2::Push,
            vec![format!("PUSH_PROMISE 4 1 {push}"), head(1), body(1)],
            ConnectionEnd::Open,
        ),
        (BadHttp2::Garbage, vec![text], ConnectionEnd::Closed),
        (BadHttp2::FrameSize, window(r"\x00\x00\x01"), ConnectionEnd::Closed),
        (BadHttp2::WindowOverflow, window(r"\x7f\xff\xff\xff"), ConnectionEnd::Closed),
    ] {
        let (lines, ended, log) = ask(kind, 1).await;
        assert_eq!((lines, ended), (expected, end), "{kind:?}");
        assert_eq!(log[0].ended, EntryEnd::PlannedFault, "{kind:?}");
    }
    // Eight kilobytes that say sixteen megabytes: a field that fills the table, named 4,096 times.
    let (lines, _, log) = ask(BadHttp2::HeaderBomb, 1).await;
    let field = format!(r"@\x08x-filler\x7f\xd9\x1e{}", "a".repeat(4_056));
    let named = r"\xbe".repeat(4_096);
    assert_eq!(lines, [format!("HEADERS 5 1 {HEAD}{field}{named}")]);
    assert!(log[0].sent < 9_000 && log[0].ended == EntryEnd::PlannedFault, "{log:?}");
}

/// Reads a megabyte, and goes away: the origin notices.
#[tokio::test]
async fn an_endless_head_does_not_end() {
    let origin = start(BadHttp2::ContinuationFlood).await;
    let mut connection = RawConnection::to(&origin).await.unwrap();
    connection.send(&[OPENING, &get(1)].concat()).await.unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < 1_000_000 {
        assert!(connection.receive(&mut bytes).await.unwrap());
    }
    drop(connection);
    let lines = lines(&bytes);
    assert_eq!(lines[2], format!("HEADERS 0 1 {HEAD}"));
    let more = r"CONTINUATION 0 1 \x00\x08x-filler\x01a";
    assert!(lines[3..lines.len() - 1].iter().all(|line| line == more));
}

/// Content comes as far as the windows go, and no further.
#[tokio::test]
async fn endless_content_respects_windows() {
    let origin = start(BadHttp2::EndlessBody).await;
    let mut connection = RawConnection::to(&origin).await.unwrap();
    connection.send(&[OPENING, &get(1)].concat()).await.unwrap();
    let received = |bytes: &[u8]| {
        let data = lines(bytes).into_iter().filter(|line| line.starts_with("DATA 0 1 "));
        data.map(|line| line.split(' ').nth(3).unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    let (mut bytes, end) = connection.rest().await;
    assert_eq!((received(&bytes), end), (65_535, ConnectionEnd::Open));
    // The stream's window alone is of no use.
    connection.send(&frame(8, 0, 1, b"\0\0\0\x64")).await.unwrap();
    assert_eq!(connection.rest().await, (vec![], ConnectionEnd::Open));
    connection.send(&frame(8, 0, 0, b"\0\0\0\x28")).await.unwrap();
    bytes.extend(connection.rest().await.0);
    assert_eq!(received(&bytes), 65_535 + 40);
    connection.send(&frame(3, 0, 1, b"\0\0\0\x08")).await.unwrap();
    assert_eq!(connection.rest().await, (vec![], ConnectionEnd::Open));
    assert_eq!(origin.log()[0].ended, EntryEnd::ClientReset);
}

#[tokio::test]
async fn a_stall_answers_pings_and_the_others_do_not() {
    let ping = frame(6, 0, 0, b"are you?");
    let (half, pong) = ("DATA 0 1 5 bytes of the body".to_owned(), "PING 1 0 are you?".to_owned());
    let begin = [SETTINGS.to_owned(), ACK.to_owned(), head(1), half];
    for (kind, expected) in [
        (BadHttp2::Silence, vec![]),
        (BadHttp2::PingIgnored, begin.to_vec()),
        (BadHttp2::Stall, [&begin[..], &[pong]].concat()),
    ] {
        let origin = start(kind).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        connection.send(&[OPENING, &get(1), &ping].concat()).await.unwrap();
        let (bytes, end) = connection.rest().await;
        assert_eq!((lines(&bytes), end), (expected, ConnectionEnd::Open), "{kind:?}");
        drop(connection);
    }
}

#[tokio::test]
async fn a_body_drips() {
    let begin = std::time::Instant::now();
    let (lines, _, _) = ask(BadHttp2::Drip, 1).await;
    let one = "DATA 0 1 1 bytes of the body";
    assert_eq!(lines[0], head(1));
    let last = "DATA 1 1 1 bytes of the body";
    assert_eq!(lines[1..], [&[one; 9][..], &[last]].concat());
    assert!(begin.elapsed() > std::time::Duration::from_millis(10 * 250));
}

#[tokio::test]
async fn a_client_over_http1_gets_a_good_response() {
    for (kind, _) in BadHttp2::ALL {
        let origin = start(*kind).await;
        let mut connection = RawConnection::to(&origin).await.unwrap();
        connection.send(GET).await.unwrap();
        let mut answer = Vec::new();
        let came = connection.receive(&mut answer).await;
        assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "{kind:?}: {came:?}");
    }
}
