//! The plan: its distribution, its determinism and its cost.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::time::Duration;

use stoop_testbed::{Class, Family, HOSTS_MAX, Internet, Plan, PlannedResult, PlannedUrl, Ports};

/// How many of so many URLs, per 10,000.
fn share(urls: &[PlannedUrl], is: impl Fn(&PlannedUrl) -> bool) -> f64 {
    urls.iter().filter(|url| is(url)).count() as f64 * 10_000.0 / urls.len() as f64
}

fn status(url: &PlannedUrl) -> u16 {
    match url.expect.result {
        PlannedResult::Status { code, .. } => code,
        PlannedResult::Failure { .. } => 0,
    }
}

#[test]
fn a_hundred_thousand_urls_are_distributed_as_promised() {
    let urls: Vec<PlannedUrl> = Plan::new(1, 100_000).iter().collect();
    assert_eq!(urls.len(), 100_000);
    let within = |what: &str, found: f64, low: f64, high: f64| {
        assert!((low..high).contains(&found), "{what}: {found} of 10,000");
    };
    within("2xx", share(&urls, |url| status(url) / 100 == 2), 7_930.0, 8_030.0);
    within("4xx", share(&urls, |url| status(url) / 100 == 4), 940.0, 1_020.0);
    within("5xx", share(&urls, |url| status(url) / 100 == 5), 15.0, 25.0);
    within("failures", share(&urls, |url| status(url) == 0), 980.0, 1_060.0);
    for family in [Family::Dns, Family::NoAnswer, Family::Broken] {
        within(&format!("{family:?}"), share(&urls, |u| u.class.family() == family), 315.0, 365.0);
    }
    within("redirecting", share(&urls, |url| url.expect.hops != Some(0)), 2_950.0, 3_050.0);
    within("https", share(&urls, |url| url.text.starts_with("https:")), 7_300.0, 7_700.0);
    within("until the deadline", share(&urls, |url| url.expect.until_deadline), 315.0, 355.0);
    let hosts: HashSet<&str> =
        urls.iter().map(|url| url.host.strip_prefix("www-").unwrap_or(&url.host)).collect();
    within("hosts", hosts.len() as f64 / 10.0, 9_550.0, 9_700.0);
    for class in Class::all() {
        let weight = f64::from(class.weight());
        let spread = 4.0 * (weight / 10.0).sqrt() + 0.5;
        within(
            &class.to_string(),
            share(&urls, |u| u.class == class),
            weight - spread,
            weight + spread,
        );
    }
    for hops in 1..=3 {
        assert!(share(&urls, |url| url.expect.hops == Some(hops)) > 30.0, "{hops} hops");
    }
}

#[test]
fn a_plan_depends_on_its_seed_and_nothing_else() {
    let plan = Internet::plan(1, 1_000);
    assert!(plan.iter().eq(Plan::new(1, 1_000).iter()));
    // More URLs are the same ones first.
    assert!(plan.iter().eq(Plan::new(1, 2_000).iter().take(1_000)));
    // In any order.
    assert!(plan.iter().map(|url| url.index).rev_eq(plan.clone()));
    let other: Vec<_> = Plan::new(2, 1_000).iter().map(|url| url.class).collect();
    assert_ne!(plan.iter().map(|url| url.class).collect::<Vec<_>>(), other);
    assert_eq!(plan.url(1_000), None);
}

trait RevEq {
    fn rev_eq(self, plan: Plan) -> bool;
}

impl<I: Iterator<Item = u64>> RevEq for I {
    fn rev_eq(self, plan: Plan) -> bool {
        let mut indices: Vec<u64> = self.collect();
        indices.reverse();
        indices.iter().all(|index| plan.url(*index).is_some_and(|url| url.index == *index))
    }
}

#[test]
fn a_plan_of_ten_million_urls_stores_none() {
    let plan = Plan::new(7, 10_000_000);
    let last = plan.url(9_999_999).unwrap();
    assert!(last.host.ends_with(".s7.stoop.test"));
    assert_eq!(Plan::new(7, u64::MAX).urls(), HOSTS_MAX);
}

#[test]
fn every_text_is_a_url_of_its_own() {
    let plan = Plan::new(3, 15_000);
    let texts: HashSet<String> = plan.iter().map(|url| url.text).collect();
    assert_eq!(texts.len(), 15_000);
    let plain = Plan::new(3, 15_000).with_ports(Ports { http: 80, https: 443, ..Ports::default() });
    for url in plain.iter() {
        let port = url.text.split("stoop.test").nth(1).unwrap().split('/').next().unwrap();
        assert!(matches!(port, "" | ":8081" | ":8082"), "{}", url.text);
        assert!(url.text.contains(&url.host));
    }
}

#[test]
fn factors_scale_what_they_say() {
    let full: Vec<_> = Plan::new(1, 2_000).iter().collect();
    let none: Vec<_> = Plan::new(1, 2_000).latency(0.0).body(0.5).iter().collect();
    for (full, none) in full.iter().zip(&none) {
        assert_eq!((full.class, &full.text), (none.class, &none.text));
        assert_eq!(none.expect.wait, Duration::ZERO);
        assert!(full.expect.wait <= Duration::from_millis(2_500));
        if let (
            PlannedResult::Status { body: full, .. },
            PlannedResult::Status { body: half, .. },
        ) = (full.expect.result, none.expect.result)
        {
            assert!(full / 2 == half);
        }
    }
    let url = |plan: Plan| plan.iter().next().unwrap().expect;
    for no_factor in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        let plan = Plan::new(1, 2_000).latency(no_factor).body(no_factor);
        assert_eq!(url(plan), url(Plan::new(1, 2_000).latency(0.0).body(0.0)));
    }
    let most = Plan::new(1, 2_000).latency(Plan::LATENCY_MAX).body(Plan::BODY_MAX);
    assert_eq!(url(Plan::new(1, 2_000).latency(f64::INFINITY).body(1e300)), url(most));
}

/// The first URLs of seed 1, and how many of each class there are: a change here is a change of
/// all measurements.
#[test]
fn the_plan_of_seed_1_equals_the_golden_file() {
    let plan = Plan::new(1, 10_000);
    let mut text = String::new();
    for url in plan.iter().take(60) {
        let (kinds, until) = match url.expect.result {
            PlannedResult::Status { code, body } => (format!("{code} {body} bytes"), ""),
            PlannedResult::Failure { kinds } if url.expect.until_deadline => {
                (kinds.join("|"), " stalls")
            }
            PlannedResult::Failure { kinds } => (kinds.join("|"), ""),
        };
        let hops = url.expect.hops.map_or("endless".into(), |hops| hops.to_string());
        let wait = url.expect.wait.as_millis();
        let _ =
            writeln!(text, "{} {}: {kinds}{until}, {hops} hops, {wait} ms", url.text, url.class);
    }
    let mut classes = BTreeMap::new();
    for url in plan.iter() {
        *classes.entry(url.class).or_insert(0) += 1;
    }
    for (class, count) in classes {
        let _ = writeln!(text, "{class} {count}");
    }
    golden("plan-seed-1.txt", &text);
}

/// Compares with the file, or writes it where the goldens are being blessed.
fn golden(name: &str, found: &str) {
    let path = format!("{}/tests/goldens/{name}", env!("CARGO_MANIFEST_DIR"));
    if std::env::var_os("STOOP_BLESS").is_some() {
        std::fs::write(&path, found).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    for (number, (expected, found)) in expected.lines().zip(found.lines()).enumerate() {
        assert_eq!(expected, found, "line {} of {name}", number + 1);
    }
    assert_eq!(expected.lines().count(), found.lines().count());
}
