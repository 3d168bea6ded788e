//! Every kind of error is caused by a test from end to end: the table of those tests, and tests of the
//! kinds that `errors` does not cause.

use std::pin::pin;
use std::task::{Context, Waker};

use stoop::{Client, ErrorKind, Phase, Request, Response};

use super::kit::kind_and_phase;

const CLIENT_ERRORS: &str = include_str!("errors.rs");
const CLIENT_TLS: &str = include_str!("tls.rs");
const ERGONOMICS: &str = include_str!("ergonomics.rs");
const HERE: &str = include_str!("error_kinds.rs");
const MACHINE: &str = include_str!("../../../../stoop-cli/tests/it/machine.rs");

/// A file and the test in it that causes `kind`. There is no default arm, so that a new kind does not
/// compile before it has a test.
const fn test_causing(kind: ErrorKind) -> Option<(&'static str, &'static str)> {
    use ErrorKind::*;
    Some(match kind {
        InvalidUrl => (
            CLIENT_ERRORS,
            "requests_that_make_no_sense_are_the_callers_fault_and_use_no_connection",
        ),
        InvalidMessage => (CLIENT_ERRORS, "messages_that_may_not_be_sent_are_the_callers_fault"),
        DnsNxdomain | DnsServfail | DnsTimeout | DnsOther => {
            (CLIENT_ERRORS, "names_that_do_not_resolve_are_dns_errors")
        }
        AddressDenied => {
            (include_str!("names.rs"), "an_address_that_is_filtered_out_is_not_connected_to")
        }
        ConnectRefused | ConnectTimeout | ConnectUnreachable | TotalTimeout => {
            (CLIENT_ERRORS, "addresses_that_do_not_answer_are_connect_errors")
        }
        ConnectReset => {
            (HERE, "a_reset_before_the_connection_is_known_to_be_open_is_a_connect_error")
        }
        ProxyAuth | ProxyRefused => (
            include_str!("proxies.rs"),
            "a_proxy_that_refuses_is_an_error_of_its_own_that_says_why",
        ),
        QueueTimeout => (
            include_str!("pool.rs"),
            "waiting_for_a_connection_has_a_deadline_and_an_error_of_its_own",
        ),
        NoLocalPorts => (MACHINE, "without_a_local_port_the_error_says_so"),
        TooManyFiles => (MACHINE, "without_a_descriptor_the_error_says_so_and_the_run_goes_on"),
        TlsHandshake | TlsTimeout => (CLIENT_ERRORS, "handshakes_that_fail_are_tls_errors"),
        TlsCertExpired | TlsCertName | TlsCertUntrusted => (CLIENT_TLS, "certificates_are_checked"),
        H1Parse | ClosedEarly | Reset | FirstByteTimeout | BodyTooLarge | RequestBody
        | RedirectLimit | RedirectDenied => {
            (CLIENT_ERRORS, "exchanges_that_fail_name_their_kind_and_phase")
        }
        H2Protocol => (
            include_str!("../server/http2/content.rs"),
            "a_reader_of_content_is_told_how_it_went_wrong",
        ),
        H2GoAway | H2Refused => {
            (include_str!("http2/repeats.rs"), "unprocessed_requests_are_told_apart")
        }
        ReadTimeout => (include_str!("deadlines.rs"), "content_that_stops_has_its_own_limit"),
        SlowBody => (include_str!("rate.rs"), "content_that_drips_is_given_up"),
        Decode => (ERGONOMICS, "json_is_parsed_and_says_where_it_is_none"),
        HttpStatus => (ERGONOMICS, "a_status_of_an_error_is_one_if_the_caller_says_so"),
        File => (ERGONOMICS, "a_saved_file_appears_when_it_is_complete"),
        Cancelled => (HERE, "a_switch_that_does_not_come_about_is_cancelled"),
        // It happens only by a defect of ours, which no test can cause.
        Internal => return None,
    })
}

#[test]
fn every_kind_is_reached() {
    for kind in ErrorKind::ALL {
        let Some((file, test)) = test_causing(*kind) else { continue };
        let (_, from) = file.split_once(&format!("fn {test}(")).unwrap_or_else(|| panic!("{test}"));
        let (test, _) = from.split_once("\n}\n").expect("it ends");
        let named = test.contains(&format!("ErrorKind::{kind:?}")) || test.contains(kind.as_str());
        assert!(named, "{kind:?} is not in its test");
    }
}

/// The kernel reports at once that a connection was established and that it was reset.
#[tokio::test]
async fn a_reset_before_the_connection_is_known_to_be_open_is_a_connect_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let client = Client::new();
    let mut sent = pin!(client.get(&url).send());
    assert!(sent.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    // The event loop is not polled meanwhile.
    let (accepted, _) = listener.accept().unwrap();
    accepted.set_nonblocking(true).unwrap();
    let accepted = tokio::net::TcpStream::from_std(accepted).unwrap();
    accepted.set_zero_linger().unwrap();
    drop(accepted);
    let error = sent.await.unwrap_err();
    assert!(error.is_unprocessed());
    assert_eq!(kind_and_phase(error), (ErrorKind::ConnectReset, Phase::Connect));
}

#[tokio::test]
async fn a_switch_that_does_not_come_about_is_cancelled() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let client = Client::builder().handler(move |_: Request| {
        let (response, switched) = Response::upgrade("x").unwrap();
        let told = told.clone();
        tokio::spawn(async move { told.send(kind_and_phase(switched.await.unwrap_err())) });
        response
    });
    // The client did not offer the protocol.
    let response = client.build().unwrap().get("http://a/").await.unwrap();
    assert_eq!(response.status(), 501);
    assert_eq!(tell.recv().await, Some((ErrorKind::Cancelled, Phase::Wait)));
}
