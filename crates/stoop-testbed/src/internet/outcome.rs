//! What a plan expects of a URL, by what was drawn for that.

use std::time::Duration;

use super::class::{Class, Family};
use super::draft::{Draft, PlannedFraming};
use super::expect::{Expect, PlannedResult};
use super::plan::Plan;
use crate::origin::BadHttp2;

impl Plan {
    /// The result of a URL, on a host that offers HTTP/2 or does not.
    pub(super) fn expect(&self, draft: &Draft, http2: bool) -> Expect {
        let hops = draft.route.hops() as u32;
        let good = PlannedResult::Status { code: draft.status, body: self.body_length(draft) };
        let (result, hops) = match draft.class {
            class if class.family() == Family::Answered => (good, Some(hops)),
            Class::RedirectLoop => (PlannedResult::Failure { kinds: draft.class.kinds() }, None),
            Class::RedirectToNxDomain | Class::RedirectToRefused | Class::RedirectToBlackHole => {
                (PlannedResult::Failure { kinds: draft.class.kinds() }, Some(hops + 1))
            }
            class => (PlannedResult::Failure { kinds: class.kinds() }, Some(hops)),
        };
        let waits = !matches!(
            draft.class,
            Class::NxDomain
                | Class::ServFail
                | Class::DnsSilence
                | Class::Refused
                | Class::BlackHole
                | Class::HangAfterAccept
                | Class::BadHttp2(BadHttp2::Refused | BadHttp2::GoAway | BadHttp2::Silence)
        );
        let is_answered = matches!(result, PlannedResult::Status { .. });
        let is_last_secure = draft.route.steps.last().is_some_and(|step| step.tls);
        let (in_http1, http2) = match draft.class {
            Class::BadHttp2(kind) => (good, kind != BadHttp2::WantsHttp1),
            _ => (result, http2 && is_last_secure && draft.framed != PlannedFraming::UntilClose),
        };
        let expect = Expect {
            result,
            in_http1,
            http2: http2 && is_answered,
            hops,
            wait: if waits { self.delay(draft) } else { Duration::ZERO },
            until_deadline: draft.class.is_until_deadline(),
            is_forbidden: draft.is_private,
            retried: None,
            besides: &[],
        };
        match draft.busy {
            None => expect,
            Some(code) => {
                let busy = PlannedResult::Status { code, body: 0 };
                Expect { result: busy, in_http1: busy, retried: Some(result), ..expect }
            }
        }
    }
}
