//! What one core has counted.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::buckets::Buckets;
use super::labels::{FALLBACK, OTHER, REASONS};
use super::quantiles::Quantiles;
use super::recent::{Recent, SlowExchange};

/// Routes that are counted on their own; later ones are counted as `other`. A router has as many as its program says,
/// and each has some two kilobytes here on each core.
const ROUTES_MAX: usize = 1_000;

/// What was counted of a route, by method and class of status.
#[derive(Clone)]
pub(super) struct Series {
    /// Indexes of the lists of labels.
    pub(super) method: u8,
    pub(super) class: u8,
    /// From the request's head to the end.
    pub(super) total: Buckets,
}

/// What was counted of a route.
#[derive(Clone, Default)]
pub(super) struct RouteFigures {
    /// Those that there are, which the lists of labels bound.
    pub(super) series: Vec<Series>,
    /// Bytes of content that were sent.
    pub(super) bytes: u64,
    /// From the request's head to the handler's response.
    pub(super) handler: Buckets,
    /// From the request's head to the end.
    pub(super) total: Quantiles,
}

impl RouteFigures {
    pub(super) fn add(&mut self, other: &Self) {
        for series in &other.series {
            self.total_of(series.method, series.class).add(&series.total);
        }
        self.bytes += other.bytes;
        self.handler.add(&other.handler);
        self.total.add(&other.total);
    }

    fn total_of(&mut self, method: u8, class: u8) -> &mut Buckets {
        let is_its = |series: &Series| (series.method, series.class) == (method, class);
        let index = self.series.iter().position(is_its).unwrap_or_else(|| {
            self.series.push(Series { method, class, total: Buckets::default() });
            self.series.len() - 1
        });
        &mut self.series[index].total
    }

    /// Exchanges of a class of statuses.
    pub(super) fn class(&self, class: usize) -> u64 {
        let of_class = self.series.iter().filter(|series| usize::from(series.class) == class);
        of_class.map(|series| series.total.count()).sum()
    }

    /// All exchanges.
    pub(super) fn count(&self) -> u64 {
        self.series.iter().map(|series| series.total.count()).sum()
    }
}

/// An exchange that is over.
pub(super) struct Ended {
    /// An index of the core's routes.
    pub(super) route: usize,
    /// An index of the list of classes.
    pub(super) class: usize,
    /// An index of the list of reasons.
    pub(super) cut_short: Option<usize>,
    /// Whether the client did not wait for all of it.
    pub(super) has_left: bool,
    /// Bytes of content that were sent.
    pub(super) bytes: u64,
    pub(super) until_response: Option<Duration>,
    pub(super) exchange: SlowExchange,
}

/// What one core has counted.
#[derive(Default)]
pub(super) struct CoreFigures {
    /// Where in `routes` a route is.
    indexes: HashMap<Arc<str>, usize>,
    pub(super) routes: Vec<(Arc<str>, RouteFigures)>,
    pub(super) in_flight: u64,
    pub(super) cut_short: [u64; REASONS.len()],
    pub(super) clients_left: u64,
    pub(super) recent: Recent,
}

impl CoreFigures {
    /// A request has come for a pattern; which of the routes is its.
    pub(super) fn begin(&mut self, pattern: &str) -> usize {
        self.in_flight += 1;
        let route = if pattern.is_empty() { FALLBACK } else { pattern };
        let index = self.indexes.get(route).copied();
        index.unwrap_or_else(|| self.add_route(route))
    }

    /// Counts a route that is not known on its own from now on, if there is room for one more.
    fn add_route(&mut self, route: &str) -> usize {
        let is_full = self.routes.len() >= ROUTES_MAX;
        let name = if is_full { OTHER } else { route };
        if let Some(index) = self.indexes.get(name) {
            return *index;
        }
        let name: Arc<str> = name.into();
        self.indexes.insert(name.clone(), self.routes.len());
        self.routes.push((name, RouteFigures::default()));
        self.routes.len() - 1
    }

    /// The name of a route.
    #[cfg(feature = "metrics")]
    pub(super) fn name(&self, route: usize) -> Arc<str> {
        self.routes[route].0.clone()
    }

    /// The exchange of a request is over.
    pub(super) fn end(&mut self, ended: &Ended) {
        self.in_flight = self.in_flight.saturating_sub(1);
        let exchange = &ended.exchange;
        let (_, figures) = &mut self.routes[ended.route];
        figures.total_of(exchange.method as u8, ended.class as u8).record(exchange.took);
        figures.bytes += ended.bytes;
        if let Some(took) = ended.until_response {
            figures.handler.record(took);
        }
        figures.total.record(exchange.took);
        if let Some(reason) = ended.cut_short {
            self.cut_short[reason] += 1;
        }
        self.clients_left += u64::from(ended.has_left);
        self.recent.note(exchange, ended.class == 5);
    }
}

#[cfg(test)]
mod tests {
    use super::super::labels::{CLASSES, METHODS};
    use super::super::recent::ShortPath;
    use super::*;

    fn ended(route: usize, method: usize, class: usize) -> Ended {
        let (took, at) = (Duration::from_millis(1), Duration::ZERO);
        let exchange = SlowExchange { took, at, method, status: None, path: ShortPath::of("/") };
        Ended {
            route,
            class,
            cut_short: None,
            has_left: false,
            bytes: 1,
            until_response: None,
            exchange,
        }
    }

    #[test]
    fn routes_beyond_the_limit_are_counted_together() {
        let mut figures = CoreFigures::default();
        for n in 0..ROUTES_MAX + 10 {
            let route = figures.begin(&format!("/{n}"));
            figures.end(&ended(route, 0, 2));
        }
        // Those that are known stay so.
        let known = figures.begin("/7");
        assert_eq!((figures.routes.len(), known), (ROUTES_MAX + 1, 7));
        let (name, last) = &figures.routes[ROUTES_MAX];
        assert_eq!((&**name, last.count(), last.bytes, figures.in_flight), (OTHER, 10, 10, 1));
    }

    #[test]
    fn a_route_has_a_series_for_each_method_and_class_that_occurred() {
        let mut figures = CoreFigures::default();
        let route = figures.begin("");
        for _ in 0..3 {
            for (method, class) in
                (0..METHODS.len()).flat_map(|m| (0..CLASSES.len()).map(move |c| (m, c)))
            {
                figures.end(&ended(route, method, class));
            }
        }
        let (name, figures) = &figures.routes[route];
        assert_eq!((&**name, figures.series.len()), (FALLBACK, METHODS.len() * CLASSES.len()));
        assert!(figures.series.iter().all(|series| series.total.count() == 3));
        let mut twice = figures.clone();
        twice.add(figures);
        assert_eq!((twice.count(), twice.class(5)), (360, 60));
    }
}
