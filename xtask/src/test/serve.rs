//! A program under test: reads its output and its address, and waits for its end, each within a
//! limit.

use crate::command::Command;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// A started program, which is killed when this is dropped.
pub(crate) struct RunningProgram {
    child: Child,
    lines: Receiver<String>,
    printed: String,
    /// Whether its output is shown as it comes.
    is_shown: bool,
}

impl RunningProgram {
    pub(crate) fn start(command: &Command) -> Result<Self, String> {
        command.announce();
        let mut child = command
            .build()
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start `{command}`: {error}"))?;
        let (sender, lines) = mpsc::channel();
        child.stdout.take().into_iter().for_each(|stdout| forward(stdout, sender.clone()));
        child.stderr.take().into_iter().for_each(|stderr| forward(stderr, sender.clone()));
        Ok(Self { child, lines, printed: String::new(), is_shown: true })
    }

    /// Does not show its output from here on.
    pub(crate) fn hiding_output(mut self) -> Self {
        self.is_shown = false;
        self
    }

    /// The address on loopback that it prints, on a line of its own or in a URL.
    pub(crate) fn address(&mut self, limit: Duration) -> Result<SocketAddr, String> {
        let deadline = Instant::now() + limit;
        while let Some(line) = self.next_line(deadline) {
            if let Some(address) = address_in(&line) {
                return Ok(address);
            }
        }
        Err(format!("it printed no address of the form 127.0.0.1:PORT, but:\n{}", self.printed))
    }

    /// Waits until it prints a line that `is_last`, and returns all that it printed.
    pub(crate) fn until(
        &mut self,
        is_last: impl Fn(&str) -> bool,
        limit: Duration,
    ) -> Result<String, String> {
        let deadline = Instant::now() + limit;
        while let Some(line) = self.next_line(deadline) {
            if is_last(&line) {
                return Ok(self.printed.clone());
            }
        }
        Err(format!("it printed no line to end with, but:\n{}", self.printed))
    }

    /// Waits for its end, which must be a success, and returns all that it printed.
    pub(crate) fn finish(&mut self, limit: Duration) -> Result<String, String> {
        let deadline = Instant::now() + limit;
        while self.next_line(deadline).is_some() {}
        loop {
            let ended = self.child.try_wait().map_err(|error| error.to_string())?;
            match ended {
                Some(status) if status.success() => return Ok(self.printed.clone()),
                Some(status) => {
                    return Err(format!("it ended with {status} and printed:\n{}", self.printed));
                }
                None if Instant::now() >= deadline => {
                    let seconds = limit.as_secs();
                    return Err(format!("it ran for {seconds} s and printed:\n{}", self.printed));
                }
                None => thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// The next line it prints; none when it closed its output or the deadline has passed.
    fn next_line(&mut self, deadline: Instant) -> Option<String> {
        let line = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now()));
        let line = line.ok()?;
        if self.is_shown {
            println!("  {line}");
        }
        self.printed += &line;
        self.printed += "\n";
        Some(line)
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn forward(output: impl Read + Send + 'static, lines: Sender<String>) {
    thread::spawn(move || {
        for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
            if lines.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                return;
            }
        }
    });
}

fn address_in(line: &str) -> Option<SocketAddr> {
    let host = "127.0.0.1:";
    let (_, rest) = line.split_once(host)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    format!("{host}{}", &rest[..end]).parse().ok()
}

/// A request: a GET without content, and a POST with.
#[derive(Clone, Copy)]
pub(crate) struct HttpRequest {
    pub(crate) path: &'static str,
    pub(crate) content: Option<&'static str>,
}

/// Sends a request and returns the whole response as text. Written by hand, because stoop must not be
/// tested by itself.
pub(crate) fn send(
    address: SocketAddr,
    request: HttpRequest,
    limit: Duration,
) -> Result<String, String> {
    let HttpRequest { path, content } = request;
    let method = if content.is_some() { "POST" } else { "GET" };
    let length = content.map(|content| format!("Content-Length: {}\r\n", content.len()));
    let (length, content) = (length.unwrap_or_default(), content.unwrap_or_default());
    let exchange = || {
        let mut stream = TcpStream::connect_timeout(&address, limit)?;
        stream.set_read_timeout(Some(limit))?;
        stream.set_write_timeout(Some(limit))?;
        // In one write: a server that answers the first piece and closes would reset the connection.
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\n{length}Connection: close\r\n\r\n{content}"
        );
        stream.write_all(request.as_bytes())?;
        let mut response = Vec::new();
        stream.read_to_end(&mut response)?;
        Ok(response)
    };
    let response =
        exchange().map_err(|error: std::io::Error| format!("{method} {path}: {error}"))?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const LIMIT: Duration = Duration::from_secs(10);

    fn shell(script: &str) -> RunningProgram {
        RunningProgram::start(&Command::new("sh").args(["-c", script])).unwrap()
    }

    #[test]
    fn the_output_of_a_program_is_read_to_its_end() {
        let printed = shell("echo one; echo two >&2; echo three").finish(LIMIT).unwrap();
        assert!(["one", "two", "three"].iter().all(|line| printed.contains(line)), "{printed}");
        assert!(shell("echo why; exit 3").finish(LIMIT).unwrap_err().contains("why"));
    }

    #[test]
    fn a_program_that_hangs_is_an_error_after_the_limit() {
        let started = Instant::now();
        let error = shell("echo waiting; exec sleep 60").finish(Duration::from_millis(100));
        assert!(error.unwrap_err().contains("waiting"));
        assert!(started.elapsed() < LIMIT);
    }

    #[test]
    fn output_is_read_until_the_line_that_is_last() {
        let mut running = shell("echo one; echo two; exec sleep 60");
        assert_eq!(running.until(|line| line == "two", LIMIT).unwrap(), "one\ntwo\n");
        let error = shell("echo one").until(|line| line == "two", LIMIT).unwrap_err();
        assert!(error.contains("one"), "{error}");
    }

    #[test]
    fn the_address_of_a_server_is_read_from_its_output() {
        let mut server = shell("echo listening on http://127.0.0.1:8080/; exec sleep 60");
        assert_eq!(server.address(LIMIT).unwrap().port(), 8080);
        assert!(shell("echo nothing").address(LIMIT).unwrap_err().contains("nothing"));
    }

    /// The request as a server receives it, and the response as `send` returns it.
    fn exchange(request: HttpRequest) -> (String, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 256];
            let len = stream.read(&mut request).unwrap();
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").unwrap();
            String::from_utf8_lossy(&request[..len]).into_owned()
        });
        let response = send(address, request, LIMIT).unwrap();
        (server.join().unwrap(), response)
    }

    #[test]
    fn a_response_is_read_to_its_end() {
        let (request, response) = exchange(HttpRequest { path: "/x", content: None });
        assert!(request.starts_with("GET /x HTTP/1.1\r\n") && request.ends_with("\r\n\r\n"));
        assert!(!request.contains("Content-Length") && response.ends_with("hello"));
    }

    #[test]
    fn content_is_sent_with_its_length() {
        let (request, _) = exchange(HttpRequest { path: "/x", content: Some("abc") });
        assert!(request.starts_with("POST /x HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nContent-Length: 3\r\n"), "{request}");
        assert!(request.ends_with("\r\n\r\nabc"), "{request}");
    }
}
