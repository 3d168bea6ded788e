//! What `stoop serve --help` says behind the options.

/// Paragraphs are one line each, which are wrapped where the terminal ends.
pub(super) const AFTER_OPTIONS: &str = "\
Examples:
  stoop serve public                             # http://127.0.0.1:8080/
  stoop serve public --listing -l 0.0.0.0:8000   # for all of the network
  stoop serve dist --spa --compress              # an application with routes
  stoop serve public --tls-self-signed -l 8443   # https://127.0.0.1:8443/
  stoop serve public --tls cert.pem key.pem -l 'https://[::]:443'
  stoop serve public --auth-new ada < password.txt
  stoop serve --config serve.toml --check

Where to listen: a PORT of 127.0.0.1, HOST:PORT, or unix:PATH. A HOST alone is its port 80, or 443 \
over TLS. 0.0.0.0 is all IPv4 addresses of this machine, [::] all of IPv6, and all of IPv4 too unless the system says otherwise (net.ipv6.bindv6only). With a certificate (or several, of which a client is shown the one for the name that it asks for), TLS \
is spoken everywhere but on http://HOST:PORT and http://unix:PATH. Who may connect to a Unix socket, the permissions of \
its file decide: --unix-mode sets them; without it they are what the umask leaves, and at a hand-over they stay. Sockets of systemd (LISTEN_FDS) are served too, and \
take the place of the default; --unix-mode does nothing to them.

Files: GET and HEAD, with ranges, conditional requests and precompressed variants (name.br, \
name.zst, name.gz beside name). Names that begin with a dot are not served, but for .well-known at the root, unless --hidden says so. \
Symbolic links are followed within the directory, by relative paths, and without --hidden not through names that begin with one dot \
(pub -> .git/config is 404); --symlinks refuse answers every path with a link in it by 404. A path that ends in a slash is answered by \
index.html in it, or by a listing where --listing allows it, and else by 404. '--not-found 404.html' sends that file of DIR with it; \
with --spa, a path that a browser asks for as a page is answered by index.html still, and 200.

Caches: '--cache-control max-age=3600' is sent with each file, of 200, 206 and 304; '--cache-control \"*.js: no-cache\"' with \
those whose name is like the pattern, in which * stands for any text. A pattern that begins with a slash is that of the whole \
path, as '/assets/*: max-age=31536000, immutable'. The first that a file matches holds. Without it clients guess.

Fields: '--header \"NAME: VALUE\"' is sent with each answer, of errors and listings too, that has no field of that name itself, as \
'--header \"Strict-Transport-Security: max-age=31536000\"'. It is not sent with redirects to https, and with what the server answers \
before it looks at the path.

Passwords: '--auth-new USER' reads one and prints USER:HASH, which '--auth' takes. In a shell put \
it between single quotes, as it has dollar signs in it. '--auth-file FILE' takes a file with such lines ('htpasswd -B FILE USER' adds \
one; lines that begin with # are passed over), beside the users of --auth, and SIGHUP reads it again. A file without a user, and one \
that could be asked for below DIR, is refused. Over the network use TLS with it: a \
browser sends the password with each request.

From http to https: with a certificate, --https-redirect answers what comes to http://HOST:PORT by 308 to the first place \
with TLS that is a port. It is on with --auth, so that no password goes in clear, and --https-redirect=false switches it off. \
/.well-known/acme-challenge/, where a CA looks for its challenge, is not redirected, and its files need no password then; with passwords no symbolic link is followed there, and there is neither a listing nor a page for 404. What \
comes over a Unix socket, or over https by the word of a proxy that is trusted, is not redirected either. Browsers keep a 308: \
also when it is switched off later.

Connections: as many as the system gives descriptors for. One address has at most a quarter of them, so that one client does not take all: what is more is answered 429, over TLS too, and closed.

Overload: a thread that comes to its requests more than --lag-max late (2 s) answers them 503 with Retry-After, which takes little \
time, until it is in time again; the pages of --status are served all the same. A response that has not begun within \
--handler-timeout (30 s), because a disk hangs or passwords take long, is 503; one that has begun may take as long as it likes.

Behind a load balancer: one that passes bytes on tells of the client by the PROXY protocol, version 1 or 2: '--proxy-protocol 10.0.0.0/8,192.0.2.7' has every connection begin with its header, and closes those from other addresses; over a Unix socket it is expected too. One that reads requests writes Forwarded, or X-Forwarded-For and its like: '--trust-forwarded' or '--trust-x-forwarded' believes the one kind that it writes. The client is then who --access-log shows and whose passwords are counted, and what the proxy has over https is not redirected. The proxy has all clients at one address, so that an address may have any number of connections then, unless --connections-per-address says how many.

Its health check may ask for /_stoop/ready: with --ready it is 200 without a password, and 503 once a signal has asked for the \
end. A balancer needs some seconds to notice: '--drain-notice 10' (which has --ready with it) goes on for so long, for new connections too, before it \
refuses them.

Pages of other origins: with --cors they read all answers, their ETag, Content-Range and the like too, and \
may ask for ranges and with conditions. With --auth they may send Authorization; a browser adds no password that it \
knows, so that a page needs one of its own.

Access log: what was refused before it was a request, such as one that is malformed or too slow, has a line too. A \
file that is a named pipe needs its reader first. --quiet leaves standard output to the log.

Status: with --status it is shown to what comes from a loopback address and has no field of a \
proxy's (Forwarded, Via, X-Forwarded-For and their like), and for others there is no such path. A \
proxy on this machine that sends neither these nor the Host that it was asked for hides that its \
clients are elsewhere: have it refuse /_stoop, or use --auth, which holds for the status too.

A file given by --config has the long names of the options, and lists where they can be given \
several times:
  directory = \"public\"
  listen = [\"https://[::]:443\", \"http://[::]:80\"]
  tls = [\"cert.pem\", \"key.pem\"]
  compress = true
Relative paths in it begin at its own directory, those of unix:PATH too. Options of the command line come before it; \
--listing=false and its like, --status=none and '--access-log none' undo what it switches on.

Signals:
  SIGTERM, SIGINT: no new connections, behind the time of --drain-notice; requests that run have 30 s to end. A second one ends at \
once.
  SIGHUP: reads the files of --config and --auth-file and the certificates again, and opens the access log anew. \
What is wrong then changes nothing. Where it listens, whether it speaks TLS there, its threads and its limits stay, and \
--unix-mode and --proxy-protocol.
  SIGUSR1: opens the file of --access-log-file anew, if there is one, and nothing else.
  SIGUSR2: starts this command again, with the same arguments, hands the listening sockets to it, \
and ends as on SIGTERM once that one serves: no connection is refused meanwhile. If it does not serve within 60 s, \
nothing changes.

Exit codes: 0 ended by a signal; 2 the command line or the file of --config is wrong; 3 it could \
not listen, or read or write a file, or --check has found that, or no page for --spa or --not-found (a server starts without one).";
