//! Receives the content of a response into memory, and has what is too long for that written while it arrives.

use std::sync::Arc;
use std::time::{Duration, Instant};

use stoop::{Error, ErrorKind, Response};

use super::gathered::Gathered;
use super::rest::{Part, Whole};
use super::spill::{Spill, Spilling};
use super::{BodyBudget, Capture, IN_MEMORY_MAX, Reservation, SpillSettings, Truncated};
use crate::bandwidth::ContentReader;

/// Content up to this length stays in memory as long as there is room, though others need some soon.
const SPILLED_BYTES_MIN: usize = 64 << 10;

/// How content is received.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) budget: Arc<BodyBudget>,
    /// Where content is cut; none where what is longer is an error.
    pub(crate) cut_at: Option<u64>,
    /// The exchanges of a job are kept, too.
    pub(crate) has_exchanges: bool,
    /// How many bytes are kept; what follows them is counted only.
    pub(crate) keep_max: usize,
    /// What is done with content that is not kept in memory, where not all of it has to be.
    pub(crate) spilling: Option<SpillSettings>,
}

/// A response that was received, and why not all of it was, if so.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) capture: Capture,
    /// How long the content was.
    pub(crate) received: u64,
    pub(crate) fault: Option<Error>,
    /// How long it waited for memory, and to be written.
    pub(crate) waited: Duration,
    /// What has come of content that broke off, if the rest of it can be asked for. The capture has nothing of it.
    pub(crate) part: Option<Box<Part>>,
}

/// The clock of what is fetched, and what counts its content. It stands still while content waits for memory or is
/// written: the server is not asked for any then.
pub(crate) trait Clock {
    /// It stands still from now on.
    fn stop(&self);

    /// It goes on. Memory may have been given back.
    fn go_on(&self);

    /// Content was dropped that had come, and its memory is given back. The clock goes on.
    fn gave_back(&self);

    /// So many bytes of content have come.
    fn received(&self, bytes: usize);

    /// The deadline, if there is one, as long as the clock goes on.
    fn due(&self) -> Option<Instant>;
}

/// No clock.
impl Clock for () {
    fn stop(&self) {}

    fn go_on(&self) {}

    fn gave_back(&self) {}

    fn received(&self, _: usize) {}

    fn due(&self) -> Option<Instant> {
        None
    }
}

/// What was received of a response.
pub(super) struct Intake<'a> {
    pub(super) response: &'a mut Response,
    pub(super) capture: Capture,
    pub(super) reservation: Reservation,
    pub(super) content: Gathered,
    pub(super) spilling: Option<Spilling<'a>>,
    pub(super) spill: Option<Box<Spill>>,
    pub(super) waited: Duration,
}

