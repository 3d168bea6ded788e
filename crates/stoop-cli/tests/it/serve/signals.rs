//! Signals that come together, and while something stands still.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Folder, Served, command};
use crate::stoop::stoop;

const CONFIG: &str = "directory = '.'\nlisten = '127.0.0.1:0'\n";

/// Serves as a pipe in place of a file of options says, which stands still for all that read it after this.
fn by_pipe(folder: &Folder) -> Served {
    let pipe = folder.pipe("serve.toml");
    let mut command = stoop("serve");
    command.arg("--config").arg(&pipe);
    let writes = std::thread::spawn(move || write_once(&pipe));
    let served = Served::run(command);
    writes.join().unwrap();
    served
}

fn write_once(pipe: &Path) {
    OpenOptions::new().write(true).open(pipe).unwrap().write_all(CONFIG.as_bytes()).unwrap();
}

/// Expects that another process took over, as the process `served` has told; that this one ends with 0, and that `/f` is
/// still served. The other process is then ended.
fn is_taken_over(served: &mut Served, told: &str) {
    let process = told.split_whitespace().nth(1).unwrap();
    assert_eq!(told, format!("process {process} took over"));
    assert_eq!(served.ended(), Some(0));
    served.until("/f", "content");
    assert!(Command::new("kill").arg(process).status().unwrap().success());
}

#[test]
fn what_is_read_again_may_stand_still_and_signals_are_obeyed() {
    let folder = Folder::new(&[("f", "content")]);
    let mut served = by_pipe(&folder);
    served.signal("HUP");
    served.signal("HUP");
    served.until("/f", "content");
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
    assert_eq!(served.messages().rest(), "");
}

#[test]
fn a_second_signal_gives_up_a_process_that_does_not_come_to_serve() {
    let folder = Folder::new(&[("f", "content")]);
    let mut served = by_pipe(&folder);
    let mut messages = served.messages();
    served.signal("USR2");
    // Another one starts no other process.
    served.signal("USR2");
    served.signal("HUP");
    served.until("/f", "content");
    served.signal("TERM");
    let waits = messages.next();
    let is_expected = waits.starts_with("waits for process ")
        && waits.ends_with(" to take over, 60 s at most, or another signal");
    assert!(is_expected, "{waits}");
    served.until("/f", "content");
    served.signal("TERM");
    assert_eq!(messages.next(), "cannot hand over: a second signal asked for the end");
    assert_eq!(served.ended(), Some(0));
    assert_eq!(messages.rest(), "", "no process is left");
}

/// A process that ends by itself changes nothing, and says why.
#[test]
fn a_process_that_cannot_serve_takes_over_nothing() {
    let folder = Folder::new(&[("f", "content"), ("serve.toml", CONFIG)]);
    let mut command = stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = served.messages();
    folder.write("serve.toml", "listing = 'perhaps'\n");
    served.signal("USR2");
    assert!(messages.next().contains("serve.toml:1:11: "));
    while !messages.next().starts_with(
        "cannot hand over: the new process does not serve: exit status: 2; this one goes on",
    ) {}
    // And once more, now that it can.
    folder.write("serve.toml", &CONFIG.replace("127.0.0.1", "http://localhost"));
    served.signal("USR2");
    // The same sockets, although the place is written otherwise.
    is_taken_over(&mut served, &messages.next());
}

/// Also where it fails after it took the sockets, and has closed the pipe before it says so: each time.
#[test]
fn a_process_that_cannot_listen_says_why_before_it_is_given_up() {
    let folder = Folder::new(&[("f", "content"), ("serve.toml", CONFIG)]);
    let mut command = stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = served.messages();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    let text = format!("directory = '.'\nlisten = ['127.0.0.1:0', '{taken}']\n");
    folder.write("serve.toml", &text);
    for time in 0..20 {
        served.signal("USR2");
        let said = messages.next();
        assert!(said.starts_with(&format!("cannot listen on {taken}: ")), "{time}: {said}");
        let said = messages.next();
        let end = "the new process does not serve: exit status: 3; this one goes on";
        assert_eq!(said, format!("cannot hand over: {end}"), "{time}");
    }
    served.until("/f", "content");
}

