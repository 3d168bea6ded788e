//! What must end, and when.

use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use super::scripted::get;

/// Its queue is full: to wait until there is room would be to wait for ever.
#[test]
fn a_unix_socket_that_accepts_no_more_ends_it() {
    let path = std::env::temp_dir().join(format!("stoop-full-{}", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let address = SockAddr::unix(&path).expect("a path");
    let socket = || Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
    let (listener, waiting) = (socket(), socket());
    listener.bind(&address).expect("a new file");
    listener.listen(0).expect("bound");
    waiting.connect(&address).expect("there is room for one");
    let begun = Instant::now();
    let did = get(&format!("-m 5 --connect-timeout 5 --unix-socket {} http://a/", path.display()));
    let _ = std::fs::remove_file(&path);
    assert_eq!(did.code, Some(7), "{}", did.stderr);
    assert!(did.stderr.contains(&path.display().to_string()), "{}", did.stderr);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}
