//! Patterns of paths: their parameters, and how they are put together.

use crate::route::spans::PARAMETERS_MAX;

/// The names of a pattern's parameters, or what is wrong with it. What else `matchit` refuses it says itself.
pub(crate) fn names(pattern: &str) -> Result<Vec<Box<str>>, &'static str> {
    if !pattern.starts_with('/') {
        return Err("a pattern begins with a slash");
    }
    if pattern.contains(['?', '#']) {
        return Err("a pattern is for paths, which have neither `?` nor `#`");
    }
    let mut names: Vec<Box<str>> = Vec::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            rest = &brace[2..];
            continue;
        }
        let Some((name, behind)) = brace.strip_prefix('{').and_then(|name| name.split_once('}'))
        else {
            return Err("a brace has no other half; `{{` and `}}` are braces themselves");
        };
        let name = name.strip_prefix('*').unwrap_or(name);
        if name.is_empty() || name.contains(['{', '/', '*']) {
            return Err("a parameter is written `{name}`, or `{*name}` for the rest of the path");
        }
        if names.iter().any(|known| **known == *name) {
            return Err("two parameters have the same name");
        }
        names.push(name.into());
        rest = behind;
    }
    if names.len() > PARAMETERS_MAX {
        return Err("a pattern has at most 12 parameters");
    }
    Ok(names)
}

/// Whether a pattern matches one path alone, which it then is.
pub(crate) fn is_fixed(pattern: &str) -> bool {
    !pattern.contains(['{', '}'])
}

/// A pattern below a prefix. The root below `/api` is `/api`.
pub(crate) fn below(prefix: &str, pattern: &str) -> String {
    match pattern {
        "/" if !prefix.is_empty() => prefix.to_owned(),
        _ => format!("{prefix}{pattern}"),
    }
}

/// What is wrong with a prefix.
pub(crate) fn check_prefix(prefix: &str) -> Result<(), &'static str> {
    if prefix.ends_with('/') {
        return Err("a prefix does not end in a slash; to add routes at the root, merge them");
    }
    if prefix.contains("{*") {
        return Err("nothing can be below the rest of a path");
    }
    names(prefix).map(drop)
}

/// Whether a path is below a prefix, whose parameters match any segment.
pub(crate) fn is_below(prefix: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    prefix.split('/').all(|expected| {
        segments.next().is_some_and(|segment| {
            if is_fixed(expected) { segment == expected } else { !segment.is_empty() }
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_names_and_braces_their_other_half() {
        let of = |pattern| names(pattern).map(|names| names.join(","));
        for (pattern, found) in [
            ("/", ""),
            ("/users/{id}", "id"),
            ("/{a}/x-{b}.png/{*rest}", "a,b,rest"),
            ("/{{not}}/{yes}", "yes"),
        ] {
            assert_eq!(of(pattern).as_deref(), Ok(found), "{pattern}");
        }
        for pattern in
            ["", "users", "/{", "/}", "/{}", "/{*}", "/{a{b}}", "/{a/b}", "/{a}/{a}", "/a?b"]
        {
            assert!(of(pattern).is_err(), "{pattern}");
        }
        let many: String = (0..=PARAMETERS_MAX).map(|index| format!("/{{p{index}}}")).collect();
        assert!(of(&many).is_err() && of(&many[5..]).is_ok());
    }

    #[test]
    fn a_path_is_below_a_prefix_by_whole_segments() {
        for (prefix, path, is) in [
            ("/api", "/api", true),
            ("/api", "/api/x", true),
            ("/api", "/apix", false),
            ("/{tenant}/api", "/a/api/x", true),
            ("/{tenant}/api", "//api", false),
            ("", "/anything", true),
        ] {
            assert_eq!(is_below(prefix, path), is, "{prefix} {path}");
        }
    }
}
