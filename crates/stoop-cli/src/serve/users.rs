//! Users with the hashes of their passwords, as `htpasswd` writes them.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use bcrypt::HashParts;
use stoop_web::{BasicAuth, BlockingPool};

use super::args::Settings;
use super::secrets;
use crate::failure::CommandFailure;

/// The costliest hash that is taken: some eight seconds for each request with a wrong password.
const COST_MAX: u32 = 17;
/// The least that bcrypt has.
const COST_MIN: u32 = 4;

/// Threads that compare hashes, and requests that wait for them.
const THREADS: usize = 2;
const WAITING_MAX: usize = 64;

/// A user as given: `USER:HASH`.
#[derive(Clone, Debug)]
pub(super) struct GivenUser {
    text: String,
    source: Source,
}

/// Where a user was given.
#[derive(Clone, Debug)]
enum Source {
    /// By `--auth`.
    Option,
    /// In a line of the file of `--auth-file`.
    Line(PathBuf, usize),
}

impl GivenUser {
    /// What is wrong with a user; the hash is not shown.
    fn wrong(&self, name: &str, why: &str) -> CommandFailure {
        let name = if name.is_empty() { String::new() } else { format!(" {name}:") };
        CommandFailure::Usage(match &self.source {
            Source::Option if name.is_empty() => format!("--auth: {why}"),
            Source::Option => format!("--auth{name} {why}"),
            Source::Line(file, line) => format!("{}:{line}:{name} {why}", file.display()),
        })
    }
}

/// The users of `--auth`, and those in the file of `--auth-file`: a line each, but for empty ones and those that begin with `#`.
///
/// # Errors
/// [`CommandFailure::Io`] if the file cannot be read; [`CommandFailure::Usage`] for one without a user, and for one that is
/// served itself.
pub(super) fn given(settings: &Settings) -> Result<Vec<GivenUser>, CommandFailure> {
    let typed = settings.auth.iter();
    let mut users: Vec<GivenUser> =
        typed.map(|text| GivenUser { text: text.clone(), source: Source::Option }).collect();
    let Some(file) = &settings.auth_file else { return Ok(users) };
    let text = std::fs::read_to_string(file)
        .map_err(|error| CommandFailure::io(&format!("cannot read {}", file.display()), &error))?;
    let before = users.len();
    let lines = text.lines().map(str::trim).enumerate();
    users.extend(lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#')).map(
        |(index, line)| GivenUser {
            text: line.to_owned(),
            source: Source::Line(file.clone(), index + 1),
        },
    ));
    // Without users no password would be asked for.
    if users.len() == before {
        let file = file.display();
        return Err(CommandFailure::Usage(format!("--auth-file {file}: there is no user in it")));
    }
    secrets::check("--auth-file", file, "its users could read it", settings)?;
    Ok(users)
}

/// The users of now, and who of them was let in: that stays as long as they stay the same, so that all of them are not
/// checked again at once.
#[derive(Default)]
pub(super) struct Users(Mutex<Option<(Vec<String>, BasicAuth)>>);

