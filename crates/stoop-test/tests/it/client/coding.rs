//! Content codings (RFC 9110 §8.4): responses are decoded as they are read, requests encoded as they are sent.

use std::io::{Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use stoop::body::ContentCoding;
use stoop::{Body, Client, ErrorKind, Phase, Request, Response, Versions};

use super::kit::{
    EACH_VERSION, URL, answered_once, client_of, counts, kind_and_phase, limited, scripted,
};

const ALL: [ContentCoding; 4] =
    [ContentCoding::Gzip, ContentCoding::Deflate, ContentCoding::Brotli, ContentCoding::Zstd];

/// `hello` in each coding, as `gzip -n`, zlib, `brotli` and `zstd --no-check` write it.
const HELLO: [(&str, &[u8]); 5] = [
    ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0"),
    ("deflate", b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\0\x06\x2c\x02\x15"),
    // Without the zlib format around it.
    ("deflate", b"\xcb\x48\xcd\xc9\xc9\x07\0"),
    ("br", b"\x0b\x02\x80hello\x03"),
    ("zstd", b"\x28\xb5\x2f\xfd\x20\x05\x29\0\0hello"),
];

/// Content in a coding, by the libraries alone.
fn encoded(coding: ContentCoding, content: &[u8]) -> Vec<u8> {
    let level = flate2::Compression::default();
    match coding {
        ContentCoding::Gzip => {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        ContentCoding::Deflate => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        ContentCoding::Brotli => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 4, 22);
            encoder.write_all(content).unwrap();
            encoder.into_inner()
        }
        ContentCoding::Zstd => zstd::encode_all(content, 3).unwrap(),
    }
}

/// The same backwards.
fn decoded(coding: ContentCoding, content: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    match coding {
        ContentCoding::Gzip => flate2::read::GzDecoder::new(content).read_to_end(&mut all),
        ContentCoding::Deflate => flate2::read::ZlibDecoder::new(content).read_to_end(&mut all),
        ContentCoding::Brotli => brotli::Decompressor::new(content, 4096).read_to_end(&mut all),
        ContentCoding::Zstd => zstd::Decoder::new(content).unwrap().read_to_end(&mut all),
    }
    .unwrap();
    all
}

/// Bytes that are neither all the same nor without order.
fn text(length: usize) -> Vec<u8> {
    (0..length).map(|n| b"etaoin shrdlu"[(n * n / 7 + n / 1000) % 13]).collect()
}

/// A 200 with this Content-Encoding and content.
fn response(coding: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ncontent-length: {}\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content].concat()
}

/// The same in chunks of one byte.
fn in_single_bytes(coding: &str, content: &[u8]) -> Vec<u8> {
    let mut all = format!(
        "HTTP/1.1 200 OK\r\ncontent-encoding: {coding}\r\ntransfer-encoding: chunked\r\n\r\n"
    )
    .into_bytes();
    content.iter().for_each(|byte| all.extend([b"1\r\n", &[*byte][..], b"\r\n"].concat()));
    all.extend(b"0\r\n\r\n");
    all
}

/// What reading the response comes to.
async fn outcome(response: &[u8]) -> Result<Bytes, (ErrorKind, Phase)> {
    let client = answered_once(response);
    client.get(URL).await.map_err(kind_and_phase)?.bytes().await.map_err(kind_and_phase)
}

#[tokio::test(start_paused = true)]
async fn what_programs_write_is_decoded_whole_and_byte_by_byte() {
    for (coding, content) in HELLO {
        assert_eq!(outcome(&response(coding, content)).await.unwrap(), "hello", "{coding}");
        assert_eq!(outcome(&in_single_bytes(coding, content)).await.unwrap(), "hello", "{coding}");
    }
}

