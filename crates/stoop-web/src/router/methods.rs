//! [`Route`]: the endpoints of one pattern, by method.

use std::sync::Arc;
use std::time::Duration;

use stoop::Method;

use crate::extract::IntoEndpoint;
use crate::route::middleware::IntoLayer;
use crate::route::mode::{Mode, Shared};

/// The endpoints of one pattern, by method, with the layers and limits of this pattern alone.
///
/// A HEAD is answered as GET is, without content, unless it has an endpoint of its own (RFC 9110 §9.3.2). OPTIONS
/// is answered 204 with Allow, and any other method that is not there 405 with Allow (§15.5.6); both pass the
/// layers.
///
/// ```
/// use stoop_web::{Path, Router, get};
///
/// let app = Router::new()
///     .route("/notes/{id}", get(|Path(id): Path<u64>| format!("note {id}")).delete(|| ()))
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
pub struct Route<M: Mode = Shared> {
    pub(crate) methods: Vec<(Method, Arc<M::Endpoint>)>,
    pub(crate) any: Option<Arc<M::Endpoint>>,
    /// Methods that were given twice; `None` for all of them.
    pub(crate) twice: Vec<Option<Method>>,
    pub(crate) layers: Vec<Arc<M::Middleware>>,
    pub(crate) limits: RouteLimits,
    pub(crate) not_allowed: Option<Arc<M::Endpoint>>,
}

/// The limits of a route, where they are not the router's.
#[derive(Clone, Copy, Default)]
pub(crate) struct RouteLimits {
    pub(crate) body_bytes_max: Option<u64>,
    pub(crate) time: Option<Duration>,
}

impl RouteLimits {
    /// These, and `outer`'s where there is none.
    pub(crate) fn or(self, outer: Self) -> Self {
        Self {
            body_bytes_max: self.body_bytes_max.or(outer.body_bytes_max),
            time: self.time.or(outer.time),
        }
    }
}

impl<M: Mode> Route<M> {
    fn new() -> Self {
        Self {
            methods: Vec::new(),
            any: None,
            twice: Vec::new(),
            layers: Vec::new(),
            limits: RouteLimits::default(),
            not_allowed: None,
        }
    }

    /// Adds an endpoint for a method of any name.
    pub fn on<K, E: IntoEndpoint<M, K>>(mut self, method: Method, endpoint: E) -> Self {
        match self.methods.iter().any(|(of, _)| *of == method) {
            true => self.twice.push(Some(method)),
            false => self.methods.push((method, endpoint.into_endpoint())),
        }
        self
    }

    /// Adds an endpoint for all methods that have none of their own, OPTIONS and CONNECT too. It is called with a
    /// HEAD where there is no GET.
    pub fn any<K, E: IntoEndpoint<M, K>>(mut self, endpoint: E) -> Self {
        match self.any {
            Some(_) => self.twice.push(None),
            None => self.any = Some(endpoint.into_endpoint()),
        }
        self
    }

    /// Runs `layer` around the endpoints of this pattern, within the layers of the router and those that were
    /// added before.
    pub fn layer<W: IntoLayer<M>>(mut self, layer: W) -> Self {
        self.layers.push(layer.into_layer());
        self
    }

    /// How many bytes of content a request may have: see [`Router::body_bytes_max`](crate::Router::body_bytes_max).
    pub fn body_bytes_max(mut self, bytes: u64) -> Self {
        self.limits.body_bytes_max = Some(bytes);
        self
    }

    /// How long the response may take: see [`Router::time_limit`](crate::Router::time_limit).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limits.time = Some(limit);
        self
    }
}

macro_rules! methods {
    ($($name:ident $method:ident $title:literal;)*) => {
        impl<M: Mode> Route<M> {$(
            #[doc = concat!("Adds an endpoint for ", $title, ".")]
            pub fn $name<K, E: IntoEndpoint<M, K>>(self, endpoint: E) -> Self {
                self.on(Method::$method, endpoint)
            }
        )*}

        $(
            #[doc = concat!("A route with an endpoint for ", $title, ".")]
            pub fn $name<M: Mode, K, E: IntoEndpoint<M, K>>(endpoint: E) -> Route<M> {
                Route::new().on(Method::$method, endpoint)
            }
        )*
    };
}

methods! {
    get GET "GET, and for HEAD unless that has its own";
    head HEAD "HEAD";
    post POST "POST";
    put PUT "PUT";
    patch PATCH "PATCH";
    delete DELETE "DELETE";
    options OPTIONS "OPTIONS";
    connect CONNECT "the CONNECT of RFC 8441, by which HTTP/2 asks for a WebSocket: it has a path";
}

/// A route with an endpoint for a method of any name.
pub fn on<M: Mode, K, E: IntoEndpoint<M, K>>(method: Method, endpoint: E) -> Route<M> {
    Route::new().on(method, endpoint)
}

/// A route with an endpoint for all methods: see [`Route::any`].
pub fn any<M: Mode, K, E: IntoEndpoint<M, K>>(endpoint: E) -> Route<M> {
    Route::new().any(endpoint)
}
