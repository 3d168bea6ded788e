//! The table beside a simple one, its memory, and the marks of its entries.

use super::*;

/// A simple table to compare with, of unbounded memory.
#[derive(Default)]
struct Model(VecDeque<(Vec<u8>, Vec<u8>)>);

impl Model {
    fn size(&self) -> usize {
        self.0.iter().map(|(name, value)| name.len() + value.len() + 32).sum()
    }

    fn insert(&mut self, name: Vec<u8>, value: Vec<u8>, size_max: usize) {
        self.0.push_front((name, value));
        while self.size() > size_max {
            self.0.pop_back();
        }
    }
}

/// Numbers that are the same in every run.
fn next(state: &mut u32, below: usize) -> usize {
    *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    (*state >> 8) as usize % below
}

#[test]
fn a_table_agrees_with_a_simple_one_in_bounded_memory() {
    for seed in 0..200_u32 {
        let mut state = seed;
        let mut size_max = [0, 31, 32, 40, 100, 512, 4096][seed as usize % 7];
        let (mut table, mut model) = (DynamicTable::new(size_max), Model::default());
        // Positions wrap.
        table.buffer.begin_at(u32::MAX - 1_000);
        for _ in 0..300 {
            let longest = [2, 20, 200, 5_000][next(&mut state, 4)];
            let value = vec![next(&mut state, 256) as u8; next(&mut state, longest)];
            let index = next(&mut state, 8);
            let name = match table.name(index) {
                Some(name) if next(&mut state, 3) == 0 => {
                    let text = table.text(name).to_vec();
                    let fits = table.insert_named(name, &value);
                    assert!(fits || table.text(name) == text, "it is still there");
                    text
                }
                _ => {
                    let name = vec![b'a' + index as u8; next(&mut state, longest)];
                    table.insert(&name, &value, 0);
                    name
                }
            };
            model.insert(name, value, size_max as usize);
            if next(&mut state, 40) == 0 {
                size_max = next(&mut state, 5_000) as u32;
                table.set_size_max(size_max);
                while model.size() > size_max as usize {
                    model.0.pop_back();
                }
            }
            assert_eq!(table.size(), model.size());
            assert!(table.buffer.capacity() <= 2 * size_max as usize);
            let stored = table.iter().map(|entry| (entry.name.to_vec(), entry.value.to_vec()));
            assert!(stored.eq(model.0.iter().cloned()), "seed {seed}");
        }
    }
}

#[test]
fn a_table_that_holds_nothing_has_no_memory() {
    let mut table = DynamicTable::new(4096);
    assert_eq!(table.capacity(), 0);
    for n in 0..=255 {
        table.insert(b"name", &[n; 60], 0);
    }
    assert_eq!(table.size(), 4096 / 96 * 96);
    table.set_size_max(0);
    assert_eq!((table.len(), table.size()), (0, 0));
    assert_eq!(table.capacity(), 0);
    assert!(!table.insert(b"", b"", 0));
}

/// A full table does not grow further: evicted entries make room.
#[test]
fn the_buffer_of_small_entries_is_not_much_larger_than_they_are() {
    let mut table = DynamicTable::new(4096);
    for n in 0..10_000_u32 {
        table.insert(b"name", &[n as u8; 20], 0);
    }
    let bytes: usize = table.iter().map(|entry| entry.name.len() + entry.value.len()).sum();
    assert!(table.buffer.capacity() <= 3 * bytes, "{} for {bytes}", table.buffer.capacity());
}

#[test]
fn marks_stay_with_their_entries() {
    let mut table = DynamicTable::new(200);
    table.insert(b"a", b"1", 0);
    table.mark(0, 7);
    table.mark(1, 9);
    table.insert(b"b", b"2", 5);
    let read = |table: &DynamicTable| {
        let all = table.iter().map(|entry| (entry.name[0], entry.static_name, entry.mark));
        all.collect::<Vec<_>>()
    };
    assert_eq!(read(&table), [(b'b', 5, 0), (b'a', 0, 7)]);
    let name = table.name(0).unwrap();
    table.insert_named(name, b"3");
    assert_eq!(read(&table), [(b'b', 5, 0), (b'b', 5, 0), (b'a', 0, 7)]);
}

#[test]
fn a_limit_beyond_the_ceiling_is_the_ceiling() {
    assert_eq!(DynamicTable::new(u32::MAX).size_max(), 1 << 30);
}
