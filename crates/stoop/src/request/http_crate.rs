//! Requests of the `http` crate, to and from.

use std::sync::Arc;

use http::uri::InvalidUri;
use http::{HeaderMap, Uri};
use stoop_proto::RequestHead;
use url::Url;

use super::Request;
use crate::body::Body;
use crate::conn::recycle::Recycle;
use crate::connection_info::ConnectionFacts;
#[cfg(any(feature = "tls", feature = "tls-ring"))]
use crate::connection_info::TlsFacts;
use crate::drain::Draining;
use crate::error::{Error, Phase};
use crate::header_map::{from_map, into_uri_and_map};

impl Request {
    /// The request as the `http` crate has it: method, target, version, fields, extensions and content, and as extensions
    /// the [`ConnectProtocol`] of an extended CONNECT, the [`InterimSender`](crate::InterimSender), if there is one, the
    /// [certificate](Self::client_certificate) of a client that has shown one, and the [name](Self::server_name) by
    /// which a client has asked for the server over TLS. The authority of a request that was received over HTTP/2 is
    /// its Host.
    ///
    /// # Errors
    /// If the target is no URI by that crate's rules, which are narrower than ours.
    pub fn into_http(self) -> Result<http::Request<Body>, http::Error> {
        let (uri, fields) = self.uri_and_fields()?;
        Ok(self.into_http_with(uri, fields))
    }

    /// The target and the fields as the `http` crate has them.
    pub(crate) fn uri_and_fields(&self) -> Result<(Uri, HeaderMap), InvalidUri> {
        let target = self.parts.url.as_ref().map_or(self.target(), Url::as_str);
        into_uri_and_map(target, self.fields())
    }

    /// The request as the `http` crate has it, with what [`uri_and_fields`](Self::uri_and_fields) has made of it.
    #[inline]
    pub(crate) fn into_http_with(mut self, uri: Uri, fields: HeaderMap) -> http::Request<Body> {
        let mut request = http::Request::new(std::mem::take(&mut self.body));
        *request.uri_mut() = uri;
        *request.method_mut() = self.method().clone();
        *request.version_mut() = self.version();
        *request.headers_mut() = fields;
        *request.extensions_mut() = std::mem::take(&mut self.parts.extensions);
        #[cfg(any(feature = "tls", feature = "tls-ring"))]
        if let Some(tls) = self.tls_facts() {
            add_tls_facts(request.extensions_mut(), tls);
        }
        if let Some(protocol) = self.protocol() {
            request.extensions_mut().insert(ConnectProtocol(protocol.into()));
        }
        if let Some(interim) = self.parts.interim.take() {
            request.extensions_mut().insert(interim);
        }
        request
    }
}

/// Adds what a handshake has told. It is a function of its own, so that requests without TLS do nothing of it.
#[cfg(any(feature = "tls", feature = "tls-ring"))]
#[inline(never)]
fn add_tls_facts(extensions: &mut http::Extensions, tls: &TlsFacts) {
    if let Some(shown) = &tls.client_certificate {
        extensions.insert(shown.clone());
    }
    if let Some(name) = &tls.server_name {
        extensions.insert(name.clone());
    }
}

/// Method, URI, version, fields, extensions and content; a [`ConnectionInfo`](crate::ConnectionInfo) among the extensions
/// is its [`connection`](Request::connection), and a [`Draining`] its [`draining`](Request::draining). The version is that of a request that came; a client sends in the one that it
/// speaks with the server.
impl TryFrom<http::Request<Body>> for Request {
    type Error = Error;
    fn try_from(request: http::Request<Body>) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let mut parts = parts;
        let uri = parts.uri.to_string();
        let mut ours = match parts.extensions.remove::<ConnectProtocol>() {
            Some(ConnectProtocol(protocol)) if uri.starts_with('/') => {
                let head = RequestHead::extended_connect(&protocol, &uri);
                let mut ours = Self { parts: Recycle::new(), body: Body::empty() };
                ours.parts.head = head.map_err(|misuse| Error::misuse(misuse, Phase::Request))?;
                ours
            }
            Some(ConnectProtocol(protocol)) => Self::extended_connect(&uri, &protocol)?,
            None => Self::new(parts.method, &uri)?,
        };
        ours.parts.head.set_version(parts.version);
        ours.parts.interim = parts.extensions.remove();
        if let Some(draining) = parts.extensions.remove::<Draining>() {
            let facts = ConnectionFacts { drain: draining.state(), ..Default::default() };
            ours.parts.facts = Some(Arc::new(facts));
        }
        ours.parts.extensions = parts.extensions;
        from_map(&parts.headers, ours.fields_mut());
        ours.body = body;
        Ok(ours)
    }
}

