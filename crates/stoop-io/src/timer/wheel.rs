//! The timing wheel as a data structure: ticks and wakers, without a clock or a thread.
//!
//! Ticks are milliseconds since the wheel was made. Level 0 has a slot for each of 64 ticks, level 1
//! a slot for each 64 of those, and so on. An entry lies on the level of the highest base-64 digit
//! in which its tick differs from `elapsed`, in the slot of that digit: a slot therefore starts at
//! or before the deadlines in it, and every occupied slot of a level lies ahead of `elapsed` and
//! before every occupied slot of the levels above. Finding the next slot is one look at a bitmap
//! per level; filing and removing touch two neighbours.
//!
//! When a slot's time comes its entries fire, or are filed again, nearer, if they are not due: because
//! the slot was a coarse one, or because the deadline has moved meanwhile. So moving a deadline
//! later is a store, and an entry is looked at about once per time it was filed for.

use std::collections::VecDeque;
use std::task::Waker;

use super::limits::ENTRIES_KEPT_MAX;

/// Bits of a tick that one level tells apart: its slots are then the bits of one `u64`.
const BITS: u32 = 6;

/// Slots of one level.
const SLOTS: usize = 1 << BITS;

/// Levels of a wheel. 64⁷ ms are 139 years: no process runs past the end of the top level.
const LEVELS: usize = 7;

/// The last tick there is; later deadlines count as this one.
pub(super) const LAST: u64 = (1 << (BITS * LEVELS as u32)) - 1;

/// The deadline of an entry that waits for nothing.
pub(super) const NEVER: u64 = u64::MAX;

/// The index of no entry: the end of a slot's list.
const NIL: u32 = u32::MAX;

/// A wheel of deadlines, each with a waker.
pub(super) struct TimingWheel {
    /// No occupied slot starts at or before this tick.
    elapsed: u64,
    /// No occupied slot starts before this tick: the one to sleep until.
    armed: u64,
    occupied: [u64; LEVELS],
    heads: [[u32; SLOTS]; LEVELS],
    entries: Vec<TimerEntry>,
    free: u32,
    filed: usize,
    /// Of the entry filed last. One counter for all, so that the slab may shrink.
    generation: u32,
}

struct TimerEntry {
    deadline: u64,
    /// Absent exactly while the entry is free.
    waker: Option<Waker>,
    generation: u32,
    prev: u32,
    next: u32,
    slot: u16,
}

/// Identifies an entry for as long as it is filed.
#[derive(Clone, Copy)]
pub(super) struct EntryKey {
    index: u32,
    generation: u32,
}

/// The result of setting a deadline.
pub(super) enum Touched {
    /// The entry is filed and will fire in time.
    Kept,
    /// The entry is filed, but with another waker: see [`TimingWheel::replace_waker`].
    OtherWaker,
    /// The deadline lies before the entry's slot: file it anew.
    Earlier,
    /// The entry has fired.
    Fired,
}

impl TimingWheel {
    pub(super) fn new() -> Self {
        Self {
            elapsed: 0,
            armed: NEVER,
            occupied: [0; LEVELS],
            heads: [[NIL; SLOTS]; LEVELS],
            entries: Vec::new(),
            free: NIL,
            filed: 0,
            generation: 0,
        }
    }

    /// Files an entry that fires at the first turn at or after `deadline`, which must lie after
    /// `now`. Returns whether that is earlier than what the wheel was armed for.
    pub(super) fn file(&mut self, now: u64, deadline: u64, waker: Waker) -> (EntryKey, bool) {
        if now < self.armed {
            // Nothing is due yet, so the wheel may catch up: the nearer its own time, the finer the
            // slot that the entry goes to.
            self.elapsed = self.elapsed.max(now);
        }
        self.generation = self.generation.wrapping_add(1);
        let (generation, index) = (self.generation, self.free);
        let entry =
            TimerEntry { deadline, waker: Some(waker), generation, prev: NIL, next: NIL, slot: 0 };
        let index = if index == NIL {
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        } else {
            self.free = self.entries[index as usize].next;
            self.entries[index as usize] = entry;
            index
        };
        self.filed += 1;
        (EntryKey { index, generation }, self.link(index))
    }

    /// Sets the deadline of an entry and checks that `waker` is its waker.
    #[inline]
    pub(super) fn touch(&mut self, key: EntryKey, deadline: u64, waker: &Waker) -> Touched {
        let Some(entry) = self.entry(key) else { return Touched::Fired };
        entry.deadline = deadline;
        let same = entry.waker.as_ref().is_some_and(|mine| mine.will_wake(waker));
        let slot = entry.slot;
        match same {
            _ if deadline < self.start(slot) => Touched::Earlier,
            true => Touched::Kept,
            false => Touched::OtherWaker,
        }
    }

