//! Hosts that take their time: a server on every address of 127.0.0.0/8 that answers after as many milliseconds as the
//! path says.

use std::io;
use std::time::Duration;

use stoop::{Request, ServerLimits};
use tokio::time::sleep;

use crate::many::listener;

/// Serves, and prints its port.
pub(crate) async fn serve() -> io::Result<()> {
    let listener = listener()?;
    println!("{}", listener.local_addr()?.port());
    let limits = ServerLimits::default();
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::spawn(stoop::rt::serve(stream, answer, limits.clone()));
    }
}

async fn answer(request: Request) -> &'static str {
    let wait = request.path().trim_start_matches('/').parse().unwrap_or(0);
    if wait > 0 {
        sleep(Duration::from_millis(wait)).await;
    }
    "Hello, world!"
}
