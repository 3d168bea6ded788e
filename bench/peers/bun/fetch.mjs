// Bun's `fetch` as a client under the contract of `stoop fetch`.
//
// Its pool has no settings, and the process has a limit of requests at once
// (BUN_CONFIG_MAX_HTTP_REQUESTS), which is 256 by default, so the variable has to be set for more. It
// uses the system's resolver, has no option for another name server, and follows up to 20 redirects.

import { counted, run, settings } from '../js/contract.mjs';

const given = settings();
const headers = { 'user-agent': given.userAgent, 'accept-encoding': 'identity' };
const tls = given.ca && { ca: given.ca };
await run(given, async (url, signal) =>
  counted(await fetch(url, { headers, signal, decompress: false, ...(tls && { tls }) })));
