//! A run that follows on an earlier one.

use std::sync::Arc;

use super::Fetch;
use crate::earlier::Earlier;

impl Fetch {
    /// Asks for what an earlier run has only if it has changed since: for a URL of which an ETag or a Last-Modified is known,
    /// the request has If-None-Match and If-Modified-Since with them, as they came. What has not changed is a record of the
    /// status 304, without content, digests or a file; in an archive it is of type `revisit`, and refers to the earlier
    /// response. Its [`etag`](crate::Details::etag) and [`last_modified`](crate::Details::last_modified) are those that were
    /// sent, where the response has none, so that a run can follow on another.
    ///
    /// Jobs whose method is neither GET nor HEAD, that ask for a Range, or that have conditions of their own are sent as
    /// they are. Validators belong to the URL that gave them: where a redirect leads, those of its target are sent, and no
    /// others.
    ///
    /// ```
    /// use stoop_fetch::{Earlier, Fetch};
    ///
    /// let mut earlier = Earlier::new();
    /// # let yesterday = &b""[..];
    /// earlier.read(yesterday)?;
    /// let fetch = Fetch::new().if_changed_since(earlier);
    /// # drop(fetch);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn if_changed_since(mut self, mut earlier: Earlier) -> Self {
        self.settings.earlier = (earlier.urls() > 0).then(|| Arc::new(earlier));
        self
    }
}
