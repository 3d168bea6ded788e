//! The script of each fault over HTTP/2, request by request.

use std::time::Duration;

use super::connection::{Http2Connection, Interrupted};
use super::frames::{self, NEWEST, STATUS_200, code, flag, kind};
use super::kind::BadHttp2;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;

/// Streams at a time: as many as most servers allow.
const STREAMS_MAX: u8 = 100;

/// Requests that [`BadHttp2::RefusedTwice`] refuses.
const REFUSED_COUNT: u64 = 2;

/// The time between two bytes of a body that drips.
const DRIP_EVERY: Duration = Duration::from_millis(250);
/// The time between two pieces of an endless body.
const ENDLESS_EVERY: Duration = Duration::from_millis(100);
/// Bytes of each such piece.
const ENDLESS_BYTES: u64 = 64 * 1024;

/// The field of a header bomb takes all of the table that clients have by default, 4,096 bytes, and
/// is then named as often as makes 16 MiB.
const BOMB_VALUE_BYTES: usize = 4_096 - 32 - "x-filler".len();
const BOMB_TIMES: usize = 4_096;

/// What follows an exchange.
enum AfterExchange {
    /// The next request.
    Again(EntryEnd),
    /// An orderly close.
    Close(EntryEnd),
}

/// Serves a connection whose preface has come to its end. `body` is how long one is, `delay` what
/// every response waits for that is not a refusal.
pub(in crate::origin) async fn serve_http2<S: ByteStream>(
    bad: BadHttp2,
    body: u64,
    delay: Duration,
    inner: &mut OriginConnection<S>,
) -> Result<(), Disconnected> {
    if bad == BadHttp2::Silence {
        return Err(inner.hang().await);
    }
    let streams_max = if bad == BadHttp2::OneStream { 1 } else { STREAMS_MAX };
    let mut connection = Http2Connection::begin(inner, streams_max);
    connection.answers_pings = bad != BadHttp2::PingIgnored;
    for nth in 0.. {
        connection.request().await?;
        match answer(bad, body, delay, &mut connection, nth).await {
            Ok(AfterExchange::Again(ended)) => connection.end_line(ended).await?,
            Ok(AfterExchange::Close(ended)) => return connection.inner.finish(ended).await,
            Err(Interrupted::Stream) => connection.end_line(EntryEnd::ClientReset).await?,
            Err(Interrupted::Connection(disconnected)) => return Err(disconnected),
        }
        connection.end_request();
    }
    Ok(())
}