    /// Gives an entry another waker and returns its old one.
    ///
    /// Dropping a waker may run any code, so the caller must do it after it has released the wheel. The
    /// same goes for [`TimingWheel::remove`] and [`TimingWheel::turn`].
    pub(super) fn replace_waker(&mut self, key: EntryKey, waker: Waker) -> Option<Waker> {
        self.entry(key)?.waker.replace(waker)
    }

    /// Removes an entry, unless it has fired.
    pub(super) fn remove(&mut self, key: EntryKey) -> Option<Waker> {
        self.entry(key)?;
        self.unlink(key.index);
        self.release(key.index)
    }

    /// Moves time on to `now` and appends the wakers of all that is due. Returns when to turn next.
    pub(super) fn turn(&mut self, now: u64, due: &mut VecDeque<Waker>) -> Option<u64> {
        self.armed = NEVER;
        while let Some(slot) = self.first() {
            let start = self.start(slot);
            if start > now {
                self.armed = start;
                break;
            }
            self.elapsed = start;
            let (level, place) = split(slot);
            self.occupied[level] &= !(1 << place);
            let mut index = std::mem::replace(&mut self.heads[level][place], NIL);
            while index != NIL {
                let TimerEntry { deadline, next, .. } = self.entries[index as usize];
                // An entry without a deadline fires too, and wakes its task once in vain: it may have
                // been left behind, and then nothing else would ever remove it.
                if deadline <= now || deadline == NEVER {
                    due.extend(self.release(index));
                } else {
                    self.link(index);
                }
                index = next;
            }
        }
        self.elapsed = self.elapsed.max(now);
        Some(self.armed).filter(|&tick| tick != NEVER)
    }

    /// Every waker that is still filed.
    pub(super) fn into_wakers(self) -> impl Iterator<Item = Waker> {
        self.entries.into_iter().filter_map(|entry| entry.waker)
    }

    /// How many entries are filed.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.filed
    }

    #[inline]
    fn entry(&mut self, key: EntryKey) -> Option<&mut TimerEntry> {
        self.entries
            .get_mut(key.index as usize)
            .filter(|entry| entry.generation == key.generation && entry.waker.is_some())
    }

    /// The occupied slot that starts first.
    fn first(&self) -> Option<u16> {
        let level = self.occupied.iter().position(|&bits| bits != 0)?;
        Some(((level as u16) << BITS) | self.occupied[level].trailing_zeros() as u16)
    }

    /// The tick a slot starts at. Its higher digits are those of `elapsed`.
    #[inline]
    fn start(&self, slot: u16) -> u64 {
        let (level, place) = split(slot);
        let shift = BITS * level as u32;
        let above = shift + BITS;
        ((self.elapsed >> above) << above) | ((place as u64) << shift)
    }

    /// Puts an entry into the slot of its deadline; true if the wheel must be turned earlier now.
    fn link(&mut self, index: u32) -> bool {
        // A deadline in the past belongs to the next tick: the current one has been handled.
        let tick = self.entries[index as usize].deadline.clamp(self.elapsed + 1, LAST);
        let level = ((tick ^ self.elapsed).ilog2() / BITS) as usize;
        let place = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let next = std::mem::replace(&mut self.heads[level][place], index);
        self.occupied[level] |= 1 << place;
        let slot = ((level << BITS) | place) as u16;
        let entry = &mut self.entries[index as usize];
        (entry.prev, entry.next, entry.slot) = (NIL, next, slot);
        if next != NIL {
            self.entries[next as usize].prev = index;
        }
        let start = self.start(slot);
        let nearer = start < self.armed;
        self.armed = self.armed.min(start);
        nearer
    }

    fn unlink(&mut self, index: u32) {
        let TimerEntry { prev, next, slot, .. } = self.entries[index as usize];
        if next != NIL {
            self.entries[next as usize].prev = prev;
        }
        if prev != NIL {
            self.entries[prev as usize].next = next;
            return;
        }
        let (level, place) = split(slot);
        self.heads[level][place] = next;
        if next == NIL {
            self.occupied[level] &= !(1 << place);
        }
    }

    /// Frees an entry that is in no slot any more.
    fn release(&mut self, index: u32) -> Option<Waker> {
        let entry = &mut self.entries[index as usize];
        let waker = entry.waker.take();
        entry.next = self.free;
        self.free = index;
        self.filed -= 1;
        if self.filed == 0 && self.entries.capacity() > ENTRIES_KEPT_MAX {
            self.entries = Vec::new();
            self.free = NIL;
        }
        waker
    }
}

#[inline]
fn split(slot: u16) -> (usize, usize) {
    (usize::from(slot) / SLOTS, usize::from(slot) % SLOTS)
}

#[cfg(test)]
mod tests;
