//! [`Multipart`]: a form as an argument of a handler, read part by part.

use std::fmt;

use bytes::{Bytes, BytesMut};
use stoop::{Body, IntoResponse, Request, Response, StatusCode};

use crate::extract::{FromContent, Place, Problem, Rejection, plain_content, unread, wrong_type};
use crate::multipart::boundary::boundary;
use crate::multipart::head::PartHead;
use crate::multipart::scanner::{Scanned, Scanner};

/// Parts of one form. A form of a browser has one for each field and file; what is refused are parts without content
/// that cost more than they weigh.
const PARTS_MAX: usize = 1000;

/// A form with files, `multipart/form-data`, as the last argument of a handler: its parts are read as they come, and
/// nothing of them is kept.
///
/// Content of another type, and in a content coding, is answered 415, unless [`Decompress`](crate::Decompress) is around it. A form has at most 1,000 parts and, in all, 2 MiB, unless
/// [`body_bytes_max`](crate::Router::body_bytes_max) says otherwise: 413 beyond that. The fields of a part have at most
/// 8 KiB, and what is malformed is a 400, where the handler passes the error on.
///
/// ```
/// use stoop_web::{Multipart, MultipartError, Router, post};
///
/// async fn upload(mut form: Multipart) -> Result<String, MultipartError> {
///     let mut bytes = 0;
///     while let Some(mut part) = form.next().await? {
///         // The name of a file is the client's: it is none of a path of yours.
///         while let Some(piece) = part.chunk().await? {
///             bytes += piece.len();
///         }
///     }
///     Ok(format!("{bytes} bytes\n"))
/// }
///
/// let app = Router::new().route("/upload", post(upload).body_bytes_max(1 << 30)).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
pub struct Multipart {
    body: Body,
    scanner: Scanner,
    parts: usize,
    /// A part has begun, and its end has not come.
    is_in_part: bool,
    has_ended: bool,
    left: u64,
    bytes_max: u64,
}

/// A part of a [`Multipart`] form: a field, or a file. One that is dropped unread is read past.
pub struct Part<'a> {
    form: &'a mut Multipart,
    head: PartHead,
}

/// Why a form cannot be read on. As an answer it is 400, 408 or 413.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipartError(Rejection);

impl FromContent for Multipart {
    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        let content_type = request.field("content-type").unwrap_or_default();
        let content_type = String::from_utf8_lossy(content_type);
        let Some(boundary) = boundary(&content_type) else {
            return Err(wrong_type(&content_type, "multipart/form-data with a boundary"));
        };
        plain_content(&request)?;
        Ok(Self {
            scanner: Scanner::new(&boundary),
            body: request.into_body(),
            parts: 0,
            is_in_part: false,
            has_ended: false,
            left: body_bytes_max,
            bytes_max: body_bytes_max,
        })
    }
}

