//! A page that shows the figures while it is looked at.

use std::sync::Arc;

use bytes::Bytes;
use stoop::{Request, Response};

use super::layer::{Sight, for_now};
use crate::accept::preferred;
use crate::respond::text::with_type;

/// The page, whole: no other address is asked for anything.
const PAGE: &str = concat!(
    "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n",
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    "<title>Status</title>\n<style>",
    include_str!("page.css"),
    "</style>\n",
    include_str!("page.html"),
    "<script>",
    include_str!("page.js"),
    "</script>\n",
);

/// What the page may do (CSP): its own style and script, by their hashes, and asking where it came from.
const POLICY: &str = concat!(
    "default-src 'none'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; ",
    "style-src 'sha256-Yt1IifmfEy72DyVV7vyGFfGlWiJKNvCkehq91tzdneI='; ",
    "script-src 'sha256-7a1wYj4LGXHTy1iiFLKSvhcbzeftjuq3awSfk5myV8k='",
);

/// A page with the figures of a [`Sight`]: rates, statuses, latency by route, the slowest exchanges of the last five
/// minutes, and of a server and of memory what the `Sight` was given. It asks for new ones each second, and needs nothing
/// but itself.
///
/// A client that would rather have `application/json`, by Accept, or adds `?json`, gets the figures as an object. They
/// tell what a service does: keep the page behind credentials, or on an address of its own.
///
/// ```
/// use stoop_web::{Router, Sight, StatusPage, get};
///
/// let sight = Sight::new();
/// let app = Router::new()
///     .route("/", get(|| "hello"))
///     .layer(sight.clone())
///     .route("/status", get(StatusPage::new(&sight).title("orders").endpoint()))
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone, Debug)]
pub struct StatusPage {
    sight: Sight,
    title: Arc<str>,
}

impl StatusPage {
    /// A page with these figures.
    pub fn new(sight: &Sight) -> Self {
        Self { sight: sight.clone(), title: "stoop".into() }
    }

    /// Names the service: `stoop` by default.
    pub fn title(mut self, title: &str) -> Self {
        self.title = title.into();
        self
    }

    /// The endpoint, for [`get`](crate::get).
    pub fn endpoint(self) -> impl Fn(Request) -> Response + Clone + Send + Sync + 'static {
        move |request: Request| self.answer(&request)
    }

    fn answer(&self, request: &Request) -> Response {
        let chosen = preferred(request, &["text/html", "application/json"]);
        if request.query() == Some("json") || chosen == Some("application/json") {
            return guarded(self.sight.json(&self.title));
        }
        let page = Response::from_bytes(Bytes::from_static(PAGE.as_bytes()));
        guarded(with_type(page, "text/html; charset=utf-8"))
    }
}

/// The response with the fields that keep what is in it from doing more than it is for.
fn guarded(response: Response) -> Response {
    let mut response = for_now(response);
    for (name, value) in [("content-security-policy", POLICY), ("referrer-policy", "no-referrer")] {
        // Texts of ours have nothing that no field may have.
        let _ = response.fields_mut().set(name, value.as_bytes());
    }
    response
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use sha2::{Digest, Sha256};

    use super::*;

    #[test]
    fn the_policy_has_the_hashes_of_what_the_page_has() {
        for text in [include_str!("page.css"), include_str!("page.js")] {
            let hash = format!("'sha256-{}'", STANDARD.encode(Sha256::digest(text)));
            assert!(POLICY.contains(&hash), "{hash} is not in the policy");
            // Else it would end where the text says so.
            assert!(!text.contains("</"));
        }
        assert!(!include_str!("page.html").contains(" style="));
    }
}
