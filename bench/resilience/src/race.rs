//! A server that closes each connection at a random moment, up to 5 ms after its last answer, and counts how often
//! it has executed each request. With `half` it ends its own direction alone, and executes what comes in the next 3 ms.
//!
//! `GET /report` answers with JSON: `executed`, `twice` (requests that were executed more than once), and
//! `connections`. Any other path is `/` and the number of the request.

use std::cell::RefCell;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};
use tokio::time::timeout;

/// The longest time between an answer and the close.
const CLOSE_WITHIN: Duration = Duration::from_millis(5);

/// How long a server that has ended its direction reads on.
const HALF_FOR: Duration = Duration::from_millis(3);

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 13\r\n\r\nHello, world!";

struct Counts {
    executed: Vec<u8>,
    connections: u64,
}

/// Serves, and prints its address.
pub(crate) async fn serve(requests: usize, half: bool) -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let counts = Rc::new(RefCell::new(Counts { executed: vec![0; requests], connections: 0 }));
    LocalSet::new()
        .run_until(async {
            loop {
                let (stream, _) = listener.accept().await?;
                spawn_local(answer_each(stream, half, counts.clone()));
            }
        })
        .await
}

async fn answer_each(mut stream: TcpStream, half: bool, counts: Rc<RefCell<Counts>>) {
    let _ = stream.set_nodelay(true);
    let (mut input, mut is_first) = (Vec::new(), true);
    loop {
        let wait = if is_first { Duration::from_secs(5) } else { random_wait() };
        let number = match timeout(wait, next_request(&mut stream, &mut input)).await {
            Ok(Ok(Some(number))) => number,
            Err(_) if half => return execute_late(stream, input, &counts).await,
            _ => return,
        };
        let Some(number) = number else {
            let report = report(&counts.borrow());
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", report.len());
            let _ = stream.write_all((head + &report).as_bytes()).await;
            return;
        };
        counts.borrow_mut().connections += u64::from(is_first);
        execute(&counts, number);
        if stream.write_all(ANSWER).await.is_err() {
            return;
        }
        is_first = false;
    }
}

/// Ends the server's direction, and executes what comes though no answer can follow.
async fn execute_late(mut stream: TcpStream, mut input: Vec<u8>, counts: &RefCell<Counts>) {
    let _ = stream.shutdown().await;
    let late = timeout(HALF_FOR, async {
        while let Ok(Some(Some(number))) = next_request(&mut stream, &mut input).await {
            execute(counts, number);
        }
    });
    let _ = late.await;
}

fn execute(counts: &RefCell<Counts>, number: usize) {
    if let Some(times) = counts.borrow_mut().executed.get_mut(number) {
        *times = times.saturating_add(1);
    }
}

fn report(counts: &Counts) -> String {
    let executed = counts.executed.iter().filter(|&&times| times > 0).count();
    let twice = counts.executed.iter().filter(|&&times| times > 1).count();
    let connections = counts.connections;
    serde_json::json!({ "executed": executed, "twice": twice, "connections": connections })
        .to_string()
}

/// Reads one request, head and content, and returns its number, or none for the report. `None`: the connection
/// has ended.
async fn next_request(
    stream: &mut TcpStream,
    input: &mut Vec<u8>,
) -> io::Result<Option<Option<usize>>> {
    loop {
        if let Some(end) = input.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&input[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
            let length = length.and_then(|length| length.trim().parse::<usize>().ok()).unwrap_or(0);
            if input.len() >= end + 4 + length {
                input.drain(..end + 4 + length);
                let path = head.split(' ').nth(1).unwrap_or_default();
                return Ok(Some(path.trim_start_matches('/').parse().ok()));
            }
        }
        if stream.read_buf(input).await? == 0 {
            return Ok(None);
        }
    }
}

fn random_wait() -> Duration {
    let random = RandomState::new().hash_one(0);
    CLOSE_WITHIN.mul_f64((random >> 11) as f64 / (1u64 << 53) as f64)
}
