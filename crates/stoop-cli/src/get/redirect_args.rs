//! The options that say which redirects are followed, and how.

use clap::Args;
use stoop::{RedirectAction, RedirectAttempt, Redirects, StatusCode};

/// Redirects that are followed, as curl has it.
const REDIRECTS_MAX: u16 = 50;

/// Which redirects are followed, and how.
#[derive(Args, Debug, Default)]
pub(crate) struct RedirectArgs {
    /// Follow redirects
    #[arg(short = 'L', long)]
    location: bool,

    /// Follow redirects, and send credentials and cookies of -b to whichever host they lead to
    #[arg(long)]
    pub(super) location_trusted: bool,

    /// Redirects to follow with -L; -1 for any number [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    max_redirs: Option<i32>,

    /// Send a POST again as a POST after a 301, where it becomes a GET otherwise
    #[arg(long)]
    post301: bool,

    /// Send a POST again as a POST after a 302, where it becomes a GET otherwise
    #[arg(long)]
    post302: bool,

    /// Send a POST again as a POST after a 303, where it becomes a GET otherwise
    #[arg(long)]
    post303: bool,
}

impl RedirectArgs {
    /// Whether redirects are to be followed, and none may be.
    pub(super) fn denies_all(&self) -> bool {
        self.are_followed() && self.max_redirs == Some(0)
    }

    fn are_followed(&self) -> bool {
        self.location || self.location_trusted
    }

    /// The policy of these options, which asks that function about each redirect.
    pub(super) fn policy(
        &self,
        decide: impl Fn(&RedirectAttempt<'_>) -> RedirectAction + Send + Sync + 'static,
    ) -> Redirects {
        let policy = match (self.are_followed(), self.max_redirs) {
            (false, _) => Redirects::none(),
            (true, None) => Redirects::follow(REDIRECTS_MAX),
            (true, Some(max)) => Redirects::follow(u16::try_from(max).unwrap_or(u16::MAX)),
        };
        let kept = [
            (self.post301, StatusCode::MOVED_PERMANENTLY),
            (self.post302, StatusCode::FOUND),
            (self.post303, StatusCode::SEE_OTHER),
        ];
        let kept = kept.into_iter().filter(|(is_kept, _)| *is_kept);
        kept.fold(policy, |policy, (_, status)| policy.keep_post(status))
            .trust_all_origins(self.location_trusted)
            .decided_by(decide)
    }
}
