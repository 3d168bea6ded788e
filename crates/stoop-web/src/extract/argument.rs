//! [`FromHead`] and [`FromContent`]: the traits of types that can be arguments of a handler.

use std::any::TypeId;
use std::borrow::Cow;
use std::future::Future;

use percent_encoding::percent_decode_str;
use stoop::{Body, Request, StatusCode};

use crate::extract::problem::{Place, Problem};
use crate::extract::rejection::Rejection;
use crate::route::endpoint::Matched;
use crate::route::slot::Match;
use crate::route::states::Needs;

/// What an argument is made of: the head of a request, the parameters of its route, and the state.
pub struct Head<'a> {
    pub(crate) request: &'a Request,
    pub(crate) matched: Match<'a>,
}

impl<'a> Head<'a> {
    /// The request, whose content is not to be read here.
    pub fn request(&self) -> &'a Request {
        self.request
    }

    /// The pattern of the route, such as `/users/{id}`; empty for a fallback.
    pub fn pattern(&self) -> &'a str {
        &self.matched.shape.pattern
    }

    /// Bytes of content that may be read: see [`Router::body_bytes_max`](crate::Router::body_bytes_max).
    pub fn body_bytes_max(&self) -> u64 {
        self.matched.body_bytes_max
    }

    /// The parameters of the path, in the order of the pattern, as they were sent: percent-encoded.
    pub fn parameters(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        let Match { shape, spans, .. } = self.matched;
        // A target that begins with the path will do, in which the end of the path need not be looked for.
        let target = self.request.target();
        let path = if target.starts_with('/') { target } else { self.request.path() };
        shape
            .names
            .iter()
            .enumerate()
            .map(move |(index, name)| (&**name, spans.get(index, path).unwrap_or_default()))
    }

    /// A parameter of the path, decoded; `None` if the pattern has none of that name.
    ///
    /// # Errors
    /// 400 if it is no UTF-8.
    pub fn parameter(&self, name: &str) -> Result<Option<Cow<'a, str>>, Rejection> {
        let found = self.parameters().find(|(known, _)| *known == name);
        found.map(|(name, value)| self.decoded(name, value)).transpose()
    }

    /// A parameter of the path, decoded.
    pub(crate) fn decoded(&self, name: &str, value: &'a str) -> Result<Cow<'a, str>, Rejection> {
        match self.matched.spans.is_encoded() {
            true => decode(name, value),
            false => Ok(value.into()),
        }
    }

    /// The value of the type `T` in the state, if there is one.
    pub fn state<T: 'static>(&self) -> Option<&'a T> {
        self.matched.state.find(TypeId::of::<T>())?.downcast_ref()
    }
}

fn decode<'a>(name: &str, value: &'a str) -> Result<Cow<'a, str>, Rejection> {
    percent_decode_str(value).decode_utf8().map_err(|_| {
        let detail = format!("{} is not UTF-8, percent-encoded", Problem::shown(value));
        Rejection::new(StatusCode::BAD_REQUEST, Problem::new(Place::Path, name, detail))
    })
}

/// An argument that is made of the head of a request.
///
/// All arguments of a handler are tried, so that the answer tells all that is wrong with the request.
///
/// ```
/// use stoop::StatusCode;
/// use stoop_web::{FromHead, Head, Place, Problem, Rejection, Router, get};
///
/// /// The tenant that a request names.
/// struct Tenant(String);
///
/// impl FromHead for Tenant {
///     fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
///         let value = head.request().field("x-tenant").and_then(|name| std::str::from_utf8(name).ok());
///         value.map(|name| Self(name.to_owned())).ok_or_else(|| {
///             let problem = Problem::new(Place::Field, "X-Tenant", "it is missing");
///             Rejection::new(StatusCode::BAD_REQUEST, problem)
///         })
///     }
/// }
///
/// let app = Router::new().route("/", get(|Tenant(name): Tenant| name)).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a handler, or not before its last one",
    note = "what reads the content (`Json`, `Form`, `Bytes`, `String`, `Request`, …) stands last"
)]
pub trait FromHead: Sized {
    /// Makes it.
    ///
    /// # Errors
    /// What is wrong with the request.
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection>;

    /// Tells what [`State`](crate::State) it asks for, so that a router can say at once what is missing.
    fn needs(_: &mut Needs) {}
}

/// The way of what is made of content.
pub enum ViaContent {}

/// The way of what is made of the head.
pub enum ViaHead {}

/// What came of an argument without waiting.
pub enum Immediate<T> {
    /// It is there.
    Done(T),
    /// It is wrong.
    Failed(Rejection, Request),
    /// It has to read the content.
    Reading(Request),
}

/// The last argument of a handler, which may take the request's content. `Via` is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument of a handler",
    note = "an argument implements `stoop_web::FromHead`, or, as the last one, `stoop_web::FromContent`"
)]
pub trait FromContent<Via = ViaContent>: Sized + 'static {
    /// Whether the content is read also where other arguments have failed, so that the answer can tell what is wrong
    /// with it too. Right for what reads a bounded content to its end.
    const IS_TRIED_ALWAYS: bool = false;

    /// Makes it at once, where the content is not read.
    #[doc(hidden)]
    fn immediately(request: Request, _: &Matched<'_>) -> Immediate<Self> {
        Immediate::Reading(request)
    }

    #[doc(hidden)]
    fn needs(_: &mut Needs) {}

    /// Makes it of a request whose content may be that many bytes.
    fn from_content(
        request: Request,
        body_bytes_max: u64,
    ) -> impl Future<Output = Result<Self, Rejection>> + Send + 'static;
}

impl<T: FromHead + 'static> FromContent<ViaHead> for T {
    fn immediately(request: Request, matched: &Matched<'_>) -> Immediate<Self> {
        match T::from_head(&Head { request: &request, matched: matched.0 }) {
            Ok(argument) => Immediate::Done(argument),
            Err(rejection) => Immediate::Failed(rejection, request),
        }
    }

    fn needs(needs: &mut Needs) {
        T::needs(needs);
    }

    async fn from_content(_: Request, _: u64) -> Result<Self, Rejection> {
        unreachable!("it is made at once")
    }
}

/// The request itself, with its content.
impl FromContent for Request {
    #[inline]
    fn immediately(request: Request, _: &Matched<'_>) -> Immediate<Self> {
        Immediate::Done(request)
    }

    async fn from_content(request: Request, _: u64) -> Result<Self, Rejection> {
        Ok(request)
    }
}

/// The content of the request, to be read piece by piece.
impl FromContent for Body {
    fn immediately(request: Request, _: &Matched<'_>) -> Immediate<Self> {
        Immediate::Done(request.into_body())
    }

    async fn from_content(request: Request, _: u64) -> Result<Self, Rejection> {
        Ok(request.into_body())
    }
}

/// The argument, or what is wrong with it: the handler decides what becomes of that.
impl<T: FromHead> FromHead for Result<T, Rejection> {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(T::from_head(head))
    }

    fn needs(needs: &mut Needs) {
        T::needs(needs);
    }
}

/// The same for content.
impl<T: FromContent + Send> FromContent for Result<T, Rejection> {
    const IS_TRIED_ALWAYS: bool = T::IS_TRIED_ALWAYS;

    async fn from_content(request: Request, body_bytes_max: u64) -> Result<Self, Rejection> {
        Ok(T::from_content(request, body_bytes_max).await)
    }
}
