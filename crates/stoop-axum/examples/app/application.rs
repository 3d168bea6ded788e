//! The application: a page, JSON, server-sent events, a WebSocket, an upload, a sound in parts.

use std::convert::Infallible;
use std::path::Path;
use std::time::Duration;

use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::extract::{ConnectInfo, DefaultBodyLimit, Multipart};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{Html, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use futures_util::stream::{self, Stream};
use serde::{Deserialize, Serialize};
use tower_http::services::ServeDir;

/// How much can be uploaded at once.
const UPLOAD_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The application, with the files of `media` below `/media`.
pub(crate) fn application(media: &Path) -> Router {
    Router::new()
        .route("/", get(|| async { Html(include_str!("page.html")) }))
        .route("/api/greet", post(greet))
        .route("/events", get(events))
        .route("/ws", any(websocket))
        .route("/upload", post(upload).layer(DefaultBodyLimit::max(UPLOAD_BYTES_MAX)))
        .nest_service("/media", ServeDir::new(media))
}

#[derive(Deserialize)]
struct Guest {
    name: String,
}

#[derive(Serialize)]
struct Greeting {
    text: String,
    address: String,
}

async fn greet(
    ConnectInfo(address): ConnectInfo<std::net::SocketAddr>,
    Json(guest): Json<Guest>,
) -> Json<Greeting> {
    let text = format!("Hello, {}!", guest.name);
    Json(Greeting { text, address: address.ip().to_string() })
}

/// Three events, a tenth of a second apart.
async fn events() -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let events = stream::unfold(1, |n| async move {
        if n > 3 {
            return None;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok(Event::default().id(n.to_string()).data(format!("event {n}"))), n + 1))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

async fn websocket(upgrade: WebSocketUpgrade) -> Response {
    upgrade.on_upgrade(|socket| async move {
        let _ = echo(socket).await;
    })
}

async fn echo(mut socket: WebSocket) -> Result<(), axum::Error> {
    while let Some(message) = socket.recv().await {
        match message? {
            message @ (Message::Text(_) | Message::Binary(_)) => socket.send(message).await?,
            // These are answered by the next `recv`, which ends behind a Close.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
    }
    Ok(())
}

#[derive(Serialize)]
struct Uploaded {
    name: String,
    bytes: usize,
}

/// Counts what comes, without keeping it.
async fn upload(mut form: Multipart) -> Result<Json<Vec<Uploaded>>, (StatusCode, String)> {
    let refused =
        |error: axum::extract::multipart::MultipartError| (error.status(), error.body_text());
    let mut all = Vec::new();
    while let Some(mut field) = form.next_field().await.map_err(refused)? {
        let name = field.file_name().or(field.name()).unwrap_or_default().to_owned();
        let mut bytes = 0;
        while let Some(piece) = field.chunk().await.map_err(refused)? {
            bytes += piece.len();
        }
        all.push(Uploaded { name, bytes });
    }
    Ok(Json(all))
}

/// Two seconds of the tone A as a WAV file: something that a page plays, and a browser asks for in ranges.
pub(crate) fn tone() -> Vec<u8> {
    const RATE: u32 = 8_000;
    let samples = (0..2 * RATE).map(|n| {
        let phase = f64::from(n) * 440.0 / f64::from(RATE);
        (128.0 + 60.0 * (phase * std::f64::consts::TAU).sin()) as u8
    });
    let samples: Vec<u8> = samples.collect();
    let length = samples.len() as u32;
    let mut file = Vec::new();
    file.extend(b"RIFF");
    file.extend((36 + length).to_le_bytes());
    file.extend(b"WAVEfmt ");
    // PCM, one channel, bytes a second, bytes a sample, bits a sample.
    file.extend(16_u32.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(8_u16.to_le_bytes());
    file.extend(b"data");
    file.extend(length.to_le_bytes());
    file.extend(samples);
    file
}
