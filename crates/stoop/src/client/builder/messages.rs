//! What a client adds to its requests, and does with the content of responses.

use http::Method;

use super::ClientBuilder;
use crate::client::validators::{FindValidators, Validators};
use crate::header_map::from_map;

impl ClientBuilder {
    /// A field for requests that have none of that name. Authorization, Cookie and Proxy-Authorization
    /// stay behind when a redirect leads to another origin, as if the request had had them.
    pub fn default_header(mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) -> Self {
        if let Err(misuse) = self.default_fields.push(name.as_ref(), value.as_ref()) {
            self.failed.get_or_insert_with(|| misuse.into());
        }
        self
    }

    /// All fields of a map of the `http` crate, each as by [`default_header`](Self::default_header).
    pub fn default_headers(mut self, headers: &http::HeaderMap) -> Self {
        from_map(headers, &mut self.default_fields);
        self
    }

    /// Whether requests that have no Accept, and no default one, get `*/*`: yes by default.
    pub fn accept_any(mut self, added: bool) -> Self {
        self.accepts_any = added;
        self
    }

    /// A User-Agent for requests that have none: by default none is sent.
    pub fn user_agent(self, user_agent: impl AsRef<str>) -> Self {
        self.default_header("user-agent", user_agent.as_ref())
    }

    /// Asks whether content has changed since an earlier response: `find` says what is known of a URL, for a GET or a HEAD
    /// without a Range and without conditions of its own, and the request has If-None-Match and If-Modified-Since by it.
    /// Where a redirect leads it is asked again, so that nothing goes to a URL that did not give it (RFC 9110 §15.4). A
    /// response that [is unchanged](crate::Response::is_unchanged) has no content. By default nothing is known.
    ///
    /// ```
    /// use stoop::{Client, Validators};
    ///
    /// let known = Validators { etag: Some("\"v1\"".into()), ..Validators::default() };
    /// let client = Client::builder()
    ///     .validators(move |_, url| (url == "https://example.com/").then(|| known.clone()))
    ///     .build()?;
    /// # drop(client);
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn validators(
        mut self,
        find: impl Fn(&Method, &str) -> Option<Validators> + Send + Sync + 'static,
    ) -> Self {
        self.validators = Some(FindValidators::new(find));
        self
    }

    /// Whether content in gzip, deflate, br or zstd is decoded as it is read, and asked for: yes by default.
    ///
    /// Accept-Encoding is added to requests that have neither one of their own nor a Range. Decoding does not depend
    /// on that: a response whose Content-Encoding lists known codings loses that field and its
    /// Content-Length, which are those of the content as it came;
    /// [`Response::decoded_from`](crate::Response::decoded_from) tells what was decoded, and
    /// [`Body::wire_bytes`](crate::Body::wire_bytes) its length. Not decoded is
    /// what has no content, parts of it (206), other codings, and more than three in a row.
    ///
    /// Memory does not grow with the content. What it may become is bounded:
    /// [`decoded_bytes_max`](crate::ClientLimits::decoded_bytes_max),
    /// [`decoded_ratio_max`](crate::ClientLimits::decoded_ratio_max), and where it is collected
    /// [`collect_bytes_max`](crate::ClientLimits::collect_bytes_max). Content that is not what its coding says fails to be
    /// read with [`Decode`](crate::ErrorKind::Decode).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::body::ContentCoding;
    /// use stoop::{Body, Client, Response};
    ///
    /// let compressed = |_: stoop::Request| {
    ///     let content = Body::from("to be read ".repeat(100)).encoded(ContentCoding::Gzip);
    ///     Response::new(content).with_field("content-encoding", "gzip").unwrap()
    /// };
    /// let client = Client::builder().handler(compressed).build()?;
    /// let response = client.get("http://example.com/").await?;
    /// assert_eq!(response.decoded_from(), [ContentCoding::Gzip]);
    /// assert_eq!(response.text().await?.len(), 1100);
    ///
    /// let response = client.get("http://example.com/").decode_content(false).await?;
    /// assert!(response.bytes().await?.len() < 100);
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    #[cfg(feature = "compression")]
    pub fn decode_content(mut self, decodes: bool) -> Self {
        self.decodes = decodes;
        self
    }

    /// The URL that relative ones are resolved against (RFC 3986 §5), in [`Client::get`](crate::Client::get) and its
    /// like. A path that does not end in `/` loses its last segment: `https://a/v1` with `users` is `https://a/users`,
    /// `https://a/v1/` with it `https://a/v1/users`. A [`Request`](crate::Request) that is made without the client, for
    /// [`Client::send`](crate::Client::send), needs a whole URL.
    pub fn base_url(mut self, url: impl Into<Box<str>>) -> Self {
        self.base_url = Some(url.into());
        self
    }
}
