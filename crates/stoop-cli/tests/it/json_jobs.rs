//! Lists whose lines are JSON objects.

use serde_json::Value;

use crate::echo::EchoServer;
use crate::stoop::{run, stoop};

/// The records of a run over `input`.
#[track_caller]
fn records(options: &str, input: &str) -> Vec<Value> {
    let ran = run(stoop(&format!("fetch --input-format jsonl -f jsonl -c 1 {options}")), input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = String::from_utf8(ran.stdout).expect("text");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[test]
fn each_job_has_its_own_request_and_what_was_given_with_it_is_in_its_record() {
    let server = EchoServer::start();
    let url = format!("http://{}", server.address);
    let input = format!(
        r#"{{"url":"{url}/a","id":7,"meta":{{"k":[1,null]}}}}
{{"url":"{url}/b","id":"x","method":"PUT","headers":{{"X-Own":"job","x-more":["1"]}},"body":"b"}}
{{"url":"{url}/c","json":{{"q":1}}}}
"#
    );
    let records = records("-H X-Own:run -H X-Run:yes", &input);
    let of = |name: &str| records.iter().map(|record| record[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("id"), ["7".into(), "x".into(), Value::Null]);
    assert_eq!(of("meta"), [serde_json::json!({"k":[1,null]}), Value::Null, Value::Null]);
    assert_eq!(of("method"), ["GET", "PUT", "POST"]);
    assert_eq!(of("status"), [200, 200, 200]);
    let seen = server.take_seen();
    let lines: Vec<_> = seen.iter().map(|request| request.line.as_str()).collect();
    assert_eq!(lines, ["GET /a HTTP/1.1", "PUT /b HTTP/1.1", "POST /c HTTP/1.1"]);
    let contents: Vec<_> = seen.iter().map(|request| request.content.as_str()).collect();
    assert_eq!(contents, ["", "b", "{\"q\":1}"]);
    let field = |n: usize, name: &str| seen[n].fields.get(name).map(String::as_str);
    assert_eq!(
        [field(0, "x-own"), field(1, "x-own"), field(2, "x-own")],
        [Some("run"), Some("job"), Some("run")]
    );
    assert_eq!([field(1, "x-run"), field(1, "x-more")], [Some("yes"), Some("1")]);
    assert_eq!(field(2, "content-type"), Some("application/json"));
}

#[test]
fn a_line_that_is_no_job_has_a_record_and_no_request() {
    let server = EchoServer::start();
    let url = format!("http://{}/", server.address);
    let input =
        format!("{url}\n{{\"url\":\"{url}\",\"bodi\":\"secret\"}}\n{{\"url\":\"{url}\"}}\n");
    let records = records("", &input);
    let kinds: Vec<_> = records.iter().map(|record| record["error_kind"].as_str()).collect();
    assert_eq!(kinds, [Some("invalid_job"), Some("invalid_job"), None]);
    assert_eq!(records[1]["url"], url.as_str());
    let why = records[1]["error"].as_str().expect("a text");
    assert!(
        why.starts_with("job 2 of the input: unknown field `bodi`") && !why.contains("secret"),
        "{why}"
    );
    assert_eq!(server.take_seen().len(), 1);
}

/// It was an invalid_url, whose URL there was nothing wrong with.
#[test]
fn a_job_whose_method_fetches_no_url_is_none() {
    let server = EchoServer::start();
    let url = format!("http://{}/", server.address);
    let job = |method: &str| format!("{{\"url\":\"{url}\",\"method\":\"{method}\"}}\n");
    let records = records("", &["CONNECT", "G T", "", "get"].map(job).concat());
    let kinds: Vec<_> = records.iter().map(|record| record["error_kind"].as_str()).collect();
    assert_eq!(kinds, [[Some("invalid_job"); 3].as_slice(), &[None]].concat(), "{records:?}");
    assert!(records[0]["error"].as_str().is_some_and(|why| why.contains("a tunnel")));
    // Methods are told apart by their letters.
    let lines: Vec<_> = server.take_seen().into_iter().map(|request| request.line).collect();
    assert_eq!(lines, ["get / HTTP/1.1"]);
}

/// They had a kind of error that the list of kinds does not have.
#[test]
fn a_job_whose_headers_may_not_be_sent_is_none() {
    let server = EchoServer::start();
    let url = format!("http://{}/", server.address);
    let job =
        |headers: &str| format!("{{\"url\":\"{url}\",\"body\":\"abc\",\"headers\":{headers}}}\n");
    let jobs = [
        r#"{"content-length":"5"}"#,
        r#"{"content-length":["3","4"]}"#,
        r#"{"host":"a b"}"#,
        r#"{"host":["a","b"]}"#,
        r#"{"content-length":"3"}"#,
    ];
    let records = records("", &jobs.map(job).concat());
    let kinds: Vec<_> = records.iter().map(|record| record["error_kind"].as_str()).collect();
    assert_eq!(kinds, [[Some("invalid_job"); 4].as_slice(), &[None]].concat(), "{records:?}");
    assert!(records[0]["error"].as_str().is_some_and(|why| why.contains("Content-Length")));
    assert_eq!(server.take_seen().len(), 1);
}

#[test]
fn jobs_with_content_are_fetched_politely_and_within_memory() {
    let server = EchoServer::start();
    let url = format!("http://{}/", server.address);
    let content = "x".repeat(20_000);
    let input: String = (0..2_000)
        .map(|n| format!("{{\"url\":\"{url}\",\"id\":{n},\"body\":\"{content}\"}}\n"))
        .collect();
    let child = stoop("fetch --input-format jsonl -f csv --summary none").spawn().expect("runs");
    let (ran, peak_kib) = {
        let mut child = child;
        crate::stoop::feed(&mut child, input);
        crate::stoop::finish_watched(child)
    };
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 2_000));
    // 40 MB of content came in; each worker's window is 16 MiB.
    assert!(peak_kib < 80_000, "{peak_kib} KiB");
}

/// They had a Content-Length of the fields, and nothing behind the head.
#[test]
fn an_archive_has_the_content_of_requests_also_behind_redirects_that_keep_it() {
    let server = EchoServer::start();
    let url = format!("http://{}", server.address);
    let input = format!(
        "{{\"url\":\"{url}/again/{url}/there\",\"method\":\"POST\",\"body\":\"a=1&b=2\"}}\n\
         {{\"url\":\"{url}/to/{url}/other\",\"method\":\"POST\",\"body\":\"a=1\"}}\n"
    );
    let options = "fetch --input-format jsonl -f warc --compression none -c 1 --summary none";
    let ran = run(stoop(options), input);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let archive = String::from_utf8_lossy(&ran.stdout).into_owned();
    let requests: Vec<_> = archive
        .split("WARC/1.1\r\n")
        .filter(|record| record.starts_with("WARC-Type: request\r\n"))
        .map(|record| record.split_once("\r\n\r\n").expect("a head and a block"))
        .collect();
    let found: Vec<_> = requests
        .iter()
        .map(|(head, block)| {
            let block = block.strip_suffix("\r\n\r\n").expect("the end of a record");
            assert!(head.ends_with(&format!("\r\nContent-Length: {}", block.len())), "{head}");
            let (request, content) = block.split_once("\r\n\r\n").expect("a request");
            let lengths = request.to_ascii_lowercase().matches("content-length: ").count();
            assert_eq!(lengths, usize::from(!content.is_empty()), "{request}");
            (request.split('/').next().expect("a method"), content, head.contains("Payload-Digest"))
        })
        .collect();
    let expected = [
        ("POST ", "a=1&b=2", true),
        ("POST ", "a=1&b=2", true),
        ("POST ", "a=1", true),
        ("GET ", "", false),
    ];
    assert_eq!(found, expected);
    // The SHA-1 of the content, as sha1sum and base32 tell it.
    assert!(
        requests[0].0.contains("WARC-Payload-Digest: sha1:2U6PMTTWR5HPBHEANO7BEJMMPAQRWJUQ"),
        "{}",
        requests[0].0
    );
}
