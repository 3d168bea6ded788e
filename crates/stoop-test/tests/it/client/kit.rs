//! Servers that follow a script, clients of them, and short ways to send requests and read responses.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stoop::{
    Body, Client, ClientBuilder, ClientLimits, Error, ErrorKind, Phase, Request, Response, Switch,
    Upgraded, Versions,
};
use stoop_io::{AnyTransport, FillResult, Memory, Output, Stream, Tcp, Transport};

use crate::any_handler::IntoAny;

/// How many bytes a connection in memory holds in each direction.
pub(super) const PIPE_BYTES: usize = 64 * 1024;

/// A response with the content `ok`.
pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// The head of a response with chunked content.
pub(super) const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// Each version of the protocol alone.
pub(super) const EACH_VERSION: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// The server's end of a connection, which a script reads and writes.
pub(super) struct ScriptedServer {
    io: ServerIo,
    out: Output,
    /// The number of the client's connection, from 0.
    pub(super) number: usize,
}

/// The transport of a scripted server.
enum ServerIo {
    Memory(Memory),
    Other(AnyTransport),
}

impl ScriptedServer {
    fn io(&mut self) -> &mut dyn Transport {
        match &mut self.io {
            ServerIo::Memory(memory) => memory,
            ServerIo::Other(other) => other,
        }
    }

    /// A server on that transport.
    pub(super) fn over(io: AnyTransport, number: usize) -> Self {
        Self { io: ServerIo::Other(io), out: Output::default(), number }
    }

    /// Waits for more bytes. Returns false at the end of the connection or an error.
    async fn fill(&mut self) -> bool {
        let filled = poll_fn(|cx| self.io().poll_fill(cx, 1 << 20)).await;
        matches!(filled, Ok(FillResult::Bytes(_)))
    }

    /// The bytes up to and including `end`; empty if the connection ends before.
    pub(super) async fn until(&mut self, end: &str) -> String {
        loop {
            let received = self.io().received();
            let found = received.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                return self.take(at + end.len());
            }
            if !self.fill().await {
                return String::new();
            }
        }
    }

    /// The next head; empty if the connection ends before.
    pub(super) async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    /// Takes `n` of the bytes that were received.
    fn take(&mut self, n: usize) -> String {
        let text = String::from_utf8_lossy(&self.io().received()[..n]).into_owned();
        self.io().consume(n);
        text
    }

    /// The next `n` bytes as text, or fewer if the connection ends.
    pub(super) async fn bytes(&mut self, n: usize) -> String {
        while self.io().received().len() < n && self.fill().await {}
        let n = n.min(self.io().received().len());
        self.take(n)
    }

    /// The next `n` bytes, or fewer if the connection ends.
    pub(super) async fn raw_bytes(&mut self, n: usize) -> Vec<u8> {
        while self.io().received().len() < n && self.fill().await {}
        let n = n.min(self.io().received().len());
        let bytes = self.io().received()[..n].to_vec();
        self.io().consume(n);
        bytes
    }

    /// Discards the bytes up to the end of the connection. Returns how many they were.
    pub(super) async fn skip_to_end(&mut self) -> usize {
        let mut total = 0;
        loop {
            let n = self.io().received().len();
            self.io().consume(n);
            total += n;
            if !self.fill().await {
                return total;
            }
        }
    }

    /// Discards the bytes up to and including `end`. Returns how many they were.
    pub(super) async fn skip(&mut self, end: &str) -> usize {
        let mut total = 0;
        loop {
            let received = self.io().received();
            let found = received.windows(end.len()).position(|window| window == end.as_bytes());
            let n = match found {
                Some(at) => at + end.len(),
                None => (received.len() + 1).saturating_sub(end.len()),
            };
            self.io().consume(n);
            total += n;
            if found.is_some() || !self.fill().await {
                return total;
            }
        }
    }

    /// Sends these bytes. A script may go on after the client has closed, so errors are ignored.
    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.put(bytes.as_ref());
        let Self { io, out, .. } = self;
        let _ = poll_fn(|cx| match io {
            ServerIo::Memory(memory) => memory.poll_flush(cx, out),
            ServerIo::Other(other) => other.poll_flush(cx, out),
        })
        .await;
        self.out.clear();
    }

    /// Answers each request, which must have no content, with `answer`, until the client closes.
    pub(super) async fn serve(mut self, answer: impl AsRef<[u8]>) {
        while !self.head().await.is_empty() {
            self.send(answer.as_ref()).await;
        }
    }

    /// Answers the request that was read, then goes on as [`ScriptedServer::serve`] does.
    pub(super) async fn answer(mut self, answer: &str) {
        self.send(answer).await;
        self.serve(answer).await;
    }

    /// Ends the server's direction.
    pub(super) async fn shutdown(&mut self) {
        let _ = poll_fn(|cx| self.io().poll_shutdown(cx)).await;
    }

    /// Resets the connection.
    pub(super) fn reset(self) {
        match self.io {
            ServerIo::Memory(memory) => memory.reset(),
            ServerIo::Other(other) => other.reset_on_close(),
        }
    }

    /// Keeps the connection open and does nothing.
    pub(super) async fn stall(self) {
        std::future::pending().await
    }
}

