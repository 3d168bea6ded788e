//! Files as a handler, and as an endpoint of a router.

use std::sync::Arc;

use stoop::{Answer, Body, Handler, IntoHandler, Request, Response};

use super::options::Files;
use super::service::{LaterResponse, Service};
use crate::extract::IntoEndpoint;
use crate::route::endpoint::{Endpoint, Matched};
use crate::route::mode::{Local, Mode, Shared};
use crate::route::slot::{Match, Shape};
use crate::route::states::Needs;

/// The kind of [`Files`] among what can be made a handler or an endpoint.
pub enum FilesKind {}

/// [`Files`] as a handler. A clone is the same, with the same memory of paths.
#[derive(Clone)]
pub struct FilesHandler(Arc<Service>);

impl IntoHandler<FilesKind> for Files {
    type Handler = FilesHandler;

    fn into_handler(self) -> FilesHandler {
        FilesHandler(Arc::new(Service::new(self)))
    }
}

impl Handler for FilesHandler {
    type Body = Body;
    type Output = Response;
    type Future = LaterResponse;

    #[inline]
    fn call(&self, request: Request) -> Answer<LaterResponse, Body> {
        self.0.call(request, 0)
    }
}

/// Files within a router, of whose paths they serve what is behind the prefix.
struct FilesEndpoint(Arc<Service>);

macro_rules! files_endpoint {
    ($($mode:ident)*) => {$(
        impl IntoEndpoint<$mode, FilesKind> for Files {
            fn into_endpoint(self) -> Arc<<$mode as Mode>::Endpoint> {
                Arc::new(FilesEndpoint(Arc::new(Service::new(self))))
            }
        }

        impl Endpoint<$mode> for FilesEndpoint {
            fn call(
                &self,
                request: Request,
                matched: &Matched<'_>,
            ) -> Answer<<$mode as Mode>::Future, Body> {
                let mount = mount(request.path(), &matched.0);
                match self.0.call(request, mount) {
                    Answer::Now(response) => Answer::Now(response),
                    Answer::Later(future) => Answer::Later(future),
                }
            }

            fn needs(&self, _: &mut Needs) {}
        }
    )*};
}

files_endpoint!(Shared Local);

/// How many bytes of the path lead to the files: those of a fallback's prefix, or what is before the slash of `{*name}`.
fn mount(path: &str, matched: &Match<'_>) -> usize {
    let Shape { pattern, prefix, names } = matched.shape;
    if !prefix.is_empty() {
        // A parameter in it is a segment too, whatever its length.
        let segments = prefix.matches('/').count();
        return path.match_indices('/').nth(segments).map_or(path.len(), |(at, _)| at);
    }
    let takes_rest = pattern.rsplit('/').next().is_some_and(|last| last.starts_with("{*"));
    let last = names.len().checked_sub(1).filter(|_| takes_rest);
    let rest = last.and_then(|index| matched.spans.get(index, path));
    rest.and_then(|rest| path.len().checked_sub(rest.len() + 1)).unwrap_or(0)
}
