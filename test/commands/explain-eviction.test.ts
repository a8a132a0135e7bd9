import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { explainEviction } from '../../src/commands/explain-eviction.ts';
import type { EvictionExplanation } from '../../src/agent/policies/eviction/explanation.ts';
import { startNetworkServer } from '../../src/agent/server/endpoints.ts';
import { requestingPod } from '../support/admission.ts';
import { summaryOf, usingMemory } from '../support/eviction.ts';

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-explain-'));
});
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, content: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

const pods = [requestingPod('modest', { requests: { memory: '200Mi' } }), requestingPod('greedy')];
const summary = summaryOf({ memory: 400, pids: 900 }, [
  usingMemory('modest', 150),
  usingMemory('greedy', 300),
]);
const files = () => ({ stats: file('stats.json', summary), pods: file('pods.json', { items: pods }) });

describe('explain-eviction with stats from files', () => {
  test('a pipe that is named in place of a file is read, as `<(program)` of a shell makes one', async () => {
    const evictionHard = { 'memory.available': '500Mi' };
    const { stats, pods: list } = files();
    const pipe = join(dir, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const writer = spawn('sh', ['-c', 'cat "$0" > "$1"', stats, pipe]);
    const explained = explainEviction({ stats: pipe, pods: list, evictionHard });
    await Promise.all([once(writer, 'close'), explained]);
    expect(await explained).toBe(await explainEviction({ ...files(), evictionHard }));
  });

  test.each(['/dev/zero', '/proc/kmsg'])('%s, which has no end, is refused', async (stats) => {
    await expect(explainEviction({ ...files(), stats })).rejects.toThrow(
      `--stats: ${stats} cannot be read: `,
    );
  });

  test('shows each threshold, and the order in which pods would be evicted', async () => {
    const evictionHard = { 'memory.available': '500Mi', 'pid.available': '10%' };
    expect(await explainEviction({ ...files(), evictionHard })).toBe(
      [
        'Conditions: none',
        '',
        'SIGNAL             NOW     THRESHOLD   KIND   MET   GOES FIRST',
        'memory.available   400Mi   <500Mi      hard   yes   default/greedy',
        'pid.available      900     <100        hard   no    default/modest',
        '',
        'For memory (memory.available) pods would go in this order:',
        '    NAMESPACE   NAME     USES    REQUESTS   PRIORITY',
        '1   default     greedy   300Mi   0          0          more than it requested',
        '2   default     modest   150Mi   200Mi      0',
        '',
        'For pids (pid.available) pods would go in this order:',
        '    NAMESPACE   NAME     USES   REQUESTS   PRIORITY',
        '1   default     modest   0                 0',
        '2   default     greedy   0                 0',
        '',
      ].join('\n'),
    );
  });

  test('shows sizes as people read them, and exactly with -o json', async () => {
    const large = summaryOf({ memory: 18_836 }, [usingMemory('greedy', 1_234)]);
    const given = {
      ...files(),
      stats: file('large.json', large),
      evictionHard: { 'memory.available': '27055317804' },
    };
    const text = await explainEviction(given);
    expect(text).toMatch(/^memory\.available +18\.3Gi +<25\.1Gi +/mu);
    expect(text).toMatch(/^\d +default +greedy +1\.2Gi +0 /mu);
    const { thresholds } = JSON.parse(
      await explainEviction({ ...given, output: 'json' }),
    ) as EvictionExplanation;
    expect(thresholds).toMatchObject([{ observed: '18836Mi', threshold: '<27055317804' }]);
  });

  test('prints JSON with -o json', async () => {
    const text = await explainEviction({
      ...files(),
      evictionHard: { 'memory.available': '1Mi' },
      output: 'json',
    });
    const { thresholds } = JSON.parse(text) as EvictionExplanation;
    expect(thresholds).toMatchObject([
      { signal: 'memory.available', isMet: false, victim: 'default/greedy' },
    ]);
  });

  test('says that there are no thresholds', async () => {
    expect(await explainEviction({ ...files(), evictionHard: {} })).toContain(
      'There are no eviction thresholds',
    );
  });

  test.each<[string, () => Record<string, string>, string]>([
    ['one file alone', () => ({ stats: 'x' }), '--stats and --pods must be given together'],
    ['a file that is not there', () => ({ ...files(), pods: join(dir, 'none') }), '--pods: '],
    ['a file of something else', () => ({ ...files(), stats: file('odd.json', '[]') }), 'must be a Summary'],
    ['a file that is no JSON', () => ({ ...files(), pods: file('odd.txt', 'pods:') }), 'must be a PodList'],
  ])('refuses %s', async (_what, flags, message) => {
    await expect(explainEviction(flags())).rejects.toThrow(message);
  });
});

describe('explain-eviction of a daemon', () => {
  test('prints what it serves', async () => {
    const explanation: EvictionExplanation = { conditions: ['MemoryPressure'], thresholds: [] };
    const eviction = () => Promise.resolve(explanation);
    const server = await startNetworkServer(
      { host: '127.0.0.1', port: 0 },
      {
        health: () => undefined,
        pods: () => [],
        eviction,
      },
    );
    try {
      expect(JSON.parse(await explainEviction({ server: server.address, output: 'json' }))).toEqual(
        explanation,
      );
    } finally {
      await server.close();
    }
  });

  test('shows eviction plugins too, where the daemon has them', async () => {
    const plugins = { plugins: [], decidedMs: 1, state: 'Waiting', awaited: [] };
    const rest = { conditions: [], candidates: [], queue: [], kills: [] };
    const explanation = { conditions: [], thresholds: [], plugins: { ...plugins, ...rest } };
    const server = await startNetworkServer(
      { host: '127.0.0.1', port: 0 },
      { health: () => undefined, pods: () => [], eviction: () => Promise.resolve(explanation) },
    );
    try {
      expect(await explainEviction({ server: server.address })).toBe(
        'There are no eviction thresholds: no pod is evicted for what the node lacks.\n\n' +
          'Eviction plugins: none has registered\n',
      );
      const json = await explainEviction({ server: server.address, output: 'json' });
      expect(JSON.parse(json)).toEqual(explanation);
    } finally {
      await server.close();
    }
  });

  test('has different errors for a server without eviction and for a missing daemon', async () => {
    const server = await startNetworkServer(
      { host: '127.0.0.1', port: 0 },
      { health: () => undefined, pods: () => [] },
    );
    await expect(explainEviction({ server: server.address })).rejects.toThrow(
      'is not served by a statelet: 404',
    );
    await server.close();
    await expect(explainEviction({ server: server.address })).rejects.toThrow('is it running?');
  });
});
