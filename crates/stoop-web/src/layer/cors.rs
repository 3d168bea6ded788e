//! Cross-origin requests of browsers: the CORS protocol of the Fetch standard, §3.2.

use std::sync::Arc;
use std::time::Duration;

use stoop::{Answer, Body, Method, Request, Response, StatusCode};

use crate::layer::vary::add_vary;
use crate::route::cover::{Cover, cover};
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// Which origins may read the answers from a browser, and what their requests may be.
///
/// Without more, the requests that every page may send (GET, HEAD and POST, with the fields of the Fetch standard's
/// safelist) are readable by the origins. A preflight, which is an OPTIONS with Origin and
/// Access-Control-Request-Method, is answered here: 204, and to an origin that may not without permission, which is
/// how a browser learns of it. All other requests are answered as without this, by the handler, also where
/// the browser will not let the page read it: CORS is no protection against requests. An answer that a router or a server gives
/// in place of the handler's, because that took too long (503) or panicked (500), can be read like the handler's own; one that
/// is given before the handler is called, as where a server sheds load, cannot.
///
/// It belongs around [`BasicAuth`](crate::BasicAuth) and [`BearerAuth`](crate::BearerAuth), and so is added before them: a preflight
/// has no credentials, and a 401 without these fields cannot be read. `Authorization` is a field that has to be
/// [named](Self::headers).
///
/// ```
/// use std::time::Duration;
/// use stoop::Method;
/// use stoop_web::{Cors, Router, get};
///
/// let cors = Cors::origins(["https://app.example.com"])
///     .methods([Method::PUT, Method::DELETE])
///     .headers(["authorization", "content-type"])
///     .credentials()
///     .max_age(Duration::from_secs(3600));
/// let app = Router::new().route("/", get(|| "readable")).layer(cors).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone)]
pub struct Cors {
    origins: Origins,
    methods: Option<String>,
    headers: Option<String>,
    exposed: String,
    has_credentials: bool,
    max_age: Option<u64>,
}

#[derive(Clone)]
enum Origins {
    Any,
    Listed(Vec<String>),
    By(Arc<dyn Fn(&str) -> bool + Send + Sync>),
}

impl Cors {
    fn new(origins: Origins) -> Self {
        let methods = Some("GET, HEAD, POST".to_owned());
        let (headers, exposed) = (Some(String::new()), String::new());
        Self { origins, methods, headers, exposed, has_credentials: false, max_age: None }
    }

    /// All origins: for what is public. Answers say `*`.
    pub fn any_origin() -> Self {
        Self::new(Origins::Any)
    }

    /// These origins, written as browsers do: `https://example.com`, in lower case, without a slash at the end and
    /// with a port only where it is not the scheme's own.
    pub fn origins<O: Into<String>>(origins: impl IntoIterator<Item = O>) -> Self {
        Self::new(Origins::Listed(origins.into_iter().map(Into::into).collect()))
    }

    /// The origins that `allows` is true for. It must compare whole origins: `https://example.com.evil.test` begins
    /// with a good one, and `null` is each page of a sandbox.
    pub fn origins_by(allows: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        Self::new(Origins::By(Arc::new(allows)))
    }

