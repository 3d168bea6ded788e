// Node's `http` module as a server, with the settings that make it fastest and keep the comparison fair.
//
// One process and no cluster, as the runner gives it one core. The head of known content is set by one
// `writeHead` and sent with the content in one write. Node's time limit between requests is 5 s by
// default, which would close idle connections that others keep: it is 75 s here, and the limit of requests
// on a connection is off, as it is by default. Node adds the fields `connection` and `keep-alive`.

import { readFileSync } from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import { parseArgs } from 'node:util';

const PIECE_BYTES = 64 * 1024;
const HELLO = Buffer.from('Hello, world!');
const TEXT = Buffer.alloc(1 << 20, 'abcdefghijklmnopqrstuvwxyz');
const TEXT_820 = TEXT.subarray(0, 820);

const { values } = parseArgs({
  options: { listen: { type: 'string' }, cert: { type: 'string' }, key: { type: 'string' } },
});
const [host, port] = values.listen.split(':');
const options = { keepAliveTimeout: 75_000, noDelay: true };
const server = values.cert
  ? https.createServer(
      { ...options, cert: readFileSync(values.cert), key: readFileSync(values.key) }, answer)
  : http.createServer(options, answer);
server.maxRequestsPerSocket = 0;
server.listen({ host, port: Number(port), backlog: 4096 });

function answer(request, response) {
  if (request.method === 'POST') {
    request.on('end', () => whole(response, HELLO)).resume();
    return;
  }
  switch (request.url) {
    case '/820': return whole(response, TEXT_820);
    case '/1m': return whole(response, TEXT);
    case '/stream':
      response.writeHead(200, { 'content-type': 'text/plain' });
      return stream(response, 0);
    default: return whole(response, HELLO);
  }
}

function whole(response, content) {
  response.writeHead(200, { 'content-type': 'text/plain', 'content-length': content.length });
  response.end(content);
}

/** Writes the agreed text from byte `at`, one piece whenever the connection takes more. */
function stream(response, at) {
  while (at < TEXT.length) {
    const isWritable = response.write(TEXT.subarray(at, at + PIECE_BYTES));
    at += PIECE_BYTES;
    if (!isWritable && at < TEXT.length) {
      response.once('drain', () => stream(response, at));
      return;
    }
  }
  response.end();
}
