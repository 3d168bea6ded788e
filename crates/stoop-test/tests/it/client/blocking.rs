//! The client for programs without a runtime: the same exchanges and errors, waited for.

use std::io::{Cursor, Read, Write};
use std::thread;
use std::time::{Duration, Instant};

use stoop::blocking::{Client, Switch, from_reader};
use stoop::{ErrorKind, Phase, Request, Response, Server, ServerHandle};

/// A server on a thread of its own, which echoes content, and waits for `/slow`.
fn serving() -> (ServerHandle, String) {
    let echo = |request: Request| async move {
        match request.path() {
            "/slow" => {
                tokio::time::sleep(Duration::from_secs(30)).await;
                Response::from_text("late")
            }
            "/missing" => Response::from_status(stoop::StatusCode::NOT_FOUND),
            path if path.starts_with("/json") => Response::from_json("[1,2]"),
            _ => Response::new(request.into_body()),
        }
    };
    let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run(echo).unwrap();
    let url = server.endpoint().to_string();
    (server, url)
}

#[test]
fn requests_are_sent_and_their_content_read_without_a_runtime() {
    let (_server, url) = serving();
    let client = Client::new();
    let response = client.post(&url).header("x", "y").body("content").send().unwrap();
    assert_eq!((response.status().as_u16(), response.text().unwrap().as_str()), (200, "content"));
    assert_eq!(
        client.get(format!("{url}/json")).send().unwrap().json::<Vec<u8>>().unwrap(),
        [1, 2]
    );
    let missing = client.get(format!("{url}/missing")).send().unwrap();
    let error = missing.error_for_status().unwrap_err();
    assert_eq!((error.kind(), error.status().unwrap().as_u16()), (ErrorKind::HttpStatus, 404));
    assert_eq!(client.stats().total.open, 1);
    let error = client.get("nonsense").send().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidUrl);
}

#[test]
fn content_is_streamed_from_readers_and_to_them() {
    let (_server, url) = serving();
    let client = Client::new();
    let content: Vec<u8> = (0..1_000_000u32).map(|n| n as u8).collect();
    let mut response =
        client.put(&url).body(from_reader(Cursor::new(content.clone()))).send().unwrap();
    let mut first = [0; 10];
    response.read_exact(&mut first).unwrap();
    assert_eq!(first[..], content[..10]);
    let mut rest = Vec::new();
    while let Some(piece) = response.chunk().unwrap() {
        rest.extend_from_slice(&piece);
    }
    assert!(rest == content[10..]);
    // What was received and not read is content too.
    for read in [1, 10_000] {
        let mut response = client.put(&url).body(content.clone()).send().unwrap();
        response.read_exact(&mut vec![0; read]).unwrap();
        assert!(response.bytes().unwrap() == content[read..], "behind {read} bytes");
    }
    let mut again = Vec::new();
    let mut response = client.put(&url).body(content.clone()).send().unwrap();
    response.read_to_end(&mut again).unwrap();
    assert!(again == content);
    drop(response);
    // What was read to its end, or dropped before, leaves its connection to be used again or none.
    drop(client.put(&url).body(content).send().unwrap());
    assert!(client.stats().total.open <= 1);
    let path = std::env::temp_dir().join(format!("stoop-test-{}-blocking", std::process::id()));
    let saved = client.post(&url).body("saved").send().unwrap().save(&path).unwrap();
    assert_eq!((saved, std::fs::read(&path).unwrap()), (5, b"saved".to_vec()));
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn deadlines_and_errors_are_those_of_the_other_client() {
    let (_server, url) = serving();
    let client = Client::from(stoop::Client::builder().build().unwrap());
    let begun = Instant::now();
    let late = client.get(format!("{url}/slow")).timeout(Duration::from_millis(50)).send();
    let error = late.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::TotalTimeout, Phase::Wait));
    assert!(begun.elapsed() < Duration::from_secs(5));
    let refused = client.get("http://127.0.0.1:1/").send().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectRefused);
    assert_eq!(refused.url(), Some("http://127.0.0.1:1/"));
}

#[test]
fn many_threads_and_tasks_share_a_client() {
    let (_server, url) = serving();
    let client = Client::new();
    let threads = (0..8).map(|number| {
        let (client, url) = (client.clone(), url.clone());
        thread::spawn(move || {
            for _ in 0..20 {
                let response = client.post(&url).body(number.to_string()).send().unwrap();
                assert_eq!(response.text().unwrap(), number.to_string());
            }
        })
    });
    threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
    // A task of a runtime is held up, and nothing panics.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let text = runtime.block_on(async { client.post(&url).body("task").send().unwrap().text() });
    assert_eq!(text.unwrap(), "task");
}

#[test]
fn a_switched_connection_is_read_by_one_thread_and_written_by_another() {
    let relay = |request: Request| async move {
        if !request.fields().contains("upgrade") && request.method() != stoop::Method::CONNECT {
            return Response::from_text("no switch");
        }
        let (response, upgraded) = match *request.method() {
            stoop::Method::CONNECT => Response::tunnel(),
            _ => Response::upgrade("echo").unwrap(),
        };
        tokio::spawn(async move {
            let (mut reader, mut writer) = tokio::io::split(stoop::rt::stream(upgraded.await?));
            tokio::io::copy(&mut reader, &mut writer).await?;
            tokio::io::AsyncWriteExt::shutdown(&mut writer).await?;
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        });
        response
    };
    let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run(relay).unwrap();
    let url = server.endpoint().to_string();
    for versions in [stoop::Versions::Http1, stoop::Versions::Http2] {
        let client = stoop::Client::builder().versions(versions).build().unwrap();
        let client = Client::from(client);
        let request = match versions {
            stoop::Versions::Http1 => {
                let request = Request::get(&url).unwrap().with_field("connection", "upgrade");
                request.unwrap().with_field("upgrade", "echo").unwrap()
            }
            _ => Request::connect(&url, "a.test:1").unwrap(),
        };
        let Switch::Accepted(mut connection) = client.switch(request).unwrap() else {
            panic!("declined over {versions:?}")
        };
        let content: Vec<u8> = (0..3_000_000u32).map(|n| (n / 7) as u8).collect();
        let (mut writing, sent) = (connection.clone(), content.clone());
        let writer = thread::spawn(move || {
            writing.write_all(&sent).unwrap();
            writing.shutdown().unwrap();
        });
        let mut received = Vec::new();
        connection.read_to_end(&mut received).unwrap();
        writer.join().unwrap();
        assert!(received == content, "{versions:?}: {} bytes", received.len());
        drop(connection);
        assert_eq!(client.drain(Duration::from_secs(5)).unwrap(), 0, "{versions:?}");
        assert_eq!(client.connections().open, 0);
    }
    let Switch::Declined(response) = Client::new().switch(Request::get(&url).unwrap()).unwrap()
    else {
        panic!("it was no offer")
    };
    assert_eq!(response.text().unwrap(), "no switch");
}

#[test]
fn interim_responses_are_shown_to_the_thread_that_waits() {
    let hints = super::kit::answered_once(
        "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n\
         HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok",
    );
    let mut seen = Vec::new();
    let response = Client::from(hints)
        .send_with_interim(Request::get("http://a.test/").unwrap(), |head| {
            seen.push((head.status().as_u16(), head.fields().contains("link")));
        })
        .unwrap();
    assert_eq!(response.text().unwrap(), "ok");
    assert_eq!(seen, [(103, true), (103, false)]);
}
