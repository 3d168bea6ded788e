//! Servers without HTTP/2, to which a client speaks it by prior knowledge.

use stoop::ErrorKind;
use stoop_test::frames::PREFACE;

use super::super::kit::get;
use super::kit::over_http2;
use crate::client::kit::counts;

#[tokio::test]
async fn the_error_says_that_the_server_does_not_speak_http2() {
    for (answer, kind, words) in [
        ("HTTP/1.1 400 Bad Request\r\n\r\n", ErrorKind::H2Protocol, "does not speak HTTP/2"),
        ("220 mail.test ESMTP\r\n", ErrorKind::H2Protocol, "does not speak HTTP/2"),
        ("", ErrorKind::ClosedEarly, "closed the connection before it said that it speaks HTTP/2"),
        // Fewer bytes than the header of a frame.
        ("what?", ErrorKind::ClosedEarly, "before it said that it speaks HTTP/2"),
    ] {
        let client = over_http2(
            |_| {},
            move |mut peer| async move {
                assert_eq!(peer.raw_bytes(PREFACE.len()).await, PREFACE);
                peer.send(answer).await;
                peer.shutdown().await;
                peer.raw_bytes(1 << 20).await;
            },
        );
        let error = get(&client).await.unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert_eq!(counts(&client).1, 0);
    }
}
