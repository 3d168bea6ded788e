//! §9 Connection Management: persistence, pipelining, tear-down.

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h1::{Event, Server};
use stoop_proto::{
    BodySize, CloseReason, Limits, RequestHead, ResponseHead, ResponseParts, Violation,
};
use stoop_test::feed::{ResponseEnd, SentRequest, serve};

use crate::machines::{ok, receive, respond};

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n";

/// §9.2: a client "that does not have any outstanding requests" must not take bytes that arrive for
/// the answer to the next request.
#[test]
fn bytes_that_answer_no_request_are_never_the_next_answer() {
    let mut client = stoop_proto::h1::Client::new();
    let poison = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let received = client.receive(poison, &mut ResponseHead::default(), &Limits::client());
    assert_eq!((received.consumed, received.event), (0, Event::Violation(Violation::Unsolicited)));
    assert!(!client.is_reusable());

    let mut client = SentRequest::new(Method::GET).client();
    let mut head = ResponseHead::default();
    let received = client.receive(poison, &mut head, &Limits::client());
    assert_eq!(received.event, Event::Head { end: true });
    assert!(client.is_reusable());
    let received = client.receive(poison, &mut head, &Limits::client());
    assert_eq!(received.event, Event::Violation(Violation::Unsolicited));
    assert!(!client.is_reusable());
}

/// §9.3: "If the "close" connection option is present, the connection will not persist after the
/// current response; else, if the received protocol is HTTP/1.1 (or later), the connection will
/// persist …; else, if the received protocol is HTTP/1.0, the "keep-alive" connection option is
/// present, …"
#[test]
fn a_connection_persists_as_version_and_connection_say() {
    for (version, connection, persists) in [
        ("HTTP/1.1", "", true),
        ("HTTP/1.1", "Connection: keep-alive\r\n", true),
        ("HTTP/1.1", "Connection: close\r\n", false),
        ("HTTP/1.1", "Connection: CLOSE\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive, close\r\n", false),
        ("HTTP/1.1", "Connection: keep-alive\r\nConnection: x ,, Close\r\n", false),
        ("HTTP/1.1", "Connection: closed\r\n", true),
        ("HTTP/1.1", "Connection: ÿ\r\n", true),
        ("HTTP/1.1", "Proxy-Connection: close\r\n", true),
        ("HTTP/1.2", "", true),
        ("HTTP/1.0", "", false),
        ("HTTP/1.0", "Connection: keep-alive\r\n", true),
        ("HTTP/1.0", "Connection: Keep-Alive\r\n", true),
        ("HTTP/1.0", "Connection: keep-alive, close\r\n", false),
        ("HTTP/1.0", "Keep-Alive: timeout=5\r\n", false),
    ] {
        let wire = format!("GET / {version}\r\nHost: a\r\n{connection}\r\n");
        let served = serve(wire.as_bytes(), &Limits::server(), false);
        assert_eq!(served.is_open, persists, "{version} {connection}");
        let answer = String::from_utf8(served.answer).unwrap();
        assert_eq!(answer.contains("connection: close"), !persists);
        let keeps = version == "HTTP/1.0" && persists;
        assert_eq!(
            answer.contains("connection: keep-alive"),
            keeps,
            "said only where it is not so"
        );

        let wire = format!("{version} 200 OK\r\nContent-Length: 0\r\n{connection}\r\n");
        let read = SentRequest::new(Method::GET).accepts(wire.as_bytes());
        assert_eq!(read.is_reusable, persists, "{version} {connection}");
    }
}

/// §9.6: "The server MUST … send a "close" connection option", and the client "MUST NOT send further
/// requests".
#[test]
fn a_client_that_asks_for_close_sends_no_more() {
    let mut client = SentRequest::new(Method::GET).with_field("connection", "close").client();
    let wire = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let received = client.receive(wire, &mut ResponseHead::default(), &Limits::client());
    assert_eq!(received.event, Event::Head { end: true });
    assert!(!client.is_reusable());
}

