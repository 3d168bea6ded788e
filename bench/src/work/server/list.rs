//! The works of `server` and `churn`, each with its figures.

mod works;

use crate::arguments::CommonOptions;
use crate::contender::STOOP;
use crate::figure::{Figure, Limit};
use crate::load::{Generator, LoadRequest};
use crate::run_server::ServerMode;
use crate::work;

pub(super) use works::WORKS;

/// The metric by which servers are compared.
pub(super) const CPU: &str = "cpu_us_per_request";

/// An axum application on stoop.
const AXUM_STOOP: &str = "axum-stoop";
/// The files of a folder, by stoop-web.
const STOOP_FILES: &str = "stoop-files";

/// A request that a server answers again and again.
pub(crate) struct ServerWork {
    pub(crate) name: &'static str,
    /// The request, for the report, without the number of connections.
    pub(crate) what: &'static str,
    pub(crate) connections: u32,
    pub(crate) load: Generator,
    pub(crate) request: LoadRequest,
    /// The contender that the limits are for.
    of: &'static str,
    limits: &'static [(&'static str, Limit)],
}

impl ServerWork {
    /// Those whose ratios are shown.
    pub(crate) fn baselines(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &["axum", "axum-serve"],
            _ if self.of == STOOP_FILES => &["nginx", STOOP_FILES],
            _ if self.request.message.is_some() => &["fastwebsockets", STOOP],
            Some(_) => &["h2o", "hyper", "nginx", STOOP],
            None => &["floor", "hyper", STOOP],
        }
    }

    /// The contenders by default.
    fn default_contenders(&self) -> &'static [&'static str] {
        match self.request.streams {
            _ if self.of == AXUM_STOOP => &[AXUM_STOOP, "axum-serve", "axum"],
            _ if self.of == STOOP_FILES => &[STOOP_FILES, "nginx"],
            _ if self.request.message.is_some() => &["tungstenite", "fastwebsockets", "gorilla"],
            Some(_) => &["h2o", "hyper", "nginx"],
            None => &["floor", "hyper", "nginx"],
        }
    }

    /// The contenders of a run, with the one that the limits are for. Files are not what the contender `stoop`
    /// serves.
    pub(super) fn names(&self, common: &CommonOptions) -> Vec<String> {
        let mut names = work::names(common, self.default_contenders());
        if !names.iter().any(|name| name == self.of) {
            names.insert(0, self.of.to_owned());
        }
        names.retain(|name| self.of != STOOP_FILES || name != STOOP);
        names
    }

    pub(crate) fn mode(&self) -> ServerMode {
        match self.request {
            _ if self.of == STOOP_FILES => ServerMode::Files,
            LoadRequest { message: Some(_), .. } => ServerMode::WebSocket,
            LoadRequest { is_tls: true, streams: Some(_), .. } => ServerMode::Http2Tls,
            LoadRequest { streams: Some(_), .. } => ServerMode::Http2,
            LoadRequest { is_tls: true, .. } => ServerMode::Tls,
            LoadRequest { is_pipelined: true, .. } => ServerMode::Pipelined,
            LoadRequest { is_fresh: true, .. } => ServerMode::Closing,
            _ => ServerMode::Plain,
        }
    }

    /// Whether `name` stands for this work: it is its name, or else the beginning of it, up to a dash.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        let is_work = WORKS.iter().any(|work| work.name == name);
        let rest = self.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || !is_work && rest.starts_with('-'))
    }

    pub(crate) fn figures(&self) -> Vec<Figure> {
        let limits = self.limits.iter();
        let mut figures: Vec<Figure> =
            limits.map(|&(peer, limit)| Figure::ratio(CPU, self.of, peer, limit)).collect();
        if self.name == "get-64" {
            // A check that the floor is one. In pipelined bursts it counts heads, which is work of its own, so
            // that no contender is compared with it there.
            let floor = Figure::ratio(CPU, "floor", "nginx", Limit::AtMost(0.85));
            figures.push(floor.called("floor / nginx, a check of the floor itself"));
        }
        figures
    }
}

/// The names of all works.
pub(crate) fn names() -> String {
    WORKS.iter().map(|work| work.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_none_is_a_group_of_others() {
        for work in WORKS {
            assert_eq!(WORKS.iter().filter(|other| other.name == work.name).count(), 1);
            let grouped = WORKS.iter().filter(|other| other.is_called(work.name));
            assert_eq!(grouped.count(), 1, "{}", work.name);
        }
        let called = |name| WORKS.iter().filter(|work| work.is_called(name)).count();
        assert_eq!([called("active"), called("h2"), called("h2-tls")], [6, 10, 4]);
        assert_eq!(called("h2-"), 0);
    }
}
