//! Which addresses are connected to where only public ones will do.

use super::*;
use crate::client::deadlines::Due;
use crate::client::observe::{Observers, RequestObserver};
use crate::limits::ClientTime;
use crate::request::{Request, RequestDeadlines};
use crate::timings::Timings;

#[tokio::test]
async fn where_only_public_addresses_will_do_the_resolved_one_is_checked() {
    let time = ClientTime::default();
    let connector = Connector {
        names: Arc::new(Names::default().with_defaults()),
        is_to_servers: true,
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        tls: ClientTls::builder().build().unwrap(),
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        keeps_certificates: false,
        route: Route::Network,
        versions: Versions::All,
        setup: None,
        #[cfg(feature = "proxy")]
        proxied: None,
    };
    let due = Due::new(RequestDeadlines::Endless, &time, now());
    let observer = RequestObserver::new(&Observers::default(), &Request::get("/").unwrap());
    let terms = ConnectLimits {
        time: &time,
        due,
        setup_by: None,
        public_only: Some(PublicOnly::Redirected),
        observer: &observer,
        #[cfg(feature = "proxy")]
        via: None,
    };
    for host in [
        "127.0.0.1",
        "0x7f.1",
        "2130706433",
        "0",
        "localhost",
        "LOCALHOST.",
        "10.1.2.3",
        "169.254.169.254",
        "[::1]",
        "[::ffff:10.0.0.1]",
        "[fd00::1]",
        "[64:ff9b::7f00:1]",
    ] {
        let url = Url::parse(&format!("http://{host}:1/")).unwrap();
        let mut watch = Stopwatch::new(Timings::default(), now());
        let connected = connector.connect(&url, Versions::All, terms, &mut watch).await;
        let Err(error) = connected else { panic!("{host}") };
        assert_eq!(error.kind(), ErrorKind::RedirectDenied, "{host}: {error}");
    }
}
