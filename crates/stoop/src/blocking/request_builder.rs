//! A request that is described step by step, and sent by a thread that waits.

use std::fmt;
use std::time::Duration;

use super::response::{Response, send};
use super::runtime;
use crate::body::IntoBody;
use crate::client::RequestBuilder as AsyncBuilder;
use crate::error::Error;
use crate::request::Request;
use crate::versions::Versions;

/// Describes a request of a [`Client`](super::Client), and sends it: as [`crate::RequestBuilder`], which has the details of each step.
#[must_use = "nothing is sent before `send` is called"]
pub struct RequestBuilder(pub(super) AsyncBuilder);

impl RequestBuilder {
    fn step(self, step: impl FnOnce(AsyncBuilder) -> AsyncBuilder) -> Self {
        Self(step(self.0))
    }

    /// Adds a field.
    pub fn header(self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        self.step(|builder| builder.header(name, value))
    }

    /// Adds all fields of a map of the `http` crate.
    pub fn headers(self, headers: &http::HeaderMap) -> Self {
        self.step(|builder| builder.headers(headers))
    }

    /// Adds credentials by the Basic scheme.
    pub fn basic_auth(self, user: impl AsRef<str>, password: impl AsRef<str>) -> Self {
        self.step(|builder| builder.basic_auth(user, password))
    }

    /// Answers a challenge by the Digest scheme.
    #[cfg(feature = "digest-auth")]
    pub fn digest_auth(self, user: impl Into<String>, password: impl Into<String>) -> Self {
        self.step(|builder| builder.digest_auth(user, password))
    }

    /// Adds a token by the Bearer scheme.
    pub fn bearer_auth(self, token: impl AsRef<str>) -> Self {
        self.step(|builder| builder.bearer_auth(token))
    }

    /// Adds pairs to the query of the URL.
    #[cfg(feature = "json")]
    pub fn query<T: serde::Serialize + ?Sized>(self, pairs: &T) -> Self {
        self.step(|builder| builder.query(pairs))
    }

    /// Makes pairs the content, as a form.
    #[cfg(feature = "json")]
    pub fn form<T: serde::Serialize + ?Sized>(self, pairs: &T) -> Self {
        self.step(|builder| builder.form(pairs))
    }

    /// Makes the JSON of a value the content.
    #[cfg(feature = "json")]
    pub fn json<T: serde::Serialize + ?Sized>(self, value: &T) -> Self {
        self.step(|builder| builder.json(value))
    }

    /// Makes a form with files the content.
    #[cfg(feature = "multipart")]
    pub fn multipart(self, form: crate::body::Form) -> Self {
        self.step(|builder| builder.multipart(form))
    }

    /// Replaces the content: [`from_reader`](super::from_reader) makes it of a file, or of any other reader.
    pub fn body<K>(self, body: impl IntoBody<K>) -> Self {
        self.step(|builder| builder.body(body))
    }

    /// Encodes the content.
    #[cfg(feature = "compression")]
    pub fn encode(self, coding: crate::body::ContentCoding) -> Self {
        self.step(|builder| builder.encode(coding))
    }

    /// Whether the content of the response is decoded.
    #[cfg(feature = "compression")]
    pub fn decode_content(self, decodes: bool) -> Self {
        self.step(|builder| builder.decode_content(decodes))
    }

    /// How long the exchange may take in all.
    pub fn timeout(self, total: Duration) -> Self {
        self.step(|builder| builder.timeout(total))
    }

    /// Lets the exchange take as long as it likes.
    pub fn without_deadlines(self) -> Self {
        self.step(AsyncBuilder::without_deadlines)
    }

    /// Sends it over these versions of HTTP.
    pub fn versions(self, versions: Versions) -> Self {
        self.step(|builder| builder.versions(versions))
    }

    /// Keeps a value with the request, for middleware.
    pub fn extension<T: Clone + Send + Sync + 'static>(self, value: T) -> Self {
        self.step(|builder| builder.extension(value))
    }

    /// A second builder of the same request, if its content can be sent twice.
    pub fn try_clone(&self) -> Option<Self> {
        self.0.try_clone().map(Self)
    }

    /// The request, to be sent by [`Client::send`](super::Client::send).
    ///
    /// # Errors
    /// That of the first step that failed.
    pub fn build(self) -> Result<Request, Error> {
        self.0.build()
    }

    /// Sends the request and waits for the head of its response.
    ///
    /// # Errors
    /// As [`Client::send`](super::Client::send), and that of the first step that failed.
    pub fn send(self) -> Result<Response, Error> {
        let client = self.0.client.clone();
        // Steps that need a runtime find one.
        let _entered = runtime::runtime()?.enter();
        send(client, self.0.build()?)
    }
}

impl fmt::Debug for RequestBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