impl Multipart {
    /// The next part; `None` behind the last one. What is left of the one before is read past.
    ///
    /// # Errors
    /// If the form is malformed, incomplete or too large. It is over then.
    pub async fn next(&mut self) -> Result<Option<Part<'_>>, MultipartError> {
        while self.piece().await?.is_some() {}
        match self.scanned().await? {
            Scanned::Head(head) => {
                self.parts += 1;
                if self.parts > PARTS_MAX {
                    let why = format!("it has more than {PARTS_MAX} parts");
                    return Err(self.fail(StatusCode::PAYLOAD_TOO_LARGE, why));
                }
                self.is_in_part = true;
                Ok(Some(Part { form: self, head }))
            }
            _ => Ok(None),
        }
    }

    /// The next piece of the part that has begun, if one has.
    async fn piece(&mut self) -> Result<Option<Bytes>, MultipartError> {
        if !self.is_in_part {
            return Ok(None);
        }
        if let Scanned::Piece(piece) = self.scanned().await? {
            return Ok(Some(piece));
        }
        self.is_in_part = false;
        Ok(None)
    }

    /// What comes next, and never [`Scanned::More`].
    async fn scanned(&mut self) -> Result<Scanned, MultipartError> {
        while !self.has_ended {
            match self.scanner.scan() {
                Ok(Scanned::More) => {}
                Ok(Scanned::End) => {
                    self.has_ended = true;
                    // What stands behind the last boundary is read past, as is what a handler leaves unread.
                    self.body = Body::empty();
                }
                Ok(scanned) => return Ok(scanned),
                Err(why) => return Err(self.fail(StatusCode::BAD_REQUEST, why)),
            }
            if !self.has_ended {
                self.read().await?;
            }
        }
        Ok(Scanned::End)
    }

    async fn read(&mut self) -> Result<(), MultipartError> {
        match self.body.chunk().await {
            Ok(Some(piece)) => match self.left.checked_sub(piece.len() as u64) {
                Some(left) => {
                    self.left = left;
                    self.scanner.push(&piece);
                    Ok(())
                }
                None => {
                    let why = format!("it has more than {} bytes", self.bytes_max);
                    Err(self.fail(StatusCode::PAYLOAD_TOO_LARGE, why))
                }
            },
            Ok(None) => Err(self.fail(StatusCode::BAD_REQUEST, "it ends before its last boundary")),
            Err(error) => {
                self.has_ended = true;
                Err(MultipartError(unread(error, self.bytes_max)))
            }
        }
    }

    fn fail(&mut self, status: StatusCode, why: impl Into<String>) -> MultipartError {
        (self.has_ended, self.is_in_part) = (true, false);
        MultipartError(Rejection::new(status, Problem::new(Place::Content, "", why)))
    }
}

impl Part<'_> {
    /// The name of the field in the form.
    pub fn name(&self) -> &str {
        &self.head.name
    }

    /// The name of the file, as the client sent it: it may have slashes in it, and be any text. `None` for what is no
    /// file.
    pub fn file_name(&self) -> Option<&str> {
        self.head.file_name.as_deref()
    }

    /// The media type that the client says the part has.
    pub fn content_type(&self) -> Option<&str> {
        self.head.content_type.as_deref()
    }

    /// The next piece of the content; `None` at its end.
    ///
    /// # Errors
    /// As [`Multipart::next`].
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, MultipartError> {
        self.form.piece().await
    }

    /// All content, if it is at most `max` bytes.
    ///
    /// # Errors
    /// As [`Multipart::next`], and a 413 beyond `max`.
    pub async fn bytes(mut self, max: usize) -> Result<Bytes, MultipartError> {
        let mut all = BytesMut::new();
        while let Some(piece) = self.chunk().await? {
            if all.len() + piece.len() > max {
                let problem = Problem::new(
                    Place::Content,
                    self.name(),
                    format!("it has more than {max} bytes"),
                );
                let rejection = Rejection::new(StatusCode::PAYLOAD_TOO_LARGE, problem);
                return Err(MultipartError(rejection));
            }
            all.extend_from_slice(&piece);
        }
        Ok(all.freeze())
    }

    /// All content as text, if it is at most `max` bytes.
    ///
    /// # Errors
    /// As [`bytes`](Self::bytes), and a 400 if it is not UTF-8.
    pub async fn text(self, max: usize) -> Result<String, MultipartError> {
        let name = self.name().to_owned();
        let bytes = self.bytes(max).await?;
        String::from_utf8(bytes.into()).map_err(|_| {
            let problem = Problem::new(Place::Content, name, "it is not UTF-8");
            MultipartError(Rejection::new(StatusCode::BAD_REQUEST, problem))
        })
    }
}

impl MultipartError {
    /// The answer, for [`Rejection::answer`].
    pub fn into_rejection(self) -> Rejection {
        self.0
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.problems().first() {
            Some(problem) => problem.fmt(f),
            None => f.write_str("the form cannot be read"),
        }
    }
}

impl std::error::Error for MultipartError {}

impl IntoResponse for MultipartError {
    type Body = Body;
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}
