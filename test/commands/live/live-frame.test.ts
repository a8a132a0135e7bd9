import { describe, expect, test } from '@jest/globals';
import { liveFrame, type LiveFacts } from '../../../src/commands/live/live-frame.ts';
import { textWidth } from '../../../src/agent/policies/formats/terminal-text.ts';
import type { LivePod } from '../../../src/types/served-pod.ts';

const NOW = Date.parse('2030-01-01T01:00:00Z');
const WELCOME = ['Statelet runs each pod of pods as a statechart', 'to stop:    Ctrl-C'];
const WHY =
  'waits to start container main again, which has ended with exit code 3; next try at 01:00:10Z (in 10s).';

function pod(name: string, namespace = 'default', more: Partial<LivePod> = {}): LivePod {
  return {
    pod: {
      metadata: { name, namespace, uid: `uid-${name}`, creationTimestamp: '2030-01-01T00:59:30Z' },
      spec: { containers: [{ name: 'main' }] },
    },
    status: { phase: 'Running' },
    state: 'Syncing.Settled',
    ...more,
  };
}

const waiting = (name: string, why = WHY) => pod(name, 'default', { state: 'Syncing.BackingOff', why });

const facts = (more: Partial<LiveFacts> = {}): LiveFacts => ({
  welcome: WELCOME,
  pods: [pod('web'), waiting('loop')],
  ifEmpty: 'No pods yet.',
  log: ['one', 'two', 'three', 'four'],
  nowMs: NOW,
  ...more,
});
const size = (columns: number, rows: number, hasColours = false) => ({ columns, rows, hasColours });
const many = (count: number, make: (name: string) => LivePod = (name) => pod(name)) =>
  Array.from({ length: count }, (_, index) => make(`pod-${String(index).padStart(3, '0')}`));
const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);

test('a frame has the welcome, the pods by name with what they wait for, and the log', () => {
  expect(liveFrame(facts(), size(80, 24))).toEqual([
    ...WELCOME,
    '',
    'NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   STATE',
    'default     loop   0/1     Running   0          30s   Syncing.BackingOff',
    '  └ waits to start container main again, which has ended with exit code 3; next',
    '    try at 01:00:10Z (in 10s).',
    'default     web    0/1     Running   0          30s   Syncing.Settled',
    '',
    'one',
    'two',
    'three',
    'four',
  ]);
});

describe('a frame never has more lines than the terminal, nor wider ones', () => {
  const sizes = [1, 2, 3, 5, 8, 15, 16, 24, 50].flatMap((rows) =>
    [1, 10, 40, 80, 200].map((columns) => [columns, rows]),
  );
  const contents = {
    nothing: facts({ pods: [], log: [], welcome: [] }),
    'a little': facts(),
    'many pods': facts({ pods: [...many(300), ...many(40, waiting)], log: numbered(500) }),
    'long names': facts({
      pods: [pod('x'.repeat(250), 'ns'.repeat(30))],
      log: ['y'.repeat(1000), '日本'.repeat(300)],
    }),
  };
  test.each(Object.entries(contents))('%s', (_, content) => {
    for (const [columns = 0, rows = 0] of sizes) {
      for (const hasColours of [false, true]) {
        const frame = liveFrame(content, size(columns, rows, hasColours));
        expect(frame.length).toBeLessThanOrEqual(rows);
        expect(Math.max(0, ...frame.map(textWidth))).toBeLessThanOrEqual(columns);
      }
    }
  });
});

describe('where not everything has room', () => {
  test('the latest log lines are shown, in all rows that the pods leave', () => {
    const frame = liveFrame(facts({ log: numbered(500) }), size(80, 24));
    expect(frame).toHaveLength(24);
    expect(frame.at(-1)).toBe('line 499');
    expect(frame).toContain('default     web    0/1     Running   0          30s   Syncing.Settled');
  });

  test('what pods wait for is left out before a pod is', () => {
    const frame = liveFrame(facts({ pods: many(10, waiting), log: numbered(5) }), size(80, 20));
    expect(frame.filter((line) => line.startsWith('default'))).toHaveLength(10);
    expect(frame.join('\n')).not.toContain('└');
  });

  test('pods that wait are shown before those that run, and the rest is counted', () => {
    const pods = [...many(40), waiting('zzz')];
    const frame = liveFrame(facts({ pods, log: numbered(50) }), size(80, 24));
    expect(frame[4]).toMatch(/^default {5}zzz /u);
    const shown = frame.filter((line) => line.startsWith('default')).length;
    expect(frame).toContain(`… and ${41 - shown} more: statelet pods`);
  });

  test('a small terminal has no welcome and no empty lines', () => {
    const frame = liveFrame(facts(), size(80, 10));
    expect(frame[0]).toMatch(/^NAMESPACE/u);
    expect(frame).not.toContain('');
  });

  test('a narrow one has the state of each pod, without the columns that say less', () => {
    const [header, ...rows] = liveFrame(facts({ log: [] }), size(48, 24)).slice(3);
    expect(header).toBe('NAME   READY   STATUS    STATE');
    expect(rows[0]).toBe('loop   0/1     Running   Syncing.BackingOff');
  });

  test('namespaces are left out only if there is just one', () => {
    const pods = [pod('web'), pod('dns', 'kube-system')];
    const frame = liveFrame(facts({ pods, log: [] }), size(60, 24));
    expect(frame[3]).toBe('NAMESPACE     NAME   READY   STATUS    STATE');
  });
});

test('without pods the frame has a sentence instead', () => {
  expect(liveFrame(facts({ pods: [] }), size(80, 24))[3]).toBe('No pods yet.');
});

test('colours are only used where the terminal has them, and change no text', () => {
  const [plain, coloured] = [false, true].map((has) => liveFrame(facts(), size(80, 24, has)).join('\n'));
  expect(plain).not.toContain('\u001b');
  expect(coloured).toContain('\u001b[32mRunning\u001b[39m');
  expect(coloured).toContain('\u001b[33mRunning\u001b[39m');
  // oxlint-disable-next-line no-control-regex -- colours begin with ESC
  expect(coloured?.replaceAll(/\u001b\[\d+m/gu, '')).toBe(plain);
});

test('texts of pods move no cursor', () => {
  const frame = liveFrame(facts({ pods: [waiting('web', 'waits\u001b[2J\nfor it')] }), size(80, 24));
  expect(frame).toContain(String.raw`  └ waits\u001b[2J for it`);
});
