//! Clients that others wrote. What is not installed is left out.

use std::process::{Command, Stdio};
use std::time::Duration;

use stoop::{Body, Request, Response, ServerHandle, ServerLimits};

use super::listen;

/// Echoes what it is sent; streams, or says hello, where it is asked to.
fn handler(request: Request) -> Response {
    match request.path() {
        "/echo" => Response::new(request.into_body()),
        "/stream" => {
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                for _ in 0..100 {
                    sender.send(vec![b'x'; 1_000]).await?;
                }
                Ok::<_, stoop::Unwanted>(())
            });
            Response::new(body)
        }
        _ => Response::text("hello"),
    }
}

/// Runs a program with the server's address for `@/`; its output, or none if there is no such
/// program.
async fn run(
    server: &ServerHandle,
    program: &str,
    arguments: &[&str],
    input: &[u8],
) -> Option<String> {
    let address = format!("{}/", server.endpoint());
    let mut command = Command::new(program);
    command.args(arguments.iter().map(|argument| argument.replace("@/", &address)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let (mut stdin, input) = (child.stdin.take()?, input.to_vec());
    let run = tokio::task::spawn_blocking(move || {
        let writer = std::thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
        let output = child.wait_with_output();
        let _ = writer.join();
        output
    });
    let output =
        tokio::time::timeout(Duration::from_secs(300), run).await.unwrap().unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {errors}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[tokio::test]
async fn curl() {
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
        let Some(output) = run(&server, "curl", &all, content.as_bytes()).await else { return };
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
async fn python() {
    let server = listen(ServerLimits::default(), handler);
    if let Some(output) = run(&server, "python3", &["-c", PYTHON, "@/"], b"").await {
        assert_eq!(output, "fine\n");
    }
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
async fn go() {
    let directory = std::env::temp_dir().join(format!("stoop-it-go-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let source = directory.join("main.go");
    std::fs::write(&source, GO).unwrap();
    let server = listen(ServerLimits::default(), handler);
    let output = run(&server, "go", &["run", source.to_str().unwrap(), "@/"], b"").await;
    std::fs::remove_dir_all(&directory).unwrap();
    assert!(output.is_none_or(|output| output == "fine\n"));
    server.close().await;
}
