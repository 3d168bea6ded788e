//! The files that are written, where that is not as curl has it, or not compared with it in the table.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::scripted::{Scripted, get, same};
use crate::echo::{EchoServer, Seen};
use crate::server::refusing;
use crate::stoop::{run, skip, stoop_in_shell};

/// A folder, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-files-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir(&path).expect("a new folder");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.0.join(name)).unwrap_or_else(|error| format!("{name}: {error}"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// curl empties it, and the next run fetches all of it again; or has the ETag of what did not come as a whole, and the next
/// run is told that it has it.
#[test]
fn a_saved_etag_is_that_of_content_that_came_as_a_whole() {
    let folder = Folder::new("etag");
    let etag = folder.file("etag");
    let cut = b"HTTP/1.1 200 OK\r\nETag: \"new\"\r\nContent-Length: 9\r\n\r\ncut";
    let failed = b"HTTP/1.1 404 No\r\nETag: \"error\"\r\nContent-Length: 0\r\n\r\n";
    let same = b"HTTP/1.1 304 Same\r\n\r\n";
    for (answer, code) in [(&cut[..], 18), (failed, 22), (same, 0)] {
        fs::write(&etag, "\"old\"\n").expect("room");
        let server = Scripted::start(&[answer]);
        let options = format!("-f --etag-compare {etag} --etag-save {etag}");
        let did = get(&format!("{options} http://{}/", server.address));
        assert_eq!(did.code, Some(code), "{}", did.stderr);
        assert_eq!(folder.read("etag"), "\"old\"\n", "{code}");
        assert!(server.take().concat().contains("\"old\""));
    }
    // That of a redirect is of other content.
    let redirect =
        b"HTTP/1.1 302 To\r\nETag: \"first\"\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n";
    let plain = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let server = Scripted::start(&[redirect, plain]);
    let did = get(&format!("-L --etag-save {etag} http://{}/", server.address));
    assert_eq!((did.code, &*folder.read("etag")), (Some(0), ""), "{}", did.stderr);
}

#[test]
fn the_folders_of_a_file_of_headers_are_made_too() {
    let folder = Folder::new("headers");
    let server = EchoServer::start();
    let heads = folder.file("a/b/heads");
    let did = get(&format!("--create-dirs -D {heads} http://{}/", server.address));
    assert_eq!(did.code, Some(0), "{}", did.stderr);
    assert!(folder.read("a/b/heads").starts_with("HTTP/1.1 200 OK\r\n"));
    let did = get(&format!("-D {} http://{}/", folder.file("c/heads"), server.address));
    assert_eq!(did.code, Some(23), "{}", did.stderr);
}

#[test]
fn what_goes_to_standard_error_goes_where_it_is_told() {
    let folder = Folder::new("stderr");
    let server = EchoServer::start();
    let (dead, live) = (refusing(), server.address);
    fs::write(folder.0.join("errors"), "what was there").expect("room");
    let did = get(&format!("--stderr {} http://{dead}/", folder.file("errors")));
    assert_eq!((did.code, &*did.stderr), (Some(7), ""));
    assert!(folder.read("errors").starts_with("stoop: (7) "), "{}", folder.read("errors"));
    let did = get(&format!("--stderr - http://{dead}/"));
    let stdout = String::from_utf8_lossy(&did.stdout);
    assert!(stdout.starts_with("stoop: (7) ") && did.stderr.is_empty(), "{stdout}");
    let did = get(&format!("--stderr {} http://{dead}/", folder.file("none/errors")));
    assert!(did.stderr.contains("--stderr: ") && did.stderr.contains("(7)"), "{}", did.stderr);
    let story = folder.file("story");
    let did = get(&format!("-v -w %{{stderr}}told --stderr {story} http://{live}/"));
    assert_eq!((did.code, &*did.stdout, &*did.stderr), (Some(0), &b"GET /\n"[..], ""));
    let story = folder.read("story");
    assert!(story.contains("> GET / HTTP/1.1") && story.ends_with("told"), "{story}");
}

#[test]
fn a_condition_that_is_none_is_told() {
    let server = EchoServer::start();
    let did = get(&format!("-z nonsense http://{}/", server.address));
    assert_eq!((did.code, &*did.stdout), (Some(0), &b"GET /\n"[..]));
    assert!(did.stderr.contains("-z \"nonsense\" is neither a date nor a file"), "{}", did.stderr);
}

/// The first second of 1970 is what builds that can be repeated give to all their files.
#[test]
fn the_first_second_of_1970_is_no_date() {
    let answer = b"HTTP/1.1 200 OK\r\nLast-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
        Content-Length: 2\r\nConnection: close\r\n\r\nok";
    let (code, stderr, _) = same("-z 20240101 -w %{http_code} URL/", &[answer]);
    assert_eq!(code, 0, "{stderr}");
}

#[test]
fn what_is_no_file_is_neither_removed_nor_given_a_date() {
    let answer = b"HTTP/1.1 200 OK\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
        Content-Length: 9\r\n\r\ncut";
    let server = Scripted::start(&[answer]);
    let url = format!("http://{}/", server.address);
    let did = get(&format!("-R --remove-on-error -o /dev/null {url}"));
    assert_eq!(did.code, Some(18), "{}", did.stderr);
    assert!(Path::new("/dev/null").exists());
}

/// The requests of a program with a file as its standard input.
fn sent_from_file(server: &EchoServer, program: &str, options: &str, file: &str) -> Vec<Seen> {
    let line = format!("{program} {options} < {file}");
    let output = Command::new("bash").args(["-c", &line]).output().expect("a shell");
    assert_eq!(output.status.code(), Some(0), "{line}: {output:?}");
    let mut seen = server.take_seen();
    for request in &mut seen {
        request.fields.remove("user-agent");
    }
    seen
}

#[test]
fn standard_input_that_is_a_file_is_sent_again() {
    let folder = Folder::new("stdin");
    let (server, file) = (EchoServer::start(), folder.file("content"));
    fs::write(&file, "0123456789").expect("room");
    let options = format!("-sS --noproxy '*' -L -T - http://{}/again//there", server.address);
    let stoop = format!("{} get", env!("CARGO_BIN_EXE_stoop"));
    let ours = sent_from_file(&server, &stoop, &options, &file);
    let contents: Vec<_> = ours.iter().map(|seen| &*seen.content).collect();
    assert_eq!(contents, ["0123456789"; 2]);
    match Command::new("curl").arg("--version").output() {
        Ok(_) => assert_eq!(sent_from_file(&server, "curl -q", &options, &file), ours),
        Err(_) => skip("a file as standard input beside curl", "curl is not installed"),
    }
    // From where it is: the shell has read a part of it.
    let url = format!("http://{}/again//there", server.address);
    let before = format!("exec < {file}; read -N 4");
    let did = run(stoop_in_shell(&before, &format!("get -L -T - {url}"), ""), "");
    assert_eq!(did.code, Some(0), "{}", did.stderr);
    let contents: Vec<_> = server.take_seen().into_iter().map(|seen| seen.content).collect();
    assert_eq!(contents, ["456789"; 2]);
    // Such content can be sent again without harm.
    let url = format!("http://{}/flaky", server.address);
    let retried = format!("get --retry 1 --retry-delay 1 -T - {url}");
    let did = run(stoop_in_shell(":", &retried, &format!("< {file}")), "");
    assert_eq!(did.code, Some(0), "{}", did.stderr);
    assert_eq!(server.take_seen().len(), 2);
}
