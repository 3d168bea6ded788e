//! Origins that send the client elsewhere.

use super::behaviour::Behaviour;
use super::context::{Place, Then};
use crate::answer::{self, Answer};
use crate::log::Ended;
use crate::request::Request;
use crate::wire::{Gone, Stream, Wire};

/// Where a chain's steps are: `/step/1`, `/step/2`, …
const STEP: &str = "/step/";

pub(super) async fn answer<S: Stream>(
    behaviour: &Behaviour,
    place: &Place,
    wire: &mut Wire<S>,
    request: &Request,
) -> Result<Then, Gone> {
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
        Behaviour::RedirectToDead => (302, Some(place.dead.clone())),
        Behaviour::RedirectTo { status, location } => (*status, Some(location.clone())),
        _ => (200, None),
    };
    let answer = match &location {
        Some(location) => Answer { status, location: Some(location), ..Answer::ok(0) },
        None => Answer::ok(100),
    };
    let keep = answer::send(wire, request, &answer).await?;
    Ok(if keep { Then::Again } else { Then::Close(Ended::Complete) })
}
