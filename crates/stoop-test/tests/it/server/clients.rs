//! Clients of other projects. A client that is not installed is skipped.

use std::time::Duration;

use stoop::{Body, Request, Response, ServerHandle, ServerLimits};

use super::listen;
use crate::programs::{self, TestFolder, are_missing};

/// A handler that answers a request's content, a stream, or `hello`, by the path.
fn handler(request: Request) -> Response {
    match request.path() {
        "/echo" => Response::new(request.into_body()),
        "/stream" => {
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                for _ in 0..100 {
                    sender.send(vec![b'x'; 1_000]).await?;
                }
                sender.finish().await
            });
            Response::new(body)
        }
        _ => Response::from_text("hello"),
    }
}

/// Runs a program, with the server's URL in place of `@/`. Returns its output.
async fn run(server: &ServerHandle, program: &str, arguments: &[&str], input: &[u8]) -> String {
    let address = format!("{}/", server.endpoint());
    let arguments: Vec<String> =
        arguments.iter().map(|argument| argument.replace("@/", &address)).collect();
    programs::run(program, &arguments, input).await.text()
}

#[tokio::test]
async fn curl_is_served() {
    if are_missing("server::clients::curl", &["curl"]) {
        return;
    }
    let server = listen(ServerLimits::default(), handler);
    let content = "0123456789".repeat(100_000);
    let x = "x".repeat(100_000);
    let rows: &[(&[&str], &str)] = &[
        (&["@/"], "hello"),
        (&["@/", "@/"], "hellohello"),
        (&["--http1.0", "@/"], "hello"),
        (&["--http1.0", "@/stream"], &x),
        (&["@/stream"], &x),
        (&["-T", "-", "@/echo"], &content),
        (&["--data-binary", "@-", "@/echo"], &content),
        (
            &["-T", "-", "--expect100-timeout", "30", "-H", "Expect: 100-continue", "@/echo"],
            &content,
        ),
        (
            &["--http1.0", "-H", "Content-Length: 1000000", "--data-binary", "@-", "@/echo"],
            &content,
        ),
        (&["-T", "-", "@/", "@/"], "hello"),
        (&["--head", "-o", "/dev/null", "-w", "%{http_code}", "@/"], "200"),
        (&["-H", "Connection: Upgrade, HTTP2-Settings", "-H", "Upgrade: h2c", "@/"], "hello"),
    ];
    for (arguments, expected) in rows {
        let all = [&["-sS", "--max-time", "30"], *arguments].concat();
        let output = run(&server, "curl", &all, content.as_bytes()).await;
        assert!(output.starts_with(expected), "{arguments:?}: {} bytes", output.len());
    }
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

const PYTHON: &str = r#"
import http.client, sys
host = sys.argv[1].removeprefix("http://").removesuffix("/")
connection = http.client.HTTPConnection(host, timeout=30)
for n in range(50):
    connection.request("GET", "/")
    response = connection.getresponse()
    assert (response.status, response.read()) == (200, b"hello")
    connection.request("POST", "/echo", iter([b"abc"] * n), encode_chunked=True)
    assert connection.getresponse().read() == b"abc" * n
    connection.request("POST", "/echo", b"x" * n * 1000)
    response = connection.getresponse()
    assert response.getheader("content-length") == str(n * 1000)
    assert response.read() == b"x" * n * 1000
    connection.request("HEAD", "/stream")
    assert connection.getresponse().read() == b""
    connection.request("GET", "/stream")
    assert len(connection.getresponse().read()) == 100000
print("fine")
"#;

#[tokio::test]
async fn python_is_served() {
    if are_missing("server::clients::python", &["python3"]) {
        return;
    }
    let server = listen(ServerLimits::default(), handler);
    assert_eq!(run(&server, "python3", &["-c", PYTHON, "@/"], b"").await, "fine\n");
    server.close().await;
}

const GO: &str = r#"
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var all sync.WaitGroup
	for worker := 0; worker < 8; worker++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := 0; n < 50; n++ {
				content := bytes.Repeat([]byte("x"), n*1000)
				request, err := http.NewRequest("POST", os.Args[1]+"echo", io.NopCloser(bytes.NewReader(content)))
				check(err)
				if n%2 == 0 {
					request.Header.Set("Expect", "100-continue")
				}
				request.Trailer = http.Header{"X-Sum": {"1"}}
				response, err := http.DefaultClient.Do(request)
				check(err)
				echoed, err := io.ReadAll(response.Body)
				check(err)
				if !bytes.Equal(echoed, content) || response.Trailer.Get("X-Sum") != "1" {
					panic(fmt.Sprint(len(echoed), response.Trailer))
				}
				response, err = http.Get(os.Args[1] + "stream")
				check(err)
				streamed, err := io.ReadAll(response.Body)
				check(err)
				if len(streamed) != 100000 {
					panic(len(streamed))
				}
			}
		}()
	}
	all.Wait()
	fmt.Println("fine")
}
"#;

#[tokio::test]
async fn go_is_served() {
    if are_missing("server::clients::go", &["go"]) {
        return;
    }
    let folder = TestFolder::new("go");
    let source = folder.write("main.go", GO);
    let server = listen(ServerLimits::default(), handler);
    assert_eq!(run(&server, "go", &["run", &source, "@/"], b"").await, "fine\n");
    server.close().await;
}
