//! Options and the file of options, together.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use super::{Folder, Served, exchange};
use crate::stoop::{run, stoop};

fn configured(folder: &Folder, options: &str) -> Command {
    let mut command = stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    command.args(options.split_whitespace());
    command
}

#[test]
fn the_command_line_undoes_what_the_file_switches_on() {
    let folder = Folder::new(&[(
        "serve.toml",
        "directory = '.'\nlisten = '127.0.0.1:0'\nlisting = true\ncors = true\nstatus = 'all'\n\
         access-log-file = 'access.log'\n",
    )]);
    let page = "accept: text/html\r\n";
    for (options, is_on) in
        [("", true), ("--listing=false --cors=false --status=none --access-log none", false)]
    {
        let log = folder.path().join("access.log");
        let _ = std::fs::remove_file(&log);
        let served = Served::run(configured(&folder, options));
        let (head, _) = served.get("/", page);
        assert_eq!(head.starts_with("HTTP/1.1 200"), is_on, "{options}: {head}");
        assert_eq!(head.contains("access-control-allow-origin"), is_on, "{options}: {head}");
        let (head, _) = served.get("/_stoop/status", page);
        assert_eq!(head.starts_with("HTTP/1.1 200"), is_on, "{options}: {head}");
        assert_eq!(log.exists(), is_on, "{options}");
    }
}

