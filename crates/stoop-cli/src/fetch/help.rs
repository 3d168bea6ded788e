//! What `stoop fetch --help` says behind the options.

pub(super) const AFTER_OPTIONS: &str = "\
Examples:
  stoop fetch https://example.com/ example.org
  stoop fetch -i urls.txt -c 500 -t 2 > answers.csv
  stoop fetch -i urls.gz --format jsonl -o answers.jsonl --summary json 2> summary.json
  stoop fetch -i urls.txt --save pages/ --save-as url -f jsonl -o pages.jsonl
  stoop fetch -i urls.txt -f warc -o crawl/ --file-size 500MB
  stoop fetch -i urls.txt -f warc --run crawl/      # killed or not, the same command goes on
  stoop fetch -i urls.parquet --url-column link -f parquet -o pages/
  stoop fetch -i hosts.txt -f jsonl --extract title,server,chain,tls
  sed 's|$|/favicon.ico|' hosts.txt | stoop fetch -f jsonl --extract favicon
  stoop fetch -i pages.csv --url-column link --keep-columns --shard 1/4 -f jsonl > part1.jsonl
  stoop fetch -i urls.txt -f jsonl -o today.jsonl --if-changed-since yesterday.jsonl
  stoop fetch -i urls.txt --save site/ --save-as url --save-replace    # brings a copy up to date
  stoop fetch -i urls.txt --report report.html > answers.csv
  CONCURRENCY=150 REQUEST_TIMEOUT=5 FORMAT=plain stoop fetch < urls.txt | tee lines | stoop report

Input: one URL a line, as it is or compressed by gzip or zstd. Blank lines and lines that start with
# are skipped; 'host', 'host:port' and 'host/path' mean https://, but a bare number is no host.
Every other line that is read gets exactly one line of output, also if it is no URL, unless a filter
is given. A signal or
--duration ends the reading at once; lines that were read by then and are unfinished get
'cancelled', and so does a last line that was read in part. If reading fails within a line, the part
of it that was read gets invalid_url: the rest may be missing. A line such as '  out=name', as aria2
has them below its URLs, gets invalid_job: options of a URL stand in jsonl.

With --input-format jsonl a line is a JSON object: url; id, a text or number, and meta, any value,
which the fields of jsonl have too; method, in its own letters, but for CONNECT; headers, an object
of texts or lists of texts; and as content body, a text, or body_base64, or json, any value, sent as
application/json. A line that is none, or longer than 4 MiB, or has headers that may not be sent, as
a Content-Length of another length, gets invalid_job and no request. --url-column and --id-column
give url and id other names, and --keep-columns makes meta of all the others, so that any lines will
do.

With csv and tsv a row is a URL, with quotes as in RFC 4180. The header names the columns: url and
id, unless --url-column and --id-column name others. All else is ignored, or kept in meta. A row of
too many or too few fields, or of more than 1 MiB, or not UTF-8 where that is needed, gets
invalid_job, which tells the row and its line. If a column is not there, nothing is fetched.

With parquet a row is a URL, and the columns are found as those of csv: a text for the URL, a text
or number for the id. --keep-columns keeps all but bytes, lists, maps and structures: numbers and
truth values as such in meta, times by RFC 3339. A row without a URL gets invalid_job. It is read
from a file, since its directory is at its end.

With sitemap each <loc> of the document is a URL, or each <link> of RSS and Atom. The sitemaps that
an index names are fetched, one at a time and each within --timeout, and read in its place. They
keep the interval of their host, and wait after 429 or 503 as a URL of it would, three times in turn
at most. With --robots they are fetched only where robots.txt allows it. One that cannot be read
gets invalid_job. With --run they are kept in FOLDER, and not fetched again; one that could not be
read is tried again when the run goes on, and its URLs then come at the end.

Versions: HTTP/2 where an https server agrees to it (ALPN), HTTP/1.1 with all others. Over HTTP/2
the URLs of an origin share one connection, or as few as the server's limit of streams allows.

