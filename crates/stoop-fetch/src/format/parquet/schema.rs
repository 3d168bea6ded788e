//! The columns of a file: one table, as the format's own language has it, from which all else is derived.

use std::sync::Arc;

use parquet::basic::{LogicalType, Repetition};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{Type, TypePtr};

/// The columns of each record, named as the fields of a line of JSON. [`super::row`] appends values in this order.
const RECORD: &str = "
    required int32 v;
    optional binary id (STRING);
    required binary url (STRING);
    optional binary url_bytes (STRING);
    required binary method (STRING);
    optional int32 status;
    required boolean ok;
    optional binary error_kind (STRING);
    required int64 start_time (TIMESTAMP(MILLIS,true));
    required int64 duration_us;
    required int64 body_bytes;
    optional binary final_url (STRING);
    optional binary location (STRING);
    optional int32 redirects;
    optional int32 attempts;
    optional binary http_version (STRING);
    optional binary content_type (STRING);
    optional binary etag (STRING);
    optional binary last_modified (STRING);
    optional binary x_robots_tag (STRING);
    optional binary truncated (STRING);
    optional binary saved (STRING);
    optional binary blake3 (STRING);
    optional binary sha256 (STRING);
    optional binary title (STRING);
    optional binary server (STRING);
    optional int64 content_length;
    optional binary sniffed_type (STRING);
    optional binary charset (STRING);
    optional int32 favicon_hash;
    optional binary robots (STRING);
    optional binary meta_robots (STRING);
    optional group chain (LIST) {
        repeated group list {
            required group element {
                required int32 status;
                required binary url (STRING);
            }
        }
    }
    optional group tls {
        required binary version (STRING);
        required binary cipher (STRING);
        optional binary alpn (STRING);
        optional binary subject_cn (STRING);
        optional binary subject_dn (STRING);
        optional group subject_an (LIST) {
            repeated group list {
                required binary element (STRING);
            }
        }
        optional binary issuer_cn (STRING);
        optional binary issuer_dn (STRING);
        optional int64 not_before (TIMESTAMP(MILLIS,true));
        optional int64 not_after (TIMESTAMP(MILLIS,true));
        optional binary sha256 (STRING);
    }
    optional int64 wire_bytes;
    optional binary error_phase (STRING);
    optional binary error (STRING);
    optional binary remote_ip (STRING);
    optional int32 remote_port;
    optional int64 t_queue_us;
    optional int64 t_dns_us;
    optional int64 t_connect_us;
    optional int64 t_tls_us;
    optional int64 t_wait_us;
    optional int64 t_recv_us;
    optional binary meta (STRING);
";

/// Those that there are besides, where content is kept.
const CONTENT: &str = "
    optional group headers (LIST) {
        repeated group list {
            required group element {
                required binary name (STRING);
                required binary value (STRING);
            }
        }
    }
    optional binary body;
";

/// The column of content.
pub(super) const BODY: &str = "body";

/// Columns in which few different values come again and again: they are written once, in a dictionary.
pub(super) const REPETITIVE: [&str; 26] = [
    "v",
    "method",
    "status",
    "error_kind",
    "redirects",
    "attempts",
    "http_version",
    "content_type",
    "x_robots_tag",
    "truncated",
    "server",
    "sniffed_type",
    "charset",
    "robots",
    "meta_robots",
    "chain.list.element.status",
    "tls.version",
    "tls.cipher",
    "tls.alpn",
    "tls.issuer_cn",
    "tls.issuer_dn",
    "error_phase",
    "error",
    "remote_ip",
    "remote_port",
    "headers.list.element.name",
];

/// The schema of a file.
pub(super) fn schema(has_content: bool) -> TypePtr {
    let content = if has_content { CONTENT } else { "" };
    let text = format!("message record {{ {RECORD} {content} }}");
    Arc::new(parse_message_type(&text).expect("the table above is in the format's language"))
}

/// A column, or what columns stand in, with what is needed to tell where a value belongs.
#[derive(Debug)]
pub(super) enum Node {
    /// A column, by its number.
    Leaf { column: usize, is_optional: bool },
    /// Fields beside each other.
    Group { fields: Vec<Node>, is_optional: bool },
    /// Any number of the same.
    List { element: Box<Node>, is_optional: bool },
}

/// The nodes of all fields of a schema.
pub(super) fn nodes(schema: &Type) -> Vec<Node> {
    let mut next = 0;
    schema.get_fields().iter().map(|field| node(field, &mut next)).collect()
}

fn node(field: &Type, next: &mut usize) -> Node {
    let is_optional = field.get_basic_info().repetition() == Repetition::OPTIONAL;
    if field.is_primitive() {
        *next += 1;
        return Node::Leaf { column: *next - 1, is_optional };
    }
    match list_element(field) {
        Some(element) => Node::List { element: Box::new(node(element, next)), is_optional },
        None => {
            let fields = field.get_fields().iter().map(|field| node(field, next)).collect();
            Node::Group { fields, is_optional }
        }
    }
}

/// What a list has, if this is one.
pub(super) fn list_element(field: &Type) -> Option<&Type> {
    let is_list = field.get_basic_info().logical_type_ref() == Some(&LogicalType::List);
    is_list.then(|| field.get_fields()[0].get_fields()[0].as_ref())
}