#[test]
fn a_socket_that_the_file_names_is_beside_it() {
    let folder = Folder::new(&[("f", "content")]);
    folder.write("serve.toml", "directory = '.'\nlisten = ['127.0.0.1:0', 'unix:run.sock']\n");
    let checked = run(configured(&folder, "--check"), "");
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    let _served = Served::run(configured(&folder, ""));
    let mut stream = UnixStream::connect(folder.path().join("run.sock")).unwrap();
    stream.write_all(b"GET /f HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).unwrap();
    assert!(response.ends_with("\r\n\r\ncontent"), "{response}");
}

/// A page of another origin resumes a download, and asks whether it has changed; with --auth it sends its password.
#[test]
fn pages_of_other_origins_may_ask_for_and_read_what_they_need() {
    let made = run(stoop("serve --auth-new ada"), "open sesame\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let folder = Folder::new(&[("a.txt", "0123456789")]);
    for auth in ["", &*format!("--auth {made}")] {
        let served = Served::start(&folder, &format!("--cors {auth}"));
        let preflight = "OPTIONS /a.txt HTTP/1.1\r\nhost: a\r\norigin: http://b.test\r\n\
                         access-control-request-method: GET\r\n\
                         access-control-request-headers: authorization,if-none-match,range\r\n";
        let (head, _) = exchange(&served.authority, preflight);
        assert!(head.starts_with("HTTP/1.1 204"), "{head}");
        let list = |head: &str, name: &str| -> Vec<String> {
            let line = head.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            line.unwrap_or_default().split(", ").map(str::to_owned).collect()
        };
        let allowed = list(&head, "access-control-allow-headers");
        let may_send = |name: &str| allowed.iter().any(|allowed| allowed == name);
        assert!(may_send("range") && may_send("if-none-match") && may_send("if-range"), "{head}");
        assert_eq!(may_send("authorization"), !auth.is_empty(), "{head}");
        let right = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\n";
        let fields = format!("{right}origin: http://b.test\r\nrange: bytes=2-4\r\n");
        let (head, content) = served.get("/a.txt", &fields);
        assert!(head.starts_with("HTTP/1.1 206") && content == "234", "{head}");
        let exposed = list(&head, "access-control-expose-headers");
        for name in ["accept-ranges", "content-length", "content-range", "etag"] {
            assert!(exposed.iter().any(|exposed| exposed == name), "{name}: {head}");
        }
        assert!(!head.contains("access-control-allow-credentials"), "{head}");
    }
}

#[test]
fn with_quiet_nothing_is_said_but_failures() {
    let folder = Folder::new(&[("f", "content")]);
    let options = "directory = '.'\nlisten = 'unix:socket'\nquiet = true\nstatus = 'all'\n";
    folder.write("serve.toml", options);
    let mut child = configured(&folder, "").spawn().unwrap();
    let root = || {
        let mut response = String::new();
        let Ok(mut stream) = UnixStream::connect(folder.path().join("socket")) else {
            return response;
        };
        let request =
            b"GET / HTTP/1.1\r\nhost: a\r\naccept: text/html\r\nconnection: close\r\n\r\n";
        stream.write_all(request).unwrap();
        stream.read_to_string(&mut response).unwrap();
        response
    };
    crate::stoop::wait_for("an answer", || root().starts_with("HTTP/1.1 404"));
    folder.write("serve.toml", &format!("{options}listing = true\n"));
    crate::stoop::kill(&child, "-HUP");
    crate::stoop::wait_for("the listing", || root().starts_with("HTTP/1.1 200"));
    crate::stoop::kill(&child, "-TERM");
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let mut said = String::new();
    child.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

/// The process speaks TLS as long as it lives, whatever the file says: no password goes in clear.
#[cfg(feature = "tls")]
#[test]
fn sighup_leaves_the_redirect_to_tls_also_without_a_certificate_in_the_file() {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let folder = Folder::new(&[("public/f", "content")]);
    let write = |more: &str| {
        let places = "listen = ['http://127.0.0.1:0', '127.0.0.1:0']";
        let text = format!("directory = 'public'\n{places}\nauth = '{}'\n{more}", made.trim());
        folder.write("serve.toml", &text);
    };
    write("tls-self-signed = true\n");
    let mut served = Served::run(configured(&folder, ""));
    let mut messages = served.messages();
    assert!(served.get("/f", "").0.starts_with("HTTP/1.1 308"));
    for more in ["tls-self-signed = true\nlisting = true\n", ""] {
        write(more);
        served.signal("HUP");
        let message = messages.next();
        assert!(message.starts_with("read again"), "{message}");
        assert_eq!(message.contains("whether it speaks TLS"), more.is_empty(), "{message}");
        let (head, _) = served.get("/f", "");
        assert!(
            head.starts_with("HTTP/1.1 308") && head.contains("\r\nlocation: https://"),
            "{head}"
        );
    }
}

/// The certificate of other files, where the file names others now, and that of the same files, if they have changed.
#[cfg(feature = "tls")]
#[test]
fn sighup_reads_the_certificates_that_the_file_names_now() {
    let folder = Folder::new(&[("f", "content")]);
    let renew = |name: &str| {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        folder.write(&format!("{name}.pem"), &made.cert.pem());
        folder.write(&format!(".{name}.key"), &made.signing_key.serialize_pem());
    };
    let name = |name: &str| {
        let certificate = format!("tls = ['{name}.pem', '.{name}.key']");
        let text = format!("directory = '.'\nlisten = '127.0.0.1:0'\n{certificate}\n");
        folder.write("serve.toml", &text);
    };
    ["one", "two"].iter().for_each(|name| renew(name));
    name("one");
    let mut served = Served::run(configured(&folder, ""));
    let mut messages = served.messages();
    let shows = |served: &Served, name: &str| {
        let certificate = folder.path().join(format!("{name}.pem"));
        let url = format!("https://{}/f", served.authority);
        let get = format!("get -s --cacert {} {url}", certificate.display());
        run(stoop(&get), "").stdout == b"content"
    };
    assert!(shows(&served, "one") && !shows(&served, "two"));
    name("two");
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    assert!(shows(&served, "two") && !shows(&served, "one"));
    renew("two");
    assert!(!shows(&served, "two"));
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    assert!(shows(&served, "two"));
    name("none");
    served.signal("HUP");
    let message = messages.next();
    assert!(message.contains("none.pem") && message.ends_with("; everything stays as it was"));
    assert!(shows(&served, "two"));
}

/// Checks take long, and of one address eight run at a time: who was let in is not to wait for them anew.
#[test]
fn sighup_does_not_forget_who_was_let_in() {
    let made = run(stoop("serve --auth-new ada"), "open sesame\n");
    let made = String::from_utf8(made.stdout).unwrap();
    // The costliest hash that is taken: some seconds each.
    let costly = made.trim().replace("ada:$2b$10$", "bob:$2b$17$");
    let folder = Folder::new(&[("f", "content")]);
    let options = format!("--auth {} --auth {costly}", made.trim());
    let mut served = Served::start(&folder, &options);
    let mut messages = served.messages();
    let ada = "authorization: Basic YWRhOm9wZW4gc2VzYW1l\r\n";
    assert_eq!(served.get("/f", ada).1, "content");
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    let mut guesses: Vec<_> = (0..9)
        .map(|_| {
            let mut stream = TcpStream::connect(&served.authority).unwrap();
            stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
            let bob = "authorization: Basic Ym9iOng=\r\n";
            let request = format!("GET /f HTTP/1.1\r\nhost: a\r\n{bob}\r\n");
            stream.write_all(request.as_bytes()).unwrap();
            stream
        })
        .collect();
    // The ninth is refused once eight are being checked.
    let mut head = [0; 12];
    crate::stoop::wait_for("a refusal", || {
        guesses.iter_mut().any(|guess| guess.read_exact(&mut head).is_ok())
    });
    assert_eq!(&head, b"HTTP/1.1 503");
    assert_eq!(served.get("/f", ada).1, "content");
    drop(guesses);
}
