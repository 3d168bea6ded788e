//! The works of `server` and `churn`, each with its figures.

mod applications;
mod http1;
mod http2;

use super::server_work::ServerWork;

/// All works. The beginning of a name, up to a dash, stands for all works whose names begin with it.
pub(super) fn works() -> impl Iterator<Item = &'static ServerWork> {
    let parts = [
        http1::PLAIN,
        http1::TLS,
        http2::HTTP2,
        applications::APPLICATIONS,
        http1::MANY_CONNECTIONS,
    ];
    parts.into_iter().flatten()
}

/// The works that `name` stands for: that of this name, or else those whose names begin with it, up to a dash.
pub(super) fn called(name: &str) -> Vec<&'static ServerWork> {
    let one = works().find(|work| work.name == name);
    let is_of_group =
        |work: &&ServerWork| work.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('-'));
    one.map_or_else(|| works().filter(is_of_group).collect(), |one| vec![one])
}

/// The names of all works.
pub(crate) fn names() -> String {
    works().map(|work| work.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_none_is_a_group_of_others() {
        for work in works() {
            assert_eq!(works().filter(|other| other.name == work.name).count(), 1);
            let called = called(work.name);
            assert_eq!(called.iter().map(|work| work.name).collect::<Vec<_>>(), [work.name]);
        }
        let count = |name| called(name).len();
        assert_eq!([count("active"), count("h2"), count("h2-tls")], [6, 10, 4]);
        assert_eq!([count("h2-"), count("get-64"), count("log"), count("lo")], [0, 1, 1, 0]);
    }
}
