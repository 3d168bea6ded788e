//! What each of them does, request by request.

use std::time::Duration;

use super::frames::{self, NEWEST, STATUS_200, code, flag, kind};
use super::kind::BadHttp2;
use super::link::{Link, Over};
use crate::log::Ended;
use crate::wire::{Gone, Stream, Wire};

/// As many streams at a time as most servers allow.
const STREAMS_MAX: u8 = 100;

/// How often [`BadHttp2::RefusedTwice`] refuses.
const REFUSED: u64 = 2;

const DRIP_EVERY: Duration = Duration::from_millis(250);
const ENDLESS_EVERY: Duration = Duration::from_millis(100);
const ENDLESS_BYTES: u64 = 64 * 1024;

/// The field of a header bomb takes all of the table that clients have by default, 4,096 bytes, and
/// is then named as often as makes 16 MiB.
const BOMB_VALUE_BYTES: usize = 4_096 - 32 - "x-filler".len();
const BOMB_TIMES: usize = 4_096;

/// What follows an answer.
enum Then {
    /// The next request.
    Again(Ended),
    /// An orderly close.
    Close(Ended),
}

/// Serves a connection whose preface has come to its end. `body` is how long one is, `delay` what
/// every answer waits for that is not a refusal.
pub(in crate::origin) async fn play<S: Stream>(
    bad: BadHttp2,
    body: u64,
    delay: Duration,
    wire: &mut Wire<S>,
) -> Result<(), Gone> {
    if bad == BadHttp2::Silence {
        return Err(wire.hang().await);
    }
    let streams_max = if bad == BadHttp2::OneStream { 1 } else { STREAMS_MAX };
    let mut link = Link::begin(wire, streams_max);
    link.answers_pings = bad != BadHttp2::PingIgnored;
    for nth in 0.. {
        link.request().await?;
        match answer(bad, body, delay, &mut link, nth).await {
            Ok(Then::Again(ended)) => link.ended(ended).await?,
            Ok(Then::Close(ended)) => return link.wire.finish(ended).await,
            Err(Over::Stream) => link.ended(Ended::ClientReset).await?,
            Err(Over::Connection(gone)) => return Err(gone),
        }
        link.forget();
    }
    Ok(())
}

