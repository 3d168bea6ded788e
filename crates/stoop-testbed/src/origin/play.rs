//! Runs a behaviour on a connection.

use super::behaviour::Behaviour;
use super::context::{Place, Then};
use super::{cuts, floods, handshakes, http2, redirects, reuse, stalls};
use crate::answer::{self, Answer, Framing};
use crate::log::Ended;
use crate::request::Request;
use crate::wire::{Gone, Stream, Wire};

/// Serves one connection to its end, and says so in the log.
pub(crate) async fn play<S: Stream>(behaviour: &Behaviour, place: &Place, wire: &mut Wire<S>) {
    if let Err(Gone(ended)) = run(behaviour, place, wire).await {
        wire.line.end(ended);
    }
}

async fn run<S: Stream>(
    behaviour: &Behaviour,
    place: &Place,
    wire: &mut Wire<S>,
) -> Result<(), Gone> {
    match behaviour {
        Behaviour::CloseAfterAccept => return wire.finish(Ended::PlannedFault).await,
        Behaviour::ResetAfterAccept => {
            wire.line.end(Ended::PlannedFault);
            return Ok(());
        }
        Behaviour::HangAfterAccept => return Err(wire.hang().await),
        Behaviour::BadHttp2 { kind, body } if wire.begins_with(http2::PREFACE).await? => {
            return http2::play(*kind, *body, place.delay, wire).await;
        }
        tls if tls.breaks_handshake() => return handshakes::instead(tls, wire).await,
        _ => {}
    }
    for nth in 0.. {
        let request = match wire.request().await {
            Err(Gone(Ended::BadRequest)) => {
                answer::begin_head(wire, 400);
                wire.put(b"connection: close\r\ncontent-length: 0\r\n\r\n");
                return wire.finish(Ended::BadRequest).await;
            }
            request => request?,
        };
        wire.pause(place.delay).await?;
        match answer(behaviour, place, wire, &request, nth).await? {
            Then::Again if request.keep_alive => {
                wire.flush().await?;
                wire.line.end(Ended::Complete);
            }
            Then::Again => return wire.finish(Ended::Complete).await,
            Then::Close(ended) => return wire.finish(ended).await,
            Then::Drop(ended) => {
                wire.flush().await?;
                wire.line.end(ended);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Answers one request. Each family of behaviours has a file; what is good is here.
async fn answer<S: Stream>(
    behaviour: &Behaviour,
    place: &Place,
    wire: &mut Wire<S>,
    request: &Request,
    nth: u64,
) -> Result<Then, Gone> {
    use Behaviour as B;
    let good = |status, framing, body| Answer { status, framing, body, ..Answer::ok(0) };
    let answer = match behaviour {
        B::Fast { body } => good(200, Framing::Length, *body),
        B::Chunked { body } => good(200, Framing::Chunked, *body),
        B::ChunkedTrailers { body } => good(200, Framing::ChunkedTrailers, *body),
        B::Status(status) => good(*status, Framing::Length, 100),
        B::UntrustedCertificate | B::WrongName | B::ExpiredCertificate => Answer::ok(100),
        B::CloseDelimited { body } => return close_delimited(wire, *body).await,

        B::SlowFirstByte { delay, body } => {
            wire.pause(*delay).await?;
            Answer::ok(*body)
        }
        B::Drip { body, every } => return stalls::drip(wire, *body, *every).await,
        B::DripHead { every } => return stalls::drip_head(wire, *every).await,
        B::HangAfterHead => return stalls::hang_after(wire, 0).await,
        B::HangMidBody => return stalls::hang_after(wire, 500).await,

        B::EarlyClose => return Ok(Then::Close(Ended::PlannedFault)),
        B::ResetMidBody { sent, announced } => return cuts::reset(wire, *sent, *announced).await,
        B::TruncatedLength { sent, announced } => {
            return cuts::truncated(wire, *sent, *announced).await;
        }
        B::TruncatedChunk => return cuts::truncated_chunk(wire).await,
        B::MissingLastChunk => return cuts::missing_last_chunk(wire).await,

        B::MalformedHead(kind) => return Ok(floods::literal(wire, kind.bytes())),
        B::BadLength(kind) => return Ok(floods::literal(wire, kind.bytes())),
        B::BadChunk(kind) => return Ok(floods::bad_chunk(wire, *kind)),
        B::LargeHead { bytes } => return floods::large_head(wire, request, *bytes).await,
        B::EndlessHead => return floods::endless_head(wire).await,
        B::EndlessField => return floods::endless_field(wire).await,
        B::EndlessBody { every } => return floods::endless_body(wire, *every).await,
        B::InterimFlood { count } => return floods::interim(wire, request, *count).await,

        B::RedirectChain { .. } | B::RedirectLoop | B::RedirectToDead | B::RedirectTo { .. } => {
            return redirects::answer(behaviour, place, wire, request).await;
        }
        B::StaleKeepAlive { after } => return reuse::stale(wire, request, *after).await,
        B::CloseOnReuse if nth > 0 => return Ok(Then::Close(Ended::PlannedFault)),
        B::CloseOnReuse => Answer::ok(100),
        // To who does not speak it: see `run`.
        B::BadHttp2 { body, .. } => Answer::ok(*body),

        // These never get as far as a request: see `run`, and `sockets` for the first two.
        B::BlackHole
        | B::Refused
        | B::CloseAfterAccept
        | B::ResetAfterAccept
        | B::HangAfterAccept
        | B::TlsHang
        | B::TlsClose
        | B::TlsAlert
        | B::TlsGarbage => return Ok(Then::Close(Ended::PlannedFault)),
    };
    let keep = answer::send(wire, request, &answer).await?;
    Ok(if keep { Then::Again } else { Then::Close(Ended::Complete) })
}

async fn close_delimited<S: Stream>(wire: &mut Wire<S>, body: u64) -> Result<Then, Gone> {
    answer::begin_head(wire, 200);
    wire.put(b"connection: close\r\n\r\n");
    wire.body(0, body).await?;
    Ok(Then::Close(Ended::Complete))
}
