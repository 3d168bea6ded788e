// Deno's `fetch` as a client under the contract of `stoop fetch`.
//
// One client of its own, with as many idle connections to a host as there are slots. HTTP/1.1 only,
// unless it is told to allow HTTP/2, which is its default.
// It asks the system for names and cannot be told otherwise, and follows up to 20 redirects.

import { counted, run, settings } from '../js/contract.mjs';

const given = settings();
const client = Deno.createHttpClient({
  http2: given.http2,
  poolMaxIdlePerHost: given.concurrency,
  ...(given.ca && { caCerts: [given.ca] }),
});
const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
await run(given, async (url, signal) => counted(await fetch(url, { client, headers, signal })));
