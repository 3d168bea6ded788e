//! Content that breaks off on its way to a file: what is missing is asked for with `--retry`, where it is surely the same.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread;

use serde_json::Value;

use crate::content::Folder;
use crate::stoop::{run, stoop};

/// How long content is: more than what stays in memory, and so is half of it.
const LENGTH: usize = 2_200_000;

/// What a server says of its content, and how it answers a request for the rest. Each response but the last breaks off: the
/// first in the middle, the next three quarters of the way.
#[derive(Clone, Copy)]
struct Script {
    /// Fields of the first response.
    fields: &'static str,
    /// The statuses of those that follow, with their fields, and where their content begins.
    then: &'static [(&'static str, usize)],
}

const HALF: usize = LENGTH / 2;
const MORE: usize = LENGTH / 4 * 3;
const REST: &str = "206 Part\r\netag: \"1\"\r\ncontent-range: bytes 1100000-2199999/2200000";
const TAG: &str = "etag: \"1\"\r\naccept-ranges: bytes\r\n";
/// Said of content that is as it was.
const HOUR: &str =
    "date: Sun, 06 Nov 1994 09:49:37 GMT\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
/// What a request has that asks for the rest by its tag.
const ASKED: &str = "bytes=1100000- \"1\"";
/// A request for all of it.
const ALL: &str = " ";

/// What the requests of a run have asked for: Range and If-Range of each.
type Asked = Arc<Mutex<Vec<String>>>;

fn start(script: Script) -> (SocketAddr, Asked) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let asked = Asked::default();
    let kept = Arc::clone(&asked);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(&stream, script, &kept);
        }
    });
    (address, asked)
}

/// Answers one request, and closes the connection.
fn answer(mut stream: &TcpStream, script: Script, asked: &Asked) -> std::io::Result<()> {
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<_> = lines.take_while(|line| !line.is_empty()).collect();
    let field = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).unwrap_or("");
    let number = {
        let mut asked = asked.lock().expect("no panic");
        asked.push(format!("{} {}", field("range: "), field("if-range: ")));
        asked.len()
    };
    let (status, fields, from) = match number {
        1 => ("200 OK", script.fields, 0),
        _ => (script.then[number - 2].0, "", script.then[number - 2].1),
    };
    let to = match number {
        _ if number > script.then.len() => LENGTH,
        1 => HALF,
        _ => MORE,
    };
    let length = LENGTH - from;
    write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{fields}\r\n")?;
    stream.write_all(&CONTENT[from..to.max(from)])
}

static CONTENT: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..LENGTH).map(|at| (at / 1000 % 251) as u8).collect());

/// The digests of all of it, and of its beginnings that come before it breaks off, by their lengths.
static DIGESTS: LazyLock<HashMap<usize, String>> = LazyLock::new(|| {
    let digest = |length| (length, blake3::hash(&CONTENT[..length]).to_hex().to_string());
    [LENGTH, HALF, MORE].map(digest).into()
});

