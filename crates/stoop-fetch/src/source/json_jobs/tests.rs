//! Lines of JSON, and the jobs that they are.

use std::io::Cursor;

use super::*;

/// A job, as the tests compare it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    url: String,
    id: Option<String>,
    meta: Option<String>,
    method: Option<String>,
    fields: Vec<(String, String)>,
    content: Option<String>,
    fault: Option<String>,
    extent: Option<Extent>,
}

fn read(input: &[u8], end: Extent) -> Vec<Seen> {
    read_described(input, end, |source| source)
}

fn read_described(
    input: &[u8],
    end: Extent,
    describe: impl Fn(JsonJobs<Cursor<Vec<u8>>>) -> JsonJobs<Cursor<Vec<u8>>>,
) -> Vec<Seen> {
    let mut jobs = Vec::new();
    let mut take = |job: Job<'_>| {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
        let mut seen = Seen { url: text(job.url), ..Seen::default() };
        seen.extent = Some(job.extent).filter(|extent| *extent != Extent::Whole);
        if let Some(options) = job.options {
            seen.id = options.id.map(Into::into);
            seen.meta = options.metadata.map(|value| value.get().to_owned());
            seen.method = options.method.map(|method| method.to_string());
            let fields = options.fields.iter();
            seen.fields =
                fields.map(|field| (field.name().to_owned(), text(field.value()))).collect();
            seen.content = options.content.map(|content| text(&content));
            seen.fault = options.fault.map(Into::into);
        }
        jobs.push(seen);
        ControlFlow::Continue(())
    };
    let mut source = describe(JsonJobs::new(Cursor::new(input.to_vec())));
    while source.read(&mut take).expect("readable") {}
    source.finish(end, &mut take);
    jobs
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn a_job_of_a_url_alone_has_nothing_beside_it() {
    let input = b"\n# no job\n{\"url\":\"http://a/\"}\n  {\"url\" : \"b\"}  \r\n";
    let jobs = read(input, Extent::Whole);
    assert_eq!(jobs.len(), 2);
    assert_eq!(jobs[0], Seen { url: "http://a/".into(), ..Seen::default() });
    assert_eq!(jobs[1].url, "b");
}

#[test]
fn each_name_has_its_meaning() {
    let input = br#"{"url":"http://a/","id":"x","meta":{"b": [1, 2.50]},"method":"PUT","headers":{"A":"1","b":["2","3"]},"body":"text"}"#;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let expected = Seen {
        url: "http://a/".into(),
        id: some("x"),
        meta: some(r#"{"b": [1, 2.50]}"#),
        method: some("PUT"),
        fields: vec![pair("A", "1"), pair("b", "2"), pair("b", "3")],
        content: some("text"),
        ..Seen::default()
    };
    assert_eq!(read(input, Extent::Whole), [expected]);
}

#[test]
fn content_is_a_text_or_base64_or_json_and_makes_a_post() {
    let jobs = read(
        br#"{"url":"u","body":""}
{"url":"u","body_base64":"aMOk"}
{"url":"u","json":{"q":1}}
{"url":"u","json":[],"headers":{"Content-Type":"application/ld+json"},"method":"PATCH"}"#,
        Extent::Whole,
    );
    let contents: Vec<_> = jobs.iter().map(|job| job.content.as_deref().unwrap_or("-")).collect();
    assert_eq!(contents, ["", "h\u{e4}", "{\"q\":1}", "[]"]);
    let methods: Vec<_> = jobs.iter().map(|job| job.method.as_deref().unwrap_or("-")).collect();
    assert_eq!(methods, ["POST", "POST", "POST", "PATCH"]);
    let types: Vec<_> =
        jobs.iter().map(|job| job.fields.first().map(|(_, value)| value.as_str())).collect();
    assert_eq!(types, [None, None, Some("application/json"), Some("application/ld+json")]);
}

#[test]
fn a_number_is_an_identifier_as_it_is_written() {
    let jobs = read(b"{\"url\":\"u\",\"id\":17}\n{\"url\":\"u\",\"id\":-2.5}\n", Extent::Whole);
    let ids: Vec<_> = jobs.iter().map(|job| job.id.as_deref().unwrap_or("-")).collect();
    assert_eq!(ids, ["17", "-2.5"]);
    // More digits than any type of numbers has, and such as are written in another way than usual.
    for id in ["123456789012345678901234567890", "0.10", "1E400", "-18446744073709551616"] {
        let jobs = read(format!("{{\"url\":\"u\",\"id\":{id}}}").as_bytes(), Extent::Whole);
        assert_eq!((jobs[0].id.as_deref(), &jobs[0].fault), (Some(id), &None));
        // Also of a line that is no job.
        let line = format!("{{\"url\":\"u\",\"id\":{id},\"x\":1}}");
        let jobs = read(line.as_bytes(), Extent::Whole);
        assert_eq!((jobs[0].id.as_deref(), jobs[0].fault.is_some()), (Some(id), true));
    }
    for id in ["true", "[1]", "{}"] {
        let jobs = read(format!("{{\"url\":\"u\",\"id\":{id}}}").as_bytes(), Extent::Whole);
        assert!(jobs[0].id.is_none() && jobs[0].fault.is_some(), "{id}");
    }
}

