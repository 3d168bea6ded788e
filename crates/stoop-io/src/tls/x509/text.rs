//! Strings of ASN.1 that are text.

/// A `DirectoryString`: UTF8String, PrintableString, IA5String or BMPString. TeletexString, whose character set
/// nothing agrees on, is no text.
pub(super) fn text(tag: u8, value: &[u8]) -> Option<String> {
    match tag {
        0x0c => String::from_utf8(value.to_vec()).ok(),
        0x13 | 0x16 => ia5(value),
        0x1e => {
            let (units, rest) = value.as_chunks::<2>();
            let units: Vec<_> = units.iter().map(|unit| u16::from_be_bytes(*unit)).collect();
            rest.is_empty().then(|| String::from_utf16(&units).ok())?
        }
        _ => None,
    }
}

/// An IA5String: ASCII. NUL is none of it: a name that ends there for some readers is two names.
pub(super) fn ia5(value: &[u8]) -> Option<String> {
    let is_text = value.iter().all(|byte| byte.is_ascii() && *byte != 0);
    is_text.then(|| String::from_utf8(value.to_vec()).ok())?
}