Politeness: of one host, whatever its ports, at most 8 URLs are in flight at once, and the others of
the list go on meanwhile. A host that answers 429 or 503 is left alone for as long as its
Retry-After says, at most 60 s unless --host-pause-max says otherwise, or without one, or with one
of 0, for 1 s, 2 s, 4 s and so on, and then given half as many at once, and one more with each round
of other answers. Where there is no other answer within 10 minutes, or --host-overload-max, or its
next pause would end after that, its URLs get host_suspended. A host that does not answer 20 times
in turn is left alone for 1 s, 2 s, 4 s and so on, with one request in between that tries it, and
its URLs wait. They go on once it answers. If it has not after 30 s, or --host-outage-max, they get
host_suspended: a host that is gone takes that and one --timeout. URLs that come later try it from
time to time. A URL that was answered, and waits for a retry then, gets the line of that answer.
Time that a URL waits for its host is not part of its duration. --concurrency N has up to N of one
host in flight, unless --per-host is given, and --no-politeness lifts all of that. Each core holds
up to 65,536 URLs, or 16 MiB of them, that wait for their hosts, and the list is read no further
then: shuffle one that is sorted by hosts. Where a redirect leads, and what is sent again, waits for
the turn of its host, too, and is not in flight meanwhile; once 2,048 URLs wait so, no more are
started.

With --by-address all hosts at one IP address are one host. Of several addresses of a name the
lowest counts: names that share another one alone are not known to be at one. Names are looked up
when they are read, as for connecting, 96 at once and 384 more that take longer than half a second,
which is no part of the duration of a URL; others go on meanwhile, unless 16,384 URLs wait for their
names. A name that is not found counts as a host of its own. What is found is used for 5 minutes, of
up to 100,000 hosts, and for 30 while name servers fail; one of IPv6 for 2 s at first, as that of
IPv4 may be late. With a proxy, name servers are asked all the same. --shard goes by names.

Concurrency: 'auto' doubles the number of URLs in flight while many more are answered in a second,
then keeps the least with which as many are, and tries a little more and less from time to time; it
gives way where URLs run into time limits or descriptors run out. From 10 to 10,000 are in flight.
The progress says what keeps more from it: 'hosts', which get 8 at once, 'rate' (--total-rate),
'bandwidth' (--max-bandwidth), 'source', which has no more URLs now, 'cores', 'network', 'output',
which takes no more lines now, 'content memory', of which more than half is taken
(--content-memory), 'open files' ('ulimit -n'), 'memory' or, after --concurrency N, 'concurrency'.

Resume: with --run FOLDER the run has a journal there. Killed at any moment, it goes on with the
same command: what has its line is not fetched again, what was in flight is, and no URL has two
lines. A signal or --duration then leaves no 'cancelled' lines: what is unfinished has no line yet,
and is fetched the next time. The input must be what it was, and may have more at its end; what has
changed is noticed, and so are options that shape requests or lines, and a second process. Others
may differ, such as --concurrency and --timeout, and so may the values of Authorization and Cookie.
A run that is complete does nothing. --retry-failed fetches again what failed; its lines follow the
others, and while they are not all there, the same command goes on with those that are left. --fail
and the summary are of this command, not of those before; resumed is how many URLs were done before.
Files in the folder of --output get their names once they are complete, and never change then; with
.partial they are being written, or wait for the run to go on; those that are there when the run is
complete were left by a kill or a full disk, and have nothing that it needs. Records for Parquet are
kept beside their file, not compressed, until that is complete. A crash of the machine, as opposed
to that of the process, may lose the last 30 s, and the run with them: files of --save of these 30 s
may be missing or empty though their URLs count as done, and are not fetched again.

Fetching again: with --if-changed-since a GET or HEAD has If-None-Match and If-Modified-Since with
the etag and last_modified that an earlier run has for its URL, as they came, unless the URL has
such fields or a Range of its own. What has not changed is a record of status 304, without content,
and nothing is saved; its etag and last_modified are those that were sent where the answer has none,
so that runs can follow on each other. -f warc refers to the earlier answer (revisit,
server-not-modified). Validators belong to the URL that gave them: where a redirect leads, those of
its target are sent. FILE is read before the run begins. Of it counts what has the status 200, 203
or 304 and all of its content, the latest record of each URL, without URLs with a password, and of
an archive without what was requested with Authorization. It takes 48 bytes of memory for each URL,
and some 50 to 80 more for one with an ETag or a Last-Modified. csv and CDXJ have neither.

Report: --report writes a page of HTML that needs no script and fetches nothing. It is there as a
whole or not at all, is written after a signal too, and says then that the run ended early.
'--summary full' tells most of it as text. Hosts count by their names; where there are more than
some thousands, those are kept that are slow or fail. It takes 1 MiB of memory for each core, and so
does the progress.

