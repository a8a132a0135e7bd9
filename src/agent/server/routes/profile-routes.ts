/**
 * `/debug/pprof/profile` and `/debug/pprof/heap`: profiles of this process, in the format of pprof. The other profiles of the kubelet are about Go
 * (goroutines, mutexes, …): a Node program has nothing of that kind.
 */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../../types/clock.ts';
import { answer, NO_SNIFF, RequestError, type Route, type RouteRequest } from './route.ts';

interface Kind {
  readonly name: 'profile' | 'heap';
  readonly defaultSeconds: number;
}

const KINDS: readonly Kind[] = [
  { name: 'profile', defaultSeconds: 30 },
  { name: 'heap', defaultSeconds: 5 },
];

const SECONDS_MAX = 300;

export function profileRoutes(clock: Clock): readonly Route[] {
  const running = new Set<Kind>();
  return [
    ...KINDS.map((kind) => ({
      path: `/debug/pprof/${kind.name}`,
      methods: ['GET'],
      handle: async ({ query }: RouteRequest, response: ServerResponse) => {
        const seconds = secondsOf(query, kind.defaultSeconds);
        if (running.has(kind)) throw new RequestError(500, `${kind.name}: profiling is already in use\n`);
        running.add(kind);
        try {
          await serve(kind, seconds * 1000, clock, response);
        } finally {
          running.delete(kind);
        }
      },
    })),
    {
      path: '/debug/pprof/*',
      methods: ['GET'],
      handle: ({ params }) => {
        if (params['*'] === '') throw new RequestError(404, '404: Page Not Found');
        const names = KINDS.map(({ name }) => `/debug/pprof/${name}`).join(' and ');
        throw new RequestError(404, `Unknown profile; served here: ${names}\n`, {
          'X-Go-Pprof': '1',
          ...NO_SNIFF,
        });
      },
    },
  ];
}

/** A client that disappears ends the profile. */
async function serve(kind: Kind, durationMs: number, clock: Clock, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    // The profilers are loaded only for a request.
    const { recordCPUProfile, recordHeapProfile, writeProfile } = await import('./profiles.ts');
    const record = kind.name === 'heap' ? recordHeapProfile : recordCPUProfile;
    const body = await writeProfile(await record(durationMs, clock, gone.signal));
    answer(response, 200, body, {
      'Content-Type': 'application/octet-stream',
      'Content-Disposition': `attachment; filename="${kind.name}"`,
      ...NO_SNIFF,
    });
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  }
}

/** As Go reads it: what is no positive number counts as not given. */
function secondsOf(query: string, byDefault: number): number {
  const text = new URLSearchParams(query).get('seconds') ?? '';
  const seconds = /^\+?\d+$/u.test(text) ? Number(text) : 0;
  if (seconds > SECONDS_MAX) throw new RequestError(400, `seconds: must be ${SECONDS_MAX} or less\n`);
  return seconds === 0 ? byDefault : seconds;
}
