//! Has content written while it arrives, or wait for memory. No time limit counts that: the clocks stand still.

use std::io;
use std::sync::Arc;

use super::collect::{Clock, Collector, Intake};
use super::rest::Part;
use super::spill::BLOCK_BYTES;
use super::{Capture, NoRoom};

impl Collector {
    /// Writes what has arrived, if it may be; otherwise waits until there is room for it.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) async fn make_room(
        &self,
        intake: &mut Intake<'_>,
        missing: Option<NoRoom>,
        clock: &impl Clock,
    ) -> io::Result<()> {
        if intake.may_spill() {
            return self.write(intake, clock).await;
        }
        if let Some(missing) = missing {
            let since = intake.pause(clock);
            self.budget.wait(&mut intake.reservation, missing).await;
            intake.go_on(since, clock);
        }
        Ok(())
    }

    /// Writes what has arrived.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) async fn write(
        &self,
        intake: &mut Intake<'_>,
        clock: &impl Clock,
    ) -> io::Result<()> {
        let Some(spilling) = intake.spilling else { return Ok(()) };
        let since = intake.pause(clock);
        // Blocks never take so much that jobs could not begin.
        let has_room = || self.budget.is_ample(BLOCK_BYTES);
        let written = match intake.spill.take() {
            Some(spill) => spilling.write(spill, has_room).await,
            None => {
                let pieces = std::mem::take(&mut intake.content).into_pieces();
                intake.capture.content = spilling.beginning(&pieces);
                spilling.begin(pieces, has_room).await
            }
        };
        let result = written.map(|spill| intake.spill = Some(spill));
        self.give_back(intake).await;
        intake.go_on(since, clock);
        result
    }

    /// Writes all that has arrived of content that broke off.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) async fn write_rest(
        &self,
        intake: &mut Intake<'_>,
        clock: &impl Clock,
    ) -> io::Result<()> {
        let (Some(spilling), Some(spill)) = (intake.spilling, intake.spill.take()) else {
            return Ok(());
        };
        let since = intake.pause(clock);
        let written = spilling.write(spill, || false).await;
        let result = written.map(|spill| intake.spill = Some(spill));
        self.give_back(intake).await;
        intake.go_on(since, clock);
        result
    }

    /// Ends content that broke off, of which this has come: no more of it is asked for.
    pub(crate) async fn give_up(&self, part: Part, capture: &mut Capture, clock: &impl Clock) {
        let Part { spill, beginning, reservation, whole, .. } = part;
        let spilling = self.spilling.as_ref().and_then(|it| it.of(whole.status.as_u16()));
        let Some(spilling) = spilling else { return };
        clock.stop();
        let spilled = spilling.finish(spill, true).await;
        clock.go_on();
        capture.content = beginning;
        capture.reservation = Some(Arc::new(reservation));
        capture.spilled = Some(Arc::new(spilled));
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// It could not be written.
    pub(super) async fn finish(
        &self,
        intake: &mut Intake<'_>,
        has_failed: bool,
        clock: &impl Clock,
    ) -> io::Result<()> {
        let (Some(spilling), Some(spill)) = (intake.spilling, intake.spill.take()) else {
            return Ok(());
        };
        let since = intake.pause(clock);
        let spilled = spilling.finish(spill, has_failed).await;
        self.give_back(intake).await;
        intake.go_on(since, clock);
        intake.capture.spilled = Some(Arc::new(Ok(spilled?)));
        Ok(())
    }

    /// Gives back the memory of what was written, but for that of the next block.
    async fn give_back(&self, intake: &mut Intake<'_>) {
        let block = intake.spill.as_ref().map_or(0, |spill| spill.held_bytes());
        let held = intake.capture.content.len() + block;
        if let Err(missing) = self.budget.resize(&mut intake.reservation, held) {
            self.budget.wait(&mut intake.reservation, missing).await;
        }
    }
}