Retries: --retry N repeats what failed to connect, closed_early, reset and read_timeout, also while
content comes, and 408, 429, 500, 502, 503 and 504; after 100 ms, 200 ms and so on, up to 10 s, at
random from half of that on, or as Retry-After says, up to 60 s. What has come of the content is
dropped before that, but for a file of --save that is being written (content of more than 1 MiB):
its rest is asked for by Range and If-Range, where the answer has a strong ETag or, without one, a
Last-Modified a minute before its Date; what the server has changed begins anew. Not repeated are
POST and PATCH whose request may have been processed, what --max-body cuts, and what would begin
after the deadline. --retry-on says for which kinds and statuses instead. attempts tells how many
there were.

Limits: --timeout limits the time of a URL, and --connect-timeout, if given, that of a connection
(connect_timeout, with the phase it was in), and --read-timeout, if given, how long a server sends
nothing: no head once it has the request (read_timeout, phase wait), and then no content (phase
receive), and --speed-limit how slowly content comes (slow_body). The only
other time limits: name servers are asked three times, 2 s each (dns_timeout), and the system gives
up data that the peer never acknowledges (connect_timeout, read_timeout). Time goes on while the
process is stopped. The head of an answer may have 256 KiB and 500 fields (h1_parse, h2_protocol).

Bandwidth: with --max-bandwidth SIZE all URLs together read no more than so many bytes of content in
a second, 512KiB as an example, whatever host they come from. Content on its way takes turns of 16
KiB, so that all of it comes equally fast; what is not read stays at its server. No URL starts while
some of it waits, since all that have started may come at once, and late then: 4 are in flight at
first, one more with each that ends while none waits, and one more each time that nothing comes for
as long as the content of a URL takes (the mean so far, 16 KiB at least), as from hosts that do not
answer. After a pause a tenth of a second is made up for, and no more comes at once, but for what
the system's buffers, and over HTTP/2 a stream's window (256 KiB at first), take ahead. What counts
is content as transferred, before --compressed decodes it, with that of retries, sitemaps and
robots.txt; heads do not count, nor what is sent, nor what -I or --no-content leaves unread, nor
what a redirect that is followed has. Time that content waits so is part of the duration of its URL,
and --timeout cuts it: 4 files of 256 KiB at 64KiB take 16 s, which the default of 5 s does not
allow. It is no part of --read-timeout and --speed-limit, which are about servers, and --concurrency
auto does not take it for a slow network.

Columns (csv), in order of completion:
  url          the line as it was given, without surrounding blanks, quoted by RFC 4180 if needed,
               with *** for a password: http://u:***@host/, or http://***@host/ where a user cannot
               be told from a token. To find the line in the input, mask the input likewise. Of a
               line over 64 KiB, which is an invalid_url, the first 64 KiB
  code         the status after redirects, or the kind of error (dns_nxdomain, total_timeout, ...)
  start_time   when the URL was started, after it waited for its turn: RFC 3339, UTC, milliseconds
  duration     from then to the last byte of the body, redirects included, in whole milliseconds
  body_length  bytes of the body after transfer-coding, and with --compressed decoded; 0 for
               an error

Fields (jsonl): v, the version of these fields, 1; id and meta, if the job has them; url, method,
start_time and ok (2xx); duration_us; status, final_url, redirects (followed before it), attempts,
if more than one, http_version, x_robots_tag, content_type, etag, last_modified (up to 1 KiB each)
and body_bytes of an answer, and wire_bytes, which they were before they were decoded; location of a
redirect that was not followed; error_kind, error_phase (request, queue, dns, connect, tls, send,
wait, receive, redirect) and error, as text, of an error, with final_url and redirects of the
request that failed, and the known fields of its answer, as for a body that is too large or breaks
off, or a redirect that is not allowed; remote_ip and remote_port, of the last request if there were
redirects; t_queue_us, t_dns_us, t_connect_us, t_tls_us and t_wait_us (to the head of the answer),
sums if there were redirects, and t_recv_us (the last body), of the phases that took place: a reused
connection has no t_connect_us. Unknown fields are left out. A URL that was unfinished when the run
ended has the phase queue if it had not started, else wait. saved is where the content is, relative
to the folder of --save; truncated is why content is not all there is: length, time or disconnect;
blake3 and sha256 are its digests, in hexadecimal. With --extract: title, up to 1,024 bytes, of a
page whose title begins within 256 KiB; server; content_length; chain, of {status, url} for each
redirect and the last answer, if there were any; tls, with version, cipher, alpn and, of the
certificate, subject_cn and subject_dn, the whole distinguished name as RFC 4514 writes it
('CN=a.example,O=Example,C=DE'), subject_an (names and addresses, up to 32), issuer_cn, issuer_dn,
not_before, not_after and sha256; favicon_hash, a number, of images up to 1 MiB; sniffed_type,
whatever content_type says; charset, by a byte order mark, content_type, or what HTML or XML
declares; robots, the rules that X-Robots-Tag and <meta name=robots> have for all, and with --robots
for its agent, as 'noindex, nofollow'; meta_robots, what the latter says, in the first 256 KiB of
HTML. url_bytes is the line where it is not UTF-8, with % and all but printable ASCII as %XX: url
has U+FFFD for bytes that are no text, and can be the same for different lines.

