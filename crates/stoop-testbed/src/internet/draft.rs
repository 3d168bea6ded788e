//! The random properties of each URL.

use std::time::Duration;

use super::class::{Class, WEIGHTS};
use super::hosts::HostKind;
use super::random::{Subject, UrlRandom};
use super::route::RedirectRoute;
use crate::origin::MalformedHead;

/// How the body of a planned response is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlannedFraming {
    Length,
    Chunked,
    ChunkedTrailers,
    UntilClose,
}

/// The random properties of one URL. They depend on the seed and its number only.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    /// It is a further page of the host this many URLs before it, if both allow that.
    pub(crate) page_of: Option<u64>,
    pub(crate) class: Class,
    pub(crate) route: RedirectRoute,
    pub(crate) status: u16,
    pub(crate) framed: PlannedFraming,
    /// The server says `connection: close`.
    pub(crate) closes: bool,
    /// Time until the first byte, all redirects together.
    pub(crate) delay: Duration,
    /// Length of the body in bytes, before scaling.
    pub(crate) body: u64,
    pub(crate) malformed: MalformedHead,
    /// Its host speaks HTTP/2 over TLS with clients that offer it, if it is well-behaved.
    pub(crate) http2: bool,
    /// Its path is one that the robots.txt of its host forbids.
    pub(crate) is_private: bool,
    /// The status that it is answered by, with a Retry-After, until the time of that is over.
    pub(crate) busy: Option<u16>,
}

/// In 10,000: URLs that would be a further page of an earlier host.
const PAGES: u32 = 500;

/// How far back that host may be: as in a list sorted by site.
const PAGE_DISTANCE_MAX: u32 = 20;

/// Time to the first byte: log-normal, so that most are quick and few very slow. Its mean is 0.47 s.
/// Capped well below usual deadlines, so that hosts that should answer in time do.
const DELAY_MEDIAN: f64 = 0.3;
const DELAY_SIGMA: f64 = 1.0;
const DELAY_MAX: f64 = 2.5;

/// Length of a 200's body: log-normal with a mean of 257 kB (the crawl's), capped.
const BODY_MEDIAN: f64 = 104_000.0;
const BODY_SIGMA: f64 = 1.374;
const BODY_MAX: f64 = 4.0 * 1024.0 * 1024.0;

/// Length of an error's body.
const ERROR_MEDIAN: f64 = 3_000.0;
const ERROR_SIGMA: f64 = 1.0;
const ERROR_MAX: f64 = 65_536.0;

const SUCCESSES: &[(u32, u16)] = &[(995, 200), (4, 204), (1, 203)];

const CLIENT_ERRORS: &[(u32, u16)] =
    &[(45, 404), (36, 403), (8, 429), (4, 400), (3, 401), (3, 410), (1, 451)];

const SERVER_ERRORS: &[(u32, u16)] = &[(6, 500), (5, 502), (7, 503), (2, 504)];

const FRAMES: &[(u32, PlannedFraming)] = &[
    (60, PlannedFraming::Length),
    (31, PlannedFraming::Chunked),
    (3, PlannedFraming::ChunkedTrailers),
    (6, PlannedFraming::UntilClose),
];

/// In 100: servers that close after each response.
const CLOSES: u32 = 12;

/// In 3: hosts that speak HTTP/2, too.
const HTTP2: u32 = 2;

/// One in so many URLs of a host with a robots.txt is forbidden by it.
const ONE_PRIVATE_IN: u32 = 4;

/// One in so many further URLs of a busy host is answered by a Retry-After at first. Each of them has a
/// polite client leave the whole host alone.
const ONE_BUSY_IN: u32 = 50;

/// Only what no client can take for HTTP.
const MALFORMED: &[(u32, MalformedHead)] = &[
    (3, MalformedHead::NotHttp),
    (2, MalformedHead::Binary),
    (2, MalformedHead::NoHead),
    (1, MalformedHead::BadStatus),
    (1, MalformedHead::NoColon),
    (1, MalformedHead::BadVersion),
];

impl Draft {
    /// Draws for this URL. The order of the draws is part of every plan: new ones go to the end.
    pub(crate) fn new(seed: u64, url: u64) -> Self {
        Self::draw(seed, url, |drawn| drawn)
    }

