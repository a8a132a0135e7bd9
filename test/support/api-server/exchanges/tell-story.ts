/** Makes the requests of a story, and brings the answers into a form that is the same each time. */
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import { normalise, type Names } from './normalise.ts';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import type { Step, Story } from './stories.ts';

export interface Exchange {
  readonly request: string;
  readonly sent?: unknown;
  readonly code: number;
  readonly answer: unknown;
}

export interface ToldStory {
  readonly exchanges: readonly Exchange[];
  readonly events?: readonly unknown[];
}

export async function tellStory(controlPlane: ControlPlane, { steps, watched }: Story): Promise<ToldStory> {
  const names: Names = new Map();
  const since = watched === undefined ? '' : await versionOf(controlPlane, watched);
  const exchanges: Exchange[] = [];
  for (const step of steps) {
    const { code, body } = await ask(controlPlane, step);
    const { as = 'admin', method, path, body: sent } = step;
    const request = `${as}: ${method} ${path}`;
    exchanges.push({
      request,
      ...(sent !== undefined && { sent }),
      code,
      answer: normalise(parsed(body), names),
    });
  }
  if (watched === undefined) return { exchanges };
  // The watch ends by itself. Events from before its beginning come at once.
  const path = `${watched}?watch=true&timeoutSeconds=1&resourceVersion=${since}`;
  const { body } = await ask(controlPlane, { method: 'GET', path });
  const events = body
    .split('\n')
    .filter(Boolean)
    .map((line) => normalise(JSON.parse(line), names));
  return { exchanges, events };
}

async function versionOf(controlPlane: ControlPlane, path: string): Promise<string> {
  const { body } = await ask(controlPlane, { method: 'GET', path });
  return (JSON.parse(body) as { metadata: { resourceVersion: string } }).metadata.resourceVersion;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

export function ask(
  controlPlane: ControlPlane,
  step: Step,
): Promise<{ readonly code: number; readonly body: string }> {
  const { as = 'admin', method, path, body, type = 'application/json' } = step;
  const { cert, key } = controlPlane.ca.filesOf(as);
  const sent = body === undefined ? undefined : JSON.stringify(body);
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number; body: string }>();
  const request = https.request(controlPlane.server + path, {
    method,
    agent: false,
    ca: readFileSync(controlPlane.ca.files.cert),
    cert: readFileSync(cert),
    key: readFileSync(key),
    headers: sent === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(sent) },
  });
  request.once('response', (answer) => {
    text(answer).then((all) => resolve({ code: answer.statusCode ?? 0, body: all }), reject);
  });
  request.once('error', reject).end(sent);
  return promise;
}
