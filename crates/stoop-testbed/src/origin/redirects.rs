//! Behaviours that redirect the client.

use super::behaviour::Behaviour;
use super::context::{AfterResponse, ScriptSettings};
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::request::ReceivedRequest;
use crate::response::{self, OriginResponse};

/// The path of a chain's steps: `/step/1`, `/step/2`, …
const STEP: &str = "/step/";

pub(super) async fn answer<S: ByteStream>(
    behaviour: &Behaviour,
    settings: &ScriptSettings,
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
) -> Result<AfterResponse, Disconnected> {
    let (status, location) = match behaviour {
        Behaviour::RedirectChain { hops, status } => {
            let step = request.target.strip_prefix(STEP).and_then(|step| step.parse().ok());
            let step: u32 = step.unwrap_or(0);
            (*status, (step < *hops).then(|| format!("{STEP}{}", step + 1)))
        }
        Behaviour::RedirectLoop => {
            let there = if request.target == "/there" { "/back" } else { "/there" };
            (302, Some(there.to_owned()))
        }
        Behaviour::RedirectToDead => (302, Some(settings.dead_url.clone())),
        Behaviour::RedirectTo { status, location } => (*status, Some(location.clone())),
        _ => (200, None),
    };
    let answer = match &location {
        Some(location) => {
            OriginResponse { status, location: Some(location), ..OriginResponse::ok(0) }
        }
        None => OriginResponse::ok(100),
    };
    let keep = response::send(connection, request, &answer).await?;
    Ok(if keep { AfterResponse::Again } else { AfterResponse::Close(EntryEnd::Complete) })
}