impl Collector {
    /// Receives the content of `response` by `reader`. Where it has to wait for memory, or until it is written, that is no time of
    /// its deadline: the client's stands still, and so does `clock`. It goes on with `part`, if there is one.
    pub(crate) async fn collect(
        &self,
        response: &mut Response,
        mut reader: ContentReader<'_>,
        part: Option<Box<Part>>,
        clock: &impl Clock,
    ) -> Collected {
        let capture = Capture::head(response);
        let spilling = self.spilling.as_ref().and_then(|it| it.of(capture.status));
        let keep_max = match &self.spilling {
            Some(settings) if spilling.is_none() => settings.beginning_max(),
            _ => self.keep_max,
        };
        let in_memory_max = if spilling.is_some() { IN_MEMORY_MAX } else { usize::MAX };
        let cut_at = self.cut_at.unwrap_or(u64::MAX);
        let expected = response.body_mut().len().map(|length| length.min(cut_at));
        let expected = expected.and_then(|length| usize::try_from(length).ok());
        // What is longer goes to a file before all of it is there.
        let expected =
            expected.map(|length| length.min(keep_max)).filter(|it| *it <= in_memory_max);
        let mut intake = Intake {
            response,
            capture,
            reservation: Reservation::default(),
            content: Gathered::expecting(expected),
            spilling,
            spill: None,
            waited: Duration::ZERO,
        };
        let mut received = part.map_or(0, |part| intake.take(*part));
        let (mut fault, mut error) = (None, None);
        loop {
            let content = intake.response.body_mut();
            let mut piece = match reader.chunk(content, || clock.due()).await {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => {
                    intake.capture.truncated = Some(match error.kind() {
                        ErrorKind::TotalTimeout | ErrorKind::ReadTimeout => Truncated::Time,
                        ErrorKind::BodyTooLarge => Truncated::Length,
                        _ => Truncated::Disconnect,
                    });
                    fault = Some(error);
                    break;
                }
            };
            let room = usize::try_from(cut_at - received).unwrap_or(usize::MAX);
            let is_cut = piece.len() > room;
            piece.truncate(room);
            received += piece.len() as u64;
            clock.received(piece.len());
            let taken = match &mut intake.spill {
                None => {
                    piece.truncate(keep_max.saturating_sub(intake.content.len()));
                    let missing = self.budget.grow(&mut intake.reservation, piece.len()).err();
                    if !piece.is_empty() {
                        intake.content.push(piece);
                    }
                    if intake.content.missing().is_some_and(|rest| self.budget.is_ample(rest)) {
                        intake.content.make_room();
                    }
                    let is_due = missing.is_some()
                        || intake.content.len() > in_memory_max
                        || intake.content.len() > SPILLED_BYTES_MIN
                            && intake.may_spill()
                            && self.budget.is_burdened();
                    match is_due {
                        true => Box::pin(self.make_room(&mut intake, missing, clock)).await,
                        false => Ok(()),
                    }
                }
                Some(spill) => {
                    spill.push(&piece);
                    match spill.is_due() {
                        true => Box::pin(self.write(&mut intake, clock)).await,
                        false => Ok(()),
                    }
                }
            };
            if let Err(failed) = taken {
                error = Some(failed);
                break;
            }
            if is_cut {
                intake.capture.truncated = Some(Truncated::Length);
                break;
            }
        }
        let mut part = None;
        if intake.spill.is_some() {
            // A part waits for the turn of its host. With the place of the one that may take more than there is, all others
            // would wait for it, and so would their permits, of which it needs one.
            let may_wait = !intake.reservation.is_exempt();
            let fault = fault.as_ref();
            let whole = fault.filter(|_| may_wait).and_then(|it| Whole::of(intake.response, it));
            let finished = match whole {
                None => Box::pin(self.finish(&mut intake, fault.is_some(), clock)).await,
                Some(whole) => {
                    let written = Box::pin(self.write_rest(&mut intake, clock)).await;
                    part = intake.give_part(received, whole);
                    written
                }
            };
            error = finished.err();
        }
        let Intake { mut capture, reservation, content, waited, .. } = intake;
        match error {
            Some(error) => capture.spilled = Some(Arc::new(Err(error))),
            None if capture.spilled.is_none() => capture.content = content.into_bytes(),
            None => {}
        }
        capture.reservation = Some(Arc::new(reservation));
        Collected { capture, received, fault, waited, part }
    }
}

impl Intake<'_> {
    /// Goes on with what has come before. Returns how much that is.
    fn take(&mut self, part: Part) -> u64 {
        self.spill = Some(part.spill);
        self.capture.content = part.beginning;
        self.reservation = part.reservation;
        part.received
    }

    /// What has come of content that broke off, if it could be written.
    fn give_part(&mut self, received: u64, whole: Whole) -> Option<Box<Part>> {
        let spill = self.spill.take()?;
        let beginning = std::mem::take(&mut self.capture.content);
        let reservation = std::mem::take(&mut self.reservation);
        Some(Box::new(Part { spill, beginning, reservation, received, whole }))
    }

    /// Whether what has arrived may be written: as much of its beginning is here as is looked at.
    pub(super) fn may_spill(&self) -> bool {
        self.spilling.is_some_and(|spilling| self.content.len() >= spilling.beginning_max())
    }

    /// Nothing is received from now on. Returns the time, for [`go_on`](Self::go_on).
    pub(super) fn pause(&mut self, clock: &impl Clock) -> Instant {
        self.response.body_mut().pause();
        clock.stop();
        Instant::now()
    }

    pub(super) fn go_on(&mut self, since: Instant, clock: &impl Clock) {
        self.waited += since.elapsed();
        clock.go_on();
    }
}

#[cfg(test)]
mod tests;