impl Users {
    /// Middleware that lets in these users; none without any.
    ///
    /// # Errors
    /// A text that is none of them.
    pub(super) fn auth(&self, users: &[GivenUser]) -> Result<Option<BasicAuth>, CommandFailure> {
        if users.is_empty() {
            return Ok(None);
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let texts: Vec<String> = users.iter().map(|user| user.text.clone()).collect();
        if let Some((_, auth)) = known.as_ref().filter(|(same, _)| *same == texts) {
            return Ok(Some(auth.clone()));
        }
        let auth = basic_auth(users)?;
        *known = Some((texts, auth.clone()));
        Ok(Some(auth))
    }
}

fn basic_auth(users: &[GivenUser]) -> Result<BasicAuth, CommandFailure> {
    let mut hashes = HashMap::new();
    for index in 0..users.len() {
        check(users, index)?;
        hashes.extend([parse(&users[index])?]);
    }
    let decoys: Vec<String> = hashes.values().cloned().collect();
    let key = RandomState::new();
    let check = move |name: &str, password: &str| {
        let known = hashes.get(name);
        let compared = known.unwrap_or_else(|| decoy(&decoys, &key, name));
        let is_right = bcrypt::verify(password, compared).unwrap_or(false);
        known.is_some() && is_right
    };
    let pool = BlockingPool::new(THREADS, WAITING_MAX);
    Ok(BasicAuth::new("stoop serve").check_blocking(pool, check))
}

/// Checks one of the users, beside those before it.
///
/// # Errors
/// [`CommandFailure::Usage`] for a text that is none, and for a name that one before it has.
pub(super) fn check(users: &[GivenUser], index: usize) -> Result<(), CommandFailure> {
    let user = &users[index];
    let (name, _) = parse(user)?;
    let has_name =
        |user: &GivenUser| user.text.split_once(':').is_some_and(|(other, _)| other == name);
    match users[..index].iter().any(has_name) {
        true => Err(user.wrong(&name, "is given twice")),
        false => Ok(()),
    }
}

/// The hash that the password of an unknown user is compared with, so that it takes as long as that of a known one. Where
/// hashes differ in their cost, the name decides which one it is, always the same.
fn decoy<'a>(hashes: &'a [String], key: &RandomState, name: &str) -> &'a String {
    &hashes[key.hash_one(name) as usize % hashes.len()]
}

fn parse(user: &GivenUser) -> Result<(String, String), CommandFailure> {
    let Some((name, hash)) = user.text.split_once(':').filter(|(name, _)| !name.is_empty()) else {
        let why =
            "a user is written USER:HASH; make one by --auth-new USER, or 'htpasswd -nB USER'";
        return Err(user.wrong("", why));
    };
    match hash.parse::<HashParts>() {
        Err(_) => {
            let quotes = match user.source {
                Source::Option => "; put it between single quotes, or the shell changes it",
                Source::Line(..) => "",
            };
            let why = format!("the hash is none of bcrypt, which begins with $2b$ or $2y${quotes}");
            Err(user.wrong(name, &why))
        }
        Ok(parts) if parts.get_cost() > COST_MAX => {
            let why = "the hash has a cost above 17, and would take minutes to compare";
            Err(user.wrong(name, why))
        }
        Ok(parts) if parts.get_cost() < COST_MIN => {
            let why = "the hash has a cost below 4, with which no password is compared";
            Err(user.wrong(name, why))
        }
        Ok(_) => Ok((name.to_owned(), hash.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_name_and_a_hash_of_bcrypt() {
        let typed = |text: &str| GivenUser { text: text.to_owned(), source: Source::Option };
        let parse = |text: &str| parse(&typed(text));
        let hash = bcrypt::hash("secret", 4).unwrap();
        assert_eq!(parse(&format!("ada:{hash}")).unwrap(), ("ada".to_owned(), hash.clone()));
        let costly = hash.replacen("$04$", "$18$", 1);
        let cheap = hash.replacen("$04$", "$03$", 1);
        let changed = hash.replacen("$04$", "$04$!", 1);
        let changed = &changed[..hash.len()];
        let wrong = ["ada", "", ":x", "ada:secret", "ada:$1$abc"].map(str::to_owned);
        let hashes = [&*costly, &*cheap, changed].map(|hash| format!("ada:{hash}"));
        for wrong in wrong.iter().chain(&hashes) {
            let Err(CommandFailure::Usage(message)) = parse(wrong) else { panic!("{wrong}") };
            assert!(!message.contains("secret") && message.starts_with("--auth"), "{message}");
        }
        assert!(Users::default().auth(&[]).unwrap().is_none());
        let twice = ["x", "ada", "x"].map(|name| typed(&format!("{name}:{hash}")));
        let Err(CommandFailure::Usage(message)) = Users::default().auth(&twice) else { panic!() };
        assert_eq!(message, "--auth x: is given twice");
    }

    #[test]
    fn an_unknown_user_is_compared_with_a_hash_of_a_known_one_and_always_the_same() {
        let (hashes, key) = (["a".to_owned(), "b".to_owned()], RandomState::new());
        let compared = |name: &str| decoy(&hashes, &key, name);
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        assert!(names.iter().all(|name| compared(name) == compared(name)));
        for hash in &hashes {
            assert!(names.iter().any(|name| compared(name) == hash), "all costs are there");
        }
    }
}
