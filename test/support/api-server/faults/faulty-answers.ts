/** Carries out the faults of answers. */
import type http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { FaultyRequest } from './fault-rules.ts';
import type { AnswerFate, Faults } from './faults.ts';

type Response = http.ServerResponse;

const JSON_TYPE = { 'content-type': 'application/json' } as const;
/** How a list begins that never ends. */
const GIANT_HEAD = '{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[{"kind":"';
const GIANT_PART = Buffer.alloc(64 * 1024, 'a');

/** Returns whether the request is to be carried out. If not, the fault has been the answer. */
export async function isCarriedOut({ fault, lifted }: AnswerFate, response: Response): Promise<boolean> {
  switch (fault.kind) {
    case 'hang':
      if (fault.after === 'head') {
        response.writeHead(200, JSON_TYPE);
        response.flushHeaders();
      }
      return false;
    case 'hold':
      await lifted;
      return true;
    case 'delay':
      await pause(fault.delayMs);
      return true;
    case 'answer':
      response.writeHead(fault.code, { ...JSON_TYPE, ...fault.headers });
      response.end(fault.body ?? '');
      return false;
    case 'giant':
      response.writeHead(200, JSON_TYPE);
      await sendGiant(response, fault.bytes);
      return false;
    default:
      return true;
  }
}

/** Sends the answer, or the part that the fault leaves of it. */
export async function sendFaulty(
  { fault }: AnswerFate,
  answer: { readonly code: number; readonly body: object },
  { request, response, faults }: { request: FaultyRequest; response: Response; faults: Faults },
): Promise<void> {
  const body = Buffer.from(`${JSON.stringify(answer.body)}\n`);
  const half = body.subarray(0, body.length / 2);
  if (fault.kind === 'lose') {
    faults.connections.breakOff(request);
    return;
  }
  const hasLength = fault.kind !== 'half' || fault.how === 'length';
  const length = hasLength && { 'content-length': String(body.length) };
  response.writeHead(answer.code, { ...JSON_TYPE, ...length });
  if (fault.kind === 'half') {
    if (fault.how === 'break') response.write(half, () => faults.connections.breakOff(request));
    else response.end(half);
  } else if (fault.kind === 'drip') await drip(response, body, fault);
  else response.end(body);
}

async function drip(
  response: Response,
  body: Buffer,
  { bytes, everyMs }: { readonly bytes: number; readonly everyMs: number },
): Promise<void> {
  for (let sent = 0; sent < body.length && !response.destroyed; sent += bytes) {
    response.write(body.subarray(sent, sent + bytes));
    await pause(everyMs);
  }
  response.end();
}

async function sendGiant(response: Response, bytes: number): Promise<void> {
  const gone = Promise.withResolvers<undefined>();
  response.once('close', () => gone.resolve(undefined));
  response.write(GIANT_HEAD);
  for (let sent = 0; sent < bytes && !response.destroyed; sent += GIANT_PART.length) {
    if (response.write(GIANT_PART)) continue;
    const { promise: drained, resolve } = Promise.withResolvers<undefined>();
    const proceed = () => resolve(undefined);
    response.once('drain', proceed);
    await Promise.race([drained, gone.promise]);
    response.off('drain', proceed);
  }
  response.end();
}
