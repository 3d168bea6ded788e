//! The error kind that stoop's own client reports for each fault over HTTP/2.

use std::time::Duration;

use stoop::{Client, ClientLimits, ClientTls, Error, Version};
use stoop_testbed::{BadHttp2, Behaviour, Origin};

/// The result of one URL: the version and the length of the content, or the error kind.
type FetchResult = Result<(Version, u64), &'static str>;

fn client(origin: &Origin) -> Client {
    let mut limits = ClientLimits::default();
    limits.refusals_max = 3;
    limits.wire.body_bytes_max = Some(200_000);
    limits.time.head = Some(Duration::from_secs(2));
    limits.time.read_idle = Some(Duration::from_millis(600));
    limits.time.body_grace = Duration::ZERO;
    limits.time.body_window = Duration::from_millis(700);
    limits.time.body_bytes_per_second_min = 1_000;
    let ca = origin.ca_pem().expect("it speaks TLS").to_owned();
    let tls = ClientTls::builder().ca_pem(ca).platform_cas(false).build().unwrap();
    Client::builder().limits(limits).tls(tls).build().unwrap()
}

async fn fetch(client: &Client, url: &str) -> FetchResult {
    let whole = async {
        let mut response = client.get(url).await?;
        let length = response.body_mut().discard().await?;
        Ok::<_, Error>((response.version(), length))
    };
    whole.await.map_err(|error| error.kind().as_str())
}

/// The outcome of each, where there is one request at a time.
fn expected(kind: BadHttp2) -> FetchResult {
    use BadHttp2 as B;
    match kind {
        B::RefusedTwice | B::GoAwayOnReuse | B::OneStream | B::DataAfterEnd => {
            Ok((Version::HTTP_2, 1_000))
        }
        B::WantsHttp1 => Ok((Version::HTTP_11, 1_000)),
        B::Refused => Err("h2_refused"),
        B::GoAway | B::Calm => Err("h2_goaway"),
        B::ResetMidBody => Err("reset"),
        B::ClosedMidBody => Err("closed_early"),
        B::TooLittle
        | B::TooMuch
        | B::HeaderBomb
        | B::ContinuationFlood
        | B::Push
        | B::Garbage
        | B::FrameSize
        | B::WindowOverflow => Err("h2_protocol"),
        B::Silence => Err("first_byte_timeout"),
        B::Stall | B::PingIgnored => Err("read_timeout"),
        B::Drip => Err("slow_body"),
        B::EndlessBody => Err("body_too_large"),
        other => panic!("{other:?} is new"),
    }
}

#[tokio::test]
async fn each_fault_has_a_name_and_an_outcome() {
    for (kind, word) in BadHttp2::ALL {
        let behaviour: Behaviour = format!("h2-{word}").parse().unwrap();
        assert_eq!(behaviour, Behaviour::BadHttp2 { kind: *kind, body: 1_000 });
        let origin = Origin::start(behaviour).await.unwrap();
        let client = client(&origin);
        // The first request must not disturb the second.
        for nth in ["first", "second"] {
            assert_eq!(fetch(&client, &origin.url()).await, expected(*kind), "{word}, {nth}");
        }
    }
}

/// Twenty at once where there may be one: the others wait for it, or for a connection of their own.
#[tokio::test]
async fn many_requests_at_once_share_one_stream() {
    let behaviour = Behaviour::BadHttp2 { kind: BadHttp2::OneStream, body: 100_000 };
    let origin = Origin::start(behaviour).await.unwrap();
    let (client, url) = (client(&origin), origin.url());
    let all = (0..20).map(|_| {
        let (client, url) = (client.clone(), url.clone());
        tokio::spawn(async move { fetch(&client, &url).await })
    });
    for outcome in all.collect::<Vec<_>>() {
        assert_eq!(outcome.await.unwrap(), Ok((Version::HTTP_2, 100_000)));
    }
}

/// Ten one after the other, of which each connection answers one.
#[tokio::test]
async fn a_request_that_a_goaway_excludes_is_sent_again() {
    let behaviour = Behaviour::BadHttp2 { kind: BadHttp2::GoAwayOnReuse, body: 1_000 };
    let origin = Origin::start(behaviour).await.unwrap();
    let client = client(&origin);
    for _ in 0..10 {
        assert_eq!(fetch(&client, &origin.url()).await, Ok((Version::HTTP_2, 1_000)));
    }
    assert_eq!(origin.stats().accepted, 10);
}
