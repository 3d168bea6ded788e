//! stoop as a server that drains on SIGTERM: `ServerHandle::drain`, with default limits.
//!
//! It counts how often its handler was called, and prints that at its end, with the number of connections that were cut
//! off: `executed=N aborted=N`. Every fourth request takes 1 to 5 ms, so that there are always some in flight.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use stoop::{Request, Response, Server};
use stoop_bench_peer::{Arguments, HELLO};
use tokio::signal::unix::{SignalKind, signal};

/// How long a request may take after SIGTERM.
const GRACE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process("drain");
    let executed = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&executed);
    let answer = move |_: Request| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        async move {
            if number.is_multiple_of(4) {
                tokio::time::sleep(Duration::from_millis(1 + number / 4 % 5)).await;
            }
            Response::from_text(HELLO)
        }
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (server, aborted) = runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        let server = Server::listen(arguments.listen)?.workers(1).run(answer)?;
        terminated.recv().await;
        let aborted = server.drain(GRACE).await;
        Ok::<_, Box<dyn Error>>((server, aborted))
    })?;
    server.join();
    println!("executed={} aborted={aborted}", executed.load(Ordering::Relaxed));
    Ok(())
}
