//! What load balancers ask for, and the notice that they have of the end.

use std::net::TcpStream;

use super::peers::{are_missing, free_ports, haproxy};
use super::{Folder, Served, exchange};
use crate::stoop::{run, stoop, wait_for};

const PATH: &str = "/_stoop/ready";

#[test]
fn it_says_that_it_is_ready_where_it_is_asked_to() {
    let folder = Folder::new(&[("f", "content")]);
    for (options, tells) in [
        ("", false),
        ("--drain-notice 0", false),
        ("--ready", true),
        ("--drain-notice 500ms", true),
        ("--drain-notice 500ms --ready=false", false),
    ] {
        let served = Served::start(&folder, options);
        let (head, content) = served.get(PATH, "");
        assert_eq!(head.starts_with("HTTP/1.1 200"), tells, "{options}: {head}");
        assert_eq!(head.starts_with("HTTP/1.1 404"), !tells, "{options}: {head}");
        assert!(!tells || content == "ready\n" && head.contains("cache-control: no-store"));
        let post = format!("POST {PATH} HTTP/1.1\r\nhost: a\r\n");
        assert!(exchange(&served.authority, &post).0.starts_with("HTTP/1.1 405"));
    }
}

/// No password is asked for, and it is not redirected to where TLS is spoken.
#[test]
fn a_balancer_needs_no_password_and_no_tls() {
    let made = run(stoop("serve --auth-new ada"), "x\n");
    let made = String::from_utf8(made.stdout).unwrap();
    let folder = Folder::new(&[("f", "content")]);
    let places = "-l http://127.0.0.1:0 -l 127.0.0.1:0";
    let options = format!("--ready --tls-self-signed {places} --auth {made}");
    let served = Served::start(&folder, &options);
    assert!(served.get("/f", "").0.starts_with("HTTP/1.1 308"));
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 200"));
}

/// During the notice all is answered as before, over new connections too, and only the one path says that the end comes.
#[test]
fn during_the_notice_only_the_ready_path_is_answered_503() {
    let folder = Folder::new(&[("f", "content")]);
    // Long enough for any machine; it is cut short by the end of this test.
    let mut served = Served::start(&folder, "--drain-notice 1h --workers 2");
    let mut messages = served.messages();
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 200"));
    served.signal("TERM");
    let said = "is not ready, and goes on for 3600 s, or until another signal";
    assert_eq!(messages.next(), said);
    for _ in 0..20 {
        assert_eq!(served.get("/f", "").1, "content");
        assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 503"));
    }
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
}

/// And behind it the server drains: it refuses new connections, and ends.
#[test]
fn after_the_notice_it_drains() {
    let folder = Folder::new(&[("f", "content"), ("large", &"x".repeat(40 << 20))]);
    let mut served = Served::start(&folder, "--drain-notice 4");
    let mut messages = served.messages();
    served.signal("TERM");
    assert_eq!(messages.next(), "is not ready, and goes on for 4 s, or until another signal");
    // A download that begins within the notice is finished.
    let authority = served.authority.clone();
    let head = "GET /large HTTP/1.1\r\nhost: a\r\n";
    let (head, content) = exchange(&authority, head);
    assert!(head.starts_with("HTTP/1.1 200") && content.len() == 40 << 20);
    wait_for("a refusal", || TcpStream::connect(&authority).is_err());
    assert_eq!(served.ended(), Some(0));
}

/// HAProxy asks for the path ten times a second. It asks nothing else of a server that is not ready, and no request fails
/// although it tries none a second time.
#[test]
fn haproxy_leaves_a_server_alone_that_has_given_notice() {
    if are_missing("readiness::haproxy", &["haproxy"]) {
        return;
    }
    let folders = ["one", "two"].map(|content| Folder::new(&[("f", content)]));
    let [mut ending, staying] =
        folders.each_ref().map(|folder| Served::start(folder, "--drain-notice 10"));
    let [port] = free_ports();
    let section = format!(
        "listen both\n  mode http\n  bind 127.0.0.1:{port}\n  balance roundrobin\n  retries 0\n  \
         option httpchk GET {PATH}\n  default-server check inter 100ms fall 1 rise 1\n  \
         server one {}\n  server two {}\n",
        ending.authority, staying.authority
    );
    let _haproxy = haproxy(&folders[1], &section, &[port]);
    let authority = format!("127.0.0.1:{port}");
    let ask = || {
        let (head, content) = exchange(&authority, "GET /f HTTP/1.1\r\nhost: a\r\n");
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        content
    };
    for content in ["one", "two"] {
        wait_for("an answer of each", || ask() == content);
    }
    ending.signal("TERM");
    let mut in_turn = 0;
    wait_for("the balancer to leave one alone", || {
        in_turn = if ask() == "two" { in_turn + 1 } else { 0 };
        in_turn == 10
    });
    assert!(ending.child.try_wait().unwrap().is_none(), "it left the balance within its notice");
    while ending.child.try_wait().unwrap().is_none() {
        assert_eq!(ask(), "two");
    }
    for _ in 0..10 {
        assert_eq!(ask(), "two");
    }
}

/// Its successor has the sockets, and all who ask are its clients.
#[test]
fn a_hand_over_needs_no_notice() {
    let folder = Folder::new(&[("f", "content")]);
    let mut served = Served::start(&folder, "--drain-notice 1h");
    let mut messages = served.messages();
    served.signal("USR2");
    let told = messages.next();
    assert!(told.ends_with(" took over"), "{told}");
    assert_eq!(served.ended(), Some(0));
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 200"));
    let process = told.split_whitespace().nth(1).unwrap();
    // A second signal ends it within its notice of an hour.
    wait_for("the end", || {
        let _ = std::process::Command::new("kill").arg(process).output();
        TcpStream::connect(&served.authority).is_err()
    });
}

#[test]
fn sighup_reads_how_long_the_notice_is() {
    let folder = Folder::new(&[("serve.toml", "directory = '.'\nlisten = '127.0.0.1:0'\n")]);
    let mut command = stoop("serve");
    command.arg("--config").arg(folder.path().join("serve.toml"));
    let mut served = Served::run(command);
    let mut messages = served.messages();
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 404"));
    let more = "directory = '.'\nlisten = '127.0.0.1:0'\ndrain-notice = '1h'\n";
    folder.write("serve.toml", more);
    served.signal("HUP");
    assert_eq!(messages.next(), "read again what is served, and how");
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 200"));
    served.signal("TERM");
    assert!(messages.next().starts_with("is not ready, and goes on for 3600 s"));
    assert!(served.get(PATH, "").0.starts_with("HTTP/1.1 503"));
    served.signal("TERM");
    assert_eq!(served.ended(), Some(0));
}