/// The sockets that were to be handed over are closed again: clients of a server that ends are refused, and do not wait.
#[test]
fn a_program_that_is_gone_takes_over_nothing_and_holds_no_socket_open() {
    let folder = Folder::new(&[("large", &"x".repeat(40 << 20))]);
    let binary = folder.path().join("stoop");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_stoop"), &binary).unwrap();
    let mut command = Command::new(&binary);
    command.arg("serve").arg(folder.path()).args(["-l", "127.0.0.1:0"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut served = Served::run(command);
    let mut messages = served.messages();
    std::fs::remove_file(&binary).unwrap();
    served.signal("USR2");
    let message = messages.next();
    let begin = format!("cannot hand over: cannot start {}: ", binary.display());
    assert!(message.starts_with(&begin) && message.ends_with("; this one goes on"), "{message}");
    let mut stream = TcpStream::connect(&served.authority).unwrap();
    stream.write_all(b"GET /large HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    served.signal("TERM");
    let is_refused = || TcpStream::connect(&served.authority).is_err();
    crate::stoop::wait_for("a refusal", is_refused);
    std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    assert_eq!(served.ended(), Some(0));
}

/// More sockets than a process can take over: it says how many there are, how many there may be, and goes on.
#[test]
fn more_sockets_than_can_be_taken_over_are_kept() {
    let folder = Folder::new(&[("f", "content")]);
    let places = vec!["'127.0.0.1:0'"; 1_100].join(", ");
    let text = format!("directory = '.'\nworkers = 1\nlisten = [{places}]\n");
    folder.write("serve.toml", &text);
    let mut command = stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = served.messages();
    served.signal("USR2");
    let said = messages.next();
    let begin = "cannot hand over: it listens with 1100 sockets, one for each worker and place, and another process can \
                 take 10";
    let end = " at most: use fewer places, or fewer --workers; this one goes on";
    assert!(said.starts_with(begin) && said.ends_with(end), "{said}");
    served.until("/f", "content");
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
}

/// As a script sends them that replaces a process: the service goes on, whichever is seen first.
#[test]
fn a_hand_over_comes_before_an_end_that_is_asked_for_at_the_same_time() {
    let folder = Folder::new(&[("f", "content")]);
    let mut served = Served::start(&folder, "");
    let mut messages = served.messages();
    for name in ["STOP", "TERM", "USR2", "CONT"] {
        served.signal(name);
    }
    let told = loop {
        let message = messages.next();
        if !message.starts_with("waits for process ") {
            break message;
        }
    };
    is_taken_over(&mut served, &told);
}

/// In whatever order they come: the process that they are sent to ends, with 0.
#[test]
fn a_request_for_the_end_is_obeyed_whatever_comes_with_it() {
    let folder = Folder::new(&[("f", "content")]);
    for order in [
        ["HUP", "USR2", "TERM"],
        ["USR2", "HUP", "TERM"],
        ["HUP", "TERM", "USR2"],
        ["USR2", "TERM", "HUP"],
        ["TERM", "HUP", "USR2"],
        ["TERM", "USR2", "HUP"],
    ] {
        let mut command = command(&folder, "--workers 1");
        command.process_group(0);
        let mut served = Served::run(command);
        let messages = served.messages();
        for name in order {
            served.signal(name);
        }
        assert_eq!(served.ended(), Some(0), "{order:?}");
        // A process that has taken over.
        let group = format!("-{}", served.child.id());
        let _ = Command::new("kill").args(["-s", "TERM", "--", &group]).output();
        let said = messages.rest();
        let is_known = |line: &str| {
            ["stoop: read again", "stoop: process ", "stoop: waits for "]
                .iter()
                .any(|known| line.starts_with(known))
        };
        assert!(said.lines().all(is_known), "{order:?}: {said}");
    }
}
