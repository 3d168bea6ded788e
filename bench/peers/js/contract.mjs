// The contract of `stoop fetch` for all clients in JavaScript: everything but the client itself.
//
// URLs come on standard input; for each, `url,code,start_time,duration,length` goes to standard
// output in the order of completion. As many loops as there are slots share one reader of lines, so
// that the list is never in memory. The lines of one turn of the event loop are written together.

import { readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';

export function settings() {
  const { values } = parseArgs({
    options: {
      concurrency: { type: 'string', default: '100' },
      timeout: { type: 'string', default: '5' },
      'user-agent': { type: 'string', default: 'js' },
      cacert: { type: 'string' },
      dns: { type: 'string' },
      http2: { type: 'boolean', default: false },
    },
  });
  return {
    concurrency: Number(values.concurrency),
    timeoutMs: Number(values.timeout) * 1000,
    userAgent: values['user-agent'],
    ca: values.cacert && readFileSync(values.cacert, 'utf8'),
    dns: values.dns,
    http2: values.http2,
  };
}

/** Calls `exchange(url, signal)`, which returns `[status, length]`, for every URL. */
export async function run({ concurrency, timeoutMs }, exchange) {
  const targets = lines();
  const slot = async () => {
    for (;;) {
      const { value: target, done } = await targets.next();
      if (done) return;
      await fetchOne(target, timeoutMs, exchange);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, slot));
  await flush();
}

async function* lines() {
  let rest = '';
  process.stdin.setEncoding('utf8');
  for await (const piece of process.stdin) {
    const whole = (rest + piece).split('\n');
    rest = whole.pop();
    yield* whole.map((line) => line.trim()).filter(isTarget);
  }
  if (isTarget(rest.trim())) yield rest.trim();
}

const isTarget = (line) => line !== '' && line[0] !== '#';

async function fetchOne(target, timeoutMs, exchange) {
  const start = new Date();
  const clock = performance.now();
  const abort = new AbortController();
  // A timer that is cleared costs less than a signal with a timeout, which stays until it fires.
  const timer = setTimeout(() => abort.abort(new Error('timeout')), timeoutMs);
  let code, length;
  try {
    const url = target.includes('://') ? target : `https://${target}`;
    [code, length] = await exchange(url, abort.signal);
  } catch (error) {
    [code, length] = [abort.signal.aborted ? 'timeout' : errorName(error), 0];
  } finally {
    clearTimeout(timer);
  }
  const name = /[,"\r\n]/.test(target) ? `"${target.replaceAll('"', '""')}"` : target;
  const duration = Math.floor(performance.now() - clock);
  print(`${name},${code},${start.toISOString()},${duration},${length}\n`);
}

/** The kind of a failure, without commas. */
function errorName(error) {
  let inner = error;
  while (inner?.cause) inner = inner.cause;
  const text = String(inner?.code ?? inner?.message ?? inner);
  return text.split(/[:,"\r\n]/)[0].trim() || 'error';
}

let waiting = '';

function print(line) {
  if (waiting === '') setImmediate(flush);
  waiting += line;
}

function flush() {
  const text = waiting;
  waiting = '';
  if (text === '') return undefined;
  return new Promise((resolve) => process.stdout.write(text, resolve));
}

/** `[status, length]` of a response of `fetch`, whose content is only counted. */
export async function counted(response) {
  let length = 0;
  if (response.body) {
    for await (const piece of response.body) length += piece.length;
  }
  return [response.status, length];
}
