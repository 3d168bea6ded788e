//! A job: a URL to fetch, and what may come with it.

use std::fmt::{self, Formatter};
use std::net::IpAddr;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use stoop::{Fields, Method, Misuse};

/// One URL to fetch, as a source reports it. It lives as long as the call that reports it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job<'a> {
    /// The URL as it was given; any bytes. What is no URL gets a record of the kind `invalid_url`.
    pub url: &'a [u8],
    /// How much of it was read.
    pub extent: Extent,
    /// What it has beside its URL. Most jobs have nothing, and cost no allocation.
    pub options: Option<Box<JobOptions>>,
    /// Its number in the source, where the run has a folder.
    pub(crate) number: u64,
    /// The address of its host, where hosts are told apart by that and it is known.
    pub(crate) address: Option<IpAddr>,
}

impl<'a> Job<'a> {
    /// The job of fetching `url` as the run does.
    pub fn new(url: &'a [u8]) -> Self {
        Self { url, extent: Extent::Whole, options: None, number: 0, address: None }
    }

    /// The same, where `url` is less than all of it: such a job gets a record and no request.
    #[must_use]
    pub fn with_extent(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }

    /// The same, with what comes with the URL.
    #[must_use]
    pub fn with_options(self, options: JobOptions) -> Self {
        Self { options: Some(Box::new(options)), ..self }
    }

    /// The memory that it holds, nearly.
    pub(crate) fn held_bytes(&self) -> usize {
        self.url.len() + self.options.as_ref().map_or(0, |options| options.held_bytes())
    }
}

/// How much of a URL of the input was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The first bytes of an overlong one.
    Overlong,
    /// The first bytes of one that was being read when the run ended.
    Interrupted,
    /// The first bytes of one within which reading the input failed.
    InputFailed,
}

/// What a job has beside its URL: an identifier and metadata, which its record has too, and a request of its own.
///
/// ```
/// use stoop::Method;
/// use stoop_fetch::source::{Job, JobOptions};
///
/// let options = JobOptions::new()
///     .id("order-17")
///     .metadata(&["rush", "paid"])?
///     .method(Method::POST)
///     .field("content-type", b"application/json")?
///     .content("{}");
/// let job = Job::new(b"https://example.com/orders").with_options(options);
/// # let _ = job;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
pub struct JobOptions {
    pub(crate) id: Option<Box<str>>,
    pub(crate) metadata: Option<Box<RawValue>>,
    pub(crate) method: Option<Method>,
    pub(crate) fields: Fields,
    pub(crate) content: Option<Bytes>,
    /// Why it is no job, where that is known before it is fetched.
    pub(crate) fault: Option<Box<str>>,
}

impl JobOptions {
    /// Nothing beside the URL.
    pub fn new() -> Self {
        Self::default()
    }

    /// An identifier of the caller's, which the record has. Several jobs may have the same.
    #[must_use]
    pub fn id(self, id: impl Into<Box<str>>) -> Self {
        Self { id: Some(id.into()), ..self }
    }

    /// A value of the caller's, which the record has as JSON.
    ///
    /// # Errors
    /// The value cannot be written as JSON.
    pub fn metadata<T: Serialize + ?Sized>(self, value: &T) -> serde_json::Result<Self> {
        let value = serde_json::value::to_raw_value(value)?;
        Ok(Self { metadata: Some(value), ..self })
    }

    /// The method, in place of the run's.
    #[must_use]
    pub fn method(self, method: Method) -> Self {
        Self { method: Some(method), ..self }
    }

    /// Adds a field. Fields of the run with the same name are not sent. A job whose fields may not be sent together, or not
    /// with its content, gets a record of the kind `invalid_job` and no request: a Content-Length of another length, a Host
    /// that is none, or two of them.
    ///
    /// # Errors
    /// The field may not be sent.
    pub fn field(mut self, name: &str, value: &[u8]) -> Result<Self, Misuse> {
        self.fields.push(name, value)?;
        Ok(self)
    }

    /// The content, in place of the run's.
    #[must_use]
    pub fn content(self, content: impl Into<Bytes>) -> Self {
        Self { content: Some(content.into()), ..self }
    }

    /// A job that gets a record of the kind `invalid_job` with this text and no request: what a source found is no
    /// job.
    #[must_use]
    pub fn invalid(self, why: impl Into<Box<str>>) -> Self {
        Self { fault: Some(why.into()), ..self }
    }

    /// Whether there is nothing in it.
    pub(crate) fn is_empty(&self) -> bool {
        self.id.is_none() && self.metadata.is_none() && self.has_run_request()
    }

    /// Whether the job has the request that the run makes of its URL.
    pub(crate) fn has_run_request(&self) -> bool {
        let Self { id: _, metadata: _, method, fields, content, fault } = self;
        method.is_none() && fields.is_empty() && content.is_none() && fault.is_none()
    }

    /// How many bytes of memory it takes.
    pub(crate) fn held_bytes(&self) -> usize {
        let fields = self.fields.iter().map(|field| field.name_bytes().len() + field.value().len());
        size_of::<Self>()
            + self.id.as_ref().map_or(0, |id| id.len())
            + self.metadata.as_ref().map_or(0, |value| value.get().len())
            + self.content.as_ref().map_or(0, Bytes::len)
            + fields.sum::<usize>()
    }
}

impl fmt::Debug for JobOptions {
    /// Without the values of fields and the content, which may be secret.
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("JobOptions")
            .field("id", &self.id)
            .field("metadata", &self.metadata.as_ref().map(|value| value.get()))
            .field("method", &self.method)
            .field("content_bytes", &self.content.as_ref().map(Bytes::len))
            .finish_non_exhaustive()
    }
}
