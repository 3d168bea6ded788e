//! The name of a file in Content-Disposition, for `-J`.

/// The last part of the path that the field names, if it is a name.
pub(super) fn file_name(field: &[u8]) -> Option<String> {
    let field = String::from_utf8_lossy(field);
    let named =
        field.split(';').map(str::trim_start).enumerate().skip(1).find_map(|(at, part)| {
            let (name, _) = part.split_once('=')?;
            name.trim_end().eq_ignore_ascii_case("filename").then_some(at)
        })?;
    // A quoted name may have a semicolon.
    let (_, value) = field.splitn(named + 1, ';').last()?.split_once('=')?;
    let value = value.trim_start();
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split(';').next(),
    }?;
    let name = value.rsplit(['/', '\\']).next()?.trim();
    let is_name =
        !(name.is_empty() || name == "." || name == ".." || name.contains(char::is_control));
    is_name.then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_part_of_a_path() {
        for (field, name) in [
            ("attachment; filename=\"na me.txt\"", Some("na me.txt")),
            ("attachment; filename=a.txt; size=3", Some("a.txt")),
            ("attachment; FileName = a.txt", Some("a.txt")),
            ("attachment; size=3; filename=\"a;b\"", Some("a;b")),
            ("attachment; filename=../../etc/evil", Some("evil")),
            ("attachment; filename=\"c:\\evil\"", Some("evil")),
            ("attachment; filename=..", None),
            ("attachment; filename=a/", None),
            ("attachment; filename=\"a\nb\"", None),
            ("attachment; filename*=UTF-8''x", None),
            ("inline", None),
            ("", None),
        ] {
            assert_eq!(file_name(field.as_bytes()).as_deref(), name, "{field}");
        }
    }
}
