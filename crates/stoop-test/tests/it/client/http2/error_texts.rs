//! Texts of errors: the code by its name in RFC 9113 §7, and the debug data of the server's GOAWAY.

use stoop_test::frames::{flag, frame, go_away, kind, rst_stream};

use super::kit::{answered_by, send_post};

/// The text of the error of a POST that is answered by these frames.
async fn error_text(answer: Vec<u8>) -> String {
    send_post(&answered_by(answer)).await.unwrap_err().to_string()
}

#[tokio::test(start_paused = true)]
async fn an_error_names_the_code_as_the_rfc_does() {
    for (answer, text) in [
        (
            rst_stream(1, 2),
            "the server reset the stream: INTERNAL_ERROR (not safe to repeat) [reset, wait]",
        ),
        (
            rst_stream(1, 0x1234),
            "the server reset the stream: error code 0x1234 (not safe to repeat) [reset, wait]",
        ),
        (
            rst_stream(1, 7),
            "the server refused the request's stream: REFUSED_STREAM (safe to repeat) \
             [h2_refused, wait]",
        ),
        (
            rst_stream(1, 13),
            "the server refused the request's stream: HTTP_1_1_REQUIRED (safe to repeat) \
             [h2_refused, wait]",
        ),
        (
            go_away(1, 2, ""),
            "the server ends the connection and does not answer: INTERNAL_ERROR \
             (not safe to repeat) [h2_goaway, wait]",
        ),
        (
            go_away(0, 0, ""),
            "the server ends the connection and does not answer: NO_ERROR; \
             it did nothing of this request (safe to repeat) [h2_goaway, wait]",
        ),
        (
            frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]),
            "the peer broke the rules of HTTP/2: a push was not allowed (RFC 9113 §8.4) \
             [h2_protocol, wait]",
        ),
    ] {
        assert_eq!(error_text(answer).await, text);
    }
}

/// §6.8: "Additional debug data is intended for diagnostic purposes only and carries no semantic value." An
/// error's text is read for diagnosis.
#[tokio::test(start_paused = true)]
async fn an_error_has_the_servers_own_words() {
    let text = |words: &str| {
        let safe = if words.starts_with("NO_ERROR") { "safe" } else { "not safe" };
        format!(
            "the server ends the connection and does not answer: {words} ({safe} to repeat) \
             [h2_goaway, wait]"
        )
    };
    assert_eq!(
        error_text(go_away(1, 11, "too_many_pings")).await,
        text("ENHANCE_YOUR_CALM: too_many_pings")
    );
    assert_eq!(
        error_text(go_away(0, 0, "max_age")).await,
        text("NO_ERROR: max_age; it did nothing of this request")
    );
    // The last GOAWAY counts.
    let twice = [go_away(1, 0, "soon"), go_away(1, 1, "now")].concat();
    assert_eq!(error_text(twice).await, text("PROTOCOL_ERROR: now"));
    // Control characters are escaped, and long texts are cut.
    let shown = error_text(go_away(1, 2, "\x1b[31m \"it's\" \u{202e}\r\n")).await;
    assert_eq!(shown, text(r#"INTERNAL_ERROR: \x1b[31m "it's" \xe2\x80\xae\r\n"#));
    let shown = error_text(go_away(1, 2, &"x".repeat(10_000))).await;
    assert_eq!(shown, text(&format!("INTERNAL_ERROR: {}", "x".repeat(256))));
}
