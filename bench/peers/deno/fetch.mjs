// Deno's `fetch` as a client under the contract of `stoop fetch`.
//
// One client, with as many idle connections to a host as there are slots. HTTP/1.1 only, unless HTTP/2,
// which is its default, is allowed by an option. It uses the system's resolver, has no option for another
// name server, and follows up to 20 redirects.

import { counted, run, settings } from '../js/contract.mjs';

const given = settings();
const client = Deno.createHttpClient({
  http2: given.http2,
  poolMaxIdlePerHost: given.concurrency,
  ...(given.ca && { caCerts: [given.ca] }),
});
const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
await run(given, async (url, signal) => counted(await fetch(url, { client, headers, signal })));
