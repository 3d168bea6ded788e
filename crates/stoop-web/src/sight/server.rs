//! The figures of a server, with their names: one table for all ways to show them.

use stoop::ServerStats;

/// What a figure's values are, each with the value of its label.
type Samples = &'static [(&'static str, fn(&ServerStats) -> u64)];

/// A figure, or several that a label tells apart.
pub(super) struct ServerFamily {
    /// Without the prefix `stoop_server_`, and of a counter without `_total`.
    pub(super) name: &'static str,
    pub(super) is_counter: bool,
    pub(super) help: &'static str,
    /// The name of the label, if there is one, whose values are those of the samples.
    pub(super) label: Option<&'static str>,
    samples: Samples,
}

impl ServerFamily {
    /// The name as Prometheus and recorders have it.
    pub(super) fn full_name(&self) -> String {
        format!("stoop_server_{}{}", self.name, if self.is_counter { "_total" } else { "" })
    }
}

/// All of them.
pub(super) const FAMILIES: &[ServerFamily] = &[
    gauge("open_connections", "Connections that are open.", &[("", |stats| stats.open as u64)]),
    gauge(
        "running_handlers",
        "Handlers that were called and have not answered.",
        &[("", |stats| stats.running as u64)],
    ),
    gauge(
        "detached_handlers",
        "Handlers that run on after their clients have left.",
        &[("", |stats| stats.detached as u64)],
    ),
    counter("accepted", "Connections that were accepted.", &[("", |stats| stats.accepted)]),
    counter(
        "refused",
        "Connections that were refused because of their address.",
        &[("", |stats| stats.refused)],
    ),
    counter(
        "proxy_refusals",
        "Connections that did not begin with a proxy's header.",
        &[("", |stats| stats.proxy_refusals)],
    ),
    counter(
        "accept_pauses",
        "Times that accepting paused because of the limit on connections.",
        &[("", |stats| stats.paused)],
    ),
    counter(
        "evicted",
        "Idle connections that were closed because another one waited for their place.",
        &[("", |stats| stats.evicted)],
    ),
    counter(
        "accept_failures",
        "Times that accepting failed for want of a descriptor or memory.",
        &[("", |stats| stats.starved)],
    ),
    counter(
        "failed_handshakes",
        "TLS handshakes that failed.",
        &[("", |stats| stats.handshakes_failed)],
    ),
    counter(
        "upgrades",
        "Connections and streams that were upgraded.",
        &[("", |stats| stats.upgraded)],
    ),
    by(
        "status",
        counter(
            "responses",
            "Responses that were begun, the server's own included; 101 counts as 2xx.",
            &[
                ("2xx", |stats| stats.responses.success),
                ("3xx", |stats| stats.responses.redirection),
                ("4xx", |stats| stats.responses.client_error),
                ("5xx", |stats| stats.responses.server_error),
            ],
        ),
    ),
    counter(
        "malformed",
        "Requests that were malformed, or too large.",
        &[("", |stats| stats.malformed)],
    ),
    counter(
        "http2_faults",
        "HTTP/2 connections that ended because the client broke the protocol.",
        &[("", |stats| stats.http2_faults)],
    ),
    counter(
        "http2_abuses",
        "Those of them where the client caused more work than is allowed.",
        &[("", |stats| stats.http2_abuses)],
    ),
    counter(
        "shed",
        "Requests that were answered 503 because there was too much to do.",
        &[("", |stats| stats.shed)],
    ),
    counter(
        "panics",
        "Handlers that panicked, and responses whose content did.",
        &[("", |stats| stats.panics)],
    ),
    counter(
        "content_failures",
        "Responses whose content failed while it was sent.",
        &[("", |stats| stats.content_failures)],
    ),
    counter(
        "observer_panics",
        "Calls of an observer, or of what exempts requests, that panicked.",
        &[("", |stats| stats.observer_panics)],
    ),
    by(
        "limit",
        counter(
            "timeouts",
            "Time limits that have passed.",
            &[
                ("handshake", |stats| stats.timeouts.handshake),
                ("head", |stats| stats.timeouts.head),
                ("idle", |stats| stats.timeouts.idle),
                ("body_idle", |stats| stats.timeouts.body_idle),
                ("body_rate", |stats| stats.timeouts.body_rate),
                ("send", |stats| stats.timeouts.send),
                ("handler", |stats| stats.timeouts.handler),
                ("drain", |stats| stats.timeouts.drain),
            ],
        ),
    ),
];

const fn gauge(name: &'static str, help: &'static str, samples: Samples) -> ServerFamily {
    ServerFamily { name, is_counter: false, help, label: None, samples }
}

const fn counter(name: &'static str, help: &'static str, samples: Samples) -> ServerFamily {
    ServerFamily { name, is_counter: true, help, label: None, samples }
}

const fn by(label: &'static str, family: ServerFamily) -> ServerFamily {
    ServerFamily { label: Some(label), ..family }
}

/// The values of all figures, in the order of the table.
pub(super) struct ServerFigures(Vec<u64>);

impl ServerFigures {
    pub(super) fn of(stats: &ServerStats) -> Self {
        let samples = FAMILIES.iter().flat_map(|family| family.samples);
        Self(samples.map(|(_, value)| value(stats)).collect())
    }

    /// Those of two servers together.
    pub(super) fn with(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(one, other)| *one += other);
        self
    }

    /// Each figure with its samples: the value of the label, and the value.
    pub(super) fn families(
        &self,
    ) -> impl Iterator<Item = (&'static ServerFamily, Vec<(&'static str, u64)>)> {
        let mut values = self.0.iter().copied();
        FAMILIES.iter().map(move |family| {
            let names = family.samples.iter().map(|(label, _)| *label);
            (family, names.zip(values.by_ref()).collect())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_two_servers_are_added_up() {
        let mut stats = ServerStats::default();
        (stats.open, stats.accepted) = (2, 5);
        (stats.responses.client_error, stats.timeouts.drain) = (3, 7);
        let both = ServerFigures::of(&stats).with(ServerFigures::of(&stats));
        let values: Vec<_> = both.families().collect();
        let of = |name: &str| {
            let (_, samples) = values.iter().find(|(family, _)| family.name == name).unwrap();
            samples.clone()
        };
        assert_eq!((of("open_connections"), of("accepted")), (vec![("", 4)], vec![("", 10)]));
        assert_eq!((of("responses")[2], of("timeouts")[7]), (("4xx", 6), ("drain", 14)));
        assert!(
            values
                .iter()
                .all(|(family, samples)| { family.label.is_some() == (samples.len() > 1) })
        );
    }
}
