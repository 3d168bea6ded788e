//! What fails before anything is sent is told by `-w`, too, as curl tells it.

use super::scripted::{curl, get};
use crate::server::refusing;

#[test]
fn a_format_is_filled_in_where_nothing_was_sent() {
    let format = "[%{http_code}|%{exitcode}|%{scheme}|%{num_connects}]";
    for (options, code) in [
        ("http://127.0.0.1:99999/", 3),
        ("-g http://[::1/", 3),
        ("foo://127.0.0.1/", 1),
        ("-T /no/such/file http://DEAD/x", 26),
        ("-F f=@/no/such/file http://DEAD/", 26),
        ("-O http://DEAD/", 23),
        ("me:x@DEAD", 7),
    ] {
        let options = options.replace("DEAD", &refusing().to_string());
        let did = get(&format!("-s -w {format} {options}"));
        assert_eq!(did.code, Some(code), "{options}: {}", did.stderr);
        let text = String::from_utf8_lossy(&did.stdout);
        assert_eq!(text, format!("[000|{code}||0]"), "{options}");
        let Some(curl) = curl(&format!("-s -w {format} {options}"), "") else { continue };
        assert_eq!((curl.code, String::from_utf8_lossy(&curl.stdout)), (Some(code), text));
    }
    // Options that curl finds wrong only when it has connected.
    for (options, code) in [("--cacert /no/file", 77), ("-E /no/file", 58)] {
        let did = get(&format!("-s -w {format} {options} https://127.0.0.1:9/"));
        assert_eq!(did.code, Some(code), "{options}: {}", did.stderr);
        assert_eq!(String::from_utf8_lossy(&did.stdout), format!("[000|{code}||0]"));
    }
    // A command line that is invalid is no transfer.
    let did = get(&format!("-s -w {format} -X a(b http://127.0.0.1:9/"));
    assert_eq!((did.code, did.stdout.len()), (Some(2), 0), "{}", did.stderr);
}
