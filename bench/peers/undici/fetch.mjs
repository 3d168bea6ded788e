// undici's `request` as a client under the contract of `stoop fetch`.
//
// One Agent with as many connections to an origin as there are slots, no pipelining, ten redirects.
// It requests and decodes no compression.

import { Agent, interceptors, request } from 'undici';
import { run, settings } from '../js/contract.mjs';
import { lookupAt } from '../js/names.mjs';

const given = settings();
const agent = new Agent({
  connections: given.concurrency,
  connect: {
    ...(given.ca && { ca: given.ca }),
    ...(given.dns && { lookup: lookupAt(given.dns) }),
  },
});
const dispatcher = agent.compose(
  interceptors.redirect({ maxRedirections: 10, throwOnMaxRedirects: true }),
);

const headers = { 'user-agent': given.userAgent };
await run(given, async (url, signal) => {
  const { statusCode, body } = await request(url, { dispatcher, headers, signal });
  let length = 0;
  for await (const piece of body) length += piece.length;
  return [statusCode, length];
});
process.exit(0);
