//! What the service manager is told, by a socket in its place (sd_notify(3)).

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::{Folder, Served};

/// The manager's end.
struct Manager(UnixDatagram);

impl Manager {
    fn new(folder: &Folder) -> Self {
        let socket = UnixDatagram::bind(folder.path().join("notify")).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self(socket)
    }

    /// What it is told next.
    fn told(&self) -> String {
        let mut buffer = [0; 256];
        let length = self.0.recv(&mut buffer).unwrap();
        String::from_utf8_lossy(&buffer[..length]).trim().to_owned()
    }

    /// Waits for a hand-over, and returns the process that serves. Both processes tell of it, in either order.
    fn main_process(&self) -> String {
        let mut both = [self.told(), self.told()];
        both.sort();
        let [main, ready] = both;
        assert_eq!(ready, "READY=1");
        main.strip_prefix("MAINPID=").unwrap().to_owned()
    }
}

fn served(folder: &Folder) -> Served {
    let mut command = crate::stoop::stoop("serve");
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    command.arg("--config").arg(folder.path().join("serve.toml"));
    Served::run(command)
}

fn signal(name: &str, process: &str) {
    assert!(Command::new("kill").args(["-s", name, process]).status().unwrap().success());
}

/// The request for `path` on a connection, and its answer.
fn answer(mut stream: impl Read + Write, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    // Where TLS is spoken, the server may close before it is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// The sockets of a `.socket` unit (sd_listen_fds(3)): a process may have them only if LISTEN_PID is its number, which a
/// shell has that becomes the process. One is named `http`, and speaks no TLS.
#[test]
fn sockets_of_the_manager_are_served_by_their_names_also_after_a_hand_over() {
    let folder = Folder::new(&[("f", "content")]);
    let manager = Manager::new(&folder);
    let path = folder.path().join("socket");
    let (tcp, unix) =
        (TcpListener::bind("127.0.0.1:0").unwrap(), UnixListener::bind(&path).unwrap());
    let address = tcp.local_addr().unwrap();
    let stoop = crate::stoop::stoop("serve");
    let mut command = Command::new("sh");
    command.env("NOTIFY_SOCKET", folder.path().join("notify"));
    command.args(["-c", "exec 3<&0 4<&2 0</dev/null 2>/dev/null; LISTEN_PID=$$ exec \"$@\"", "sh"]);
    command.env("LISTEN_FDS", "2").env("LISTEN_FDNAMES", "site.socket:http");
    command.arg(stoop.get_program()).args(stoop.get_args());
    command.arg(folder.path()).arg("--tls-self-signed");
    command.stdin(OwnedFd::from(tcp)).stderr(OwnedFd::from(unix)).stdout(Stdio::piped());
    let mut first = Served::run(command);
    assert_eq!(first.authority, address.to_string());
    assert_eq!(manager.told(), "READY=1");
    let are_served = || {
        let clear = answer(UnixStream::connect(&path).unwrap(), "/f");
        assert!(clear.starts_with("HTTP/1.1 200") && clear.ends_with("content"), "{clear}");
        let refused = answer(TcpStream::connect(address).unwrap(), "/f");
        assert!(!refused.contains("content"), "{refused}");
        let curl = Command::new("curl").args(["-sk", &format!("https://{address}/f")]).output();
        match curl {
            Ok(curl) => assert_eq!(String::from_utf8_lossy(&curl.stdout), "content"),
            Err(_) => crate::stoop::skip("sockets of the manager", "curl is not installed"),
        }
    };
    are_served();
    first.signal("USR2");
    let second = manager.main_process();
    assert_eq!(first.ended(), Some(0));
    are_served();
    signal("TERM", &second);
    assert_eq!(manager.told(), "STOPPING=1");
}

/// The manager would end the new process too. Sockets that were there stay, whatever the workers are.
#[test]
fn of_a_hand_over_the_manager_is_told_the_process_and_no_stop_also_with_fewer_workers() {
    let folder = Folder::new(&[("f", "content")]);
    let manager = Manager::new(&folder);
    folder.write("serve.toml", "directory = '.'\nlisten = ['127.0.0.1:0']\nworkers = 4\n");
    let mut first = served(&folder);
    assert_eq!(manager.told(), "READY=1");
    folder.write("serve.toml", "directory = '.'\nlisten = ['127.0.0.1:0']\nworkers = 1\n");
    first.signal("USR2");
    let second = manager.main_process();
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    signal("USR2", &second);
    let third = manager.main_process();
    assert_ne!(second, third);
    first.until("/f", "content");
    signal("TERM", &third);
    assert_eq!(manager.told(), "STOPPING=1");
}

/// A first request for the end leaves what runs its time, also if it comes while another process is started, or after.
#[test]
fn a_request_for_the_end_beside_a_hand_over_does_not_cut_what_runs() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20))]);
    let manager = Manager::new(&folder);
    folder.write("serve.toml", "directory = '.'\nlisten = ['127.0.0.1:0']\n");
    let mut first = served(&folder);
    assert_eq!(manager.told(), "READY=1");
    let mut stream = TcpStream::connect(&first.authority).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    first.signal("USR2");
    first.signal("TERM");
    let second = manager.main_process();
    let rest = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert!(rest > 40 << 20);
    assert_eq!(first.child.wait().unwrap().code(), Some(0));
    signal("TERM", &second);
}

/// What the access log is written to stands still: the process ends all the same.
#[test]
fn a_log_that_nothing_reads_keeps_neither_workers_nor_the_end() {
    let folder = Folder::new(&[("f", "content")]);
    let mut served = Served::start(&folder, "--workers 2 --access-log json");
    let long = format!("/f?{}", "x".repeat(8000));
    for _ in 0..40 {
        assert_eq!(served.get(&long, "").1, "content");
    }
    let mut messages = BufReader::new(served.child.stderr.take().unwrap()).lines();
    served.signal("HUP");
    let message = messages.next().unwrap().unwrap();
    assert!(message.ends_with("read again what is served, and how"), "{message}");
    for _ in 0..20 {
        assert_eq!(served.get(&long, "").1, "content");
    }
    served.signal("TERM");
    for _ in 0..1000 {
        if let Some(status) = served.child.try_wait().unwrap() {
            return assert_eq!(status.code(), Some(0));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the process has not ended");
}
