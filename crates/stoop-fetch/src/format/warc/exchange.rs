//! The records of an exchange: a request and its response.

use std::mem;

use super::Warc;
use super::cdxj::{IndexEntry, IndexedOriginal};
use super::content::Content;
use super::memory::Memory;
use super::names::{host, media_type, protocol, uri};
use super::revisits::{Original, Reference};
use super::write::{
    DIGEST_LABEL, Head, RECORD_END, payload_digest, put_request_head, put_response_head, record_id,
};
use crate::capture::{Exchange, ExchangeResponse};

impl Warc {
    /// Appends the records of a request and its response.
    pub(super) fn push_exchange(
        &mut self,
        memory: &mut Memory,
        exchange: &Exchange,
        content: Content<'_>,
        date: &str,
        start: usize,
        into: &mut Vec<u8>,
    ) {
        let Some(response) = &exchange.response else { return };
        let uri = uri(&exchange.url);
        let (request_id, response_id) = (record_id(), record_id());
        let protocol = protocol(response.version);
        let (mut head, mut block) = (mem::take(&mut memory.head), mem::take(&mut memory.block));
        let remote_ip = exchange.remote_ip.map(|ip| memory.text_of(ip));
        let Exchange { method, target, request_fields, request_content: sent, .. } = exchange;
        put_request_head(
            &mut block,
            method,
            target,
            host(&exchange.url),
            request_fields,
            sent.len(),
        );
        let digest = (!sent.is_empty()).then(|| payload_digest(sent));
        head = Head::new(head, "request", request_id.as_str(), date)
            .field("WARC-Target-URI", &uri)
            .maybe("WARC-IP-Address", remote_ip)
            .field("WARC-Concurrent-To", response_id.as_str())
            .maybe("WARC-Protocol", protocol)
            .maybe("WARC-Payload-Digest", digest.as_deref())
            .block("application/http;msgtype=request", block.len() + sent.len());
        self.members.push(&[head.as_bytes(), &block, sent, RECORD_END], into);

        let begin = into.len();
        let labelled = payload_digest(content.bytes);
        let digest = &labelled[DIGEST_LABEL.len()..];
        let has_length = content.is_kept && !matches!(response.status, 204 | 304);
        let length = has_length.then_some(content.bytes.len());
        let ExchangeResponse { status, fields, .. } = response;
        put_response_head(&mut block, *status, fields, length, content.is_decoded);
        let is_whole = length.is_some_and(|length| length > 0) && content.truncated.is_none();
        let original = self.revisits.as_ref().filter(|_| is_whole).and_then(|revisits| {
            revisits.original(digest, || Original {
                id: response_id.as_str().into(),
                uri: (*uri).into(),
                date: date.into(),
            })
        });
        let reference = match (&original, content.not_modified) {
            (Some(original), _) => Some(Reference::same_content(original)),
            (None, Some(earlier)) => {
                let date = (earlier.start_ms > 0).then(|| self.date(earlier.start_ms));
                Some(Reference::not_modified(earlier.record_id.as_deref(), &uri, date))
            }
            (None, None) => None,
        };
        let (kind, bytes) = match &reference {
            Some(_) => ("revisit", &[][..]),
            None => ("response", content.bytes),
        };
        let fields_until_digest = Head::new(head, kind, response_id.as_str(), date)
            .field("WARC-Target-URI", &uri)
            .maybe("WARC-IP-Address", remote_ip)
            .maybe("WARC-Protocol", protocol);
        let fields_until_digest = match &reference {
            None => fields_until_digest.maybe("WARC-Truncated", content.truncated),
            Some(reference) => reference.add_to(fields_until_digest),
        };
        // What has not changed has the digest of the content that it refers to, which is not known here.
        let is_known = content.not_modified.is_none();
        head = fields_until_digest
            .maybe("WARC-Payload-Digest", is_known.then_some(&labelled))
            .block("application/http;msgtype=response", block.len() + bytes.len());
        let left_out = match self.split.is_asked_for && !bytes.is_empty() {
            true => {
                self.members.push(&[head.as_bytes(), &block], into);
                self.split.place = Some(into.len());
                self.members.push(&[RECORD_END], into);
                bytes.len()
            }
            false => {
                self.members.push(&[head.as_bytes(), &block, bytes, RECORD_END], into);
                0
            }
        };
        let has_content = self.revisits.is_some() && is_whole && reference.is_none();
        let original = has_content.then(|| IndexedOriginal {
            record_id: response_id.as_str().into(),
            record_date: date.into(),
        });
        let entry = IndexEntry {
            url: &uri,
            date,
            media_type: &match kind {
                "revisit" => "warc/revisit".into(),
                _ => media_type(&response.fields),
            },
            status: response.status,
            digest: if is_known { digest } else { "-" },
            length: into.len() - begin + left_out,
            original,
        };
        entry.push(begin - start, &mut self.entries);
        (memory.head, memory.block) = (head, block);
    }
}