Columns (parquet): the fields of jsonl, which are null where they are left out there; start_time and
the times of tls are times, chain and subject_an lists, meta is a text in JSON. headers, a list of
{name, value}, and body, bytes, are the answer as it was received, but for --text-as-utf8; a body
over 2,014 MiB is null. A row group ends at 64 MiB of records, before compression; until then all of
it but body is in memory.

Kinds of error, a closed list:
  invalid_url invalid_job dns_nxdomain dns_servfail dns_timeout dns_other address_denied
  connect_refused connect_timeout connect_unreachable connect_reset proxy_auth proxy_refused
  no_local_ports too_many_files tls_handshake tls_cert_expired tls_cert_name tls_cert_untrusted
  h1_parse
  h2_protocol h2_goaway h2_refused closed_early reset read_timeout slow_body total_timeout
  body_too_large decode save_failed redirect_limit redirect_denied host_suspended robots_denied
  cancelled internal

Summary (on stderr): totalUrls; time, from the first start to the last end; avg and max duration,
in ms, without URLs that were cancelled before they started; okReqsSec, 2xx answers per second;
okReqsPct, their share, 0 to 1; avgBodyLen, their mean body in bytes; answers by class; Exception,
URLs without an answer, by kind below, and statuses beyond 599, which are in no class; and where
there were any, bodyBytes and bodyBytesSec, the content of all answers in bytes, and per second of
time; http2, answers over HTTP/2, which 'stoop report' finds in lines of jsonl only.
A terminal that is narrower than the table gets one figure a line.

Variables (a flag overrides them; an empty one counts as not set; --no-env ignores all of these):
  STOOP_CONCURRENCY, STOOP_REQUEST_TIMEOUT, STOOP_USER_AGENT, STOOP_LIMIT, STOOP_DURATION
             as --concurrency, --timeout, --user-agent, --limit and --duration
  STOOP_FORMAT   plain (csv, also on a terminal), csv, jsonl, warc, tar, parquet or pretty
  CONCURRENCY, REQUEST_TIMEOUT, USER_AGENT, LIMIT, DURATION, FORMAT
             the same where those are not set. As they may be meant for other programs, an invalid
             one is ignored, and one that changes a default is named, on stderr

  http_proxy, https_proxy, all_proxy, no_proxy, or in capitals
             the proxies, where --proxy and --noproxy say nothing. HTTP_PROXY is not read where
             REQUEST_METHOD is set, as in CGI programs, where a client can set it

Variables of the terminal:
  NO_COLOR   no colours, whatever its value
  TERM       dumb: no colours, no progress
  LC_ALL, LC_CTYPE, LANG   the first that is set: tables are in ASCII unless it says UTF-8

Exit codes:
  0    every URL has its line, whatever its code; or --duration was over; or the reader of the
       output closed it
  2    the command line or a variable is invalid; nothing was fetched
  3    input could not be read to its end, or output or content not be written; also where one is
       closed
  22   --fail: a URL came to an error, or a status of 400 or more
  129  SIGHUP, as of a closed terminal; 130 SIGINT; 143 SIGTERM: unfinished URLs are written as
       'cancelled'; a second SIGINT or SIGTERM ends the process at once. A signal that was ignored
       at the start, as under nohup, stays ignored";
