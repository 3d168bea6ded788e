//! Formats of lines: Apache's common and combined, JSON, and the caller's own.

use std::sync::Arc;
use std::time::Duration;

use super::clock::{put_common, put_rfc3339};
use super::digits::{put_address, put_ip, put_millis, put_number};
use super::entry::LogEntry;
use super::escape::put_apache;
use crate::json_text::put_json;

/// The status of a line for an exchange that had none because the client left: nginx's. The formats have no word for
/// none that all their readers understand.
const CLIENT_CLOSED_REQUEST: u16 = 499;

/// Room for a line of JSON.
const LINE_BYTES: usize = 512;

/// How an entry becomes a line.
#[derive(Clone)]
pub(super) enum LogFormat {
    Common,
    Combined,
    Json,
    Custom(Arc<CustomFormat>),
}

pub(super) type CustomFormat = dyn Fn(&LogEntry, &mut Vec<u8>) + Send + Sync;

impl LogFormat {
    /// Writes the line of an entry, with its end.
    pub(super) fn put(&self, entry: &LogEntry, out: &mut Vec<u8>) {
        match self {
            Self::Common => put_common_line(entry, out),
            Self::Combined => {
                put_common_line(entry, out);
                for text in [entry.referer(), entry.user_agent()] {
                    out.extend_from_slice(b" \"");
                    put_apache(text.unwrap_or(b"-"), out);
                    out.push(b'"');
                }
            }
            Self::Json => put_json_line(entry, out),
            Self::Custom(put) => put(entry, out),
        }
        out.push(b'\n');
    }
}

/// Apache's `%h %l %u %t "%r" %>s %b`.
fn put_common_line(entry: &LogEntry, out: &mut Vec<u8>) {
    match entry.peer() {
        Some(peer) => put_ip(peer.ip(), out),
        None => out.push(b'-'),
    }
    out.extend_from_slice(b" - ");
    // A space would end the name, and a bracket begin the time.
    for (index, part) in entry.user().unwrap_or(b"-").split(|byte| *byte == b' ').enumerate() {
        if index > 0 {
            out.extend_from_slice(b"\\x20");
        }
        put_apache(part, out);
    }
    out.extend_from_slice(b" [");
    put_common(entry.time(), out);
    out.extend_from_slice(b"] \"");
    match entry.target_bytes() {
        // As Apache has it of a request that has not come.
        [] => out.push(b'-'),
        target => {
            put_apache(entry.method().as_str().as_bytes(), out);
            out.push(b' ');
            put_apache(target, out);
            out.push(b' ');
            out.extend_from_slice(entry.protocol().as_bytes());
        }
    }
    out.extend_from_slice(b"\" ");
    let status = entry.status().map_or(CLIENT_CLOSED_REQUEST, |status| status.as_u16());
    put_number(status.into(), out);
    out.push(b' ');
    match entry.content_bytes() {
        0 => out.push(b'-'),
        bytes => put_number(bytes, out),
    }
}

fn put_json_line(entry: &LogEntry, out: &mut Vec<u8>) {
    // Most lines have less.
    out.reserve(LINE_BYTES);
    out.extend_from_slice(b"{\"time\":\"");
    put_rfc3339(entry.time(), out);
    match entry.target_bytes() {
        [] => out.extend_from_slice(b"\",\"method\":null,\"target\":null,\"host\":null"),
        target => {
            out.extend_from_slice(b"\",\"method\":");
            put_json(entry.method().as_str().as_bytes(), out);
            out.extend_from_slice(b",\"target\":");
            put_json(target, out);
            out.extend_from_slice(b",\"host\":");
            put_json(entry.host_bytes(), out);
        }
    }
    out.extend_from_slice(b",\"version\":\"");
    out.extend_from_slice(entry.protocol().as_bytes());
    out.extend_from_slice(b"\",\"status\":");
    match entry.status() {
        Some(status) => out.extend_from_slice(status.as_str().as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"bytes\":");
    put_number(entry.content_bytes(), out);
    put_text(b",\"user\":", entry.user(), out);
    put_text(b",\"referer\":", entry.referer(), out);
    put_text(b",\"user_agent\":", entry.user_agent(), out);
    put_text(b",\"request_id\":", entry.request_id(), out);
    put_text(b",\"traceparent\":", entry.trace_parent(), out);
    if let Some(peer) = entry.peer() {
        out.extend_from_slice(b",\"peer\":\"");
        put_address(peer, out);
        out.push(b'"');
    }
    if let Some(reason) = entry.refused() {
        put_text(b",\"refused\":", Some(reason.as_bytes()), out);
        return out.push(b'}');
    }
    put_time(b",\"response_ms\":", entry.until_response(), out);
    put_time(b",\"head_ms\":", entry.until_head(), out);
    put_time(b",\"total_ms\":", Some(entry.until_end()), out);
    match entry.is_complete() {
        true => out.extend_from_slice(b",\"complete\":true"),
        false => out.extend_from_slice(b",\"complete\":false"),
    }
    let why = entry.cut_short().map(|why| why.as_str().as_bytes());
    put_text(b",\"cut_short\":", why, out);
    out.push(b'}');
}

/// Writes a member whose value is text, if it has one. Inlined, so that the length of its name is known.
#[inline(always)]
fn put_text<const N: usize>(name: &[u8; N], value: Option<&[u8]>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend_from_slice(name);
        put_json(value, out);
    }
}

/// The same with a time.
#[inline(always)]
fn put_time<const N: usize>(name: &[u8; N], value: Option<Duration>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        out.extend_from_slice(name);
        put_millis(value, out);
    }
}
