//! A redirect whose request waits.

use stoop::{ErrorKind, FollowUp, Phase, StatusCode};

use crate::failures::masked_location;
use crate::kinds;
use crate::mask;
use crate::record::Outcome;
use crate::robots_known::where_it_leads;

/// A redirect whose request waits for what robots.txt says, and for its turn.
#[derive(Debug)]
pub(super) struct Redirected {
    /// The URL that answered by it.
    from: Box<str>,
    /// Where it leads.
    to: Box<str>,
    status: StatusCode,
    /// How many were followed before it.
    before: usize,
    /// It may lead to public addresses alone.
    pub(super) is_public_only: bool,
}

impl Redirected {
    /// The redirect that leads to a request, if one does: not a retry, and not the answer to a challenge.
    pub(super) fn of(next: &FollowUp<'_>) -> Option<Self> {
        let (last, before) = next.redirects().split_last()?;
        next.outcome().ok().filter(|status| *status == last.status())?;
        Some(Self {
            from: last.url().into(),
            to: next.url().into(),
            status: last.status(),
            before: before.len(),
            is_public_only: next.is_public_only(),
        })
    }

    /// The outcome of a job of which it is not followed, because of what the robots.txt file says of where it leads: much as
    /// the client tells it where that was known before, with the location as a whole URL.
    pub(super) fn refused(&self, why: &str) -> Outcome {
        let text = format!("{}: {}", ErrorKind::RedirectDenied.explain(), where_it_leads(why));
        let mut outcome = Outcome::local_error(kinds::ROBOTS_DENIED, Phase::Redirect, &text);
        if let Some(details) = &mut outcome.details {
            details.status = Some(self.status.as_u16());
            details.final_url = Some(mask::text(&self.from).into_owned());
            details.redirects = u16::try_from(self.before).ok();
            details.location = Some(masked_location(self.to.as_bytes()));
        }
        outcome
    }
}
