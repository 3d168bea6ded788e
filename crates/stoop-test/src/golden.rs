//! Compares texts with files that are checked in, so that a changed behaviour is a changed line in review.

use std::fs;
use std::path::{Path, PathBuf};

/// Compares `actual` with `goldens/NAME`, or rewrites that file if `STOOP_BLESS=1` is set.
///
/// # Panics
/// If they differ, with the first lines that do.
#[track_caller]
pub fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("goldens").join(name);
    if std::env::var_os("STOOP_BLESS").is_some_and(|bless| bless == "1") {
        write(&path, actual);
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    if let Some(difference) = difference(&expected, actual) {
        panic!(
            "{} is not what the code does now:\n{difference}\
             If the change is right, `cargo xtask goldens --bless -p stoop-test` rewrites it.",
            path.display(),
        );
    }
}

fn write(path: &PathBuf, text: &str) {
    let folder = path.parent().expect("a golden file has a folder");
    fs::create_dir_all(folder).expect("the folder of the golden file can be made");
    fs::write(path, text).expect("the golden file can be written");
}

/// The lines from the first difference on, five of each text.
fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let same = expected.lines().zip(actual.lines()).take_while(|(a, b)| a == b).count();
    let shown = |sign, text: &str| {
        let lines = text.lines().skip(same).take(5);
        lines.map(|line| format!("{sign}{line}\n")).collect::<String>()
    };
    Some(format!("line {}:\n{}{}", same + 1, shown("- ", expected), shown("+ ", actual)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_shown_from_its_first_line_on() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "line 2:\n- b\n+ c\n");
        assert_eq!(difference("a\n", "a\nb\n").unwrap(), "line 2:\n+ b\n");
    }
}