#[tokio::test(start_paused = true)]
async fn each_coding_is_decoded_over_each_version_in_pieces_of_bounded_size() {
    let content = text(1_000_000);
    for (versions, coding) in EACH_VERSION.into_iter().flat_map(|v| ALL.map(|c| (v, c))) {
        let sent: Bytes = encoded(coding, &content).into();
        let length = sent.len() as u64;
        let client = client_of(versions, move |_: Request| {
            let response = Response::new(sent.clone());
            response.with_field("content-encoding", coding.as_str()).unwrap()
        });
        let mut response = client.get(URL).await.unwrap();
        assert_eq!(response.decoded_from(), [coding]);
        assert!(response.field("content-encoding").is_none(), "{response:?}");
        assert!(response.field("content-length").is_none(), "{response:?}");
        assert_eq!(response.body_mut().len(), None);
        let mut all = Vec::new();
        while let Some(piece) = response.chunk().await.unwrap() {
            assert!(piece.len() <= 64 * 1024);
            all.extend_from_slice(&piece);
        }
        assert!(all == content, "{coding} {versions:?}");
        assert_eq!(response.body_mut().wire_bytes(), Some(length));
        assert_eq!(response.body_mut().len(), Some(0));
        // The same, only looked at.
        let mut looked = Vec::new();
        let mut body = client.get(URL).await.unwrap().into_body();
        let total = body.for_each(|piece| looked.extend_from_slice(piece)).await.unwrap();
        assert!(looked == content && total == 1_000_000);
        assert_eq!(body.wire_bytes(), Some(length));
    }
}

#[tokio::test(start_paused = true)]
async fn codings_are_undone_in_the_order_opposite_to_their_list() {
    let twice = encoded(ContentCoding::Brotli, HELLO[0].1);
    assert_eq!(outcome(&response("gzip, br", &twice)).await.unwrap(), "hello");
    assert_eq!(outcome(&response("identity, gzip", HELLO[0].1)).await.unwrap(), "hello");
}

