//! How long is waited before a retry, what a Retry-After says, and how far the budget goes.

use super::*;
use crate::error::{ErrorKind, Hop, Phase};

#[test]
fn the_delay_doubles_and_is_random_within_its_upper_half() {
    let retries = Retries::up_to(9).delay(Duration::from_millis(100), Duration::from_secs(1));
    for (attempt, full) in [(0, 100), (1, 200), (2, 400), (3, 800), (4, 1_000), (40, 1_000)] {
        let delay = |random| retries.random_delay(attempt, random).as_millis();
        assert_eq!(delay(0), full / 2, "{attempt}");
        assert!((full - 1..=full).contains(&delay(u64::MAX)), "{attempt}");
    }
    let drawn: std::collections::HashSet<u64> = (0..100).map(|_| random()).collect();
    assert!(drawn.len() > 90);
}

#[test]
fn a_budget_bounds_retries_to_a_share_of_the_requests() {
    let budget = RetryBudget::new();
    let spent = |requests: u32| {
        (0..requests).filter(|_| {
            budget.earn(RETRY / 5);
            budget.spend(RETRY / 5)
        })
    };
    // The first ten, and one for each five requests.
    assert_eq!(spent(1_000).count(), 210);
    (0..100_000).for_each(|_| budget.earn(RETRY));
    let saved = (0..1_000).filter(|_| budget.spend(RETRY / 5)).count();
    assert_eq!(saved, 100, "what is saved is bounded");
    assert!((0..1_000).all(|_| budget.spend(RETRY)), "a whole retry for each request is no bound");
}

fn sent(method: &Method) -> SentRequest {
    SentRequest { method: method.clone(), url: None, fields: None }
}

#[test]
fn a_function_decides_whatever_is_safe() {
    let answered = |retries: &Retries, status: u16| {
        let response = Response::from_status(StatusCode::from_u16(status).unwrap());
        retries.wait(&sent(&Method::POST), Ok(&response), Some(&response), 4)
    };
    let seconds = Duration::from_secs(3);
    let retries = Retries::up_to(1).decided_by(move |attempt| {
        assert_eq!((attempt.number(), attempt.is_safe()), (5, false));
        match attempt.outcome().map(|response| response.status().as_u16()) {
            Ok(500) => RetryAction::Retry,
            Ok(501) => RetryAction::RetryAfter(seconds),
            Ok(502) => RetryAction::Stop,
            _ => RetryAction::Default,
        }
    });
    assert!(answered(&retries, 500).is_some());
    assert_eq!(answered(&retries, 501), Some(seconds));
    assert_eq!((answered(&retries, 502), answered(&retries, 503)), (None, None));
}

#[test]
fn the_longest_delays_do_not_overflow() {
    let retries = Retries::up_to(1).delay(Duration::MAX, Duration::MAX);
    assert!(retries.random_delay(9, u64::MAX) > Duration::from_secs(u64::MAX / 4));
    let _ = Retries::up_to(1).budget_percent(u64::MAX);
}

#[test]
fn only_what_is_safe_is_sent_again() {
    let retries = Retries::up_to(1);
    let failed = |method: &Method, kind, phase| {
        retries.wait(&sent(method), Err(&Error::new(kind, phase)), None, 0).is_some()
    };
    assert!(failed(&Method::GET, ErrorKind::Reset, Phase::Wait));
    assert!(!failed(&Method::POST, ErrorKind::Reset, Phase::Wait));
    assert!(failed(&Method::POST, ErrorKind::ConnectRefused, Phase::Connect));
    assert!(!failed(&Method::GET, ErrorKind::TlsCertName, Phase::Tls));
    assert!(!failed(&Method::GET, ErrorKind::TotalTimeout, Phase::Wait));
    let answered = |method: &Method, status: u16| {
        let response = Response::from_status(StatusCode::from_u16(status).unwrap());
        retries.wait(&sent(method), Ok(&response), Some(&response), 0).is_some()
    };
    assert!(answered(&Method::PUT, 503) && answered(&Method::GET, 429));
    assert!(!answered(&Method::POST, 503) && !answered(&Method::GET, 404));
    assert!(!answered(&Method::GET, 200) && !answered(&Method::GET, 501));
}

/// The request that was not processed is another one than the policy sends again, or its server has answered it.
#[test]
fn what_was_answered_is_not_unprocessed() {
    let retries = Retries::up_to(1);
    let refused = || Error::new(ErrorKind::H2Refused, Phase::Receive).unprocessed();
    let to = url::Url::parse("http://b.test/").unwrap();
    let redirected = |redirects| refused().with_hop(Some(Hop::new(&to, redirects)));
    let answer = Response::from_status(StatusCode::OK);
    for (error, response, is_sent_again) in [
        (refused(), None, true),
        (redirected(0), None, true),
        (redirected(1), None, false),
        (refused(), Some(&answer), false),
    ] {
        let wait = |method| retries.wait(&sent(&method), Err(&error), response, 0);
        assert_eq!(wait(Method::POST).is_some(), is_sent_again, "{error:?} {response:?}");
        assert!(wait(Method::GET).is_some(), "it may be sent twice");
    }
}