/// §9.6: "A server that sends a "close" connection option … MUST NOT process any further requests
/// received on that connection."
#[test]
fn a_server_that_closes_reads_no_further_requests() {
    let mut server = Server::new();
    let wire = format!("{GET}\r\n{GET}\r\n");
    let mut input = wire.as_bytes();
    let (event, answer) = receive(&mut server, &mut input);
    assert_eq!(event, Event::Head { end: true });
    let said = respond(
        &mut server,
        answer,
        &ResponseParts { close: Some(CloseReason::CallerCloses), ..ok() },
    );
    assert!(said.contains("connection: close\r\n"));
    assert_eq!(receive(&mut server, &mut input).0, Event::Paused);
    assert!(server.is_sent() && !server.is_receiving());
}

/// §9.3.2: "A server MAY process a sequence of pipelined requests in parallel …, but it MUST send the
/// corresponding responses in the same order that the requests were received."
#[test]
fn pipelined_requests_are_answered_in_order() {
    let wire = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\
                 POST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
                 POST /3 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n\
                 HEAD /4 HTTP/1.1\r\nHost: a\r\n\r\n";
    let served = serve(wire, &Limits::server(), false);
    let targets: Vec<_> = served.requests.iter().map(|request| request.head.target()).collect();
    assert_eq!(targets, ["/1", "/2", "/3", "/4"]);
    assert_eq!(served.requests[1].body, b"abc");

    // Requests that are read ahead are answered later, each by its own method and version.
    let mut server = Server::new();
    let mut input = &wire[..];
    let mut answers = Vec::new();
    while answers.len() < 4 {
        if let (Event::Head { .. }, answer) = receive(&mut server, &mut input) {
            answers.push(answer);
        }
    }
    assert_eq!(server.in_flight(), 4);
    for (n, answer) in answers.into_iter().enumerate() {
        let mut out = Vec::new();
        server.respond(answer, &ok(), BodySize::Exact(2), &mut out).unwrap();
        server.data(Bytes::from_static(b"hi"), &mut out).unwrap();
        server.finish(None, &mut out).unwrap();
        assert_eq!(out.ends_with(b"hi"), n < 3, "the fourth is HEAD");
    }
    assert!(server.is_receiving() && server.in_flight() == 0);
}

/// §9.3.2, §9.5: a broken request does not take back the ones before it, and its refusal comes after
/// their answers.
#[test]
fn a_violation_is_answered_after_the_requests_before_it() {
    let mut server = Server::new();
    let wire = format!("{GET}\r\n{GET}\r\n{GET}X : y\r\n\r\n");
    let mut input = wire.as_bytes();
    let (_, first) = receive(&mut server, &mut input);
    let (_, second) = receive(&mut server, &mut input);
    let violation = Violation::SpaceBeforeColon;
    assert_eq!(receive(&mut server, &mut input).0, Event::Violation(violation));

    let mut out = Vec::new();
    assert!(!server.refuse(violation, None, &mut out) && out.is_empty());
    assert!(!respond(&mut server, first, &ok()).contains("close"));
    assert!(!server.refuse(violation, None, &mut out) && out.is_empty());
    assert!(!respond(&mut server, second, &ok()).contains("close"));
    assert!(!server.is_sent());
    assert!(server.refuse(violation, None, &mut out));
    assert!(out.starts_with(b"HTTP/1.1 400 Bad Request\r\n"));
    assert!(server.is_sent());
}

/// §9.5: a fault in the next head does not break off a response that is being sent.
#[test]
fn a_violation_in_the_next_head_lets_a_response_under_way_end() {
    let mut server = Server::new();
    let wire = format!("{GET}\r\nBAD\r\n");
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Exact(2), &mut out).unwrap();
    assert_eq!(receive(&mut server, &mut input).0, Event::Violation(Violation::RequestLine));
    let begun = out.len();
    assert!(!server.refuse(Violation::RequestLine, None, &mut out) && out.len() == begun);
    server.data(Bytes::from_static(b"hi"), &mut out).unwrap();
    server.finish(None, &mut out).unwrap();
    assert!(server.refuse(Violation::RequestLine, None, &mut out));
    assert!(out[begun..].starts_with(b"hiHTTP/1.1 400 Bad Request\r\n"));
}

