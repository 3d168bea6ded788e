//! Where the workspace is, and its packages and features, read without asking cargo.

use std::fs;
use std::path::{Path, PathBuf};

/// The root of the workspace this program was built from.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// The packages under `crates/`, by the names of their folders, sorted.
pub(crate) fn packages() -> Result<Vec<String>, String> {
    let folder = root().join("crates");
    let entries = fs::read_dir(&folder)
        .map_err(|error| format!("cannot read {}: {error}", folder.display()))?;
    let mut packages: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    packages.sort();
    Ok(packages)
}

/// The features that a package declares, `default` left out.
pub(crate) fn features(package: &str) -> Result<Vec<String>, String> {
    let path = root().join("crates").join(package).join("Cargo.toml");
    let manifest = fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(features_in(&manifest))
}

fn features_in(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[features]")
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| Some(line.split_once('=')?.0.trim()))
        .filter(|name| !name.starts_with(['#', '"']) && *name != "default")
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_read_without_a_parser() {
        let manifest = "[package]\nname = \"a\"\n\n[features]\ndefault = [\"b\"]\n# c = []\n\
                        b = [\n    \"dep:x\",\n]\nd = []\n\n[dependencies]\ne = \"1\"\n";
        assert_eq!(features_in(manifest), ["b", "d"]);
    }

    /// `unsafe_code` is forbidden there; stoop-io says in its own list why not to it.
    #[test]
    fn every_package_but_stoop_io_takes_the_lints_of_the_workspace() {
        let folders = packages().unwrap().into_iter().map(|package| format!("crates/{package}"));
        for folder in folders.chain(["xtask".to_owned()]) {
            let manifest = fs::read_to_string(root().join(&folder).join("Cargo.toml")).unwrap();
            let takes = manifest.contains("[lints]\nworkspace = true\n");
            assert_eq!(takes, folder != "crates/stoop-io", "{folder}");
        }
    }

    /// The lints are off in the workspace's list, because tests and programs may do these things.
    #[test]
    fn every_library_forbids_to_what_it_ships_what_its_clippy_toml_lists() {
        let read = |path: &str| fs::read_to_string(root().join("crates").join(path));
        let is_entry = |line: &&str| line.trim_start().starts_with("{ path");
        let listed = read("clippy.toml").unwrap();
        for package in packages().unwrap() {
            let Ok(library) = read(&format!("{package}/src/lib.rs")) else { continue };
            let lints =
                library.split_once("not(test),\n    forbid(").map_or("", |(_, lints)| lints);
            let lints = lints.split(')').next().unwrap_or_default();
            let forbids = |lint: &str| lints.contains(&format!("clippy::{lint}"));
            let all =
                ["disallowed_methods", "print_stderr", "print_stdout"].into_iter().all(forbids);
            assert_eq!(all, package != "stoop-test", "{package}");
            if let Ok(own) = read(&format!("{package}/clippy.toml")) {
                assert!(
                    listed.lines().filter(is_entry).all(|entry| own.contains(entry)),
                    "{package}"
                );
                assert_eq!(
                    forbids("disallowed_types"),
                    own.contains("disallowed-types"),
                    "{package}"
                );
            }
        }
    }

    #[test]
    fn the_packages_of_this_workspace_are_found() {
        assert!(packages().unwrap().contains(&"stoop-proto".to_owned()));
    }
}
