//! The story of a request, for `-v`: each step on a line, with its time since the start.

use std::time::Duration;

use stoop::{ClientEvent, Fields, RequestHead, without_password};

use super::record::{Content, version};
use crate::stderr;

/// Tells an event. `content` is what the request has, as `sent` counted it.
pub(super) fn tell(after: Duration, event: &ClientEvent<'_>, content: Content) {
    let mut lines = lines(event);
    match (event, content) {
        (ClientEvent::Sending { is_http2, .. }, Content::Bytes(bytes)) if bytes > 0 => {
            if !is_http2 {
                lines.push(format!("> content-length: {bytes}"));
            }
            lines.push(format!("* and {bytes} bytes of content"));
        }
        (ClientEvent::Sending { is_http2: false, .. }, Content::Unknown(_)) => {
            lines.push("> transfer-encoding: chunked".to_owned());
        }
        (ClientEvent::Responded { .. }, Content::Unknown(sent)) => {
            lines.insert(0, format!("* {sent} bytes of content were sent"));
        }
        _ => {}
    }
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        // What belongs together has one time.
        match at {
            0 => text.push_str(&format!("{:9.3} s  {line}\n", after.as_secs_f64())),
            _ => text.push_str(&format!("{:13}{line}\n", "")),
        }
    }
    stderr::print(&text);
}

fn lines(event: &ClientEvent<'_>) -> Vec<String> {
    match event {
        ClientEvent::Resolved { host, addresses, .. } => {
            let addresses: Vec<_> = addresses.iter().map(ToString::to_string).collect();
            vec![format!("* {host} is at {}", addresses.join(", "))]
        }
        ClientEvent::Connected { remote, .. } => vec![match remote {
            Some(remote) => format!("* connected to {remote}"),
            None => "* connected".to_owned(),
        }],
        #[cfg(feature = "tls")]
        ClientEvent::Secured { session, alpn, .. } => {
            let alpn = alpn.map_or_else(
                || "no ALPN".to_owned(),
                |alpn| format!("ALPN {}", String::from_utf8_lossy(alpn)),
            );
            vec![match session {
                Some(session) => {
                    let resumed = if session.is_resumed { ", resumed" } else { "" };
                    let version = match session.version {
                        stoop::tls::TlsVersion::V1_2 => "1.2",
                        stoop::tls::TlsVersion::V1_3 => "1.3",
                    };
                    format!("* TLS {version}, {}, {alpn}{resumed}", session.cipher)
                }
                None => format!("* TLS, {alpn}"),
            }]
        }
        ClientEvent::TunnelRequested { head, remote, is_http2, .. } => {
            let at = remote.map_or_else(String::new, |remote| format!(" at {remote}"));
            let asked = format!("* the proxy{at} is asked for a tunnel");
            [asked].into_iter().chain(request(head, *is_http2)).collect()
        }
        ClientEvent::Sending { head, is_reused, is_http2, .. } => {
            let reused = is_reused.then(|| "* over the same connection".to_owned());
            reused.into_iter().chain(request(head, *is_http2)).collect()
        }
        ClientEvent::Interim { head, .. }
        | ClientEvent::Responded { head, .. }
        | ClientEvent::TunnelAnswered { head, .. } => {
            let (version, status) = (version(head.version()), head.status().as_u16());
            let reason = String::from_utf8_lossy(head.reason());
            let line = format!("< HTTP/{version} {status} {reason}");
            [line.trim_end().to_owned()].into_iter().chain(fields('<', head.fields())).collect()
        }
        ClientEvent::Redirecting { to, .. } => {
            vec![format!("* redirected to {}", without_password(to))]
        }
        ClientEvent::Repeating { error, .. } => vec![format!("* sending it again: {error}")],
        ClientEvent::Retrying { attempt, wait, outcome, .. } => {
            let why = match outcome {
                Ok(status) => status.to_string(),
                Err(error) => error.to_string(),
            };
            vec![format!("* attempt {attempt} in {:.1} s: {why}", wait.as_secs_f64())]
        }
        ClientEvent::Failed { error, .. } => vec![format!("* failed: {error}")],
        ClientEvent::Received { bytes, is_complete, .. } => vec![match is_complete {
            true => format!("* {bytes} bytes of content, complete"),
            false => format!("* {bytes} bytes of content, and no more"),
        }],
        _ => Vec::new(),
    }
}

/// The head of a request.
fn request(head: &RequestHead, is_http2: bool) -> impl Iterator<Item = String> {
    let version = if is_http2 { "2" } else { "1.1" };
    let target = without_password(head.target());
    let line = format!("> {} {target} HTTP/{version}", head.method());
    [line].into_iter().chain(fields('>', head.fields()))
}

/// Fields, with credentials hidden.
fn fields(mark: char, fields: &Fields) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| {
        let value = match field.is_secret() {
            true => "<hidden>".into(),
            false => String::from_utf8_lossy(field.value()),
        };
        format!("{mark} {}: {value}", field.name())
    })
}