/// §9.5: a client could not tell where a refusal begins within a response.
#[test]
fn a_violation_in_the_body_of_a_request_being_answered_is_not_answered() {
    let mut server = Server::new();
    let wire = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n";
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Unknown, &mut out).unwrap();
    let begun = out.len();
    assert_eq!(receive(&mut server, &mut input).0, Event::Violation(Violation::ChunkSize));
    assert!(server.refuse(Violation::ChunkSize, None, &mut out));
    assert_eq!(out.len(), begun);
    assert!(server.is_sent() && server.data(Bytes::from_static(b"x"), &mut out).is_err());
}

/// §9.3: "A server MUST read the entire request message body or close the connection after sending
/// its response, since otherwise the remaining data … would be misinterpreted as a new request."
#[test]
fn the_rest_of_a_body_is_never_the_next_request() {
    let mut server = Server::new();
    let wire = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{GET}\r\n{GET}\r\n",
        GET.len() + 2
    );
    let mut input = wire.as_bytes();
    let (event, answer) = receive(&mut server, &mut input);
    assert_eq!(event, Event::Head { end: false });
    respond(&mut server, answer, &ok());
    assert!(server.in_body(), "answered early, and the body still to be read");
    assert_eq!(server.body_remaining(), Some(GET.len() as u64 + 2));
    assert_eq!(receive(&mut server, &mut input).0, Event::Data(0..GET.len() + 2));
    assert_eq!(receive(&mut server, &mut input).0, Event::End { trailers: false });
    assert_eq!(receive(&mut server, &mut input).0, Event::Head { end: true });
    assert!(input.is_empty());
}

/// §9.6: a server that wants to stop says so in its last response.
#[test]
fn the_last_response_after_stopping_says_close() {
    // The server stops between a request and its response.
    let mut server = Server::new();
    let wire = format!("{GET}\r\n{GET}\r\n");
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    server.stop_receiving(CloseReason::Draining);
    assert!(respond(&mut server, answer, &ok()).contains("connection: close\r\n"));
    assert_eq!(receive(&mut server, &mut input).0, Event::Paused);
    assert!(server.is_sent());

    // It stops within the body of a request.
    let mut server = Server::new();
    let mut input = &b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhel"[..];
    let (_, answer) = receive(&mut server, &mut input);
    server.stop_receiving(CloseReason::Draining);
    assert!(respond(&mut server, answer, &ok()).contains("connection: close\r\n"));
    assert!(server.is_sent() && server.in_body());

    // It stops within a response, which can then not say close, and reads nothing more.
    let mut server = Server::new();
    let mut input = wire.as_bytes();
    let (_, answer) = receive(&mut server, &mut input);
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Exact(0), &mut out).unwrap();
    server.stop_receiving(CloseReason::Draining);
    server.finish(None, &mut out).unwrap();
    assert!(server.is_sent());

    // It stops with two requests unanswered: only the last response says close.
    let mut server = Server::new();
    let mut input = wire.as_bytes();
    let (_, first) = receive(&mut server, &mut input);
    let (_, second) = receive(&mut server, &mut input);
    server.stop_receiving(CloseReason::Draining);
    assert!(!respond(&mut server, first, &ok()).contains("close"));
    assert!(respond(&mut server, second, &ok()).contains("connection: close\r\n"));

    // It stops while it is idle, and sends nothing.
    let mut server = Server::new();
    server.stop_receiving(CloseReason::Draining);
    assert!(server.is_sent() && !server.is_receiving());
}

