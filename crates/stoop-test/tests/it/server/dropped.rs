//! Why a handler is dropped, as what it holds learns meanwhile, over both versions.

use http::Method;
use stoop::{
    CutShort, DroppedHandler, Request, Response, ServerHandle, ServerLimits, StatusCode, Versions,
};
use stoop_proto::h2::StreamKey;
use stoop_test::frames::{flag, headers};
use stoop_test::http2::Client;
use stoop_test::peer::RawPeer;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::http2::GET as GET_HTTP2;
use super::{dial, listen, seconds};

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// What a handler learns: why it is dropped, and what is answered instead.
type Told = Option<(CutShort, Option<u16>)>;

fn current() -> Told {
    let status = |status: StatusCode| status.as_u16();
    DroppedHandler::current().map(|dropped| (dropped.why(), dropped.answer().map(status)))
}

/// Tells when it is dropped.
struct Report(UnboundedSender<Told>);

impl Drop for Report {
    fn drop(&mut self) {
        self.0.send(current()).unwrap();
    }
}

struct Calls {
    begun: UnboundedReceiver<()>,
    told: UnboundedReceiver<Told>,
}

impl Calls {
    async fn begun(&mut self) {
        self.begun.recv().await.unwrap();
    }

    async fn told(&mut self) -> Told {
        let told = self.told.recv();
        tokio::time::timeout(seconds(500), told).await.expect("it is dropped").unwrap()
    }
}

/// A server whose handler reads the content, and answers only `/now`.
fn start(limits: ServerLimits) -> (ServerHandle, Calls) {
    let (begin, begun) = unbounded_channel();
    let (tell, told) = unbounded_channel();
    let server = listen(limits, move |request: Request| {
        let (begin, report) = (begin.clone(), Report(tell.clone()));
        async move {
            begin.send(()).unwrap();
            let is_now = request.path() == "/now";
            let _ = request.into_body().bytes(1 << 20).await;
            if !is_now {
                std::future::pending::<()>().await;
            }
            drop(report);
            "now"
        }
    });
    (server, Calls { begun, told })
}

/// A client that has sent the head of one request.
enum Asked {
    Http1(RawPeer<TcpStream>),
    Http2(Box<Client<TcpStream>>, StreamKey),
}

impl Asked {
    async fn new(server: &ServerHandle, versions: Versions, method: Method, path: &str) -> Self {
        let (mut peer, end) = (dial(server).await, method == Method::GET);
        if versions == Versions::Http2 {
            let mut client = Client::new(peer.into_parts().0).await;
            let key = client.request(method, path, &[], end).await;
            return Self::Http2(Box::new(client), key);
        }
        let content = if end { "" } else { "transfer-encoding: chunked\r\n" };
        peer.send(format!("{method} {path} HTTP/1.1\r\nhost: a\r\n{content}\r\n")).await;
        Self::Http1(peer)
    }

    fn leave(self) {
        if let Self::Http1(mut peer) = self {
            peer.stream().set_zero_linger().unwrap();
        }
    }
}

#[tokio::test]
async fn a_handler_learns_that_its_client_has_left() {
    for versions in VERSIONS {
        let (server, mut calls) = start(ServerLimits::default());
        let asked = Asked::new(&server, versions, Method::GET, "/").await;
        calls.begun().await;
        asked.leave();
        assert_eq!(calls.told().await, Some((CutShort::Client, None)), "{versions:?}");
        server.close().await;
    }
}

#[tokio::test]
async fn a_handler_learns_that_the_server_closes() {
    for versions in VERSIONS {
        let (server, mut calls) = start(ServerLimits::default());
        let _asked = Asked::new(&server, versions, Method::GET, "/").await;
        calls.begun().await;
        server.close().await;
        assert_eq!(calls.told().await, Some((CutShort::Server, None)), "{versions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_learns_that_a_time_limit_has_passed_and_what_is_answered() {
    for versions in VERSIONS {
        for (method, handler, status) in [(Method::GET, 3, 503), (Method::POST, 50, 408)] {
            let mut limits = ServerLimits::default();
            limits.time.handler = seconds(handler);
            let (server, mut calls) = start(limits);
            let _asked = Asked::new(&server, versions, method, "/").await;
            let expected = (CutShort::Timeout, Some(status));
            assert_eq!(calls.told().await, Some(expected), "{versions:?}");
            server.close().await;
        }
    }
}

/// A header block that does not end is the end of all streams of its connection.
#[tokio::test(start_paused = true)]
async fn a_handler_learns_that_another_head_of_its_connection_was_late() {
    let (server, mut calls) = start(ServerLimits::default());
    let mut asked = Asked::new(&server, Versions::Http2, Method::GET, "/").await;
    calls.begun().await;
    if let Asked::Http2(client, _) = &mut asked {
        client.send_raw(&headers(3, flag::END_STREAM, &GET_HTTP2)).await;
    }
    assert_eq!(calls.told().await, Some((CutShort::Timeout, None)));
    server.close().await;
}

#[tokio::test]
async fn a_handler_learns_that_the_content_was_refused_and_what_is_answered() {
    for versions in VERSIONS {
        let mut limits = ServerLimits::default();
        limits.wire.body_bytes_max = Some(10);
        let (server, mut calls) = start(limits);
        let mut asked = Asked::new(&server, versions, Method::POST, "/").await;
        calls.begun().await;
        match &mut asked {
            Asked::Http1(peer) => peer.send("b\r\nhello world\r\n").await,
            Asked::Http2(client, key) => {
                client.send(*key, "hello world".into(), false).await;
            }
        }
        assert_eq!(calls.told().await, Some((CutShort::Client, Some(413))), "{versions:?}");
        server.close().await;
    }
}

#[tokio::test]
async fn what_a_handler_drops_itself_is_dropped_for_no_reason() {
    for versions in VERSIONS {
        let (server, mut calls) = start(ServerLimits::default());
        let _asked = Asked::new(&server, versions, Method::GET, "/now").await;
        assert_eq!(calls.told().await, None, "{versions:?}");
        server.close().await;
    }
}

/// Its handler has run to its end without a client.
#[tokio::test]
async fn a_response_that_is_not_sent_learns_why() {
    for versions in VERSIONS {
        let mut limits = ServerLimits::default();
        limits.detached_handlers_max = 1;
        let (begin, mut begun) = unbounded_channel();
        let (tell, told) = unbounded_channel();
        let (go_on, goes_on) = tokio::sync::watch::channel(false);
        let server = listen(limits, move |_: Request| {
            let (begin, tell, mut goes_on) = (begin.clone(), tell.clone(), goes_on.clone());
            async move {
                begin.send(()).unwrap();
                goes_on.wait_for(|goes_on| *goes_on).await.unwrap();
                Response::from_text("late").on_sent(move |_| tell.send(current()).unwrap())
            }
        });
        let asked = Asked::new(&server, versions, Method::GET, "/").await;
        begun.recv().await.unwrap();
        asked.leave();
        while server.stats().detached == 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
        go_on.send(true).unwrap();
        let (_begin, begun) = unbounded_channel();
        let told = Calls { begun, told }.told().await;
        assert_eq!(told, Some((CutShort::Client, None)), "{versions:?}");
        assert_eq!(server.stats().timeouts.handler, 0);
        server.close().await;
    }
}