async fn answer<S: Stream>(
    bad: BadHttp2,
    body: u64,
    delay: Duration,
    link: &mut Link<'_, S>,
    nth: u64,
) -> Result<Then, Over> {
    use BadHttp2 as B;
    const FAULT: Ended = Ended::PlannedFault;
    let stream = link.stream();
    match bad {
        B::RefusedTwice if nth < REFUSED => {
            link.reset(stream, code::REFUSED_STREAM);
            return Ok(Then::Again(FAULT));
        }
        B::Refused => {
            link.reset(stream, code::REFUSED_STREAM);
            return Ok(Then::Again(FAULT));
        }
        B::WantsHttp1 => {
            link.reset(stream, code::HTTP_1_1_REQUIRED);
            return Ok(Then::Again(FAULT));
        }
        B::GoAwayOnReuse if nth == 0 => link.pause(delay).await?,
        B::GoAway | B::GoAwayOnReuse => {
            go_away(link, stream.saturating_sub(2), code::NO_ERROR);
            return Ok(Then::Close(FAULT));
        }
        _ => link.pause(delay).await?,
    }
    match bad {
        B::Calm => {
            go_away(link, stream, code::ENHANCE_YOUR_CALM);
            return Ok(Then::Close(FAULT));
        }
        B::ResetMidBody => {
            part(link, body).await?;
            link.reset(stream, code::INTERNAL_ERROR);
        }
        B::ClosedMidBody => {
            part(link, body).await?;
            return Ok(Then::Close(FAULT));
        }
        B::Stall | B::PingIgnored => {
            part(link, body).await?;
            return Err(link.hang().await);
        }
        B::TooLittle => {
            head(link, Some(body));
            link.body(0, body / 2, true).await?;
        }
        B::TooMuch => {
            head(link, Some(body));
            link.body(0, body + 1, true).await?;
        }
        B::HeaderBomb => header_bomb(link),
        B::ContinuationFlood => return Err(continuation_flood(link).await),
        B::Push => {
            push(link);
            link.ended(FAULT).await?;
            whole(link, body).await?;
        }
        B::Garbage => {
            link.wire.put(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n");
            return Ok(Then::Close(FAULT));
        }
        B::FrameSize => {
            link.put(kind::WINDOW_UPDATE, flag::NONE, 0, &[0, 0, 1]);
            return Ok(Then::Close(FAULT));
        }
        B::WindowOverflow => {
            link.put(kind::WINDOW_UPDATE, flag::NONE, 0, &[0x7f, 0xff, 0xff, 0xff]);
            return Ok(Then::Close(FAULT));
        }
        B::Drip => {
            head(link, Some(body));
            for offset in 0..body {
                link.pause(DRIP_EVERY).await?;
                link.body(offset, 1, offset + 1 == body).await?;
            }
            return Ok(Then::Again(Ended::Complete));
        }
        B::EndlessBody => {
            head(link, None);
            for piece in 0.. {
                link.body(piece * ENDLESS_BYTES, ENDLESS_BYTES, false).await?;
                link.pause(ENDLESS_EVERY).await?;
            }
        }
        B::DataAfterEnd => {
            whole(link, body).await?;
            link.put(kind::DATA, flag::NONE, stream, b"more");
            return Ok(Then::Again(Ended::Complete));
        }
        // These were met above, when they are not answered well.
        B::RefusedTwice | B::GoAwayOnReuse | B::OneStream => {
            whole(link, body).await?;
            return Ok(Then::Again(Ended::Complete));
        }
        B::Silence | B::Refused | B::GoAway | B::WantsHttp1 => {}
    }
    Ok(Then::Again(FAULT))
}

/// The head of a good answer.
fn head<S: Stream>(link: &mut Link<'_, S>, length: Option<u64>) {
    let mut block = begin_head(link);
    if let Some(length) = length {
        frames::field(&mut block, "content-length", &length.to_string());
    }
    link.put(kind::HEADERS, flag::END_HEADERS, link.stream(), &block);
}

/// What every head begins with.
fn begin_head<S: Stream>(link: &mut Link<'_, S>) -> Vec<u8> {
    link.wire.line.status(200);
    let mut block = vec![STATUS_200];
    frames::field(&mut block, "server", "stoop-testbed");
    frames::field(&mut block, "content-type", "text/html");
    block
}

/// A good answer.
async fn whole<S: Stream>(link: &mut Link<'_, S>, body: u64) -> Result<(), Over> {
    head(link, Some(body));
    link.body(0, body, true).await
}

/// The head of a good answer, and half of its body.
async fn part<S: Stream>(link: &mut Link<'_, S>, body: u64) -> Result<(), Over> {
    head(link, Some(body));
    link.body(0, body / 2, false).await
}

fn go_away<S: Stream>(link: &mut Link<'_, S>, last: u32, code: u32) {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    link.put(kind::GOAWAY, flag::NONE, 0, &payload);
}

/// Stream 2 is promised, and never comes.
fn push<S: Stream>(link: &mut Link<'_, S>) {
    let mut payload = vec![0, 0, 0, 2];
    for (name, value) in [
        (":method", "GET"),
        (":scheme", "https"),
        (":authority", "pushed.test"),
        (":path", "/style.css"),
    ] {
        frames::field(&mut payload, name, value);
    }
    link.put(kind::PUSH_PROMISE, flag::END_HEADERS, link.stream(), &payload);
}

fn header_bomb<S: Stream>(link: &mut Link<'_, S>) {
    let mut block = begin_head(link);
    frames::field_to_keep(&mut block, "x-filler", &"a".repeat(BOMB_VALUE_BYTES));
    block.extend([NEWEST; BOMB_TIMES]);
    let flags = flag::END_HEADERS | flag::END_STREAM;
    link.put(kind::HEADERS, flags, link.stream(), &block);
}

async fn continuation_flood<S: Stream>(link: &mut Link<'_, S>) -> Over {
    let block = begin_head(link);
    link.put(kind::HEADERS, flag::NONE, link.stream(), &block);
    let mut block = Vec::new();
    frames::field(&mut block, "x-filler", "a");
    loop {
        for _ in 0..1_000 {
            link.put(kind::CONTINUATION, flag::NONE, link.stream(), &block);
        }
        if let Err(gone) = link.wire.flush().await {
            return gone.into();
        }
    }
}