/// §9.6: a client that has ended its half still gets what it asked for.
#[test]
fn requests_before_a_half_close_are_answered() {
    let mut server = Server::new();
    let wire = format!("{GET}\r\n{GET}\r\n");
    let mut input = wire.as_bytes();
    let (_, first) = receive(&mut server, &mut input);
    let (_, second) = receive(&mut server, &mut input);
    assert_eq!(receive(&mut server, &mut input).0, Event::NeedMore);
    assert_eq!(server.receive_end(input), Event::Closed);
    assert!(!respond(&mut server, first, &ok()).contains("close"));
    assert!(respond(&mut server, second, &ok()).contains("connection: close\r\n"));
    assert!(server.is_sent());
}

/// §9.6: the same with more pipelined requests than are read at once.
#[test]
fn a_half_close_behind_unread_requests_waits_until_they_are_read() {
    let mut server = Server::new();
    let wire = format!("{GET}\r\n").repeat(20);
    let mut input = wire.as_bytes();
    let mut answers = std::collections::VecDeque::new();
    let mut answered = 0;
    loop {
        match receive(&mut server, &mut input) {
            (Event::Head { .. }, answer) => answers.push_back(answer),
            (Event::Paused, _) if !input.is_empty() => {
                assert_eq!(server.receive_end(input), Event::Paused);
                respond(&mut server, answers.pop_front().unwrap(), &ok());
                answered += 1;
            }
            (Event::Paused, _) => break,
            (event, _) => panic!("{event:?}"),
        }
    }
    assert_eq!(server.receive_end(input), Event::Closed);
    while let Some(answer) = answers.pop_front() {
        let said = respond(&mut server, answer, &ok());
        answered += 1;
        assert_eq!(said.contains("close"), answers.is_empty());
    }
    assert_eq!(answered, 20);
}

/// §9.3: after an early response, the request was not sent to its end.
#[test]
fn a_connection_whose_request_was_not_sent_to_its_end_is_not_used_again() {
    let mut head = RequestHead::new(Method::POST, "/").unwrap();
    head.fields_mut().push("host", b"a").unwrap();
    let mut client = stoop_proto::h1::Client::new();
    let mut out = Vec::new();
    client.send(&head, BodySize::Exact(5), &mut out).unwrap();
    let wire = b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n";
    let received = client.receive(wire, &mut ResponseHead::default(), &Limits::client());
    assert_eq!(received.event, Event::Head { end: true });
    assert!(!client.is_reusable() && !client.is_receiving() && !client.is_sent());
    client.data(Bytes::from_static(b"hello"), &mut out).unwrap();
    client.finish(None, &mut out).unwrap();
    assert!(!client.is_reusable());
}

/// §9.3: a response that ends with the connection is the last.
#[test]
fn a_response_of_unknown_length_ends_an_http_1_0_connection() {
    let wire = b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n";
    let mut server = Server::new();
    let mut input = &wire[..];
    let (_, answer) = receive(&mut server, &mut input);
    let mut out = Vec::new();
    server.respond(answer, &ok(), BodySize::Unknown, &mut out).unwrap();
    server.data(Bytes::from_static(b"hi"), &mut out).unwrap();
    server.finish(None, &mut out).unwrap();
    assert_eq!(out, b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhi");
    assert!(server.is_sent());
    let read = SentRequest::new(Method::GET).reads_to_end(&out);
    assert_eq!((&read.body[..], read.ended), (&b"hi"[..], ResponseEnd::WithConnection));

    // A response without content does not end the connection.
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED] {
        let mut server = Server::new();
        let mut input = &wire[..];
        let (_, answer) = receive(&mut server, &mut input);
        let mut out = Vec::new();
        server.respond(answer, &ResponseParts::new(status), BodySize::Unknown, &mut out).unwrap();
        server.finish(None, &mut out).unwrap();
        assert!(server.is_receiving() && out.ends_with(b"connection: keep-alive\r\n\r\n"));
    }
}