async fn answer<S: ByteStream>(
    bad: BadHttp2,
    body: u64,
    delay: Duration,
    connection: &mut Http2Connection<'_, S>,
    nth: u64,
) -> Result<AfterExchange, Interrupted> {
    use BadHttp2 as B;
    const FAULT: EntryEnd = EntryEnd::PlannedFault;
    let stream = connection.stream();
    match bad {
        B::RefusedTwice if nth < REFUSED_COUNT => {
            connection.reset(stream, code::REFUSED_STREAM);
            return Ok(AfterExchange::Again(FAULT));
        }
        B::Refused => {
            connection.reset(stream, code::REFUSED_STREAM);
            return Ok(AfterExchange::Again(FAULT));
        }
        B::WantsHttp1 => {
            connection.reset(stream, code::HTTP_1_1_REQUIRED);
            return Ok(AfterExchange::Again(FAULT));
        }
        B::GoAwayOnReuse if nth == 0 => connection.pause(delay).await?,
        B::GoAway | B::GoAwayOnReuse => {
            go_away(connection, stream.saturating_sub(2), code::NO_ERROR);
            return Ok(AfterExchange::Close(FAULT));
        }
        _ => connection.pause(delay).await?,
    }
    match bad {
        B::Calm => {
            go_away(connection, stream, code::ENHANCE_YOUR_CALM);
            return Ok(AfterExchange::Close(FAULT));
        }
        B::ResetMidBody => {
            part(connection, body).await?;
            connection.reset(stream, code::INTERNAL_ERROR);
        }
        B::ClosedMidBody => {
            part(connection, body).await?;
            return Ok(AfterExchange::Close(FAULT));
        }
        B::Stall | B::PingIgnored => {
            part(connection, body).await?;
            return Err(connection.hang().await);
        }
        B::TooLittle => {
            head(connection, Some(body));
            connection.body(0, body / 2, true).await?;
        }
        B::TooMuch => {
            head(connection, Some(body));
            connection.body(0, body + 1, true).await?;
        }
        B::HeaderBomb => header_bomb(connection),
        B::ContinuationFlood => return Err(continuation_flood(connection).await),
        B::Push => {
            push(connection);
            connection.end_line(FAULT).await?;
            whole(connection, body).await?;
        }
        B::Garbage => {
            connection.inner.put(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
            return Ok(AfterExchange::Close(FAULT));
        }
        B::FrameSize => {
            connection.put(kind::WINDOW_UPDATE, flag::NONE, 0, &[0, 0, 1]);
            return Ok(AfterExchange::Close(FAULT));
        }
        B::WindowOverflow => {
            connection.put(kind::WINDOW_UPDATE, flag::NONE, 0, &[0x7f, 0xff, 0xff, 0xff]);
            return Ok(AfterExchange::Close(FAULT));
        }
        B::Drip => {
            head(connection, Some(body));
            for offset in 0..body {
                connection.pause(DRIP_EVERY).await?;
                connection.body(offset, 1, offset + 1 == body).await?;
            }
            return Ok(AfterExchange::Again(EntryEnd::Complete));
        }
        B::EndlessBody => {
            head(connection, None);
            for piece in 0.. {
                connection.body(piece * ENDLESS_BYTES, ENDLESS_BYTES, false).await?;
                connection.pause(ENDLESS_EVERY).await?;
            }
        }
        B::DataAfterEnd => {
            whole(connection, body).await?;
            connection.put(kind::DATA, flag::NONE, stream, b"more");
            return Ok(AfterExchange::Again(EntryEnd::Complete));
        }
        // These were met above, when they are not answered well.
        B::RefusedTwice | B::GoAwayOnReuse | B::OneStream => {
            whole(connection, body).await?;
            return Ok(AfterExchange::Again(EntryEnd::Complete));
        }
        B::Silence | B::Refused | B::GoAway | B::WantsHttp1 => {}
    }
    Ok(AfterExchange::Again(FAULT))
}

/// The head of a good response.
fn head<S: ByteStream>(connection: &mut Http2Connection<'_, S>, length: Option<u64>) {
    let mut block = begin_head(connection);
    if let Some(length) = length {
        frames::field(&mut block, "content-length", &length.to_string());
    }
    connection.put(kind::HEADERS, flag::END_HEADERS, connection.stream(), &block);
}

/// What every head begins with.
fn begin_head<S: ByteStream>(connection: &mut Http2Connection<'_, S>) -> Vec<u8> {
    connection.inner.line.status(200);
    let mut block = vec![STATUS_200];
    frames::field(&mut block, "server", "stoop-testbed");
    frames::field(&mut block, "content-type", "text/html");
    block
}

/// A good response.
async fn whole<S: ByteStream>(
    connection: &mut Http2Connection<'_, S>,
    body: u64,
) -> Result<(), Interrupted> {
    head(connection, Some(body));
    connection.body(0, body, true).await
}

/// The head of a good response, and half of its body.
async fn part<S: ByteStream>(
    connection: &mut Http2Connection<'_, S>,
    body: u64,
) -> Result<(), Interrupted> {
    head(connection, Some(body));
    connection.body(0, body / 2, false).await
}

fn go_away<S: ByteStream>(connection: &mut Http2Connection<'_, S>, last: u32, code: u32) {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    connection.put(kind::GOAWAY, flag::NONE, 0, &payload);
}

/// Stream 2 is promised, and never comes.
fn push<S: ByteStream>(connection: &mut Http2Connection<'_, S>) {
    let mut payload = vec![0, 0, 0, 2];
    for (name, value) in [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "pushed.test"),
        (":path", "/style.css"),
    ] {
        frames::field(&mut payload, name, value);
    }
    connection.put(kind::PUSH_PROMISE, flag::END_HEADERS, connection.stream(), &payload);
}

fn header_bomb<S: ByteStream>(connection: &mut Http2Connection<'_, S>) {
    let mut block = begin_head(connection);
    frames::field_to_keep(&mut block, "x-filler", &"a".repeat(BOMB_VALUE_BYTES));
    block.extend([NEWEST; BOMB_TIMES]);
    let flags = flag::END_HEADERS | flag::END_STREAM;
    connection.put(kind::HEADERS, flags, connection.stream(), &block);
}

async fn continuation_flood<S: ByteStream>(connection: &mut Http2Connection<'_, S>) -> Interrupted {
    let block = begin_head(connection);
    connection.put(kind::HEADERS, flag::NONE, connection.stream(), &block);
    let mut block = Vec::new();
    frames::field(&mut block, "x-filler", "a");
    loop {
        for _ in 0..1_000 {
            connection.put(kind::CONTINUATION, flag::NONE, connection.stream(), &block);
        }
        if let Err(disconnected) = connection.inner.flush().await {
            return disconnected.into();
        }
    }
}
