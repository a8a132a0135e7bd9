/** Makes the requests of `random-steps.ts` to a server, and brings its answers and events into a form that is the same each time. */
import { readFileSync } from 'node:fs';
import https from 'node:https';
import { text } from 'node:stream/consumers';
import type { ControlPlane } from '../../control-plane/control-plane.ts';
import { applyMerge } from '../json-patch.ts';
import type { Names } from '../exchanges/normalise.ts';
import { nameVersions, normaliseWhole } from './normalise-whole.ts';
import { LEASES, NODES, type RandomStep } from './draw.ts';
import { namespaceOf } from './random-steps.ts';

export interface Played {
  readonly code: number;
  readonly warnings: readonly string[];
  readonly answer: unknown;
  /** The events of watches about it. */
  readonly events: readonly unknown[];
}

export type PlayedServer = Pick<ControlPlane, 'server' | 'ca'>;
type Seen = Readonly<Record<string, any>>;

interface Reply {
  readonly code: number;
  readonly warnings: readonly string[];
  readonly body: string;
}

export async function playSteps(
  server: PlayedServer,
  steps: readonly RandomStep[],
  seed: number,
): Promise<Played[]> {
  const player = new Player(server, namespaceOf(seed));
  try {
    return await player.play(steps);
  } finally {
    player.close();
  }
}

class Player {
  readonly #server: PlayedServer;
  readonly #namespace: string;
  readonly #agents = new Map<string, https.Agent>();
  readonly #names: Names = new Map();
  /** By path, what the server has answered of the object, oldest first. */
  readonly #seen = new Map<string, Seen[]>();
  #continue = '';

  constructor(server: PlayedServer, namespace: string) {
    this.#server = server;
    this.#namespace = namespace;
  }

