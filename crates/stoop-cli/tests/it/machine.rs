//! Tests on a machine without local ports, with few descriptors, or slow at loading CA certificates.
#![cfg(target_os = "linux")]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use crate::server::{Server, refusing};
use crate::stoop::{CommandResult, finish, lines, run, skip, stoop, stoop_in_shell};

/// The commands that leave a network namespace without a local port for a connection.
const PORTLESS: &str = "ip link set lo up
    echo 50000 50000 > /proc/sys/net/ipv4/ip_local_port_range
    echo 50000 > /proc/sys/net/ipv4/ip_local_reserved_ports";

/// A command that runs its arguments in a network namespace of its own, after `script`; none where that
/// is not allowed.
fn in_namespace(script: &str) -> Option<Command> {
    let mut unshare = Command::new("unshare");
    unshare.args(["-Urn", "sh", "-ec", script]).stderr(Stdio::null());
    if unshare.status().is_ok_and(|status| status.success()) {
        let mut command = Command::new("unshare");
        let script = format!("{script}\nexec \"$@\"");
        command.args(["-Urn", "sh", "-ec", &script, "sh"]);
        return Some(command);
    }
    None
}

#[test]
fn without_a_local_port_the_error_says_so() {
    let Some(mut command) = in_namespace(PORTLESS) else {
        return skip("no_local_ports", "a network namespace, by unshare and ip");
    };
    let fetch = stoop("fetch http://127.0.0.1:1/");
    command.arg(fetch.get_program()).args(fetch.get_args());
    let ran = CommandResult::from(command.stdin(Stdio::null()).output().expect("it ran above"));
    let codes: Vec<_> = ran.codes().into_iter().map(|(_, code)| code).collect();
    assert_eq!(codes, ["no_local_ports"], "{}", ran.stderr);
    assert!(ran.stderr.contains("no_local_ports  "), "and what to do: {}", ran.stderr);
}

/// Sets the limit of descriptors of a process.
fn set_limit(id: u32, files: u64) {
    let id = i32::try_from(id).expect("a process's number");
    let (_, hard) = rlimit::getrlimit(rlimit::Resource::NOFILE).expect("it has a limit");
    rlimit::prlimit(id, rlimit::Resource::NOFILE, Some((files, hard)), None).expect("it is ours");
}

/// Six descriptors for forty slots: idle connections are closed, and slots wait for descriptors.
#[test]
fn too_few_descriptors_slow_a_run_down_and_cause_no_errors() {
    let servers = [Server::start(), Server::start(), Server::start()];
    let mut child = stoop("fetch -c 40 --cores 1 -t 10").spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    writeln!(stdin, "{}", servers[0].url("/ok/1")).expect("it reads");
    stdout.read_line(&mut String::new()).expect("everything is open that is opened once");
    let open = std::fs::read_dir(format!("/proc/{}/fd", child.id())).expect("it runs").count();
    set_limit(child.id(), open as u64 + 6);
    let urls: String =
        (0..150).map(|n| servers[n % 3].url(&format!("/delay/20?{n}")) + "\n").collect();
    stdin.write_all(urls.as_bytes()).expect("it reads");
    drop(stdin);
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).expect("it writes");
    assert_eq!(finish(child).code, Some(0));
    let codes: Vec<_> = lines(&rest).into_iter().map(|line| line.code).collect();
    assert_eq!(codes.len(), 150);
    assert!(codes.iter().all(|code| code == "200"), "{codes:?}");
}

