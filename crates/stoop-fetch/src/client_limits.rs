//! The limits of each worker's client, which are the run's.

use std::time::Duration;

use stoop::{ClientLimits, ClientTime};

use crate::settings::Settings;

/// The limits of a client. The deadline of a URL is its only time limit, unless there is one for connecting, for silent servers
/// or for slow content: a run that grants a minute means it. And no URL waits for a connection, because the permits are
/// the limit: there are fewer connections over HTTP/2 anyway, as many as an origin's streams need.
pub(crate) fn limits(settings: &Settings) -> ClientLimits {
    let mut limits = ClientLimits::default();
    let body_bytes_max = settings.body_bytes_max.filter(|_| !settings.truncates);
    limits.wire.body_bytes_max = body_bytes_max;
    limits.decoded_bytes_max = body_bytes_max.unwrap_or(u64::MAX);
    if body_bytes_max.is_none() {
        // Content of any length is wanted, or it is cut at one.
        limits.decoded_ratio_max = u32::MAX;
    }
    limits.time = time(settings);
    // A server that stays silent is not given up before the deadline either.
    limits.wire.http2.settings_timeout = settings.timeout;
    limits.wire.http2.ping_timeout = settings.timeout;
    let idle = (settings.idle_max() / settings.workers).max(1);
    limits.pool.idle_max = idle;
    limits.pool.idle_per_origin_max = idle;
    let in_flight_max = settings.concurrency.max();
    limits.pool.per_origin_max = in_flight_max;
    limits.pool.http2_per_origin_max = in_flight_max;
    limits.pool.total_max = in_flight_max + idle;
    if settings.politeness.as_ref().is_some_and(|politeness| politeness.failures_max > 0) {
        // Hosts that do not answer are left alone as a whole, and what tries one is sent.
        limits.pool.backoff_max = Duration::ZERO;
    }
    limits
}

/// The time limits of a client: each that the library has is set, whatever its default is.
fn time(settings: &Settings) -> ClientTime {
    let mut time = ClientTime::default();
    time.dns = None;
    // The limit for all of connecting includes this. It is also how long a connection waits for a
    // descriptor.
    time.connect = settings.setup_limit();
    time.tls = None;
    time.head = None;
    time.send_idle = None;
    (time.head_wait, time.read_idle) = (settings.read_timeout, settings.read_timeout);
    time.body_grace = Duration::ZERO;
    let (rate, behind) = settings.body_rate_min.unwrap_or((0, Duration::ZERO));
    (time.body_bytes_per_second_min, time.body_window) = (rate, behind);
    // No request has content for which a server could be asked to continue.
    time.expect_continue = Duration::ZERO;
    time.total = Some(settings.timeout);
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Content without a limit of its length ended beyond a thousand times what it came as.
    #[test]
    fn the_ratio_of_decoded_content_is_limited_where_its_length_is() {
        let of = |body_bytes_max, truncates| {
            let settings = Settings { body_bytes_max, truncates, ..Settings::default() };
            limits(&settings).decoded_ratio_max
        };
        assert_eq!((of(Some(1 << 40), false), of(None, false)), (1_000, u32::MAX));
        assert_eq!(of(Some(1 << 40), true), u32::MAX);
    }

    #[test]
    fn https_leaves_time_for_http_where_that_is_tried() {
        let connect = |falls_back_to_http, setup_timeout| {
            let settings = Settings { falls_back_to_http, setup_timeout, ..Settings::default() };
            limits(&settings).time.connect
        };
        let second = Duration::from_secs(1);
        assert_eq!((connect(false, None), connect(true, None)), (None, Some(2 * second)));
        assert_eq!(connect(true, Some(second)), Some(second));
    }

    #[test]
    fn a_server_may_be_as_silent_and_content_as_slow_as_the_run_says() {
        let (read_timeout, behind) = (Some(Duration::from_secs(7)), Duration::from_secs(9));
        let body_rate_min = Some((1_000, behind));
        let settings = Settings { read_timeout, body_rate_min, ..Settings::default() };
        let time = limits(&settings).time;
        assert_eq!((time.head_wait, time.read_idle), (read_timeout, read_timeout));
        assert_eq!((time.body_bytes_per_second_min, time.body_window), (1_000, behind));
        assert_eq!(time.body_grace, Duration::ZERO);
    }

    /// A body of less than 1,000 bytes a second ended at 30 s, whatever the deadline.
    #[test]
    fn a_deadline_of_90_s_was_shortened_by_limits_that_no_option_names() {
        let settings = Settings { timeout: Duration::from_secs(90), ..Settings::default() };
        let limits = limits(&settings);
        let time = &limits.time;
        let waits = [time.dns, time.connect, time.tls, time.head, time.send_idle, time.head_wait];
        assert_eq!(waits, [None; 6]);
        assert_eq!((time.read_idle, time.body_bytes_per_second_min), (None, 0));
        assert_eq!(time.total, Some(settings.timeout));
        let http2 = &limits.wire.http2;
        assert!(
            [http2.settings_timeout, http2.ping_timeout].iter().all(|t| *t >= settings.timeout)
        );
    }
}