  async play(steps: readonly RandomStep[]): Promise<Played[]> {
    // Objects without a namespace may be left from an earlier run.
    for (const path of NODES.flatMap((name) => [`/api/v1/nodes/${name}`, `${LEASES}/${name}`])) {
      const type = 'application/merge-patch+json';
      await this.#ask({ as: 'admin', method: 'PATCH', path, type, body: { metadata: { finalizers: null } } });
      await this.#ask({ as: 'admin', method: 'DELETE', path });
    }
    const since = await this.#version();
    const played: (Omit<Played, 'events'> & { readonly version: number })[] = [];
    for (const step of steps) {
      const { code, warnings, body } = await this.#ask(this.#filled(step));
      const answer = parsed(body);
      this.#note(step, answer);
      nameVersions(answer, this.#names);
      const version = await this.#version();
      played.push({ code, warnings, answer: this.#normalised(answer), version });
    }
    const events = await this.#events(since);
    return played.map(({ version, ...one }, index) => {
      const before = index === 0 ? since : (played[index - 1]?.version ?? 0);
      const here = events.filter((event) => event.version > before && event.version <= version);
      return { ...one, events: here.map(({ event }) => this.#normalised(event)) };
    });
  }

  close(): void {
    for (const agent of this.#agents.values()) agent.destroy();
  }

  /** The version of the server's last change. */
  async #version(): Promise<number> {
    const { body } = await this.#ask({
      as: 'admin',
      method: 'GET',
      path: '/api/v1/namespaces/default/configmaps?limit=1',
    });
    return Number((JSON.parse(body) as Seen).metadata.resourceVersion);
  }

  /** The events of all collections since that version, the oldest first. The watches end by themselves. */
  async #events(since: number): Promise<{ readonly version: number; readonly event: Seen }[]> {
    const places = [
      ...['configmaps', 'pods', 'secrets', 'serviceaccounts', 'events'].map(
        (plural) => `/api/v1/namespaces/${this.#namespace}/${plural}?`,
      ),
      '/api/v1/nodes?',
      `/apis/policy/v1/namespaces/${this.#namespace}/poddisruptionbudgets?`,
      `${LEASES}?`,
      `/api/v1/namespaces/${this.#namespace}/pods?labelSelector=color%3Dblue&`,
      `/api/v1/namespaces/${this.#namespace}/configmaps?labelSelector=size&`,
      `/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&`,
    ];
    const all = await Promise.all(
      places.map(async (place) => {
        const path = `${place}watch=true&timeoutSeconds=1&resourceVersion=${since}`;
        const { body } = await this.#ask({ as: 'admin', method: 'GET', path });
        const lines = body.split('\n').filter(Boolean);
        return lines.map((line) => JSON.parse(line) as Seen);
      }),
    );
    return all
      .flat()
      .map((event) => ({ version: Number(event.object.metadata.resourceVersion), event }))
      .filter(({ event }) =>
        [undefined, this.#namespace, 'kube-node-lease'].includes(event.object.metadata.namespace as string),
      )
      .sort((one, other) => one.version - other.version);
  }

  #note({ path }: RandomStep, answer: Seen | string): void {
    if (typeof answer === 'string') return;
    if (answer.metadata?.continue !== undefined) this.#continue = String(answer.metadata.continue);
    if (answer.metadata?.uid === undefined) return;
    const place = path.split('?')[0] ?? '';
    const own = place.endsWith(`/${String(answer.metadata.name)}`)
      ? place
      : /^(.*\/(?:pods|nodes)\/[^/]*)\//u.exec(place)?.[1];
    const object = own ?? `${place}/${String(answer.metadata.name)}`;
    this.#seen.set(object, [...(this.#seen.get(object) ?? []), answer]);
  }

  #filled(step: RandomStep): RandomStep {
    const fill = (value: string) =>
      value.replace(/<<(\w+)(?: ([^>]*))?>>/gu, (_all, what: string, path = '') => {
        if (what === 'continue') return encodeURIComponent(this.#continue);
        const { uid = 'none', resourceVersion = '1' } =
          this.#seen.get(path as string)?.at(-1)?.metadata ?? {};
        return String(what === 'uid' ? uid : resourceVersion);
      });
    const filled = JSON.parse(fill(JSON.stringify(step))) as RandomStep;
    if (step.onto === undefined) return filled;
    const place = /^(.*\/(?:pods|nodes)\/[^/?]*|[^?]*)/u.exec(step.path)?.[1] ?? '';
    const base = this.#seen.get(place)?.at(step.onto === 'latest' ? -1 : 0);
    return {
      ...filled,
      body: applyMerge(base ?? { metadata: { name: place.split('/').at(-1) } }, filled.body),
    };
  }

  #normalised(value: unknown): unknown {
    return normaliseWhole(value, this.#names);
  }

  #agentOf(as: 'admin' | 'node'): https.Agent {
    const known = this.#agents.get(as);
    if (known !== undefined) return known;
    const { ca } = this.#server;
    const { cert, key } = ca.filesOf(as);
    const agent = new https.Agent({
      keepAlive: true,
      ca: readFileSync(ca.files.cert),
      cert: readFileSync(cert),
      key: readFileSync(key),
    });
    this.#agents.set(as, agent);
    return agent;
  }

  #ask({ as, method, path, body, type = 'application/json' }: RandomStep): Promise<Reply> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const request = https.request(this.#server.server + path, {
      method,
      agent: this.#agentOf(as),
      headers: {
        'user-agent': `${as}/1.0`,
        ...(sent !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(sent) }),
      },
    });
    request.once('response', (answer) => {
      const warnings = [answer.headers.warning ?? []].flat();
      text(answer).then((all) => resolve({ code: answer.statusCode ?? 0, warnings, body: all }), reject);
    });
    request.once('error', reject).end(sent);
    return promise;
  }
}

function parsed(body: string): Seen | string {
  try {
    return JSON.parse(body) as Seen;
  } catch {
    return body;
  }
}
