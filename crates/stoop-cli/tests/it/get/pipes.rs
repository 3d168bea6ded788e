//! Content from what is no regular file: pipes of the shell, devices, standard input by its name.

use std::process::Command;

use crate::echo::{EchoServer, Seen};
use crate::stoop::skip;

/// What a command sends whose options the shell reads, and its exit code.
fn sent(server: &EchoServer, program: &str, options: &str) -> (Vec<Seen>, Option<i32>) {
    let line = format!("printf input | {program} {options} http://{}/up", server.address);
    let mut command = Command::new("bash");
    for name in ["http_proxy", "all_proxy"] {
        command.env_remove(name).env_remove(name.to_ascii_uppercase());
    }
    let output = command.args(["-c", &line]).output().expect("a shell");
    let mut seen = server.take_seen();
    for request in &mut seen {
        // What names the program, and a boundary.
        for name in ["user-agent", "content-type"] {
            request.fields.remove(name);
        }
        let content = request.content.to_ascii_lowercase();
        let lines = content.lines().filter(|line| !line.starts_with("--"));
        request.content = lines.collect::<Vec<_>>().join("\n");
    }
    (seen, output.status.code())
}

#[test]
fn pipes_and_devices_are_sent_as_they_come() {
    let server = EchoServer::start();
    let stoop = format!("{} get -sS", env!("CARGO_BIN_EXE_stoop"));
    let has_curl = Command::new("curl").arg("--version").output().is_ok();
    if !has_curl {
        skip("pipes beside curl", "curl is not installed");
    }
    for (options, content) in [
        ("-T <(printf piped)", "piped"),
        ("-T /dev/stdin", "input"),
        ("-T /dev/null", ""),
        ("-F 'f=@/dev/stdin;filename=n'", "input"),
        ("-F 'f=@/dev/null'", "filename=\"null\""),
        ("-F 'f=@'<(printf piped)';filename=n'", "piped"),
    ] {
        let (ours, code) = sent(&server, &stoop, options);
        assert_eq!((code, ours.len()), (Some(0), 1), "{options}");
        assert!(ours[0].content.contains(content), "{options}: {ours:?}");
        assert_eq!(ours[0].fields["transfer-encoding"], "chunked", "{options}");
        if has_curl {
            let (theirs, code) = sent(&server, "curl -q -sS", options);
            assert_eq!((code, theirs), (Some(0), ours), "{options}");
        }
    }
    let (seen, code) = sent(&server, &stoop, "-C 3 -T /dev/stdin");
    assert_eq!((code, seen.len()), (Some(2), 0));
}
