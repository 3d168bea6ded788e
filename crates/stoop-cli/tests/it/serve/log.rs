//! The access log: opened anew, written to pipes, and what has a line in it.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::Duration;

use super::{Folder, Served, command};
use crate::stoop::run;

const READ_AGAIN: &str = "read again what is served, and how";

fn with_log(folder: &Folder, path: &Path, options: &str) -> Served {
    Served::start(folder, &format!("--access-log-file {} {options}", path.display()))
}

/// The beginning of a response.
fn status(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head).into_owned()
}

/// logrotate may compress the old file at once.
#[test]
fn after_sighup_the_line_of_a_request_that_runs_is_in_the_new_file() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20)), ("f", "content")]);
    let (log, old) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let mut served = with_log(&folder, &log, "--workers 1");
    let mut messages = served.messages();
    served.get("/f", "");
    crate::stoop::wait_for("a line", || std::fs::read_to_string(&log).unwrap().contains("/f "));
    let mut stream = TcpStream::connect(&served.authority).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    assert_eq!(status(&mut stream), "HTTP/1.1 200");
    std::fs::rename(&log, &old).unwrap();
    served.signal("HUP");
    assert_eq!(messages.next(), READ_AGAIN);
    served.signal("TERM");
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert_eq!(served.ended(), Some(0));
    let [old, new] = [old, log].map(|path| std::fs::read_to_string(path).unwrap());
    assert!(old.contains("/f ") && !old.contains("/large "), "{old}");
    assert!(new.contains("\"GET /large HTTP/1.1\" 200 41943040\n"), "{new}");
}

/// RFC 7239 §4: what the proxy has said cannot be told. Its line has the proxy for a client.
#[test]
fn what_a_trusted_proxy_says_wrongly_has_a_line_and_is_counted() {
    let folder = Folder::new(&[("f", "content")]);
    let log = folder.path().join("access.log");
    let served = with_log(&folder, &log, "--trust-forwarded 127.0.0.1 --status=all");
    let (head, content) = served.get("/f", "forwarded: for=\"\r\n");
    assert!(head.starts_with("HTTP/1.1 400") && content.contains("Forwarded is malformed"));
    crate::stoop::wait_for("a line", || !std::fs::read_to_string(&log).unwrap().is_empty());
    let line = std::fs::read_to_string(&log).unwrap();
    assert!(
        line.starts_with("127.0.0.1 - - [") && line.contains("\"GET /f HTTP/1.1\" 400 "),
        "{line}"
    );
    let (_, metrics) = served.get("/_stoop/metrics", "");
    let counted = |line: &str| {
        line.starts_with("stoop_web_requests_total{") && line.ends_with("status=\"4xx\"} 1")
    };
    assert!(metrics.lines().any(counted), "{metrics}");
}

/// As of nginx. The file of options is not read.
#[test]
fn sigusr1_opens_the_file_anew_and_nothing_else() {
    let folder =
        Folder::new(&[("f", "content"), ("serve.toml", "access-log-file = 'access.log'\n")]);
    let (log, old) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let config = folder.path().join("serve.toml");
    let config = format!("--config {} -l 127.0.0.1:0", config.display());
    let mut served = Served::start(&folder, &config);
    let mut messages = served.messages();
    served.get("/f", "");
    crate::stoop::wait_for("a line", || std::fs::read_to_string(&log).unwrap().contains("/f "));
    std::fs::rename(&log, &old).unwrap();
    folder.write("serve.toml", "nonsense");
    served.signal("USR1");
    assert_eq!(messages.next(), format!("opened {} anew", log.display()));
    served.get("/f?2", "");
    crate::stoop::wait_for("a line", || std::fs::read_to_string(&log).unwrap().contains("/f?2 "));
    assert!(!std::fs::read_to_string(&old).unwrap().contains("/f?2 "));
    std::fs::remove_file(&log).unwrap();
    std::fs::create_dir(&log).unwrap();
    served.signal("USR1");
    let told = messages.next();
    assert!(told.starts_with(&format!("cannot open {}: ", log.display())), "{told}");
    assert!(told.ends_with("; the access log stays as it was"), "{told}");
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
}

#[test]
fn sigusr1_without_a_file_of_a_log_is_harmless() {
    let folder = Folder::new(&[("f", "content")]);
    for options in ["", "--access-log common"] {
        let mut served = Served::start(&folder, options);
        served.signal("USR1");
        served.until("/f", "content");
        served.signal("TERM");
        assert_eq!(served.ended(), Some(0), "{options}");
        assert_eq!(served.messages().rest(), "");
    }
}

/// Each of its lines is in the log that was there when the request came.
#[test]
fn after_sighup_with_another_log_the_line_of_a_request_that_runs_is_in_the_old_one() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20)), ("f", "content")]);
    let [old, new] = ["old.log", "new.log"].map(|name| folder.path().join(name));
    let options = |more: &str| folder.write("serve.toml", &format!("workers = 1\n{more}"));
    for (then, is_in_new) in [
        ("access-log-file = \"new.log\"\n", true),
        ("access-log = \"json\"\naccess-log-file = \"old.log\"\n", false),
        ("", false),
    ] {
        options("access-log-file = \"old.log\"\n");
        let config = folder.path().join("serve.toml");
        let config = format!("--config {} -l 127.0.0.1:0", config.display());
        let mut served = Served::start(&folder, &config);
        let mut messages = served.messages();
        let mut stream = TcpStream::connect(&served.authority).unwrap();
        stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        assert_eq!(status(&mut stream), "HTTP/1.1 200");
        options(then);
        served.signal("HUP");
        assert_eq!(messages.next(), READ_AGAIN);
        served.get("/f", "");
        served.signal("TERM");
        std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
        assert_eq!(served.ended(), Some(0));
        let [old, new] = [&old, &new].map(|path| std::fs::read_to_string(path).unwrap_or_default());
        let large = "\"GET /large HTTP/1.1\" 200 41943040\n";
        assert!(old.contains(large) && !new.contains("/large"), "{then}: {old}{new}");
        assert_eq!((old.contains("/f "), new.contains("/f ")), (false, is_in_new), "{old}{new}");
        for path in ["old.log", "new.log"] {
            let _ = std::fs::remove_file(folder.path().join(path));
        }
    }
}

