//! An application that is replaced while it runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use stoop::{Answer, Body, Handler, IntoHandler, Request, Response};
use stoop_web::{App, AppHandler, Mode, Shared};

/// An application that all workers serve, until another takes its place.
#[derive(Clone)]
pub(super) struct Swap(Arc<Current>);

struct Current {
    app: Mutex<App>,
    /// The copy of each worker, made at its first request.
    copies: Mutex<Vec<WorkerCopy>>,
}

type WorkerCopy = Arc<Mutex<Option<AppHandler>>>;

impl Swap {
    pub(super) fn new(app: App) -> Self {
        Self(Arc::new(Current { app: Mutex::new(app), copies: Mutex::default() }))
    }

    /// Requests from now on are answered by `app`; those that run are not disturbed. The caller's thread drops the
    /// copies of idle workers too, with the files that they hold open.
    pub(super) fn replace(&self, app: App) {
        let old = std::mem::replace(&mut *locked(&self.0.app), app);
        for copy in &*locked(&self.0.copies) {
            let old = locked(copy).take();
            drop(old);
        }
        drop(old);
    }

    /// What answers on one worker.
    pub(super) fn handler(&self) -> SwapHandler {
        let own = WorkerCopy::default();
        locked(&self.0.copies).push(own.clone());
        SwapHandler { swap: self.clone(), own }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The application on one worker.
pub(super) struct SwapHandler {
    swap: Swap,
    own: WorkerCopy,
}

impl Handler for SwapHandler {
    type Body = Body;
    type Output = Response;
    type Future = <Shared as Mode>::Future;

    fn call(&self, request: Request) -> Answer<Self::Future, Body> {
        let mut own = locked(&self.own);
        // A replacement takes the copy out while this worker is at no request.
        let handler = own.get_or_insert_with(|| locked(&self.swap.0.app).clone().into_handler());
        handler.call(request)
    }
}

#[cfg(test)]
mod tests {
    use stoop::Client;
    use stoop_web::{Router, get};

    use super::*;

    #[test]
    fn requests_are_answered_by_the_application_that_is_there_when_they_come() {
        let app = |text: &'static str, held: Arc<()>| {
            let answer = move || {
                let _ = &held;
                text
            };
            Router::new().route("/", get(answer)).build().unwrap()
        };
        let held = Arc::new(());
        let is_held = Arc::downgrade(&held);
        let swap = Swap::new(app("one", held));
        let server = stoop::Server::listen("127.0.0.1:0").unwrap().workers(2);
        let made = swap.clone();
        let server = server.run_with(move || made.handler()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let url = format!("{}/", server.endpoint());
        let ask = async || Client::new().get(&url).await.unwrap().text().await.unwrap();
        runtime.block_on(async {
            // Each on a connection of its own, so that both workers have a copy.
            for _ in 0..8 {
                assert_eq!(ask().await, "one");
            }
            assert!(is_held.upgrade().is_some());
            swap.replace(app("two", Arc::default()));
            // Without another request: a directory and a log of the old one would be open still.
            assert!(is_held.upgrade().is_none());
            for _ in 0..4 {
                assert_eq!(ask().await, "two");
            }
            server.close().await;
        });
    }
}
