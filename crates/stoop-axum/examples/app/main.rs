//! An axum application on stoop's server: a page that uses JSON, server-sent events, a WebSocket, an upload and ranges.
//!
//! `cargo run -p stoop-axum --example app -- 127.0.0.1:3000`

mod application;

use std::error::Error;

use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:3000".to_owned());
    let media = std::env::temp_dir().join(format!("stoop-axum-app-{}", std::process::id()));
    std::fs::create_dir_all(&media)?;
    std::fs::write(media.join("tone.wav"), application::tone())?;
    let app = application::application(&media);

    // With axum's own server the next lines would end in `axum::serve(listener, app)`, and `ConnectInfo` would need
    // `app.into_make_service_with_connect_info::<SocketAddr>()`.
    let listener = TcpListener::bind(address).await?;
    println!("listening on http://{}/", listener.local_addr()?);
    let stop = async { drop(tokio::signal::ctrl_c().await) };
    stoop_axum::serve(listener, app).with_graceful_shutdown(stop).await?;

    std::fs::remove_dir_all(&media)?;
    Ok(())
}