#[test]
fn a_pipe_without_a_reader_is_told_at_the_start_and_at_sighup_and_holds_nothing_up() {
    let folder = Folder::new(&[("f", "content")]);
    let pipe = folder.pipe("pipe");
    let option = format!("--access-log-file {}", pipe.display());
    let why =
        format!("cannot open {}: it is a pipe without a reader: start that first", pipe.display());
    let refused = run(command(&folder, &option), "");
    assert_eq!((refused.code, refused.stderr.trim_end()), (Some(3), &*format!("stoop: {why}")));
    // O_NONBLOCK, without which it would wait for the writer.
    let reader = OpenOptions::new().read(true).custom_flags(nonblock()).open(&pipe).unwrap();
    let mut served = with_log(&folder, &pipe, "");
    let mut messages = served.messages();
    served.get("/f", "");
    let (mut line, mut piece) = (Vec::new(), [0; 1024]);
    crate::stoop::wait_for("a line", || {
        // Where nothing is there yet it is an error.
        let read = (&reader).read(&mut piece).unwrap_or(0);
        line.extend_from_slice(&piece[..read]);
        line.ends_with(b"\n")
    });
    let line = String::from_utf8(line).unwrap();
    assert!(line.contains("\"GET /f HTTP/1.1\" 200 7"), "{line}");
    drop(reader);
    served.signal("HUP");
    assert_eq!(messages.next(), format!("{why}; everything stays as it was"));
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
}

/// To look for a reader is to open the pipe and to close it, which is the end of what that reader reads.
#[test]
fn a_check_leaves_the_reader_of_a_pipe_alone() {
    let folder = Folder::new(&[]);
    let pipe = folder.pipe("pipe");
    std::os::unix::fs::symlink("pipe", folder.path().join("link")).unwrap();
    // It waits for a writer.
    let (tell, told) = std::sync::mpsc::channel();
    let opened = pipe.clone();
    std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::open(opened).unwrap().read_to_string(&mut text).unwrap();
        tell.send(text).unwrap();
    });
    for name in ["pipe", "link"] {
        let path = folder.path().join(name);
        let options = format!("--check --access-log-file {}", path.display());
        let checked = run(command(&folder, &options), "");
        assert_eq!(checked.code, Some(0), "{checked:?}");
        let said = String::from_utf8_lossy(&checked.stdout);
        let end = "may listen there, and whether the pipe of the access log has a reader\n";
        assert!(said.ends_with(end), "{said}");
    }
    let mut options = OpenOptions::new();
    let options = options.write(true).custom_flags(nonblock());
    let mut writer = None;
    crate::stoop::wait_for("the reader", || {
        writer = options.open(&pipe).ok();
        writer.is_some()
    });
    writer.unwrap().write_all(b"a line").unwrap();
    assert_eq!(told.recv_timeout(Duration::from_secs(20)).as_deref(), Ok("a line"));
}

/// O_NONBLOCK, which the standard library has no name for.
fn nonblock() -> i32 {
    if cfg!(target_os = "linux") { 0o4000 } else { 4 }
}

/// What no handler is called for: malformed, too large, and one connection too many.
#[test]
fn what_the_server_refuses_has_a_line() {
    let folder = Folder::new(&[("f", "content")]);
    let large = format!("GET / HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(1 << 20));
    for (format, options, request, code, expected) in [
        ("common", "", "GET / HTTP/1.1\r\n\r\n", "400", "] \"-\" 400 -\n"),
        ("combined", "", &large, "431", "] \"-\" 431 - \"-\" \"-\"\n"),
        (
            "json",
            "",
            "POST /f HTTP/1.1\r\nhost: a\r\ntransfer-encoding: x\r\n\r\n",
            "501",
            "\"method\":null,\"target\":null,\"host\":null,\"version\":\"HTTP/1.1\",\"status\":501,\"bytes\":0,\"peer\":\"127.0.0.1:",
        ),
        (
            "json",
            "--connections-per-address 1",
            "",
            "429",
            ",\"refused\":\"the address has as many connections as it may have\"}\n",
        ),
    ] {
        let mut served = Served::start(&folder, &format!("--access-log {format} {options}"));
        // Where one address has one connection, this one has it.
        let mut held = TcpStream::connect(&served.authority).unwrap();
        held.write_all(b"GET /f HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
        assert_eq!(status(&mut held), "HTTP/1.1 200");
        let mut stream = TcpStream::connect(&served.authority).unwrap();
        // It may be refused before all of it is sent.
        let _ = stream.write_all(request.as_bytes());
        assert_eq!(status(&mut stream), format!("HTTP/1.1 {code}"));
        drop((held, stream));
        served.signal("TERM");
        let mut lines = String::new();
        served.output.read_to_string(&mut lines).unwrap();
        assert!(lines.contains(expected), "{format}: {lines}");
        let is_entry = |line: &&str| line.starts_with(['1', '{']);
        assert_eq!(lines.lines().filter(is_entry).count(), 2, "{lines}");
    }
}
