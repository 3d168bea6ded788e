//! Content that can be made again, for requests that are sent more than once.

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;

use super::{Body, Kind, Replay};
use crate::error::Error;

impl Body {
    /// Content that `make` makes, anew each time that it is sent: a redirect that keeps the method, and
    /// sending a request again, then need nothing of the caller, as they do for a stream.
    ///
    /// ```
    /// # async fn upload(client: stoop::Client) -> Result<(), stoop::Error> {
    /// use stoop::Body;
    ///
    /// let content = Body::replayable(|| {
    ///     let (sender, body) = Body::channel(1);
    ///     tokio::spawn(async move {
    ///         sender.send("rows of a table, read again").await?;
    ///         sender.finish().await
    ///     });
    ///     body
    /// });
    /// client.put("https://example.com/table").body(content).send().await?;
    /// # Ok(()) }
    /// ```
    pub fn replayable(make: impl Fn() -> Self + Send + Sync + 'static) -> Self {
        Self::replay(Arc::new(make))
    }

    fn replay(make: Arc<dyn Fn() -> Self + Send + Sync>) -> Self {
        Self(Kind::Replay(Box::new(Replay { make, made: OnceLock::new() })))
    }
}

impl Replay {
    pub(super) fn again(&self) -> Body {
        Body::replay(Arc::clone(&self.make))
    }

    pub(super) fn body(&self) -> &Body {
        self.made.get_or_init(|| (self.make)())
    }

    pub(super) fn body_mut(&mut self) -> &mut Body {
        self.body();
        self.made.get_mut().expect("it was just made")
    }

    /// The same with `change` applied to it, each time that it is made.
    #[cfg(feature = "compression")]
    pub(super) fn map(&self, change: impl Fn(Body) -> Body + Send + Sync + 'static) -> Body {
        let make = Arc::clone(&self.make);
        Body::replayable(move || change(make()))
    }

    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        http_body::Body::poll_frame(Pin::new(self.body_mut()), cx)
    }
}
