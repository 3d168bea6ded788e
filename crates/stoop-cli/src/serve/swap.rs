//! An application that is replaced while it runs.

use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use stoop::{Answer, Body, Handler, IntoHandler, Request, Response};
use stoop_web::{App, AppHandler, Mode, Shared};

/// An application that all workers serve, until another takes its place.
#[derive(Clone)]
pub(super) struct Swap(Arc<Current>);

struct Current {
    /// How many applications there were: each worker compares it with that of its own.
    generation: AtomicU64,
    app: Mutex<App>,
}

impl Swap {
    pub(super) fn new(app: App) -> Self {
        Self(Arc::new(Current { generation: AtomicU64::new(0), app: Mutex::new(app) }))
    }

    /// Requests from now on are answered by `app`; those that run are not disturbed.
    pub(super) fn replace(&self, app: App) {
        *self.0.app.lock().unwrap_or_else(PoisonError::into_inner) = app;
        self.0.generation.fetch_add(1, Ordering::Release);
    }

    /// What answers on one worker.
    pub(super) fn handler(&self) -> SwapHandler {
        let (generation, handler) = self.current();
        SwapHandler { swap: self.clone(), own: RefCell::new((generation, handler)) }
    }

    fn current(&self) -> (u64, AppHandler) {
        // A replacement between the two is made again at the next request.
        let generation = self.0.generation.load(Ordering::Acquire);
        let app = self.0.app.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (generation, app.into_handler())
    }
}

/// The application on one worker.
pub(super) struct SwapHandler {
    swap: Swap,
    own: RefCell<(u64, AppHandler)>,
}

impl Handler for SwapHandler {
    type Body = Body;
    type Output = Response;
    type Future = <Shared as Mode>::Future;

    fn call(&self, request: Request) -> Answer<Self::Future, Body> {
        if self.swap.0.generation.load(Ordering::Acquire) != self.own.borrow().0 {
            let current = self.swap.current();
            drop(self.own.replace(current));
        }
        let handler = self.own.borrow();
        handler.1.call(request)
    }
}

#[cfg(test)]
mod tests {
    use stoop::Client;
    use stoop_web::{Router, get};

    use super::*;

    #[test]
    fn requests_are_answered_by_the_application_that_is_there_when_they_come() {
        let app = |text: &'static str| Router::new().route("/", get(move || text)).build().unwrap();
        let swap = Swap::new(app("one"));
        let server = stoop::Server::listen("127.0.0.1:0").unwrap().workers(2);
        let made = swap.clone();
        let server = server.run_with(move || made.handler()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("{}/", server.endpoint());
        let ask = async || Client::new().get(&url).await.unwrap().text().await.unwrap();
        runtime.block_on(async {
            assert_eq!(ask().await, "one");
            swap.replace(app("two"));
            for _ in 0..4 {
                assert_eq!(ask().await, "two");
            }
            server.close().await;
        });
    }
}
