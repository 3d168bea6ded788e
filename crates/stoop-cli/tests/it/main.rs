//! Tests that run the built command as users do, against small servers of raw bytes on loopback.
//!
//! - `internet`: the synthetic internet, from the plan to the table
//! - `http2`: the version that is used with each server, and the number of connections
//! - `http_fallback`: what is not fetched over http, though a connection for https fails
//! - `json_jobs`: lists whose lines are JSON objects
//! - `large_files`: content that is longer than the memory for it
//! - `extract`: what is told of answers beyond status, length and time
//! - `sitemaps`: sitemaps of an index
//! - `tables`: tables and sitemaps as lists, and lists in parts
//! - `parquet`: tables of Apache Parquet, as output and as lists
//! - `lines`: exactly one line for each URL, and its content
//! - `input`: the lines that count as URLs, their sources, and their number
//! - `get`: one request, beside curl and by itself
//! - `cookies`: cookies are written to their file however a run ends
//! - `ending`: signals, `--duration`, a reader that closes the output, a full disk
//! - `bandwidth`: how much content a run reads in a second
//! - `bounds`: concurrency, deadlines, memory, a slow reader
//! - `completions`: the shells for which completions are printed complete by them
//! - `options`: redirects, bodies, certificates, time limits, against origins that misbehave
//! - `machine`: a machine without local ports, descriptors or CA certificates at hand
//! - `time_limits`: the time limits, which are those that the help names
//! - `output`: what is written, and where
//! - `page`: the report of a run as a page
//! - `politeness`: how much is asked of one host
//! - `polite_origins`: the same by the log of origins that ask for less, or have a robots.txt
//! - `by_address`: hosts that are one because they are at one address
//! - `broken_content`: content that breaks off, and is asked for again
//! - `broken_files`: the same in files, whose rest is asked for
//! - `redirects`: the fields of a URL that failed after a redirect or a response's head
//! - `signals`: signals that end a run, stop it for a while, or are ignored
//! - `sorted_lists`: lists that are sorted by host
//! - `slow_readers`: readers of the output that are slower than the servers
//! - `streams`: standard streams that are closed
//! - `terminal`: columns, colours, locales
//! - `unread`: standard streams and terminals that nothing reads
//! - `variables`: settings from the environment
//! - `manual`: the pages of the manual
//! - `mistyped`: arguments that are typed wrongly
//! - `conditional`: what an earlier run has is asked for only if it has changed
//! - `requests`: methods, headers, data, cookies, proxies and retries of lists
//! - `resume`: runs that are killed, and go on
//! - `resume_inputs`: the same for lists of other kinds, and with other options
//! - `robots`: what robots.txt allows, and that it is asked for once
//! - `secrets`: passwords in URLs
//! - `serve`: files, options, signals
//! - `report`: the summary computed from lines
#![forbid(unsafe_code)]

mod bandwidth;
mod bounds;
mod broken_content;
mod broken_files;
mod by_address;
mod completions;
mod conditional;
mod content;
mod cookies;
mod echo;
mod ending;
mod extract;
mod follow_ups;
mod get;
mod http2;
mod http_fallback;
mod input;
mod internet;
mod json_jobs;
mod large_files;
mod lines;
mod machine;
mod manual;
mod mistyped;
mod options;
mod output;
mod page;
mod parquet;
mod polite_origins;
mod politeness;
mod redirects;
mod report;
mod requests;
mod resume;
mod resume_archives;
mod resume_inputs;
mod robots;
mod secrets;
mod serve;
mod server;
mod signals;
mod sitemaps;
mod slow_readers;
mod sorted_lists;
mod stoop;
mod streams;
mod tables;
mod terminal;
mod testbed_hosts;
mod time_limits;
mod unread;
mod variables;