#[test]
fn what_is_no_job_says_where_and_why_and_tells_no_secret() {
    for (line, url, id, fault) in [
        ("http://a/", "", None, "job 2 of the input: expected value at line 1 column 1"),
        ("{}", "", None, "job 2 of the input: missing field `url` at line 1 column 2"),
        (
            r#"{"url":"u","id":"x","header":{"authorization":"secret"}}"#,
            "u",
            Some("x"),
            "job 2 of the input: unknown field `header`, expected one of `url`, `id`, `meta`, `method`, \
             `headers`, `body`, `body_base64`, `json` at line 1 column 28",
        ),
        (
            r#"{"url":"u","body":"a","json":1}"#,
            "u",
            None,
            "job 2 of the input: more than one of `body`, `body_base64` and `json`",
        ),
        (
            r#"{"url":"u","headers":"authorization: secret"}"#,
            "u",
            None,
            "job 2 of the input: a value of another type than its name has at line 1 column 44",
        ),
        (
            r#"{"url":"u","method":"G T","id":3}"#,
            "u",
            Some("3"),
            "job 2 of the input: `method` is none of HTTP",
        ),
        (
            r#"{"url":"u","method":"CONNECT","id":4}"#,
            "u",
            Some("4"),
            "job 2 of the input: `method` CONNECT asks a proxy for a tunnel, and no server for a URL",
        ),
    ] {
        let jobs = read(format!("{{\"url\":\"v\"}}\n{line}\n").as_bytes(), Extent::Whole);
        assert_eq!(jobs.len(), 2, "{line}");
        assert_eq!((jobs[1].url.as_str(), jobs[1].id.as_deref()), (url, id), "{line}");
        assert_eq!(jobs[1].fault.as_deref(), Some(fault), "{line}");
    }
    for line in [
        r#"{"url":"u","headers":{"a b":"1"}}"#,
        r#"{"url":"u","headers":{"a":"1\r\nb: 2"}}"#,
        r#"{"url":"u","headers":["a: 1"]}"#,
        r#"{"url":"u","body_base64":"*"}"#,
        r#"{"url":"u","body":4111111111111111}"#,
        r#"{"url":"u","url":"v"}"#,
        "{\"url\":\"\\ud800\"}",
        "{\"url\":\"u\"} x",
    ] {
        let jobs = read(line.as_bytes(), Extent::Whole);
        let fault = jobs[0].fault.as_deref();
        assert!(
            jobs.len() == 1 && fault.is_some_and(|why| !why.contains("4111")),
            "{line}: {jobs:?}"
        );
    }
}

#[test]
fn the_names_of_url_and_identifier_are_the_callers_to_choose() {
    let named = |source: JsonJobs<_>| source.url_column("link").id_column("key");
    let jobs = read_described(
        b"{\"link\":\"a\",\"key\":7,\"method\":\"PUT\"}\n{\"url\":\"b\",\"key\":8}\n{\"key\":9}\n",
        Extent::Whole,
        named,
    );
    assert_eq!(
        (jobs[0].url.as_str(), &jobs[0].id, &jobs[0].method),
        ("a", &some("7"), &some("PUT"))
    );
    let faults: Vec<_> = jobs[1..].iter().map(|job| job.fault.as_deref().unwrap_or("-")).collect();
    assert_eq!(
        faults,
        [
            "job 2 of the input: unknown field `url`, expected one of `link`, `key`, `meta`, `method`, `headers`, \
             `body`, `body_base64`, `json` at line 1 column 6",
            "job 3 of the input: missing field `link` at line 1 column 9",
        ]
    );
    assert_eq!((jobs[1].url.as_str(), &jobs[1].id, &jobs[2].id), ("", &some("8"), &some("9")));
}

#[test]
fn other_names_are_metadata_if_asked_for() {
    let keeps = |source: JsonJobs<_>| source.keep_columns(true);
    let line = br#"{"title":"T","url":"u","body":[1, 2.50],"id":"x","meta":{"a":null},"method":7}"#;
    let expected = Seen {
        url: "u".into(),
        id: some("x"),
        meta: some(r#"{"title":"T","body":[1, 2.50],"meta":{"a":null},"method":7}"#),
        ..Seen::default()
    };
    assert_eq!(read_described(line, Extent::Whole, keeps), [expected]);
    let jobs = read_described(br#"{"url":"u"}"#, Extent::Whole, keeps);
    assert_eq!(jobs, [Seen { url: "u".into(), ..Seen::default() }]);
    let jobs = read_described(br#"{"title":"secret"}"#, Extent::Whole, keeps);
    let fault = "job 1 of the input: missing field `url` at line 1 column 18";
    assert_eq!(jobs[0].fault.as_deref(), Some(fault));
}

#[test]
fn a_line_that_was_not_read_to_its_end_is_no_job() {
    let input = br#"{"url":"http://a/","meta":1"#;
    assert_eq!(read(input, Extent::Interrupted)[0].extent, Some(Extent::Interrupted));
    let failed = read(input, Extent::InputFailed);
    assert_eq!(failed[0].fault.as_deref(), Some("job 1 of the input: the input failed within it"));
    let mut long = br#"{"url":"http://a/","body":""#.to_vec();
    long.extend(vec![b'x'; LINE_BYTES_MAX]);
    long.extend(b"\"}\n{\"url\":\"b\"}\n");
    let jobs = read(&long, Extent::Whole);
    assert_eq!(jobs[0].fault.as_deref(), Some("job 1 of the input: longer than 4 MiB"));
    assert_eq!((jobs.len(), jobs[1].url.as_str()), (2, "b"));
}
