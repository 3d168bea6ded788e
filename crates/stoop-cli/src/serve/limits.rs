//! The limits of the server: the library's, and those that are chosen for a server of files.

use std::time::Duration;

use stoop::ServerLimits;

use super::args::Settings;

/// Connections that one address may have where there is room for few: some browsers, of six each.
const PER_ADDRESS_MIN: usize = 64;

/// How late a thread may come to a request. What serves files never blocks its thread, so that one that comes later has
/// more to do than it can; and what a person waits for longer is asked for again.
const LAG_MAX: Duration = Duration::from_secs(2);

/// How long the head of a response may take: many times what a hash of a password or a slow disk needs, and less than
/// the minute after which proxies give up.
const HANDLER_TIMEOUT: Duration = Duration::from_secs(30);

impl Settings {
    /// The limits of the server: the library's, but for those that can be set. A network of IPv6 counts as one address.
    pub(super) fn limits(&self) -> ServerLimits {
        let mut limits = ServerLimits::default();
        limits.connections_per_address_max = match self.connections_per_address {
            Some(0) => usize::MAX,
            Some(connections) => connections,
            // All clients come from their addresses.
            None if self.trusts_proxies() => usize::MAX,
            None => (limits.connections_max / 4).max(PER_ADDRESS_MIN),
        };
        limits.shedding.lag_max = self.lag_max.unwrap_or(LAG_MAX);
        limits.time.handler = self.handler_timeout.unwrap_or(HANDLER_TIMEOUT);
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> ServerLimits {
        toml::from_str::<Settings>(text).unwrap().limits()
    }

    #[test]
    fn one_address_has_a_quarter_of_the_connections_unless_it_is_said() {
        let default = of("");
        let all = default.connections_max;
        assert_eq!(default.connections_per_address_max, (all / 4).max(64));
        assert_eq!(of("connections-per-address = 0").connections_per_address_max, usize::MAX);
        assert_eq!(of("connections-per-address = 1").connections_per_address_max, 1);
        let behind = "trust-x-forwarded = '10.0.0.0/8'\n";
        assert_eq!(of(behind).connections_per_address_max, usize::MAX);
        let both = format!("{behind}connections-per-address = 1");
        assert_eq!(of(&both).connections_per_address_max, 1);
    }

    #[test]
    fn the_lag_and_the_time_of_handlers_are_limited_unless_it_is_said() {
        let times = |text: &str| {
            let limits = of(text);
            (limits.shedding.lag_max, limits.time.handler)
        };
        let seconds = Duration::from_secs;
        assert_eq!(times(""), (seconds(2), seconds(30)));
        let said = "lag-max = 0.5\nhandler-timeout = '2m'";
        assert_eq!(times(said), (Duration::from_millis(500), seconds(120)));
        let none = "lag-max = 'none'\nhandler-timeout = 'none'";
        assert_eq!(times(none), (Duration::MAX, Duration::MAX));
        assert_eq!(times("handler-timeout = 7"), (seconds(2), seconds(7)));
    }
}
