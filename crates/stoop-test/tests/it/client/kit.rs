//! Servers that do as a script says.

use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stoop::{Client, ClientBuilder, ClientLimits, Error, ErrorKind, Phase, Request, Response};
use stoop_io::{AnyTransport, Filled, Memory, Output, Stream, Tcp, Transport};

/// Room of a connection in memory, each way.
pub(super) const ROOM: usize = 64 * 1024;

pub(super) const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// The server's end of a connection.
pub(super) struct Peer {
    io: Io,
    out: Output,
    /// Which connection it is, from 0.
    pub(super) number: usize,
}

enum Io {
    Memory(Memory),
    Other(AnyTransport),
}

impl Peer {
    fn io(&mut self) -> &mut dyn Transport {
        match &mut self.io {
            Io::Memory(memory) => memory,
            Io::Other(other) => other,
        }
    }

    pub(super) fn over(io: AnyTransport, number: usize) -> Self {
        Self { io: Io::Other(io), out: Output::default(), number }
    }

    /// Waits for more; false at the end, however it came.
    async fn more(&mut self) -> bool {
        let filled = poll_fn(|cx| self.io().poll_fill(cx, 1 << 20)).await;
        matches!(filled, Ok(Filled::Bytes(_)))
    }

    /// Everything up to `end` and including it; nothing if the connection ends before.
    pub(super) async fn until(&mut self, end: &str) -> String {
        loop {
            let received = self.io().received();
            let found = received.windows(end.len()).position(|window| window == end.as_bytes());
            if let Some(at) = found {
                return self.take(at + end.len());
            }
            if !self.more().await {
                return String::new();
            }
        }
    }

    /// The next head; empty if the connection ends before.
    pub(super) async fn head(&mut self) -> String {
        self.until("\r\n\r\n").await
    }

    fn take(&mut self, n: usize) -> String {
        let text = String::from_utf8_lossy(&self.io().received()[..n]).into_owned();
        self.io().consume(n);
        text
    }

    /// So many bytes, or fewer if the connection ends.
    pub(super) async fn bytes(&mut self, n: usize) -> String {
        while self.io().received().len() < n && self.more().await {}
        let n = n.min(self.io().received().len());
        self.take(n)
    }

    /// The same, as they are.
    pub(super) async fn raw(&mut self, n: usize) -> Vec<u8> {
        while self.io().received().len() < n && self.more().await {}
        let n = n.min(self.io().received().len());
        let bytes = self.io().received()[..n].to_vec();
        self.io().consume(n);
        bytes
    }

    /// Everything to the end; how much it was.
    pub(super) async fn rest(&mut self) -> usize {
        let mut total = 0;
        loop {
            let n = self.io().received().len();
            self.io().consume(n);
            total += n;
            if !self.more().await {
                return total;
            }
        }
    }

    /// Throws away everything up to `end` and including it; how much it was.
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
            if found.is_some() || !self.more().await {
                return total;
            }
        }
    }

    /// Sends; what became of it does not matter.
    pub(super) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.out.put(bytes.as_ref());
        let Self { io, out, .. } = self;
        let _ = poll_fn(|cx| match io {
            Io::Memory(memory) => memory.poll_flush(cx, out),
            Io::Other(other) => other.poll_flush(cx, out),
        })
        .await;
        self.out.clear();
    }

    /// Answers one request after the other without content with `answer`, until the client goes.
    pub(super) async fn serve(mut self, answer: impl AsRef<[u8]>) {
        while !self.head().await.is_empty() {
            self.send(answer.as_ref()).await;
        }
    }

    /// Answers the request that was read, then goes on as [`Peer::serve`] does.
    pub(super) async fn answer(mut self, answer: &str) {
        self.send(answer).await;
        self.serve(answer).await;
    }

    pub(super) async fn shutdown(&mut self) {
        let _ = poll_fn(|cx| self.io().poll_shutdown(cx)).await;
    }

    pub(super) fn reset(self) {
        match self.io {
            Io::Memory(memory) => memory.reset(),
            Io::Other(other) => other.reset_on_close(),
        }
    }

    /// Keeps the connection open and does nothing.
    pub(super) async fn stall(self) {
        std::future::pending().await
    }
}

/// A client whose connections are pipes, each with `script` at the other end.
pub(super) fn scripted_by<F>(
    builder: ClientBuilder,
    script: impl Fn(Peer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    let numbers = AtomicUsize::new(0);
    let connect = move || {
        let (ours, theirs) = Memory::pair(ROOM);
        let number = numbers.fetch_add(1, Ordering::Relaxed);
        let peer = Peer { io: Io::Memory(theirs), out: Output::default(), number };
        tokio::spawn(script(peer));
        Stream::new(ours)
    };
    stoop::tokio::connections_from(builder, connect).build().unwrap()
}

/// The same with the default limits.
pub(super) fn scripted<F>(script: impl Fn(Peer) -> F + Send + Sync + 'static) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    scripted_by(Client::builder(), script)
}

/// A client with other limits.
pub(super) fn limited(change: impl FnOnce(&mut ClientLimits)) -> ClientBuilder {
    let mut limits = ClientLimits::default();
    change(&mut limits);
    Client::builder().limits(limits)
}

/// A client to whom every connection says the same after its first request's head, and ends.
pub(super) fn saying(text: impl AsRef<[u8]>) -> Client {
    let text: Arc<[u8]> = text.as_ref().into();
    scripted(move |mut peer| {
        let text = text.clone();
        async move {
            peer.head().await;
            peer.send(text).await;
        }
    })
}

/// A script behind a TCP port of this machine.
pub(super) async fn listening<F>(script: impl Fn(Peer) -> F + Send + Sync + 'static) -> SocketAddr
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for number in 0.. {
            let Ok((stream, from)) = listener.accept().await else { return };
            stream.set_nodelay(true).unwrap();
            tokio::spawn(script(Peer::over(Tcp::new(stream, from).into(), number)));
        }
    });
    address
}

pub(super) const URL: &str = "http://server.test/";

pub(super) async fn get(client: &Client) -> Result<Response, Error> {
    client.get(URL).await
}

/// Status and content, or what went wrong and where.
pub(super) type Outcome = Result<(u16, String), (ErrorKind, Phase)>;

pub(super) fn what(error: Error) -> (ErrorKind, Phase) {
    (error.kind(), error.phase())
}

/// Sends a request and reads its response whole.
pub(super) async fn fetch_request(client: &Client, request: Request) -> Outcome {
    read(client.send(request).await.map_err(what)?).await
}

pub(super) async fn read(response: Response) -> Outcome {
    let status = response.status().as_u16();
    let content = response.into_body().bytes(1 << 26).await.map_err(what)?;
    Ok((status, String::from_utf8_lossy(&content).into_owned()))
}

pub(super) async fn fetch(client: &Client) -> Outcome {
    fetch_request(client, Request::get(URL).unwrap()).await
}

/// Lets everything else run until it waits.
pub(super) async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}
