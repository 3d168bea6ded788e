// Deno's `fetch` as a client under the contract of `stoop fetch`.
//
// One client of its own, HTTP/1.1 only, with as many idle connections to a host as there are slots.
// It asks the system for names and cannot be told otherwise, and follows up to 20 redirects.

import { counted, run, settings } from '../js/contract.mjs';

const given = settings();
const client = Deno.createHttpClient({
  http2: false,
  poolMaxIdlePerHost: given.concurrency,
  ...(given.ca && { caCerts: [given.ca] }),
});
const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
await run(given, async (url, signal) => counted(await fetch(url, { client, headers, signal })));
