//! `tracestate` (W3C Trace Context, §3.3): read to be sent on, and to know that it may be.

use std::sync::Arc;

use stoop_proto::Fields;

/// Characters that are sent on, the least that the recommendation asks for (§3.3.1.5).
const LENGTH_MAX: usize = 512;

/// Members of a list (§3.3.1.1).
const MEMBERS_MAX: usize = 32;

/// Members that are longer go first where the list is too long (§3.3.1.5).
const LONG_MEMBER: usize = 128;

/// The list of all lines as one (§3.3.1): `None` if there is none, and if it is malformed, as then none of it may be sent
/// on (§3.3.1.4).
pub(super) fn read(fields: &Fields) -> Option<Arc<str>> {
    let mut members: Vec<(&str, &str)> = Vec::new();
    for line in fields.all("tracestate") {
        let line = std::str::from_utf8(line).ok()?;
        // Empty members are allowed (§3.3.1.1).
        for member in line.split(',').map(|member| member.trim_matches([' ', '\t'])) {
            if member.is_empty() {
                continue;
            }
            let (key, value) = member.split_once('=')?;
            let is_known = members.iter().any(|(known, _)| *known == key);
            if is_known || members.len() == MEMBERS_MAX || !is_key(key) || !is_value(value) {
                return None;
            }
            members.push((key, member));
        }
    }
    let length = |members: &[(&str, &str)]| -> usize {
        members.iter().map(|(_, member)| member.len() + 1).sum::<usize>().saturating_sub(1)
    };
    if length(&members) > LENGTH_MAX {
        members.retain(|(_, member)| member.len() <= LONG_MEMBER);
    }
    while length(&members) > LENGTH_MAX {
        members.pop();
    }
    let list: Vec<_> = members.iter().map(|(_, member)| *member).collect();
    (!list.is_empty()).then(|| list.join(",").into())
}

/// key = ( lcalpha / DIGIT ) 0*255 ( lcalpha / DIGIT / "_" / "-" / "*" / "/" / "@" ), as level 2 has it (§3.3.1.3.1): all that
/// level 1 allows, and what its systems send since.
fn is_key(key: &str) -> bool {
    let is_first = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9');
    let is_next = |byte: u8| is_first(&byte) || b"_-*/@".contains(&byte);
    key.len() <= 256 && key.as_bytes().first().is_some_and(is_first) && key.bytes().all(is_next)
}

/// value = 0*255 ( %x20 / nblk-chr ) nblk-chr, of printable ASCII without "," and "=" (§3.3.1.3.2). It has no space at its
/// end.
fn is_value(value: &str) -> bool {
    let is_of_value = |byte: u8| matches!(byte, 0x20..=0x7e) && byte != b',' && byte != b'=';
    (1..=256).contains(&value.len()) && value.bytes().all(is_of_value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Option<String> {
        let mut fields = Fields::new();
        for line in lines {
            fields.push("tracestate", line.as_bytes()).unwrap();
        }
        read(&fields).map(|state| state.to_string())
    }

    #[test]
    fn a_list_of_several_lines_is_one_list() {
        assert_eq!(of(&["rojo=1, congo=t61 x"]).as_deref(), Some("rojo=1,congo=t61 x"));
        assert_eq!(of(&["a=1,,b=2", "", "c@d=3\t,"]).as_deref(), Some("a=1,b=2,c@d=3"));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&["", " , "]), None);
    }

    #[test]
    fn a_malformed_list_is_left_out_whole() {
        for bad in [
            "a", "a=", "=1", "A=1", "_a=1", "a=1,a=2", "a=1,a=1", "a=b=c", "a=1, b", "a b=1",
            "a =1", "a.b=1", "\u{e4}=1", "x=1",
        ] {
            assert_eq!(of(&["x=1", bad]), None, "{bad}");
        }
        let many =
            |count: usize| (0..count).map(|n| format!("k{n}=1")).collect::<Vec<_>>().join(",");
        assert!(of(&[&many(32)]).is_some());
        assert_eq!(of(&[&many(33)]), None);
        assert!(of(&[&format!("{}=1", "k".repeat(256))]).is_some());
        assert_eq!(of(&["a=1", &format!("{}=1", "k".repeat(257))]), None);
        assert_eq!(of(&["a=1", &format!("b={}", "v".repeat(257))]), None);
    }

    #[test]
    fn of_a_list_that_is_too_long_long_members_go_first_and_then_the_last_ones() {
        let member = |key: char, length: usize| format!("{key}={}", "v".repeat(length - 2));
        let fits =
            [member('a', 128), member('b', 128), member('c', 128), member('d', 125)].join(",");
        assert_eq!(fits.len(), 512);
        assert_eq!(of(&[&fits]), Some(fits.clone()));
        // One more character, and the last goes.
        let longer =
            [member('a', 128), member('b', 128), member('c', 128), member('d', 126)].join(",");
        let kept = [member('a', 128), member('b', 128), member('c', 128)].join(",");
        assert_eq!(of(&[&longer]), Some(kept));
        // A member of more than 128 goes before it.
        let long =
            [member('a', 129), member('b', 128), member('c', 128), member('d', 128)].join(",");
        let kept = [member('b', 128), member('c', 128), member('d', 128)].join(",");
        assert_eq!(of(&[&long]), Some(kept));
    }
}