/// The protocol that an extended CONNECT asks for (RFC 8441 §4), as an extension of an `http::Request`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectProtocol(Box<str>);

impl ConnectProtocol {
    /// Its name, such as `websocket`.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drain::DrainState;
    use http::{Method, Version};

    #[test]
    fn version_and_extensions_were_lost_on_the_way_from_the_http_crate() {
        let mut theirs =
            http::Request::builder().method("PUT").uri("http://a/b?c").body("d".into());
        let theirs: &mut http::Request<Body> = theirs.as_mut().unwrap();
        *theirs.version_mut() = Version::HTTP_2;
        theirs.headers_mut().insert("x", http::HeaderValue::from_static("y"));
        theirs.extensions_mut().insert(7u32);
        let ours = Request::try_from(std::mem::take(theirs)).unwrap();
        assert_eq!((ours.version(), ours.extensions().get()), (Version::HTTP_2, Some(&7u32)));
        assert_eq!(
            (ours.method(), ours.target(), ours.field("x")),
            (&Method::PUT, "/b?c", Some(&b"y"[..]))
        );
        let back = ours.into_http().unwrap();
        assert_eq!((back.version(), back.extensions().get()), (Version::HTTP_2, Some(&7u32)));
        assert_eq!((back.method(), &*back.uri().to_string()), (&Method::PUT, "http://a/b?c"));
        assert_eq!((&back.headers()["x"], back.body().len()), (&"y".parse().unwrap(), Some(1)));
    }

    #[test]
    fn the_protocol_of_an_extended_connect_was_lost_on_the_way_to_the_http_crate() {
        for url in ["http://a/chat?b", "/chat?b"] {
            let ours = match url.starts_with('/') {
                true => {
                    let mut ours = Request::get("/").unwrap();
                    ours.parts.head = RequestHead::extended_connect("websocket", url).unwrap();
                    ours
                }
                false => Request::extended_connect(url, "websocket").unwrap(),
            };
            let theirs = ours.into_http().unwrap();
            assert_eq!(theirs.extensions().get(), Some(&ConnectProtocol("websocket".into())));
            let back = Request::try_from(theirs).unwrap();
            assert_eq!((back.method(), back.target()), (&Method::CONNECT, "/chat?b"));
            assert_eq!(
                (back.protocol(), back.url().is_some()),
                (Some("websocket"), url.len() > 10)
            );
        }
    }

    #[test]
    fn the_draining_of_a_server_was_lost_on_the_way_from_the_http_crate() {
        let state = Arc::new(DrainState::default());
        let mut theirs = http::Request::new(Body::empty());
        theirs.extensions_mut().insert(Draining::new(Some(state.clone())));
        let ours = Request::try_from(theirs).unwrap();
        assert!(!ours.draining().is_draining() && ours.connection().is_none());
        state.begin();
        assert!(ours.draining().is_draining());
    }

    #[test]
    fn the_connection_was_lost_on_the_way_from_the_http_crate() {
        let state = Arc::new(DrainState::default());
        let peer = "192.0.2.7:1234".parse().unwrap();
        let mut came = Request::get("/").unwrap();
        came.parts.peer = Some(stoop_io::PeerAddress::Inet(peer));
        came.parts.facts = Some(Arc::new(ConnectionFacts::new(state.clone(), None)));
        let connection = came.connection().unwrap();
        let mut theirs = http::Request::new(Body::empty());
        theirs.extensions_mut().insert(connection);
        let ours = Request::try_from(theirs).unwrap();
        assert_eq!((ours.connection(), ours.remote_address()), (Some(connection), Some(peer)));
        assert!(!ours.draining().is_draining());
        state.begin();
        assert!(ours.draining().is_draining() && connection.draining().is_draining());
        assert!(Request::get("/").unwrap().connection().is_none());
    }
}
