//! Responses of the `http` crate, to and from.

use std::sync::Arc;

use super::Response;
use crate::body::Body;
use crate::conn::recycle::Recycle;
use crate::header_map::{from_map, into_map, recycle};
use crate::request::RequestParts;
use crate::response::sent::SentExtension;
use crate::upgrade::UpgradeExtension;

/// What a received response keeps with it while it is one of the `http` crate.
#[derive(Clone)]
struct ReceivedExtension {
    sent: Arc<Recycle<RequestParts>>,
    redirects: u16,
    collect_max: u64,
    save_max: u64,
}

/// Status, version, fields, extensions and content, and whether it [switches](Response::upgrade) the connection. A
/// server sends in the version that it speaks with the client, whatever the response says.
impl<B> From<http::Response<B>> for Response<B> {
    fn from(theirs: http::Response<B>) -> Self {
        let (parts, body) = theirs.into_parts();
        let mut response = Self::from_stream(body).with_status(parts.status);
        response.extensions = parts.extensions;
        if let Some(received) = response.extensions.remove::<ReceivedExtension>() {
            let ReceivedExtension { sent, redirects, collect_max, save_max } = received;
            (response.redirects, response.collect_max) = (redirects, collect_max);
            response.save_max = save_max;
            response.sent = Some(Arc::try_unwrap(sent).unwrap_or_else(|sent| (*sent).clone()));
        }
        response.upgrade =
            response.extensions.remove::<UpgradeExtension>().and_then(|upgrade| upgrade.take());
        if let Some(hook) = response.extensions.remove::<SentExtension>() {
            response.hook = hook.take();
        }
        if !parts.headers.is_empty() {
            from_map(&parts.headers, response.fields_mut());
        }
        recycle(parts.headers);
        if parts.version != response.version() {
            response.head.get_or_insert_with(Recycle::new).set_version(parts.version);
        }
        response
    }
}

/// Status, version, fields, extensions and content, and whether it [switches](Response::upgrade) the connection; of
/// a received response its [`Timings`](crate::Timings) and its [`ConnectionInfo`](crate::ConnectionInfo) too, as
/// extensions. Made a [`Response`] again, it has its URL, history and limits as before.
impl From<Response> for http::Response<Body> {
    fn from(mut response: Response) -> Self {
        let mut theirs = Self::new(Body::empty());
        *theirs.status_mut() = response.status();
        *theirs.version_mut() = response.version();
        if let Some(connection) = response.connection() {
            theirs.extensions_mut().insert(response.timings());
            theirs.extensions_mut().insert(connection);
        }
        theirs.extensions_mut().extend(std::mem::take(&mut response.extensions));
        if let Some(sender) = response.upgrade.take() {
            theirs.extensions_mut().insert(UpgradeExtension::new(sender));
        }
        if !response.hook.is_none() {
            let hook = std::mem::take(&mut response.hook);
            theirs.extensions_mut().insert(SentExtension::new(hook));
        }
        if let Some(sent) = response.sent.take() {
            let (redirects, collect_max) = (response.redirects, response.collect_max);
            let (save_max, sent) = (response.save_max, Arc::new(sent));
            theirs.extensions_mut().insert(ReceivedExtension {
                sent,
                redirects,
                collect_max,
                save_max,
            });
        }
        *theirs.headers_mut() = into_map(response.fields());
        if let Some(content_type) = response.content_type() {
            let value = http::HeaderValue::from_static(content_type);
            theirs.headers_mut().entry(http::header::CONTENT_TYPE).or_insert(value);
        }
        *theirs.body_mut() = response.into_body();
        theirs
    }
}
