//! `multipart/form-data` (RFC 7578): the fields and files of a form.

use std::collections::VecDeque;
use std::fmt::{self, Write};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use stoop_proto::Misuse;

use super::{Body, IntoBody};
use crate::error::Error;

/// A form to be sent as `multipart/form-data`, by [`RequestBuilder::multipart`](crate::RequestBuilder::multipart).
///
/// It has a Content-Length if the length of each part is known, and can be sent again if each part can:
/// text, buffers and files can.
///
/// ```no_run
/// # async fn upload(client: stoop::Client) -> Result<(), Box<dyn std::error::Error>> {
/// use stoop::body::{Form, Part};
///
/// let photo = Part::file("photo.jpg").await?.mime_type("image/jpeg")?;
/// let form = Form::new().text("title", "a falcon").part("photo", photo);
/// client.post("https://example.com/photos").multipart(form).send().await?;
/// # Ok(()) }
/// ```
pub struct Form {
    boundary: String,
    parts: Vec<(Bytes, Body)>,
}

/// One part of a [`Form`].
pub struct Part {
    file_name: Option<String>,
    mime_type: Option<String>,
    body: Body,
}

impl Part {
    /// A part of any content.
    pub fn new<K>(body: impl IntoBody<K>) -> Self {
        Self { file_name: None, mime_type: None, body: body.into_body() }
    }

    /// The file at `path`, with its name, as `application/octet-stream`: see [`Body::file`].
    ///
    /// # Errors
    /// As [`Body::file`].
    pub async fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let mime_type = Some("application/octet-stream".to_owned());
        Ok(Self { file_name: name, mime_type, body: Body::file(path).await? })
    }

    /// Sets the name of a file, which tells a server that the part is one.
    pub fn file_name(mut self, name: impl Into<String>) -> Self {
        self.file_name = Some(name.into());
        self
    }

    /// Sets the Content-Type of the part. Without one a server takes it for text (RFC 7578 §4.4).
    ///
    /// # Errors
    /// [`Misuse::FieldValue`] if it is no field value.
    pub fn mime_type(mut self, mime_type: &str) -> Result<Self, Misuse> {
        // The type of fields refuses what could end the line early.
        stoop_proto::Fields::new().push("content-type", mime_type.as_bytes())?;
        self.mime_type = Some(mime_type.to_owned());
        Ok(self)
    }
}

impl Form {
    /// A form without parts.
    pub fn new() -> Self {
        let random = || RandomState::new().build_hasher().finish();
        Self { boundary: format!("stoop-{:016x}{:016x}", random(), random()), parts: Vec::new() }
    }

    /// Adds a field of text.
    pub fn text(self, name: &str, value: impl Into<String>) -> Self {
        self.part(name, Part::new(value.into()))
    }

    /// Adds a part.
    pub fn part(mut self, name: &str, part: Part) -> Self {
        let mut head = format!("--{}\r\ncontent-disposition: form-data; name=\"", self.boundary);
        put_quoted(&mut head, name);
        if let Some(file_name) = &part.file_name {
            head.push_str("; filename=\"");
            put_quoted(&mut head, file_name);
        }
        if let Some(mime_type) = &part.mime_type {
            let _ = write!(head, "\r\ncontent-type: {mime_type}");
        }
        head.push_str("\r\n\r\n");
        self.parts.push((head.into(), part.body));
        self
    }

    /// The Content-Type of the form, with its boundary.
    pub fn content_type(&self) -> String {
        format!("multipart/form-data; boundary={}", self.boundary)
    }

    /// The content.
    pub fn into_body(self) -> Body {
        let end = Bytes::from(format!("--{}--\r\n", self.boundary));
        let copies =
            self.parts.iter().map(|(_, body)| body.try_clone()).collect::<Option<Vec<_>>>();
        let Some(_) = copies else { return Body::stream(Chain::new(self.parts, end)) };
        let parts = Arc::new(self.parts);
        Body::replayable(move || {
            let copy =
                |(head, body): &(Bytes, Body)| (head.clone(), body.try_clone().unwrap_or_default());
            Body::stream(Chain::new(parts.iter().map(copy), end.clone()))
        })
    }
}

impl Default for Form {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Form({} parts)", self.parts.len())
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({:?}, {:?})", self.file_name, self.body)
    }
}

/// Appends a name and its closing quote, escaped as browsers do (the HTML standard, "multipart/form-data
/// encoding algorithm").
fn put_quoted(head: &mut String, name: &str) {
    for c in name.chars() {
        match c {
            '"' => head.push_str("%22"),
            '\r' => head.push_str("%0D"),
            '\n' => head.push_str("%0A"),
            c => head.push(c),
        }
    }
    head.push('"');
}

/// Bodies one behind the other.
struct Chain(VecDeque<Body>);

impl Chain {
    fn new(parts: impl IntoIterator<Item = (Bytes, Body)>, end: Bytes) -> Self {
        let line_end = || Body::from(&b"\r\n"[..]);
        let parts = parts.into_iter().flat_map(|(head, body)| [head.into(), body, line_end()]);
        Self(parts.chain([end.into()]).collect())
    }
}

impl http_body::Body for Chain {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        while let Some(body) = self.0.front_mut() {
            match ready!(body.poll_chunk(cx)) {
                Some(piece) => return Poll::Ready(Some(piece.map(Frame::data))),
                None => drop(self.0.pop_front()),
            }
        }
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        let length = self.0.iter().map(Body::len).sum::<Option<u64>>();
        length.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