/// The limit is lowered during the run; a machine that runs out of descriptors looks the same.
#[test]
fn without_a_descriptor_the_error_says_so_and_the_run_goes_on() {
    let server = Server::start();
    let mut child = stoop("fetch -c 1 -t 1").spawn().expect("the binary runs");
    let id = child.id();
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut answer = |url: String| {
        writeln!(stdin, "{url}").expect("it reads");
        let mut line = String::new();
        stdout.read_line(&mut line).expect("it writes");
        line.strip_prefix(&url).unwrap_or_else(|| panic!("{line}"))[1..].to_owned()
    };
    // Everything that is opened once is open after this.
    assert!(answer(server.url("/ok/1")).starts_with("200,"));
    let limit = |files| set_limit(id, files);
    limit(3);
    let other = Server::start();
    assert!(answer(other.url("/ok/1")).starts_with("too_many_files,"));
    limit(1_000);
    assert!(answer(other.url("/ok/1")).starts_with("200,"));
    drop(stdin);
    assert_eq!(finish(child).code, Some(0));
}

/// The file of the system's CA certificates is a pipe, whose reader waits until the test closes it.
#[test]
fn the_preparation_of_tls_counts_for_no_url_and_delays_no_plain_one() {
    let server = Server::start();
    let path = std::env::temp_dir().join(format!("stoop-cas-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&path).status().expect("it runs").success());
    let mut command = stoop("fetch -t 5");
    command.env("SSL_CERT_FILE", &path).env_remove("SSL_CERT_DIR");
    let mut child = command.spawn().expect("the binary runs");
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    writeln!(stdin, "{}", server.url("/ok/1")).expect("it reads");
    let mut line = String::new();
    stdout.read_line(&mut line).expect("it writes");
    assert!(line.contains(",200,"), "{line}");
    writeln!(stdin, "https://{}/", refusing()).expect("it reads");
    drop(stdin);
    std::thread::sleep(std::time::Duration::from_millis(200));
    let closed_at = jiff::Timestamp::now().as_millisecond();
    // Closing the pipe ends the reading. (Opened for both, because that does not wait for a reader.)
    drop(std::fs::OpenOptions::new().read(true).write(true).open(&path).expect("a pipe"));
    let mut rest = Vec::new();
    stdout.read_to_end(&mut rest).expect("it writes");
    assert_eq!(finish(child).code, Some(0));
    let ran = lines(&rest);
    std::fs::remove_file(&path).expect("ours");
    assert!(ran[0].start_ms() >= closed_at, "{ran:?} before {closed_at}");
}

/// 200 are too few for a hundred slots with the most other files, and enough for two URLs, or for a
/// hundred with less concurrency.
#[test]
fn a_low_limit_of_descriptors_refused_what_would_have_fitted() {
    let server = Server::start();
    let urls: String = (0..120).map(|n| server.url(&format!("/delay/20?{n}")) + "\n").collect();
    for limit in [48, 64, 200] {
        let before = format!("ulimit -n {limit}");
        let ran = run(stoop_in_shell(&before, "fetch -t 10", ""), urls.clone());
        assert_eq!(ran.code, Some(0), "{limit}: {}", ran.stderr);
        assert!(ran.lines().iter().all(|line| line.code == "200"), "{limit}: {:?}", ran.codes());
        assert_eq!(ran.lines().len(), 120);
        let note = format!("stoop: 'ulimit -n' is {limit}: ");
        assert!(ran.stderr.contains(&note), "{limit}: {}", ran.stderr);
        assert!(server.most_in_flight() < 100);
    }
    // With --quiet, which has no notes, the same is done without a word.
    let ran = run(stoop_in_shell("ulimit -n 64", "fetch -q -t 10", ""), urls.clone());
    assert_eq!((ran.code, ran.lines().len(), ran.stderr.as_str()), (Some(0), 120, ""));
    // A concurrency that was given is not lowered, unless there are fewer URLs anyway.
    let ran = run(stoop_in_shell("ulimit -n 200", "fetch -c 300", ""), urls);
    assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0));
    assert!(ran.stderr.contains("open files"), "{}", ran.stderr);
    let two = format!("fetch -c 300 --summary none {0} {0}", server.url("/ok/1"));
    let ran = run(stoop_in_shell("ulimit -n 200", &two, ""), "");
    assert_eq!((ran.code, ran.lines().len(), ran.stderr.as_str()), (Some(0), 2, ""));
}