#[tokio::test(start_paused = true)]
async fn content_may_be_several_members_or_frames_or_nothing() {
    let several = |at: usize| [HELLO[at].1, HELLO[at].1].concat();
    assert_eq!(outcome(&response("gzip", &several(0))).await.unwrap(), "hellohello");
    assert_eq!(outcome(&in_single_bytes("gzip", &several(0))).await.unwrap(), "hellohello");
    assert_eq!(outcome(&response("zstd", &several(4))).await.unwrap(), "hellohello");
    for coding in ALL {
        assert_eq!(outcome(&response(coding.as_str(), b"")).await.unwrap(), "");
        let nothing = encoded(coding, b"");
        assert_eq!(outcome(&response(coding.as_str(), &nothing)).await.unwrap(), "");
        assert_eq!(outcome(&in_single_bytes(coding.as_str(), &nothing)).await.unwrap(), "");
    }
    // What pads the content is no part of it.
    for (coding, content) in &HELLO[..4] {
        let padded = [content, &b"\0\0\0\0"[..]].concat();
        assert_eq!(outcome(&response(coding, &padded)).await.unwrap(), "hello", "{coding}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_little_content_that_decodes_to_nothing_is_read_and_much_of_it_is_an_error() {
    let empty = encoded(ContentCoding::Gzip, b"");
    let members = |count: usize| [empty.repeat(count), HELLO[0].1.to_vec()].concat();
    assert_eq!(outcome(&response("gzip", &members(1_000))).await.unwrap(), "hello");
    let too_many = members(1_100_000 / empty.len());
    let failed = outcome(&response("gzip", &too_many)).await.unwrap_err();
    assert_eq!(failed, (ErrorKind::Decode, Phase::Receive));
    // The same for what pads it.
    let padded = [HELLO[3].1, &vec![0; 1_100_000]].concat();
    let failed = outcome(&response("br", &padded)).await.unwrap_err();
    assert_eq!(failed, (ErrorKind::Decode, Phase::Receive));
}

#[tokio::test]
async fn decoding_and_many_small_pieces_let_other_tasks_run() {
    let bomb = Bytes::from(encoded(ContentCoding::Gzip, &vec![b'x'; 16 << 20]));
    let decoded = move |_: Request| {
        Response::from_bytes(bomb.clone()).with_field("content-encoding", "gzip").unwrap()
    };
    let decoding = Client::builder().handler(decoded).build().unwrap();
    let pieces = [
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n",
        &"1\r\nx\r\n".repeat(500_000),
        "0\r\n\r\n",
    ];
    for (client, length) in [(decoding, 16 << 20), (answered_once(pieces.concat()), 500_000)] {
        let turns = Arc::new(AtomicUsize::new(0));
        let count = turns.clone();
        let bystander = tokio::spawn(async move {
            loop {
                tokio::task::yield_now().await;
                count.fetch_add(1, Ordering::Relaxed);
            }
        });
        let response = client.get(URL).await.unwrap();
        // All that comes is there: nothing is waited for from here on.
        let before = turns.load(Ordering::Relaxed);
        assert_eq!(response.text().await.unwrap().len(), length);
        let meanwhile = turns.load(Ordering::Relaxed) - before;
        assert!(meanwhile > 10, "{length} bytes: {meanwhile} turns of another task");
        bystander.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn content_that_is_cut_or_is_not_what_it_says_is_an_error_and_never_a_short_success() {
    let malformed = Err((ErrorKind::Decode, Phase::Receive));
    for (coding, content) in HELLO {
        for cut in 1..content.len() {
            let got = outcome(&response(coding, &content[..cut])).await;
            assert_eq!(got, malformed, "{coding} cut at {cut}");
        }
        assert_eq!(outcome(&response(coding, b"<html>no</html>")).await, malformed, "{coding}");
    }
    // The checksum counts.
    let mut wrong = HELLO[0].1.to_vec();
    wrong[18] ^= 1;
    assert_eq!(outcome(&response("gzip", &wrong)).await, malformed);
    // A connection that breaks off is told as that.
    let mut short = response("gzip", HELLO[0].1);
    short.pop();
    assert_eq!(outcome(&short).await, Err((ErrorKind::ClosedEarly, Phase::Receive)));
    // A window beyond what RFC 9659 allows: 16 MiB.
    let large = b"\x28\xb5\x2f\xfd\0\x70\x29\0\0hello";
    assert_eq!(outcome(&response("zstd", large)).await, malformed);
}

#[tokio::test(start_paused = true)]
async fn an_error_of_decoding_names_the_coding() {
    let client = answered_once(response("br", b"\xff\xff\xff"));
    let error = client.get(URL).await.unwrap().bytes().await.unwrap_err();
    assert!(error.is_decode());
    let shown = error.to_string();
    assert!(shown.contains("Content-Encoding br: malformed brotli"), "{shown}");
    assert_eq!(error.url(), Some(URL));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_decoded_is_left_as_it_is_with_its_fields() {
    for head in [
        // A coding that is not known.
        "200 OK\r\ncontent-encoding: compress",
        // More than are decoded.
        "200 OK\r\ncontent-encoding: gzip, gzip, gzip, gzip",
        // A part.
        "206 Partial Content\r\ncontent-range: bytes 1-2/3\r\ncontent-encoding: gzip",
    ] {
        let client = answered_once(format!("HTTP/1.1 {head}\r\ncontent-length: 2\r\n\r\nok"));
        let response = client.get(URL).await.unwrap();
        assert!(response.decoded_from().is_empty() && response.field("content-length").is_some());
        assert!(response.field("content-encoding").is_some(), "{head}");
        assert_eq!(response.text().await.unwrap(), "ok", "{head}");
    }
    // What has no content tells of what it would be.
    let text = "HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 25\r\n\r\n";
    let head = answered_once(text).head(URL).await.unwrap();
    assert_eq!(head.field("content-encoding"), Some(&b"gzip"[..]));
    assert_eq!(head.field("content-length"), Some(&b"25"[..]));
    assert_eq!(head.bytes().await.unwrap(), "");
}

/// Answers with the request's Accept-Encoding, and content that says it is gzip.
fn echo_accepted(request: Request) -> Response {
    let accepted = request.field("accept-encoding").unwrap_or(b"none").to_vec();
    Response::new(accepted).with_field("content-encoding", "x-none").unwrap()
}

#[tokio::test(start_paused = true)]
async fn codings_are_asked_for_unless_the_caller_does_or_a_range_is_wanted() {
    let client = client_of(Versions::Http1, echo_accepted);
    let told =
        async |request: stoop::RequestBuilder| request.send().await.unwrap().text().await.unwrap();
    assert_eq!(told(client.get(URL)).await, "gzip, deflate, br, zstd");
    assert_eq!(told(client.get(URL).header("Accept-Encoding", "br")).await, "br");
    assert_eq!(told(client.get(URL).header("range", "bytes=0-1")).await, "none");
    assert_eq!(told(client.get(URL).decode_content(false)).await, "none");
    let plain = Client::builder().decode_content(false).handler(echo_accepted).build().unwrap();
    assert_eq!(told(plain.get(URL)).await, "none");
    assert_eq!(told(plain.get(URL).decode_content(true)).await, "gzip, deflate, br, zstd");
}

#[tokio::test(start_paused = true)]
async fn where_decoding_is_off_content_and_fields_are_as_they_came() {
    let client = answered_once(response("gzip", HELLO[0].1));
    let response = client.get(URL).decode_content(false).await.unwrap();
    assert_eq!(response.field("content-encoding"), Some(&b"gzip"[..]));
    assert_eq!(response.field("content-length"), Some(&b"25"[..]));
    assert_eq!(response.bytes().await.unwrap(), HELLO[0].1);
}

#[tokio::test(start_paused = true)]
async fn decoded_content_is_bounded_in_bytes_and_by_its_ratio() {
    let zeros: Bytes = encoded(ContentCoding::Brotli, &vec![0; 40_000_000]).into();
    let too_large = Err((ErrorKind::BodyTooLarge, Phase::Receive));
    let read = async |builder: stoop::ClientBuilder| {
        let zeros = zeros.clone();
        let handler = move |_: Request| {
            Response::new(zeros.clone()).with_field("content-encoding", "br").unwrap()
        };
        let client = builder.handler(handler).build().unwrap();
        let mut body = client.get(URL).await.unwrap().into_body();
        let (mut total, mut error) = (0, None);
        loop {
            match body.chunk().await {
                Ok(Some(piece)) => total += piece.len(),
                Ok(None) => break,
                Err(failed) => error = Some(failed),
            }
        }
        // An error is told once, and nothing comes behind it.
        (total, error.map_or(Ok(()), |error| Err(kind_and_phase(error))))
    };
    // 16 MiB are of no interest, whatever they came from.
    let (total, end) = read(Client::builder()).await;
    assert_eq!(end, too_large);
    assert!((16 << 20..17 << 20).contains(&total), "{total}");
    let lax = limited(|limits| limits.decoded_ratio_max = u32::MAX);
    assert_eq!(read(lax).await, (40_000_000, Ok(())));
    let (total, end) = read(limited(|limits| limits.decoded_bytes_max = 100_000)).await;
    assert_eq!(end, too_large);
    assert!(total <= 100_000, "{total}");
    // What is collected is bounded as any content is.
    let client = answered_once(response("br", &zeros));
    let error = client.get(URL).await.unwrap().limit(1_000).bytes().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::BodyTooLarge);
}

/// A few bytes that are here become any number of pieces: the deadline was looked at only when more bytes were asked for.
#[tokio::test(start_paused = true)]
async fn a_piece_that_becomes_many_has_the_deadline_too() {
    let zeros: Bytes = encoded(ContentCoding::Brotli, &vec![0; 40_000_000]).into();
    for versions in EACH_VERSION {
        let zeros = zeros.clone();
        let client = client_of(versions, move |_: Request| {
            Response::new(zeros.clone()).with_field("content-encoding", "br").unwrap()
        });
        let response = client.get(URL).timeout(Duration::from_secs(5)).await.unwrap();
        let mut body = response.into_body();
        assert!(body.chunk().await.unwrap().is_some());
        // A pause is no part of it, also where no more bytes are asked for behind it.
        body.pause();
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(body.chunk().await.unwrap().is_some());
        tokio::time::sleep(Duration::from_secs(4)).await;
        assert!(body.chunk().await.unwrap().is_some());
        tokio::time::sleep(Duration::from_secs(2)).await;
        let error = body.chunk().await.unwrap_err();
        assert_eq!(kind_and_phase(error), (ErrorKind::TotalTimeout, Phase::Receive));
        assert!(body.chunk().await.unwrap().is_none(), "{versions:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_connection_serves_again_behind_decoded_content_and_trailers_follow_it() {
    let mut answer = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\
        trailer: sum\r\n\r\n"
        .to_vec();
    answer.extend([b"19\r\n", HELLO[0].1, b"\r\n0\r\nsum: 5\r\n\r\n"].concat());
    let answer: Arc<[u8]> = answer.into();
    let client = scripted(move |peer| peer.serve(answer.clone()));
    for _ in 0..3 {
        let mut body = client.get(URL).await.unwrap().into_body();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "hello");
        assert_eq!(body.chunk().await.unwrap(), None);
        assert_eq!(body.take_trailers().unwrap().first("sum"), Some(&b"5"[..]));
        drop(body);
        assert_eq!(counts(&client), (1, 1));
    }
    // One that is dropped unread as well.
    drop(client.get(URL).await.unwrap());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_a_server_flushes_is_read_before_the_content_ends() {
    for coding in ALL {
        let (sender, body) = Body::channel(1);
        let body = std::sync::Mutex::new(Some(body.encoded(coding)));
        let client = client_of(Versions::Http1, move |_: Request| {
            let body = body.lock().unwrap().take().unwrap();
            Response::new(body).with_field("content-encoding", coding.as_str()).unwrap()
        });
        let mut response = client.get(URL).await.unwrap();
        for piece in ["one", "two"] {
            sender.send(piece).await.unwrap();
            assert_eq!(response.chunk().await.unwrap().unwrap(), piece, "{coding}");
        }
        sender.finish().await.unwrap();
        assert_eq!(response.chunk().await.unwrap(), None);
    }
}

/// Answers with the length and decoded content of the request.
async fn echo_decoded(request: Request) -> Response {
    let name = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
    let coding = request.field("content-encoding").map(name);
    let length = request.field("content-length").map(name).unwrap_or_default();
    let content = request.into_body().bytes(1 << 20).await.unwrap();
    let coding = ALL.into_iter().find(|known| Some(known.as_str()) == coding.as_deref());
    let content = coding.map_or_else(|| content.to_vec(), |coding| decoded(coding, &content));
    Response::from_bytes(content).with_field("x-length", length).unwrap()
}

#[tokio::test(start_paused = true)]
async fn content_of_requests_is_encoded_buffers_with_their_length_and_streams_without() {
    let content = text(100_000);
    let client = client_of(Versions::Http1, echo_decoded);
    for coding in ALL {
        let request = client.post(URL).body(content.clone()).encode(coding);
        let response = request.await.unwrap();
        let length = response.field("x-length").unwrap().to_vec();
        assert!(String::from_utf8(length).unwrap().parse::<u32>().unwrap() < 50_000);
        assert!(response.bytes().await.unwrap() == content, "{coding}");

        let pieces = content.clone();
        let stream = Body::replayable(move || {
            let (sender, body) = Body::channel(1);
            let pieces = pieces.clone();
            tokio::spawn(async move {
                for piece in pieces.chunks(7_000) {
                    sender.send(piece.to_vec()).await.unwrap();
                }
                sender.finish().await
            });
            body
        });
        let request = client.post(URL).body(stream).encode(coding).build().unwrap();
        assert!(request.try_clone().is_some());
        let response = client.send(request).await.unwrap();
        assert_eq!(response.field("x-length"), Some(&b""[..]));
        assert!(response.bytes().await.unwrap() == content, "{coding}");
    }
    let nothing = client.post(URL).encode(ContentCoding::Gzip).build().unwrap();
    assert!(nothing.field("content-encoding").is_none());
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_sent_again_is_encoded_again() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let client = Client::builder()
        .handler(move |request: Request| {
            let first = counted.fetch_add(1, Ordering::Relaxed) == 0;
            async move {
                if !first {
                    return echo_decoded(request).await;
                }
                let moved = Response::from_status(stoop::StatusCode::PERMANENT_REDIRECT);
                moved.with_field("location", "/again").unwrap()
            }
        })
        .build()
        .unwrap();
    let request = client.put(URL).body("twice").encode(ContentCoding::Zstd);
    assert_eq!(request.await.unwrap().text().await.unwrap(), "twice");
    assert_eq!(calls.load(Ordering::Relaxed), 2);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_passes_on_what_it_decoded() {
    let origin = client_of(Versions::Http1, |_: Request| {
        Response::new(HELLO[0].1).with_field("content-encoding", "gzip").unwrap()
    });
    let gateway = client_of(Versions::Http1, move |request: Request| {
        let origin = origin.clone();
        async move { origin.get(format!("http://origin.test{}", request.path())).await }
    });
    let response = gateway.get(URL).await.unwrap();
    assert!(response.decoded_from().is_empty());
    assert_eq!(response.text().await.unwrap(), "hello");
}
