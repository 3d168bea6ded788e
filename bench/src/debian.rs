//! Installs Debian packages of contenders that are missing, where this process may.

use std::path::Path;
use std::process::Command;

use crate::{process, search_path};

/// Installs `packages`.
///
/// # Errors
/// Advice for the user.
pub(crate) fn install(packages: &[String]) -> Result<(), String> {
    let list = packages.join(" ");
    let hint = format!("install it, for example with `apt-get install {list}`");
    if packages.is_empty() {
        return Err("install it".into());
    }
    if !can_install() {
        return Err(hint);
    }
    eprintln!("installing: {list}");
    // The package lists of a new machine are empty, and those of an old one may be out of date.
    if apt_get(&["install", "-y", "--no-install-recommends"], packages).is_ok() {
        return Ok(());
    }
    apt_get(&["update"], &[])
        .and_then(|()| apt_get(&["install", "-y", "--no-install-recommends"], packages))
        .map_err(|why| format!("{hint}, which was tried ({why})"))
}

fn can_install() -> bool {
    // SAFETY: geteuid has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    is_root && Path::new("/etc/debian_version").exists() && search_path::find("apt-get").is_some()
}

fn apt_get(arguments: &[&str], packages: &[String]) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.args(arguments).args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    let output = process::output(&mut command).map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(process::first_error(&output.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_packages_the_user_is_asked_to_install_it() {
        assert_eq!(install(&[]), Err("install it".into()));
    }
}
