//! Which option is meant where several programs have one of the same name.

use stoop_fetch::target::has_scheme;

use super::program::Program;

/// The option that is meant where two programs have one of this name: its value tells.
pub(super) fn meant<'a>(typed: &'a str, value: Option<&str>, program: Option<Program>) -> &'a str {
    let value = value.unwrap_or_default();
    let has_digits = value.starts_with(|first: char| first.is_ascii_digit());
    match typed {
        // A size of aria2's, and no URL that follows the flag of curl's.
        "-k" if has_digits && crate::units::size(value).is_ok() => "--min-split-size",
        "-s" if has_digits && value.bytes().all(|byte| byte.is_ascii_digit()) => "--split",
        "-U" if is_user(value) => "--proxy-user",
        "-u" if is_user(value) => "--user",
        "-u" if program != Some(Program::Httpx) && !value.is_empty() && !is_host(value) => "--user",
        // A flag of curl's; that of wget has the name of a file.
        "-O" if value == "-" => typed,
        "-O" if value.is_empty() || has_scheme(value) || program == Some(Program::Curl) => {
            "--remote-name"
        }
        _ => in_program(typed, program).unwrap_or(typed),
    }
}

/// What a letter means in one program, where it means something else in others.
fn in_program(typed: &str, program: Option<Program>) -> Option<&'static str> {
    Some(match (program?, typed) {
        (Program::Aria2, "-m") => "--max-tries",
        (Program::Aria2, "-l") => "--log",
        (Program::Wget, "-m") => "--mirror",
        (Program::Wget, "-l") => "--level",
        (Program::Wget, "-k") => "--convert-links",
        (Program::Wget, "-p") => "--page-requisites",
        (Program::Wget, "-b") => "--background",
        (Program::Curl, "-S") => "--show-error",
        _ => return None,
    })
}

/// Whether a value may be a host, with a port or not, or a URL: the user of curl's may have no password.
fn is_host(value: &str) -> bool {
    value.contains(['.', ':', '/']) || value == "localhost"
}

/// Whether a value is USER:PASSWORD, and no URL, host with a port, or name of a program.
fn is_user(value: &str) -> bool {
    let Some((user, password)) = value.split_once(':') else { return false };
    let is_port = !password.is_empty() && password.bytes().all(|byte| byte.is_ascii_digit());
    !user.contains(['/', ' ', '.']) && !password.starts_with("//") && !is_port
}
