//! A resource of an interface that speaks JSON.

use std::fmt;

use http::Method;
use serde::Serialize;
use serde::de::DeserializeOwned;
use stoop_proto::{Fields, without_password};
use url::Url;

use crate::client::{Client, RequestBuilder};
use crate::error::{Error, ErrorKind, Phase};
use crate::response::Response;

/// How much of the content of a failure is shown in its error, in bytes.
const SHOWN_BYTES_MAX: usize = 300;

/// A URL of an interface that takes and returns JSON, and what all requests to it share.
///
/// A status of an error is an error here ([`ErrorKind::HttpStatus`]), whose text has the beginning of what the
/// server says. Content is read up to the client's
/// [`collect_bytes_max`](crate::ClientLimits::collect_bytes_max). A response without content is JSON's
/// `null`, which a `()` and an `Option` are made of.
///
/// ```
/// # use std::collections::BTreeMap;
/// # use stoop::{Client, Request, Response};
/// # async fn api(request: Request) -> Response {
/// #     Response::from_json(format!(r#"{{"{}":{}}}"#, request.method(), request.target().len()))
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let client = Client::builder().handler(api).build()?;
/// let orders = client.resource("https://api.example.com/v2/orders")?;
/// let order = orders.at("17").query(&[("expand", "items")])?;
/// let found: BTreeMap<String, u32> = order.get().await?;
/// let made: BTreeMap<String, u32> = orders.post(&["perch", "trout"]).await?;
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Resource {
    client: Client,
    url: Url,
    fields: Fields,
}

impl Client {
    /// The resource at `url`, which may be relative to the [base URL](super::ClientBuilder::base_url).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`].
    pub fn resource(&self, url: impl AsRef<str>) -> Result<Resource, Error> {
        let request = self.0.request(Method::GET, url.as_ref())?;
        let Some(url) = request.parts.url.clone() else {
            let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
            return Err(
                error.with_detail("a resource needs a whole URL, or a client with a base URL")
            );
        };
        Ok(Resource { client: self.clone(), url, fields: Fields::new() })
    }
}

impl Resource {
    /// The resource below this one whose path is longer by these segments, `17` or `17/items`. What a
    /// segment may not have in it is percent-encoded; the query stays behind.
    pub fn at(&self, path: &str) -> Self {
        self.below(path.split('/').filter(|segment| !segment.is_empty()))
    }

    /// The resource below this one whose path is longer by one segment, whatever is in it: a `/` in a name is
    /// percent-encoded too.
    ///
    /// ```
    /// # let client = stoop::Client::new();
    /// let files = client.resource("https://api.example.com/files")?;
    /// assert_eq!(files.segment("2026/plan").url(), "https://api.example.com/files/2026%2Fplan");
    /// assert_eq!(files.at("2026/plan").url(), "https://api.example.com/files/2026/plan");
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn segment(&self, segment: &str) -> Self {
        self.below([segment])
    }

    fn below<'a>(&self, more: impl IntoIterator<Item = &'a str>) -> Self {
        let mut below = self.clone();
        below.url.set_query(None);
        if let Ok(mut segments) = below.url.path_segments_mut() {
            segments.pop_if_empty().extend(more);
        }
        below
    }

    /// The resource with `pairs` added to the query of its URL: see [`RequestBuilder::query`].
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`] if they are no pairs.
    pub fn query<T: Serialize + ?Sized>(&self, pairs: &T) -> Result<Self, Error> {
        let request = self.request(Method::GET).query(pairs).build()?;
        let url = request.parts.url.clone().unwrap_or_else(|| self.url.clone());
        Ok(Self { url, ..self.clone() })
    }

    /// The resource with a field that all its requests have.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidMessage`] if it may not be sent.
    pub fn header(&self, name: &str, value: impl AsRef<[u8]>) -> Result<Self, Error> {
        let mut with = self.clone();
        with.fields.push(name, value.as_ref())?;
        Ok(with)
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// A request for it that asks for JSON, to be described further.
    pub fn request(&self, method: Method) -> RequestBuilder {
        let mut request = self.client.request(method, self.url.as_str());
        for field in self.fields.iter() {
            request = request.header(field.name(), field.value());
        }
        match self.fields.contains("accept") {
            true => request,
            false => request.header("accept", "application/json"),
        }
    }

    /// Gets it.
    ///
    /// # Errors
    /// As [`Client::send`], [`ErrorKind::HttpStatus`], and [`ErrorKind::Decode`] if the response is not the JSON
    /// of a `T`.
    pub async fn get<T: DeserializeOwned>(&self) -> Result<T, Error> {
        read(self.request(Method::GET)).await
    }

    /// Sends `value` to it by POST.
    ///
    /// # Errors
    /// As [`Resource::get`].
    pub async fn post<T: DeserializeOwned>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<T, Error> {
        read(self.request(Method::POST).json(value)).await
    }

    /// Replaces it by `value`, by PUT.
    ///
    /// # Errors
    /// As [`Resource::get`].
    pub async fn put<T: DeserializeOwned>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<T, Error> {
        read(self.request(Method::PUT).json(value)).await
    }

    /// Changes it as `value` says, by PATCH.
    ///
    /// # Errors
    /// As [`Resource::get`].
    pub async fn patch<T: DeserializeOwned>(
        &self,
        value: &(impl Serialize + ?Sized),
    ) -> Result<T, Error> {
        read(self.request(Method::PATCH).json(value)).await
    }

    /// Deletes it.
    ///
    /// # Errors
    /// As [`Resource::get`].
    pub async fn delete<T: DeserializeOwned>(&self) -> Result<T, Error> {
        read(self.request(Method::DELETE)).await
    }
}

async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Error> {
    let response = request.send().await?;
    match response.error_for_status_ref() {
        Ok(_) => response.json_or_null().await,
        Err(error) => Err(explained(error, response).await),
    }
}

/// The error of a status, with the beginning of what the server says of it.
async fn explained(error: Error, mut response: Response) -> Error {
    let mut said = Vec::new();
    while said.len() < SHOWN_BYTES_MAX
        && let Ok(Some(piece)) = response.chunk().await
    {
        said.extend_from_slice(&piece[..piece.len().min(SHOWN_BYTES_MAX - said.len())]);
    }
    match String::from_utf8_lossy(&said).trim() {
        "" => error,
        text => error.with_detail(format_args!("{}: {text}", response.status())),
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({})", without_password(self.url.as_str()))
    }
}
