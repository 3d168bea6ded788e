//! What `stoop get --help` says behind the options.

pub(super) const HELP: &str = "\
Examples:
  stoop get https://example.com/
  stoop get -v -L -o page.html example.com
  stoop get -d name=value -d @file https://example.com/form
  stoop get --json '{\"a\":1}' -X PUT https://api.example/things/17
  stoop get -C - -O https://example.com/large.iso
  stoop get -R -z page.html -o page.html https://example.com/page.html
  stoop get --etag-compare page.etag --etag-save page.etag -o page.html example.com/page.html
  stoop get --url-query 'q=a b&c' -y 10 -Y 1000 https://example.com/search
  stoop get -s -o /dev/null -w '%{http_code} %{time_total}\\n' example.com

  stoop get --proto =https --tlsv1.2 -sSfL https://example.com/install.sh

A URL without a scheme is one of http://, or of --proto-default. A script that is to be run wants
--proto =https: neither the URL nor a redirect can then lead to http.

A date of -z is '6 Nov 1994 08:49:37 GMT', or the like, in any order, with the month as a word, or
19941106; without a zone it is GMT. Content that is not newer is not written, the exit code is 0,
and %{http_code} is 304, also where the server sends it all the same.

-v tells the story of the request on standard error, each step with its time since the start:
the name, the connection, TLS, what was sent, what came. Credentials are not shown.

Variables: http_proxy, https_proxy, all_proxy and no_proxy, or in capitals, where -x and --noproxy
do not say otherwise. HTTP_PROXY is not read where REQUEST_METHOD is set, as in CGI programs,
where a client can set it.

Formats of --write-out: text with %{VARIABLE}, %header{NAME}, \\n, \\r, \\t and %%; @FILE reads it
from a file. Variables:
  content_type errormsg exitcode filename_effective header_json http_code http_connect
  http_version json local_ip local_port method num_connects num_headers num_redirects
  num_retries onerror proxy_ssl_verify_result redirect_url referer remote_ip remote_port
  response_code scheme size_download size_header size_request size_upload speed_download
  speed_upload ssl_verify_result stderr stdout time_appconnect time_connect time_namelookup
  time_pretransfer time_redirect time_starttransfer time_total url url_effective urlnum

Where it differs from curl: -L turns a POST into a GET as browsers do, also with -X, unless
--post301, --post302 or --post303 keeps it, and sends the content of other methods again, but for
a 303; the ';auto' of -e is left out; a cookie file has no cookies for public suffixes, and
cookies of -b and of 'Set-Cookie:' lines stay with the URL's host, those of -b with https, too,
but for --location-trusted; a part of -F has one file; --interface is an address; there is one
URL, without patterns; -H without a colon is a mistake, and so is an -X that is no token; the 407
of a proxy that forwards is an error, with code 97; content is written as it comes, with -N and
without; -w knows no certs and its json no curl_version, and with -k its ssl_verify_result is 1,
as nothing was verified; size_upload has no framing of chunks.
--retry sends again only what can be sent twice without harm, no standard input that was read,
and nothing once content has come; a Retry-After above 600 s is not waited for. With --digest the
first request has its content. A server that refuses each stream of HTTP/2 is asked five times, one
that ends each connection unused three times, and then the code is 92. -C fails with 33 where the
file is longer than the server's, and with 18 where none of -T is left to send. A proxy that closes
at CONNECT is code 7, and a file of -d that cannot be read 26. What the RFCs forbid in a response is
refused, and over HTTP/1 more than 512 header lines are.
--etag-save writes the ETag of the last response, once its content has come as a whole; before
that, after an error, and at a 304 without an ETag the file keeps what is in it. %{stderr} goes to
the file of --stderr. What is slower than -Y is not tried again. --remove-on-error leaves alone
what was not written to, and what is no file.
URLs are read as browsers read them: blanks, quotes and braces are encoded, '/%2e%2e/' is taken
for '/../', and an IPv6 address has no zone (%25eth0).
Content coded by zstd with a window above 8 MiB is refused (RFC 9659).
TLS needs key agreement by (EC)DHE, not by RSA or X448, certificates of X.509 v3 with
subjectAltName, and a close_notify where the length of content is not known. SSL_CERT_FILE and
SSL_CERT_DIR are read, CURL_CA_BUNDLE is what --cacert is by default, and SSLKEYLOGFILE names a file
that gets the secrets of each session, with which all who can read it can decrypt a recording.

Exit codes, as curl has them:
  0    the response came, whatever its status
  1    the URL, or a redirect's, is neither http nor https, or --proto does not have it
  2    the command line is invalid, or the system gives too little to start
  3    the URL is invalid
  5, 6, 7      the proxy's name, the name, or the address cannot be resolved or connected to
  16, 92       HTTP/2 went wrong
  18   the content was incomplete
  22   -f: the status was 400 or more
  23, 26       output could not be written, a file not be read
  28   -m, --connect-timeout or -y passed, or a time limit of the system
  33   -C: the server does not resume
  35   TLS could not be agreed on
  43   a header may not be sent
  47   more redirects than --max-redirs
  52, 55, 56   no response; sending or receiving failed, or the proxy made no tunnel
  58, 77, 60   certificates that were named, or the server's
  61, 63       the content cannot be decoded, or is larger than --max-filesize
  65   content would have to be sent again that can be read only once
  90   the server's key is not one of --pinnedpubkey, or that is none
  97   the proxy refused";
