//! A server that plays a script: each connection is answered by its next part.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::stoop::{CommandResult, run, skip, stoop};

/// The answer that never comes.
pub(super) const HANG: &[u8] = b"hang";

/// A server, and what each of its connections was sent before it answered.
pub(super) struct Scripted {
    pub(super) address: SocketAddr,
    pub(super) requests: Receiver<String>,
}

impl Scripted {
    /// Answers each connection by the next part, and all further ones by the last. After an answer it closes.
    pub(super) fn start(parts: &[&[u8]]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let parts: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
        let (sender, requests) = channel();
        thread::spawn(move || {
            let parts = parts.iter().chain(std::iter::repeat(&parts[parts.len() - 1]));
            for (mut stream, part) in listener.incoming().flatten().zip(parts) {
                let (mut request, part) = (vec![0; 64 * 1024], part.clone());
                let sender = sender.clone();
                thread::spawn(move || {
                    let mut length = 0;
                    let quiet = Some(Duration::from_millis(100));
                    stream.set_read_timeout(quiet).expect("a time");
                    let begun = Instant::now();
                    loop {
                        match stream.read(&mut request[length..]) {
                            Ok(read @ 1..) => length += read,
                            // On a busy machine the first byte may be late.
                            Err(_) if length == 0 && begun.elapsed() < Duration::from_secs(5) => {}
                            Ok(0) | Err(_) => break,
                        }
                    }
                    let text = String::from_utf8_lossy(&request[..length]).into_owned();
                    let _ = sender.send(text);
                    if part == HANG {
                        thread::sleep(Duration::from_secs(6));
                    }
                    let _ = stream.write_all(&part);
                    // What is still on its way would reset the connection.
                    let _ = stream.shutdown(Shutdown::Write);
                    while let Ok(1..) = stream.read(&mut request) {}
                });
            }
        });
        Self { address, requests }
    }

    /// The requests since this was asked last.
    pub(super) fn take(&self) -> Vec<String> {
        self.requests.try_iter().collect()
    }
}

/// The command with these options.
pub(super) fn get(options: &str) -> CommandResult {
    get_with(options, "")
}

/// The command with these options and this standard input.
pub(super) fn get_with(options: &str, input: &str) -> CommandResult {
    run(stoop(&format!("get {options}")), input)
}

/// curl with these options and this standard input; none where there is no curl.
pub(super) fn curl(options: &str, input: &str) -> Option<CommandResult> {
    let mut curl = Command::new("curl");
    curl.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    curl.args(["-q", "-s", "-S"]).args(options.split_whitespace());
    for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy"] {
        curl.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    if Command::new("curl").arg("--version").output().is_err() {
        skip("get beside curl", "curl is not installed");
        return None;
    }
    Some(run(curl, input))
}

/// Runs both against scripts of their own, with `URL` for their servers', and compares exit codes and outputs. Returns
/// the code, and what this command said and sent.
#[track_caller]
pub(super) fn same(options: &str, parts: &[&[u8]]) -> (i32, String, Vec<String>) {
    same_with(options, "", parts)
}

/// The same, with this standard input.
#[track_caller]
pub(super) fn same_with(options: &str, input: &str, parts: &[&[u8]]) -> (i32, String, Vec<String>) {
    let served = |server: &Scripted| options.replace("URL", &format!("http://{}", server.address));
    let (ours, theirs) = (Scripted::start(parts), Scripted::start(parts));
    let did = get_with(&served(&ours), input);
    let requests = ours.take();
    if let Some(curl) = curl(&served(&theirs), input) {
        let text = String::from_utf8_lossy(&did.stdout).into_owned();
        let (code, stderr) = (did.code, &did.stderr);
        assert_eq!(code, curl.code, "{options}: {stderr}; curl: {}", curl.stderr);
        assert_eq!(text, String::from_utf8_lossy(&curl.stdout), "{options}");
        assert_eq!(requests.is_empty(), theirs.take().is_empty(), "{options}");
    }
    (did.code.expect("no signal"), did.stderr, requests)
}
