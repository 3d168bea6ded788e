//! The requests of http_desync_guardian: a list in YAML, each with a tier. "Severe" ones must be
//! refused, "compliant" ones read.

use std::fs;

use stoop_proto::Limits;
use stoop_test::feed::serve;

use super::collection;

/// Ambiguous requests that have one meaning by RFC 9112, and are read therefore: content in GET or HEAD, and
/// field names that only resemble those of framing.
const ONE_MEANING: &[&str] = &[
    "Content_Length with underscore.",
    "Get with a body and Content-Length",
    "Get with a body and Transfer-Encoding",
    "Has a CL in GET",
    "Has a TE in GET",
    "Head with a body and Content-Length",
    "Head with a body and Transfer-Encoding",
    "Transfer-Encoding with multiple delimiters",
    "Transfer-Encoding with multiple hyphens",
    "Transfer_Encoding with underscore.",
];

/// Compliant requests that we refuse: transfer codings that we do not decode (501), parameters of chunked,
/// which has none, and targets with a fragment, or no target.
const NOT_FOR_US: &[&str] = &[
    "Compliant URL",
    "Correct TE OK",
    "Different Transfer-Encoding headers",
    "Different Transfer-Encoding headers combined",
    "Empty URI",
    "Multiple transfer encoding headers in a single request OK",
    "TE with custom parameters OK",
    "Transfer-Encoding with a param: chunked;custom_param",
    "Transfer-Encoding: identity and chunked OK",
];

/// A request of the list, and its tier.
#[derive(Default)]
struct GuardianCase {
    name: String,
    method: String,
    uri: String,
    version: String,
    fields: Vec<(String, String)>,
    tier: String,
}

#[test]
fn the_guardians_requests_are_read_or_refused_by_their_tier() {
    let named = collection("http_desync_guardian's requests", "STOOP_DESYNC_GUARDIAN");
    let Some(folder) = named else { return };
    let mut surprises = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the folder can be read") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = fs::read_to_string(&path).expect("the file can be read");
        for case in cases(&text) {
            let is_read = serve(&wire(&case), &Limits::server(), false).violation.is_none();
            let right = match case.tier.as_str() {
                "Compliant" => is_read || NOT_FOR_US.contains(&&*case.name),
                "Severe" => !is_read,
                "Ambiguous" => !is_read || ONE_MEANING.contains(&&*case.name),
                "Acceptable" => true,
                // A template for further cases.
                _ => continue,
            };
            count += 1;
            if !right {
                let GuardianCase { name, tier, .. } = &case;
                surprises.push(format!("{tier}, read: {is_read}: {name}"));
            }
        }
    }
    assert_ne!(count, 0, "no requests in {}", folder.display());
    surprises.sort();
    assert!(surprises.is_empty(), "of {count}:\n{}", surprises.join("\n"));
}

fn wire(case: &GuardianCase) -> Vec<u8> {
    let mut wire = format!("{} {} {}\r\n", case.method, case.uri, case.version);
    if !case.fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        wire.push_str("Host: a\r\n");
    }
    for (name, value) in &case.fields {
        wire.push_str(&format!("{name}:{value}\r\n"));
    }
    wire.push_str("\r\n");
    // Escapes below 256 are bytes.
    let bytes = wire.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?'));
    bytes.collect()
}

/// Reads as much of YAML as these files use.
fn cases(text: &str) -> Vec<GuardianCase> {
    let mut cases: Vec<GuardianCase> = Vec::new();
    let mut in_expected = false;
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let indent = line.len() - line.trim_start().len();
        let (is_item, pair) = match line.trim_start().strip_prefix("- ") {
            Some(pair) => (true, pair),
            None => (false, line.trim_start()),
        };
        let Some((key, value)) = pair.split_once(':') else { continue };
        let value = scalar(value.trim());
        if indent == 0 && is_item && key == "name" {
            cases.push(GuardianCase { name: value, ..GuardianCase::default() });
            in_expected = false;
            continue;
        }
        let Some(case) = cases.last_mut() else { continue };
        match (indent, key) {
            (2, "method") => case.method = value,
            (2, "uri") => case.uri = value,
            (2, "version") => case.version = value,
            (2, "expected") => in_expected = true,
            (4, "tier") if in_expected => case.tier = value,
            (4, "name") if is_item => case.fields.push((value, String::new())),
            (6, "value") => {
                if let Some(field) = case.fields.last_mut() {
                    field.1 = value;
                }
            }
            _ => {}
        }
    }
    cases
}

fn scalar(text: &str) -> String {
    if let Some(single) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return single.replace("''", "'");
    }
    let Some(double) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return text.to_owned();
    };
    let mut value = String::new();
    let mut chars = double.chars();
    while let Some(c) = chars.next() {
        let c = match c {
            '\\' => match chars.next().unwrap_or_default() {
                'x' => code(&mut chars, 2),
                'u' => code(&mut chars, 4),
                'r' => '\r',
                'n' => '\n',
                't' => '\t',
                'v' => '\x0b',
                'b' => '\x08',
                'f' => '\x0c',
                '0' => '\0',
                other => other,
            },
            c => c,
        };
        value.push(c);
    }
    value
}

fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> char {
    let hex: String = chars.by_ref().take(digits).collect();
    u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32).unwrap_or_default()
}