/// Fetches it into a folder: the record, what was asked for, and the files in the folder.
fn fetch(script: Script, options: &str) -> (Value, Vec<String>, Vec<Vec<u8>>) {
    let (address, asked) = start(script);
    let folder = Folder::new(&format!("rest-{}", address.port()));
    let options = format!(
        "fetch -f jsonl --summary none -t 60 --digest blake3,sha256 {options} --save {}",
        folder.0.display()
    );
    let ran = run(stoop(&options), format!("http://{address}/file"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let record = serde_json::from_slice(&ran.stdout).expect("one record");
    let asked = asked.lock().expect("no panic").clone();
    (record, asked, folder.files().into_values().collect())
}

/// It is whole, in one file, with its digest.
fn is_whole(record: &Value, files: &[Vec<u8>]) -> bool {
    record["status"] == 200
        && record["body_bytes"] == LENGTH
        && record["blake3"] == DIGESTS[&LENGTH].as_str()
        && files == std::slice::from_ref(&*CONTENT)
}

/// It has the digest of so much of it, and why that is not all.
fn is_broken(record: &Value, at: usize) -> bool {
    record["error_kind"] == "closed_early"
        && record["status"] == 200
        && record["attempts"] == 2
        && record["blake3"] == DIGESTS[&at].as_str()
        && record["sha256"].is_string()
        && record["truncated"] == "disconnect"
}

#[test]
fn the_rest_of_a_file_is_asked_for_where_its_server_tells_that_it_is_the_same() {
    for (fields, validator) in [
        (TAG, "\"1\""),
        ("etag: \"1\"\r\n", "\"1\""),
        ("etag: \"1\"\r\nlast-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "\"1\""),
        (HOUR, "Sun, 06 Nov 1994 08:49:37 GMT"),
    ] {
        // What is told by a tag has that, too, and a date need not be told again.
        let of_date = || &*REST.replace("\r\netag: \"1\"", "").leak();
        let rest = if fields.contains("etag") { REST } else { of_date() };
        let then: &[_] = Box::leak(Box::new([(rest, HALF)]));
        let (record, asked, files) = fetch(Script { fields, then }, "--retry 1");
        assert_eq!(asked, [ALL, &format!("bytes=1100000- {validator}")]);
        assert!(is_whole(&record, &files), "{record}");
        assert_eq!((&record["attempts"], &record["http_version"]), (&2.into(), &"1.1".into()));
    }
}

#[test]
fn it_is_asked_for_as_often_as_it_breaks_off() {
    const THEN: &str = "206 Part\r\netag: \"1\"\r\ncontent-range: bytes 1650000-2199999/2200000";
    let script = Script { fields: TAG, then: &[(REST, HALF), (THEN, MORE)] };
    let (record, asked, files) = fetch(script, "--retry 2");
    assert_eq!(asked, [ALL, ASKED, "bytes=1650000- \"1\""]);
    assert!(is_whole(&record, &files), "{record}");
    assert_eq!(record["attempts"], 3);
    // With fewer attempts it is as it is without.
    let (record, asked, files) = fetch(script, "--retry 1");
    assert_eq!((asked.len(), files.len()), (2, 0));
    assert!(is_broken(&record, MORE), "{record}");
}

#[test]
fn a_file_that_may_be_another_one_begins_anew() {
    let whole: &[_] = &[("200 OK", 0)];
    const MODIFIED: &str = "last-modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    for fields in [
        String::new(),
        "etag: W/\"1\"\r\n".to_owned(),
        // The tag is what counts where there is one.
        format!("etag: W/\"1\"\r\n{HOUR}"),
        format!("date: Sun, 06 Nov 1994 08:50:36 GMT\r\n{MODIFIED}"),
        MODIFIED.to_owned(),
        "etag: \"1\"\r\naccept-ranges: none\r\n".to_owned(),
        "etag: \"1\"\r\ncontent-encoding: gzip\r\n".to_owned(),
    ] {
        let fields: &str = fields.leak();
        let (record, asked, files) = fetch(Script { fields, then: whole }, "--retry 1");
        assert_eq!(asked, [ALL, ALL], "{fields}");
        assert!(is_whole(&record, &files), "{fields}: {record}");
    }
    // A server that has another one by now, or no ranges, sends all of it.
    let (record, asked, files) = fetch(Script { fields: TAG, then: whole }, "--retry 1");
    assert_eq!(asked, [ALL, ASKED]);
    assert!(is_whole(&record, &files), "{record}");
}

#[test]
fn another_part_than_was_asked_for_is_not_taken() {
    let statuses = [
        REST.replace("/2200000", "/2200001").replace("-2199999", "-2200000"),
        REST.replace("/2200000", "/*"),
        REST.replace("-2199999", "-2199998"),
        REST.replace("1100000", "1099999"),
        REST.replace("bytes ", "lines "),
        REST.replace("etag: \"1\"", "etag: \"2\""),
        REST.replace("\r\netag: \"1\"", ""),
        REST.replace("etag", "content-encoding: gzip\r\netag"),
        "206 Part\r\ncontent-type: multipart/byteranges; boundary=x".to_owned(),
        "416 No".to_owned(),
    ];
    // All at once: most of the time is that of the pauses before retries.
    thread::scope(|scope| {
        for status in statuses {
            scope.spawn(|| is_not_taken(status.leak()));
        }
    });
}

/// Content that broke off is not what a response of this status goes on with.
fn is_not_taken(status: &'static str) {
    let then: &[_] = Box::leak(Box::new([(status, HALF), ("200 OK", 0)]));
    let script = Script { fields: TAG, then };
    let (record, asked, files) = fetch(script, "--retry 2");
    assert_eq!(asked, [ALL, ASKED, ALL], "{status}");
    assert!(is_whole(&record, &files), "{status}: {record}");
    assert_eq!(record["attempts"], 3);
    // Without another attempt the outcome is that it broke off.
    let (record, asked, files) = fetch(script, "--retry 1");
    assert_eq!((asked.len(), files.len()), (2, 0), "{status}");
    assert!(is_broken(&record, HALF), "{status}: {record}");
}

#[test]
fn an_answer_of_another_kind_is_told_and_what_a_job_asks_for_itself_stays() {
    let then: &[_] = &[("404 Gone", LENGTH - 4)];
    let (record, asked, files) = fetch(Script { fields: TAG, then }, "--retry 1");
    assert_eq!((&record["status"], &record["body_bytes"]), (&404.into(), &4.into()), "{record}");
    assert_eq!((asked, files.len()), (vec![ALL.to_owned(), ASKED.to_owned()], 0));
    let whole: &[_] = &[("200 OK", 0)];
    let (record, asked, files) =
        fetch(Script { fields: TAG, then: whole }, "--retry 1 -H range:bytes=0-");
    assert_eq!(asked, ["bytes=0- ", "bytes=0- "]);
    assert!(is_whole(&record, &files), "{record}");
}

/// It kept the place of the one content that may take more memory than there is, for which all others waited, with the
/// permit that it needed.
#[test]
fn a_file_that_broke_off_holds_up_no_other_while_it_waits_for_its_turn() {
    let again = &[("200 OK\r\netag: \"1\"", 0)];
    let (broken, asked) = start(Script { fields: TAG, then: again });
    let whole = [(); 3].map(|()| start(Script { fields: TAG, then: &[] }).0);
    let folder = Folder::new("rest-waits");
    let options = format!(
        "fetch -f jsonl --summary none --retry 3 -c 1 --cores 1 --content-memory 4KiB --match-text . --host-interval 0.001 \
         --duration 30 --save {}",
        folder.0.display()
    );
    let list: String =
        std::iter::once(broken).chain(whole).map(|at| format!("http://{at}/file\n")).collect();
    let ran = run(stoop(&options), list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let records = String::from_utf8(ran.stdout).expect("text");
    let records: Vec<Value> =
        records.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(records.len(), 4);
    assert!(records.iter().all(|record| record["body_bytes"] == LENGTH), "{records:?}");
    assert_eq!(*asked.lock().expect("no panic"), [ALL, ALL], "its memory was given back");
}

/// The request was not sent again where the refusal had no content, and the range was asked for again where 416 is retried.
#[test]
fn a_range_that_is_refused_is_asked_for_no_more() {
    for refusal in ["416 No", "206 Part"] {
        // What follows breaks off, too.
        let again = "200 OK\r\netag: \"1\"";
        let then: &[_] = Box::leak(Box::new([(refusal, LENGTH), (again, 0), (again, 0)]));
        let script = Script { fields: TAG, then };
        for options in ["--retry 3", "--retry 3 --retry-on closed_early,4xx"] {
            let (record, asked, files) = fetch(script, options);
            assert_eq!(asked, [ALL, ASKED, ALL, ALL], "{refusal} {options}");
            assert!(is_whole(&record, &files), "{refusal} {options}: {record}");
            assert_eq!(record["attempts"], 4, "{refusal} {options}");
        }
    }
}
