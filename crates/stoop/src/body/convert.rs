//! What a [`Body`] can be made of.

use std::any::Any;
use std::borrow::Cow;

use bytes::Bytes;

use super::{Body, Kind};
use crate::error::BoxError;

/// What can be the content of a message: a [`Body`], any other [`http_body::Body`] of [`Bytes`], or a
/// buffer. `Kind` tells the two apart and is always inferred.
///
/// The conversions that [`From`] has are the same, but for bodies of other types: `From` cannot have
/// those, because a [`Body`] is one itself.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the content of a message",
    label = "neither a buffer nor an `http_body::Body`",
    note = "a buffer is `Bytes`, `Vec<u8>`, `String`, `&'static str` or `&'static [u8]`",
    note = "a body must be `Send + 'static`, with `Data = Bytes`: for a stream use `Body::from_stream`"
)]
pub trait IntoBody<Kind> {
    /// Makes it content.
    fn into_body(self) -> Body;
}

/// Marks an [`IntoBody`] that is a buffer.
pub struct BufferKind(());

/// Marks an [`IntoBody`] that is an [`http_body::Body`].
pub struct StreamKind(());

macro_rules! buffers {
    ($($buffer:ty),*) => {$(
        impl IntoBody<BufferKind> for $buffer {
            fn into_body(self) -> Body {
                self.into()
            }
        }
    )*};
}

buffers!(Bytes, Vec<u8>, &'static str, &'static [u8], Cow<'static, str>, ());

impl<const N: usize> IntoBody<BufferKind> for &'static [u8; N] {
    fn into_body(self) -> Body {
        self[..].into()
    }
}

impl<B> IntoBody<StreamKind> for B
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// A [`Body`] stays what it is, and text is a buffer.
    fn into_body(self) -> Body {
        let mut this = Some(self);
        let any: &mut dyn Any = &mut this;
        if let Some(body) = any.downcast_mut::<Option<Body>>() {
            return body.take().unwrap_or_default();
        }
        if let Some(text) = any.downcast_mut::<Option<String>>() {
            return text.take().unwrap_or_default().into();
        }
        this.map_or_else(Body::empty, Body::stream)
    }
}

impl From<()> for Body {
    fn from((): ()) -> Self {
        Self::empty()
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self(if bytes.is_empty() { Kind::Empty } else { Kind::Full(bytes) })
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes::from(bytes).into()
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Bytes::from(text).into()
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Bytes::from_static(text.as_bytes()).into()
    }
}

impl From<Cow<'static, str>> for Body {
    fn from(text: Cow<'static, str>) -> Self {
        match text {
            Cow::Borrowed(text) => text.into(),
            Cow::Owned(text) => text.into(),
        }
    }
}

impl From<&'static [u8]> for Body {
    fn from(bytes: &'static [u8]) -> Self {
        Bytes::from_static(bytes).into()
    }
}