    /// Adds methods that requests may have, besides GET, HEAD and POST.
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        if let Some(listed) = &mut self.methods {
            methods.into_iter().for_each(|method| push(listed, method.as_str()));
        }
        self
    }

    /// Requests may have any method.
    pub fn any_method(mut self) -> Self {
        self.methods = None;
        self
    }

    /// Adds fields that requests may have, besides those on the safelist.
    pub fn headers<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        if let Some(listed) = &mut self.headers {
            names.into_iter().for_each(|name| push(listed, name.as_ref()));
        }
        self
    }

    /// Requests may have any fields.
    pub fn any_header(mut self) -> Self {
        self.headers = None;
        self
    }

    /// Adds fields of answers that pages may read, besides those on the safelist.
    pub fn expose<N: AsRef<str>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        names.into_iter().for_each(|name| push(&mut self.exposed, name.as_ref()));
        self
    }

    /// Requests may have cookies, credentials of HTTP and client certificates with them.
    ///
    /// # Panics
    /// For [all origins](Self::any_origin): every page of the web could act for its visitors. The Fetch standard forbids it.
    pub fn credentials(mut self) -> Self {
        assert!(
            !matches!(self.origins, Origins::Any),
            "credentials need a list of origins, or a function of them"
        );
        self.has_credentials = true;
        self
    }

    /// How long a browser may keep the answer to a preflight, in whole seconds; by default it does for five, and at
    /// most for two hours (Chromium) or a day (Firefox).
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age.as_secs());
        self
    }

    fn allows(&self, origin: &str) -> bool {
        match &self.origins {
            Origins::Any => true,
            Origins::Listed(listed) => listed.iter().any(|known| known == origin),
            Origins::By(allows) => allows(origin),
        }
    }

    /// What both a preflight and another answer have; whether the origin may read it.
    fn permit(&self, response: &mut Response, origin: Option<&str>) -> bool {
        if matches!(self.origins, Origins::Any) {
            // Without Origin too, so that a cache has one answer for all.
            set(response, "access-control-allow-origin", "*");
            return true;
        }
        add_vary(response, "origin");
        let Some(origin) = origin.filter(|origin| self.allows(origin)) else { return false };
        set(response, "access-control-allow-origin", origin);
        if self.has_credentials {
            set(response, "access-control-allow-credentials", "true");
        }
        true
    }

    fn preflight(&self, request: &Request, origin: Option<&str>, method: &str) -> Response {
        let mut response = Response::from_status(StatusCode::NO_CONTENT);
        let is_permitted = self.permit(&mut response, origin);
        add_vary(&mut response, "access-control-request-method");
        add_vary(&mut response, "access-control-request-headers");
        if !is_permitted {
            return response;
        }
        // With credentials a `*` is a name like others: so what is asked for is named.
        set(
            &mut response,
            "access-control-allow-methods",
            self.methods.as_deref().unwrap_or(method),
        );
        let asked = text_of(request, "access-control-request-headers").unwrap_or_default();
        let headers = self.headers.as_deref().unwrap_or(asked);
        if !headers.is_empty() {
            set(&mut response, "access-control-allow-headers", headers);
        }
        if let Some(age) = self.max_age {
            set(&mut response, "access-control-max-age", &age.to_string());
        }
        response
    }
}

/// A list with one more element.
fn push(list: &mut String, element: &str) {
    if !list.is_empty() {
        list.push_str(", ");
    }
    list.push_str(element);
}

fn text_of<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    std::str::from_utf8(request.field(name)?).ok()
}

fn set(response: &mut Response, name: &str, value: &str) {
    // A name in a list that no field can have is the caller's: without permission the browser refuses, aloud.
    let _ = response.fields_mut().set(name, value.as_bytes());
}

/// What the answer to a request of that origin has.
struct Permit {
    cors: Cors,
    origin: Option<String>,
}

impl Cover for Permit {
    fn add(&self, response: &mut Response) {
        let Self { cors, origin } = self;
        if cors.permit(response, origin.as_deref()) && !cors.exposed.is_empty() {
            set(response, "access-control-expose-headers", &cors.exposed);
        }
    }
}

impl<M: Mode> Middleware<M> for Cors {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let origin = text_of(&request, "origin");
        if request.method() == Method::OPTIONS
            && origin.is_some()
            && let Some(method) = text_of(&request, "access-control-request-method")
        {
            return Answer::Now(self.preflight(&request, origin, method));
        }
        let permit = Permit { cors: self.clone(), origin: origin.map(str::to_owned) };
        cover::<M>(permit, || next.answer(request))
    }

    fn sees_refusals(&self) -> bool {
        true
    }
}
