//! Tests that compare figures with those computed by hand.

use super::*;

/// Four URLs, by hand: 100 + 50 + 200 + 5 = 355 ms over four is 88.75; two of four are 2xx, from
/// 1000 to 1250 is 250 ms, two in that is 8 a second; bodies of 10 and 21 bytes are 15.5 a piece,
/// and with the 999 of the 404 they are 1,030, or 4,120 a second.
#[test]
fn the_figures_are_those_computed_by_hand() {
    let mut summary = Summary::default();
    summary.add(ResultCode::Status(200), 1000, 100, 10);
    summary.add(ResultCode::Status(204), 1010, 50, 21);
    summary.add(ResultCode::Status(404), 1050, 200, 999);
    summary.add(ResultCode::Error("dns_nxdomain"), 1020, 5, 0);
    let figures = summary.figures();
    let json = serde_json::to_string(&figures).expect("plain data");
    assert_eq!(
        json,
        "{\"totalUrls\":4,\"time\":250,\"avg\":89,\"max\":200,\"okReqsSec\":8,\
         \"okReqsPct\":0.5,\"avgBodyLen\":16,\"2xx\":2,\"3xx\":0,\"4xx\":1,\"5xx\":0,\
         \"Exception\":1,\"errors\":{\"dns_nxdomain\":1},\"bodyBytes\":1030,\"bodyBytesSec\":4120}"
    );
}

/// It took 6.45 s, and was told as 600 ms.
#[test]
fn a_job_whose_clock_stood_still_ends_when_it_was_done() {
    let mut summary = Summary::default();
    summary.add(ResultCode::Status(200), 1000, 600, 12_900);
    assert_eq!(summary.figures().time, 600);
    summary.extend_to(7450);
    summary.add(ResultCode::Status(200), 1000, 100, 0);
    summary.extend_to(1100);
    let figures = summary.figures();
    assert_eq!((figures.time, figures.max, figures.body_bytes_sec), (6450, 600, 2000));
}

/// The published row of the fastest client: 7,980 of 10,000 in 49,149 ms are 162 a second and a
/// share of 0.8.
#[test]
fn rates_round_as_in_the_published_table() {
    let mut summary = Summary::default();
    for n in 0..10_000_u64 {
        let code = match n {
            0..7_980 => ResultCode::Status(200),
            7_980 => ResultCode::Status(301),
            7_981..8_952 => ResultCode::Status(404),
            8_952..8_973 => ResultCode::Status(503),
            _ => ResultCode::Error("total_timeout"),
        };
        let start = if n == 9_999 { 49_149 - 680 } else { 0 };
        summary.add(code, start, 680, 256_487);
    }
    let figures = summary.figures();
    assert_eq!((figures.time, figures.avg), (49_149, 680));
    assert_eq!((figures.ok_reqs_sec, figures.ok_reqs_pct), (162, 0.8));
    assert_eq!(figures.avg_body_len, 256_487);
    assert_eq!(
        (figures.ok, figures.redirects, figures.client_errors, figures.server_errors),
        (7_980, 1, 971, 21)
    );
    assert_eq!(figures.exceptions, 1_027);
}

#[test]
fn parts_merge_into_what_the_whole_would_be() {
    let lines = [
        (ResultCode::Status(200), 5, 10, 7),
        (ResultCode::Error("reset"), 1, 2, 0),
        (ResultCode::Status(500), 90, 1, 3),
        (ResultCode::Error("reset"), 50, 60, 0),
        (ResultCode::Status(302), 7, 0, 0),
    ];
    let mut whole = Summary::default();
    let mut parts = [Summary::default(), Summary::default()];
    for (n, (code, start, duration, body)) in lines.into_iter().enumerate() {
        whole.add(code, start, duration, body);
        parts[n % 2].add(code, start, duration, body);
    }
    let mut merged = Summary::default();
    merged.merge(&parts[0]);
    merged.merge(&parts[1]);
    merged.merge(&Summary::default());
    assert_eq!(merged.figures(), whole.figures());
}

#[test]
fn responses_over_http2_are_counted_where_there_were_any() {
    let mut summary = Summary::default();
    summary.add(ResultCode::Status(200), 0, 0, 0);
    summary.add_http2(false);
    let json = |summary: &Summary| serde_json::to_string(&summary.figures()).expect("plain");
    assert!(!json(&summary).contains("http2"));
    let mut other = Summary::default();
    other.add(ResultCode::Status(200), 0, 0, 0);
    other.add_http2(true);
    summary.merge(&other);
    assert!(json(&summary).ends_with(",\"errors\":{},\"http2\":1}"), "{}", json(&summary));
}

/// 300 and 100 ms over two; the two others waited for a slot until the end.
#[test]
fn urls_cancelled_before_they_started_are_left_out_of_the_mean() {
    let mut summary = Summary::default();
    summary.add(ResultCode::Status(200), 0, 300, 1);
    summary.add(ResultCode::Error("cancelled"), 0, 100, 0);
    let mut other = Summary::default();
    other.add(ResultCode::Error("cancelled"), 300, 0, 0);
    other.add(ResultCode::Error("cancelled"), 300, 0, 0);
    summary.merge(&other);
    let figures = summary.figures();
    assert_eq!((figures.total_urls, figures.avg, figures.exceptions), (4, 200, 3));
    let cancelled = other.figures();
    assert_eq!((cancelled.avg, cancelled.max), (0, 0));
}

#[test]
fn a_run_without_urls_has_figures_of_zero() {
    let figures = Summary::default();
    let figures = figures.figures();
    assert_eq!((figures.total_urls, figures.time, figures.avg), (0, 0, 0));
    assert_eq!((figures.ok_reqs_sec, figures.ok_reqs_pct), (0, 0.0));
}

#[test]
fn a_status_that_ends_no_exchange_is_an_exception() {
    let mut summary = Summary::default();
    summary.add(ResultCode::Status(0), 0, 0, 0);
    summary.add(ResultCode::Status(999), 0, 0, 0);
    assert_eq!(summary.figures().exceptions, 2);
    assert_eq!(summary.kinds(), [("0", 1), ("999", 1)]);
}

#[test]
fn error_texts_that_always_differ_do_not_fill_memory() {
    let mut summary = Summary::default();
    for n in 0..2_000 {
        summary.add(ResultCode::Error(&format!("word {n}")), 0, 0, 0);
    }
    assert_eq!(summary.kinds.len(), KINDS_MAX + 1);
    assert_eq!(summary.kinds()[0], (OTHER_KINDS, 1_488));
    assert_eq!(summary.figures().exceptions, 2_000);
}