/// A client whose connections are in memory, each with `script` as its server.
pub(super) fn scripted_by<F>(
    builder: ClientBuilder,
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    let numbers = AtomicUsize::new(0);
    let connect = move || {
        let (ours, theirs) = Memory::pair(PIPE_BYTES);
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let peer = ScriptedServer { io: ServerIo::Memory(theirs), out: Output::default(), number };
        tokio::spawn(script(peer));
        Stream::new(ours)
    };
    stoop::rt::connections_from(builder, connect).build().unwrap()
}

/// A client with the default limits, whose connections are in memory, each with `script` as its server.
pub(super) fn scripted<F>(script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    scripted_by(Client::builder(), script)
}

/// A builder of a client with changed limits.
pub(super) fn limited(change: impl FnOnce(&mut ClientLimits)) -> ClientBuilder {
    let mut limits = ClientLimits::default();
    change(&mut limits);
    Client::builder().limits(limits)
}

/// A listener whose connections have a receive buffer of 16 KiB, so that a server that reads slowly holds up its client.
#[cfg(target_os = "linux")]
pub(super) fn narrow_listener() -> std::net::TcpListener {
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.set_recv_buffer_size(16 * 1024).unwrap();
    let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
    listener.bind(&any.into()).unwrap();
    listener.listen(1).unwrap();
    listener.into()
}

/// A client each of whose connections sends `text` after the first request's head, and ends.
pub(super) fn answered_once(text: impl AsRef<[u8]>) -> Client {
    let text: Arc<[u8]> = text.as_ref().into();
    scripted(move |mut peer| {
        let text = text.clone();
        async move {
            peer.head().await;
            peer.send(text).await;
        }
    })
}

/// Listens on a TCP port of this machine, with `script` as the server of each connection.
pub(super) async fn listen_scripted<F>(
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((stream, from)) = listener.accept().await else { return };
            stream.set_nodelay(true).unwrap();
            tokio::spawn(script(ScriptedServer::over(Tcp::new(stream, from).into(), number)));
        }
    });
    address
}

/// The URL of a scripted server, whose connections do not depend on it.
pub(super) const URL: &str = "http://server.test/";

/// Sends a GET.
pub(super) async fn get(client: &Client) -> Result<Response, Error> {
    client.get(URL).await
}

/// The status and content of a response, or the error's kind and phase.
pub(super) type FetchOutcome = Result<(u16, String), (ErrorKind, Phase)>;

/// The kind and phase of an error.
pub(super) fn kind_and_phase(error: Error) -> (ErrorKind, Phase) {
    (error.kind(), error.phase())
}

/// Sends a request and reads the whole response.
pub(super) async fn fetch_request(client: &Client, request: Request) -> FetchOutcome {
    read(client.send(request).await.map_err(kind_and_phase)?).await
}

/// Reads the whole response.
pub(super) async fn read(response: Response) -> FetchOutcome {
    let status = response.status().as_u16();
    let content = response.into_body().bytes(1 << 26).await.map_err(kind_and_phase)?;
    Ok((status, String::from_utf8_lossy(&content).into_owned()))
}

/// Sends a GET and reads the whole response.
pub(super) async fn fetch(client: &Client) -> FetchOutcome {
    fetch_request(client, Request::get(URL).unwrap()).await
}

/// Lets all other tasks run until they wait.
pub(super) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A client of a handler in this process, over these versions of the protocol.
pub(super) fn client_of<K>(versions: Versions, handler: impl IntoAny<K>) -> Client {
    Client::builder().versions(versions).handler(handler.into_any()).build().unwrap()
}

/// A POST with this content.
pub(super) fn post(body: impl Into<Body>) -> Request {
    Request::post(URL, body.into()).unwrap()
}

/// A 200 with the content `ok`, as of [`OK`].
pub(super) fn ok() -> FetchOutcome {
    ok_with("ok")
}

/// A 200 with this content.
pub(super) fn ok_with(content: &str) -> FetchOutcome {
    Ok((200, content.to_owned()))
}

/// The connections of a client that are open, and that are idle.
pub(crate) fn counts(client: &Client) -> (usize, usize) {
    let counts = client.connections();
    (counts.open, counts.idle)
}

/// The connection that a server has switched.
pub(crate) fn accepted(switch: Result<Switch, Error>) -> Upgraded {
    match switch.unwrap() {
        Switch::Accepted(upgraded) => upgraded,
        Switch::Declined(response) => panic!("declined: {}", response.status()),
    }
}

/// The response of a server that does not switch.
pub(crate) fn declined(switch: Result<Switch, Error>) -> Response {
    match switch.unwrap() {
        Switch::Accepted(_) => panic!("accepted"),
        Switch::Declined(response) => response,
    }
}
