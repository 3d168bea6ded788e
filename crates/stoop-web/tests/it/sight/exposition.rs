//! Prometheus' text format, version 0.0.4.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use stoop_web::{Path, Router, Sight, get};

use crate::kit::{self, field};

/// Each line is a comment, or a sample of the metric that the comments before it name.
pub(super) fn check(text: &str) {
    assert!(text.ends_with('\n'));
    let (mut metric, mut kind, mut metrics) = (String::new(), String::new(), HashSet::new());
    let (mut samples, mut buckets) = (HashSet::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            metric = rest.split_once(' ').unwrap().0.to_owned();
            assert!(metrics.insert(metric.clone()), "twice: {line}");
        } else if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, said) = rest.split_once(' ').unwrap();
            assert_eq!(name, metric);
            assert!(["counter", "gauge", "histogram"].contains(&said), "{line}");
            assert_eq!(said == "counter", name.ends_with("_total"), "{line}");
            kind = said.to_owned();
        } else {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let value: f64 = value.parse().unwrap();
            assert!(samples.insert(series.to_owned()), "twice: {line}");
            let (name, labels) = series.split_once('{').map_or((series, None), |(name, rest)| {
                (name, Some(rest.strip_suffix('}').unwrap()))
            });
            let suffix = name.strip_prefix(metric.as_str()).unwrap();
            let allowed: &[&str] = match kind.as_str() {
                "histogram" => &["_bucket", "_sum", "_count"],
                _ => &[""],
            };
            assert!(allowed.contains(&suffix), "{line}");
            let mut labels = labels.map(labels_of).unwrap_or_default();
            let bound =
                labels.iter().position(|(name, _)| name == "le").map(|at| labels.remove(at));
            assert_eq!(suffix == "_bucket", bound.is_some(), "{line}");
            let of_histogram = buckets.entry((metric.clone(), labels)).or_insert((0.0, 0.0));
            match suffix {
                // The counts grow with the bounds, and the last one is that of all.
                "_bucket" => {
                    let bound: f64 = bound.unwrap().1.replace("+Inf", "inf").parse().unwrap();
                    assert!(bound > of_histogram.0 && value >= of_histogram.1, "{line}");
                    *of_histogram = (bound, value);
                }
                "_count" => assert_eq!(*of_histogram, (f64::INFINITY, value), "{line}"),
                _ => {}
            }
        }
    }
}

/// The labels of `name="value",…`, in which backslash, quote and line feed are escaped.
fn labels_of(mut text: &str) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    loop {
        let (name, rest) = text.split_once("=\"").unwrap();
        assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{name}");
        let (mut value, mut chars) = (String::new(), rest.char_indices());
        let end = loop {
            match chars.next().unwrap() {
                (_, '\\') => value.push(match chars.next().unwrap().1 {
                    'n' => '\n',
                    char @ ('\\' | '"') => char,
                    char => panic!("\\{char} in {text}"),
                }),
                (at, '"') => break at,
                (_, char) => value.push(char),
            }
        };
        labels.push((name.to_owned(), value));
        match rest[end + 1..].strip_prefix(',') {
            Some(next) => text = next,
            None => {
                assert_eq!(rest.len(), end + 1);
                return labels;
            }
        }
    }
}

/// The name of a parameter is what may have any characters in a pattern.
#[tokio::test]
async fn a_route_with_quotes_and_backslashes_in_its_name_stays_in_its_label() {
    let sight = Sight::default();
    let pattern = r#"/{a"b\c}"#;
    let router =
        Router::new().route(pattern, get(|Path(_): Path<String>| "odd")).layer(sight.clone());
    assert_eq!(kit::ask(&kit::client(router), "GET", "/x").await.0, 200);
    let text = super::figures(&sight).await;
    let line = r#"stoop_web_sent_bytes_total{route="/{a\"b\\c}"} 3"#;
    assert!(text.lines().any(|said| said == line), "{text}");
    let labels = line.split_once('{').unwrap().1.rsplit_once('}').unwrap().0;
    assert_eq!(labels_of(labels), [("route".to_owned(), pattern.to_owned())]);
}

#[tokio::test]
async fn prometheus_gets_its_media_type_and_who_accepts_json_an_object() {
    let sight = Sight::new().memory(|| 7);
    let router = Router::new().route("/", get(|| "hello")).layer(sight.clone());
    let client = kit::client(router.route("/metrics", get(sight.prometheus())));
    kit::ask(&client, "GET", "/").await;
    // What Prometheus sends.
    let accept =
        "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
    for accept in [accept, "*/*", "image/png"] {
        let response = client.get("http://a.test/metrics").header("accept", accept).await.unwrap();
        assert_eq!(field(&response, "content-type"), "text/plain; version=0.0.4; charset=utf-8");
        assert_eq!(field(&response, "x-content-type-options"), "nosniff");
        let caching = (field(&response, "cache-control"), field(&response, "vary"));
        assert_eq!(caching, ("no-store", "accept"));
        let text = response.text().await.unwrap();
        check(&text);
        super::check_values(
            &text,
            &[("stoop_web_memory_bytes", 7.0), ("stoop_web_in_flight", 1.0)],
        );
    }
    let request = client.get("http://a.test/metrics").header("accept", "application/json");
    let response = request.await.unwrap();
    assert_eq!(field(&response, "content-type"), "application/json");
    let all: Value = serde_json::from_str(&response.text().await.unwrap()).unwrap();
    assert_eq!((&all["memory_bytes"], &all["requests"]), (&7.into(), &4.into()));
}

/// The guide has a row for each name, and no others.
#[tokio::test]
async fn the_guide_has_every_name() {
    let sight = Sight::new().memory(|| 7);
    let (server, client) = super::serve(Router::new(), &sight, stoop::Versions::Http1);
    sight.add_server(&server);
    client.get(server.endpoint().to_string()).await.unwrap().text().await.unwrap();
    let text = super::figures(&sight).await;
    let shown: HashSet<_> =
        text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.rsplit_once(' ')).collect();
    let guide = include_str!("../../../docs/metrics.md");
    let rows: HashSet<_> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `stoop_"))
        .map(|row| {
            let mut cells = row.split(" | ");
            (cells.next().unwrap().trim_end_matches('`'), cells.next().unwrap())
        })
        .collect();
    let shown = shown.iter().map(|(name, kind)| (name.strip_prefix("stoop_").unwrap(), *kind));
    assert_eq!(shown.collect::<HashSet<_>>(), rows);
    assert_eq!(rows.len(), 9 + 20);
    server.close().await;
}
