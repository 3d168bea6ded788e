//! Runs the script of a behaviour on a connection.

use super::behaviour::Behaviour;
use super::context::{AfterResponse, ScriptSettings};
use super::{cuts, floods, handshakes, http2, polite, redirects, reuse, stalls};
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::request::ReceivedRequest;
use crate::response::{self, OriginResponse, ResponseFraming};

/// Serves one connection to its end, and says so in the log.
pub(crate) async fn serve_behaviour<S: ByteStream>(
    behaviour: &Behaviour,
    settings: &ScriptSettings,
    connection: &mut OriginConnection<S>,
) {
    if let Err(Disconnected(ended)) = run(behaviour, settings, connection).await {
        connection.line.end(ended);
    }
}

async fn run<S: ByteStream>(
    behaviour: &Behaviour,
    settings: &ScriptSettings,
    connection: &mut OriginConnection<S>,
) -> Result<(), Disconnected> {
    match behaviour {
        Behaviour::CloseAfterAccept => return connection.finish(EntryEnd::PlannedFault).await,
        Behaviour::ResetAfterAccept => {
            connection.line.end(EntryEnd::PlannedFault);
            return Ok(());
        }
        Behaviour::HangAfterAccept => return Err(connection.hang().await),
        Behaviour::BadHttp2 { kind, body } if connection.begins_with(http2::PREFACE).await? => {
            return http2::serve_http2(*kind, *body, settings.delay, connection).await;
        }
        tls if tls.breaks_handshake() => return handshakes::instead(tls, connection).await,
        _ => {}
    }
    for nth in 0.. {
        let request = match connection.request().await {
            Err(Disconnected(EntryEnd::BadRequest)) => {
                response::begin_head(connection, 400);
                connection.put(b"connection: close\r\ncontent-length: 0\r\n\r\n");
                return connection.finish(EntryEnd::BadRequest).await;
            }
            request => request?,
        };
        connection.pause(settings.delay).await?;
        match answer(behaviour, settings, connection, &request, nth).await? {
            AfterResponse::Again if request.keep_alive => {
                connection.flush().await?;
                connection.line.end(EntryEnd::Complete);
            }
            AfterResponse::Again => return connection.finish(EntryEnd::Complete).await,
            AfterResponse::Close(ended) => return connection.finish(ended).await,
            AfterResponse::Drop(ended) => {
                connection.flush().await?;
                connection.line.end(ended);
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Answers one request. Each family of behaviours has a file; good responses are here.
async fn answer<S: ByteStream>(
    behaviour: &Behaviour,
    settings: &ScriptSettings,
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
    nth: u64,
) -> Result<AfterResponse, Disconnected> {
    use Behaviour as B;
    let good =
        |status, framing, body| OriginResponse { status, framing, body, ..OriginResponse::ok(0) };
    let answer = match behaviour {
        B::Fast { body } => good(200, ResponseFraming::Length, *body),
        B::Chunked { body } => good(200, ResponseFraming::Chunked, *body),
        B::ChunkedTrailers { body } => good(200, ResponseFraming::ChunkedTrailers, *body),
        B::Status(status) => good(*status, ResponseFraming::Length, 100),
        B::UntrustedCertificate | B::WrongName | B::ExpiredCertificate => OriginResponse::ok(100),
        B::CloseDelimited { body } => return close_delimited(connection, *body).await,

        B::Busy { requests, retry_after } if polite::is_busy(settings, *requests) => {
            return Ok(polite::busy(connection, *retry_after));
        }
        B::Busy { .. } => OriginResponse::ok(100),
        B::Robots { text, .. } if polite::asks_for_robots(request) => {
            return Ok(polite::robots(connection, text));
        }
        B::Robots { body, .. } => OriginResponse::ok(*body),
        B::SlowFirstByte { delay, body } => {
            connection.pause(*delay).await?;
            OriginResponse::ok(*body)
        }
        B::Drip { body, every } => return stalls::drip(connection, *body, *every).await,
        B::DripHead { every } => return stalls::drip_head(connection, *every).await,
        B::HangAfterHead => return stalls::hang_after(connection, 0).await,
        B::HangMidBody => return stalls::hang_after(connection, 500).await,

        B::EarlyClose => return Ok(AfterResponse::Close(EntryEnd::PlannedFault)),
        B::ResetMidBody { sent, announced } => {
            return cuts::reset(connection, *sent, *announced).await;
        }
        B::TruncatedLength { sent, announced } => {
            return cuts::truncated(connection, *sent, *announced).await;
        }
        B::TruncatedChunk => return cuts::truncated_chunk(connection).await,
        B::MissingLastChunk => return cuts::missing_last_chunk(connection).await,

        B::MalformedHead(kind) => return Ok(floods::literal(connection, kind.bytes())),
        B::BadLength(kind) => return Ok(floods::literal(connection, kind.bytes())),
        B::BadChunk(kind) => return Ok(floods::bad_chunk(connection, *kind)),
        B::LargeHead { bytes } => return floods::large_head(connection, request, *bytes).await,
        B::EndlessHead => return floods::endless_head(connection).await,
        B::EndlessField => return floods::endless_field(connection).await,
        B::EndlessBody { every } => return floods::endless_body(connection, *every).await,
        B::InterimFlood { count } => return floods::interim(connection, request, *count).await,

        B::RedirectChain { .. } | B::RedirectLoop | B::RedirectToDead | B::RedirectTo { .. } => {
            return redirects::answer(behaviour, settings, connection, request).await;
        }
        B::StaleKeepAlive { after } => return reuse::stale(connection, request, *after).await,
        B::CloseOnReuse if nth > 0 => return Ok(AfterResponse::Close(EntryEnd::PlannedFault)),
        B::CloseOnReuse => OriginResponse::ok(100),
        // To a client that does not speak HTTP/2: see `run`.
        B::BadHttp2 { body, .. } => OriginResponse::ok(*body),

        // These never get as far as a request: see `run`, and `sockets` for the first two.
        B::BlackHole
        | B::Refused
        | B::CloseAfterAccept
        | B::ResetAfterAccept
        | B::HangAfterAccept
        | B::TlsHang
        | B::TlsClose
        | B::TlsAlert
        | B::TlsGarbage => return Ok(AfterResponse::Close(EntryEnd::PlannedFault)),
    };
    let keep = response::send(connection, request, &answer).await?;
    Ok(if keep { AfterResponse::Again } else { AfterResponse::Close(EntryEnd::Complete) })
}

async fn close_delimited<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    body: u64,
) -> Result<AfterResponse, Disconnected> {
    response::begin_head(connection, 200);
    connection.put(b"connection: close\r\n\r\n");
    connection.body(0, body).await?;
    Ok(AfterResponse::Close(EntryEnd::Complete))
}
