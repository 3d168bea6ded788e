//! The outcomes that a plan expects, as a file: for programs that compare a client's with them.

use std::io::{self, Write};

use crate::internet::{Expect, Plan, PlannedResult, PlannedUrl};

/// The first line of the file.
const COLUMNS: &str = "url,class,codes,length,hops,wait_ms,http1_codes,http1_length,robots_codes,\
                       retried_codes,retried_length";

/// Writes the file, one line of CSV for each URL, in the order of the list.
pub(crate) fn write(plan: &Plan, mut file: impl Write) -> io::Result<()> {
    writeln!(file, "{COLUMNS}")?;
    for url in plan.iter() {
        writeln!(file, "{}", line(&url))?;
    }
    file.flush()
}

/// No field has a comma or a quotation mark.
fn line(url: &PlannedUrl) -> String {
    let expect = &url.expect;
    let hops = expect.hops.map(|hops| hops.to_string()).unwrap_or_default();
    let wait = match expect.until_deadline {
        true => String::new(),
        false => expect.wait.as_millis().to_string(),
    };
    let unless_equal = |other: &Expect| match codes(other) == codes(expect) {
        true => [String::new(), String::new()],
        false => [codes(other), length(other)],
    };
    let [http1, http1_length] = unless_equal(&expect.over_http1());
    let [robots, _] = unless_equal(&expect.with_robots());
    let [retried, retried_length] = unless_equal(&expect.with_retries());
    let (class, codes, length) = (url.class, codes(expect), length(expect));
    format!(
        "{},{class},{codes},{length},{hops},{wait},{http1},{http1_length},{robots},{retried},\
         {retried_length}",
        url.text
    )
}

/// A status, or the error kinds that a client may report, with `|` between them.
fn codes(expect: &Expect) -> String {
    match expect.result {
        PlannedResult::Status { code, .. } => code.to_string(),
        PlannedResult::Failure { kinds } => [kinds, expect.besides].concat().join("|"),
    }
}

fn length(expect: &Expect) -> String {
    match expect.result {
        PlannedResult::Status { body, .. } => body.to_string(),
        PlannedResult::Failure { .. } => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internet::{Class, HostKind, Hosts};

    fn lines(plan: &Plan) -> Vec<String> {
        let mut file = Vec::new();
        write(plan, &mut file).unwrap();
        let text = String::from_utf8(file).unwrap();
        let columns = COLUMNS.split(',').count();
        assert!(text.lines().all(|line| line.split(',').count() == columns), "{text}");
        text.lines().map(str::to_owned).collect()
    }

    /// The line of the first URL that is so.
    fn line_of(plan: &Plan, is: impl Fn(&PlannedUrl) -> bool) -> String {
        let index = plan.iter().position(|url| is(&url)).expect("the plan has one");
        lines(plan).swap_remove(index + 1)
    }

    #[test]
    fn each_url_has_a_line_below_the_columns() {
        let plan = Plan::new(1, 300);
        let all = lines(&plan);
        assert_eq!((all.len(), all[0].as_str()), (301, COLUMNS));
        assert!(all[1..].iter().zip(plan.iter()).all(|(line, url)| line.starts_with(&url.text)));
        let stalls = line_of(&plan, |url| url.class == Class::DnsSilence);
        assert!(stalls.contains(",DnsSilence,dns_timeout|total_timeout,,0,,"), "{stalls}");
        let plan = Plan::new(1, 3_000);
        let http2 = line_of(&plan, |url| url.class.to_string() == "BadHttp2Push");
        assert!(http2.contains(",BadHttp2Push,h2_protocol,,"), "{http2}");
        let http1: Vec<&str> = http2.split(',').skip(6).collect();
        assert_eq!((http1[0], http1[1].parse::<u64>().is_ok()), ("200", true), "{http2}");
    }

    #[test]
    fn what_robots_txt_and_a_retry_after_change_has_columns_of_its_own() {
        let hosts = Hosts::new(10)
            .share(HostKind::Robots, 0.3)
            .share(HostKind::Busy, 0.3)
            .share(HostKind::Fails(Class::Refused), 0.1);
        let plan = Plan::new(1, 200).on(hosts);
        let forbidden = line_of(&plan, |url| url.expect.is_forbidden);
        assert!(forbidden.ends_with(",,,robots_denied,,"), "{forbidden}");
        assert!(forbidden.contains("/private/p/"), "{forbidden}");
        let busy = line_of(&plan, |url| url.expect.retried.is_some());
        let fields: Vec<&str> = busy.split(',').collect();
        assert!(["429", "503"].contains(&fields[2]) && fields[3] == "0", "{busy}");
        assert!(fields[9] != fields[2] && !fields[10].is_empty(), "{busy}");
        let refused = line_of(&plan, |url| url.class == Class::Refused);
        let codes = ",connect_refused|host_suspended,,0,0,,,";
        assert!(refused.contains(codes), "{refused}");
        assert!(refused.ends_with(",connect_refused|host_suspended|robots_denied,,"), "{refused}");
    }
}