    /// Draws for a URL of a host that has many.
    pub(crate) fn on_host(seed: u64, url: u64, host: u64, kind: HostKind) -> Self {
        if let HostKind::Fails(class) = kind {
            // Its scripts do not read the path: one URL of it is as any other.
            return Self { page_of: None, ..Self::draw(seed, host, |_| class) };
        }
        let mut draft = Self::draw(seed, url, |drawn| match drawn {
            Class::ClientError | Class::ServerError => drawn,
            _ => Class::Success,
        });
        let mut draw = UrlRandom::of(Subject::Page, seed, url);
        let is_further = url != host;
        match kind {
            HostKind::Robots => {
                draft.is_private = is_further && draw.below(ONE_PRIVATE_IN) == 0;
            }
            HostKind::Busy if !is_further || draw.below(ONE_BUSY_IN) == 0 => {
                let is_limit = UrlRandom::of(Subject::Host, seed, host).below(2) == 0;
                draft.busy = Some(if is_limit { 429 } else { 503 });
            }
            _ => {}
        }
        Self {
            page_of: None,
            // Only busy hosts ask for a pause, and each path finds its response on a connection that goes on.
            status: match draft.status {
                429 => 404,
                503 => 500,
                status => status,
            },
            framed: match draft.framed {
                PlannedFraming::UntilClose => PlannedFraming::Chunked,
                framed => framed,
            },
            ..draft
        }
    }

    fn draw(seed: u64, url: u64, class: impl FnOnce(Class) -> Class) -> Self {
        let mut draw = UrlRandom::new(seed, url);
        let page = draw.below(10_000) < PAGES;
        let distance = u64::from(draw.below(PAGE_DISTANCE_MAX)) + 1;
        let class = class(Class::at(draw.below(WEIGHTS)));
        let route = RedirectRoute::draw(class, &mut draw);
        let status = match class {
            Class::Success => draw.choose(SUCCESSES),
            Class::ClientError => draw.choose(CLIENT_ERRORS),
            Class::ServerError => draw.choose(SERVER_ERRORS),
            Class::Unfollowed => Some(300),
            _ => None,
        };
        let status = status.unwrap_or(200);
        let framed = draw.choose(FRAMES).unwrap_or(PlannedFraming::Length);
        let closes = draw.below(100) < CLOSES;
        let delay = draw.log_normal(DELAY_MEDIAN, DELAY_SIGMA).min(DELAY_MAX);
        let body = match status {
            204 => 0.0,
            200..=299 => draw.log_normal(BODY_MEDIAN, BODY_SIGMA).min(BODY_MAX),
            _ => draw.log_normal(ERROR_MEDIAN, ERROR_SIGMA).min(ERROR_MAX),
        };
        let malformed = draw.choose(MALFORMED).unwrap_or(MalformedHead::NotHttp);
        let http2 = draw.below(3) < HTTP2;
        Self {
            page_of: page.then_some(distance),
            class,
            route,
            status,
            // Only a connection that has served nothing else can end a body.
            framed: match framed {
                PlannedFraming::UntilClose if status != 200 || route.hops() > 0 => {
                    PlannedFraming::Chunked
                }
                framed => framed,
            },
            closes,
            delay: Duration::from_secs_f64(delay),
            body: body as u64,
            malformed,
            http2,
            is_private: false,
            busy: None,
        }
    }

    /// Whether it is on a well-behaved host, which can serve other URLs as well.
    pub(crate) fn is_shareable(&self) -> bool {
        matches!(self.class, Class::Success | Class::ClientError | Class::ServerError)
            && self.framed != PlannedFraming::UntilClose
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mean(values: impl Iterator<Item = f64>) -> f64 {
        let (sum, count) = values.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        sum / count
    }

    #[test]
    fn latency_and_size_have_the_means_of_the_crawl() {
        let drafts: Vec<Draft> = (0..60_000).map(|url| Draft::new(3, url)).collect();
        let delay = mean(drafts.iter().map(|d| d.delay.as_secs_f64()));
        assert!((0.46..0.485).contains(&delay), "{delay}");
        let bodies = drafts.iter().filter(|d| d.class == Class::Success && d.status == 200);
        let body = mean(bodies.map(|d| d.body as f64));
        assert!((250_000.0..264_000.0).contains(&body), "{body}");
    }
}
