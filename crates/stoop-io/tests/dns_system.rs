//! The system's resolver, by the backend of this build. Nothing here needs a network.

use std::time::Duration;

use stoop_io::{DnsErrorKind, Resolver};

#[tokio::test]
async fn the_system_resolver_answers_what_needs_no_network() {
    let resolver = Resolver::system();
    let found = resolver.lookup("localhost").await.unwrap();
    assert!(found.iter().all(std::net::IpAddr::is_loopback));
    assert_eq!(resolver.lookup("192.0.2.1").await.unwrap().len(), 1);
    assert_eq!(resolver.lookup("").await.unwrap_err().kind(), DnsErrorKind::InvalidName);
}

/// RFC 6761 §6.4: nothing under `invalid` exists, whichever server is asked; if one can be asked.
#[tokio::test]
async fn a_name_that_cannot_exist_is_an_error_for_every_caller() {
    let resolver = Resolver::builder().hosts(false).build().unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.lookup("absent.invalid").await });
    }
    while let Ok(Some(asked)) =
        tokio::time::timeout(Duration::from_secs(20), asking.join_next()).await
    {
        let error = asked.unwrap().unwrap_err();
        assert!(error.to_string().contains("absent.invalid"), "{error}");
        assert_ne!(error.kind(), DnsErrorKind::InvalidName, "{error}");
    }
}
