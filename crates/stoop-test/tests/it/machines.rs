//! Short ways to drive one HTTP/1 machine.

use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, ResponseContext, Server};
use stoop_proto::{BodySize, Fields, Limits, RequestHead, ResponseHead, ResponseParts};

/// Has the server receive one event. Returns it, and the key to answer the request with.
pub(crate) fn receive(server: &mut Server, input: &mut &[u8]) -> (Event, ResponseContext) {
    let received = server.receive(input, &mut RequestHead::default(), &Limits::server());
    *input = &input[received.consumed..];
    (received.event, server.answer())
}

/// A server that has read the head of a request.
pub(crate) fn server_after_head(wire: &str) -> (Server, ResponseContext) {
    let mut server = Server::new();
    let mut input = wire.as_bytes();
    let (event, answer) = receive(&mut server, &mut input);
    assert!(matches!(event, Event::Head { .. }), "{event:?}: {wire}");
    (server, answer)
}

/// Sends a whole response without content. Returns its bytes.
pub(crate) fn respond(
    server: &mut Server,
    answer: ResponseContext,
    parts: &ResponseParts<'_>,
) -> String {
    respond_with(server, answer, parts, BodySize::Exact(0), b"")
}

/// Sends a whole response. Returns its bytes.
pub(crate) fn respond_with(
    server: &mut Server,
    answer: ResponseContext,
    parts: &ResponseParts<'_>,
    size: BodySize,
    content: &'static [u8],
) -> String {
    let mut out = Vec::new();
    server.respond(answer, parts, size, &mut out).unwrap();
    server.data(content.into(), &mut out).unwrap();
    server.finish(None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// The parts of a plain 200.
pub(crate) fn ok() -> ResponseParts<'static> {
    ResponseParts::new(StatusCode::OK)
}

/// The head of a request to `/` of host `a`, with these fields.
pub(crate) fn request(method: Method, fields: &[(&str, &str)]) -> RequestHead {
    let mut head = RequestHead::new(method, "/").unwrap();
    head.fields_mut().push("host", b"a").unwrap();
    for (name, value) in fields {
        head.fields_mut().push(name, value.as_bytes()).unwrap();
    }
    head
}

/// The bytes that a client sends for the head of a request.
pub(crate) fn sent_head(head: &RequestHead, size: BodySize) -> String {
    let mut out = Vec::new();
    Client::new().send(head, size, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

/// Fields of these names and values.
pub(crate) fn fields(lines: &[(&str, &str)]) -> Fields {
    let mut fields = Fields::new();
    for (name, value) in lines {
        fields.push(name, value.as_bytes()).unwrap();
    }
    fields
}

/// The event of a client that receives these bytes.
pub(crate) fn client_event(client: &mut Client, wire: &[u8]) -> Event {
    client.receive(wire, &mut ResponseHead::default(), &Limits::client()).event
}
