import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { OOMWatch } from '../../../../src/agent/runtime/node/oom-watch.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testContext, recorderOf } from '../../../support/test-context.ts';
import { silentLogger } from '../../../support/silent-logger.ts';

let dir: string;
let clock: VirtualClock;
let told: string[];
let watch: OOMWatch | undefined;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'statelet-oom-'));
  clock = new VirtualClock();
  told = [];
});

afterEach(() => {
  watch?.stop();
  rmSync(dir, { recursive: true });
});

const file = (name: string) => join(dir, name);
const kills = (count: number) => writeFileSync(file('vmstat'), `pgfault 7\noom_kill ${count}\n`);
const log = (...victims: readonly [atUs: number, name: string][]) => {
  const records = victims.map(
    ([atUs, name]) =>
      `6,1,${atUs},-;oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=${name},pid=1,uid=0\n`,
  );
  writeFileSync(file('kmsg'), records.join(''));
};

const context = () =>
  testContext({
    clock,
    recorder: recorderOf({ nodeEvent: (...event) => void told.push(event.join(' ')) }),
    logger: { ...silentLogger, debug: (_, message) => void told.push(message) },
  });

function open(): void {
  watch = new OOMWatch(context(), {
    uptimeUs: () => 100,
    vmstatFile: file('vmstat'),
    kernelLog: file('kmsg'),
  });
}

test('a kill is reported once; kills from before the start are not reported', async () => {
  kills(1);
  log([50, 'before'], [150, 'first']);
  open();
  await clock.advance(60_000);
  expect(told).toEqual([]);
  kills(2);
  await clock.advance(10_000);
  kills(3);
  log([50, 'before'], [150, 'first'], [200, 'second']);
  await clock.advance(60_000);
  expect(told).toEqual([
    'Warning SystemOOM System OOM encountered, victim process: first, pid: 1',
    'Warning SystemOOM System OOM encountered, victim process: second, pid: 1',
  ]);
});

test("if the kernel's log cannot be read, that is logged, and nothing else happens", async () => {
  kills(1);
  open();
  kills(2);
  await clock.advance(10_000);
  expect(told).toEqual([expect.stringContaining('ENOENT')]);
});

test('if the kernel does not count its kills, and after the stop, nothing is read', async () => {
  open();
  expect(clock.armed).toBe(0);
  kills(1);
  open();
  watch?.stop();
  kills(2);
  await clock.advance(60_000);
  expect([told, clock.armed]).toEqual([[], 0]);
});

test("the kernel's own log can be read to its end", async () => {
  kills(1);
  watch = new OOMWatch(context(), { vmstatFile: file('vmstat') });
  kills(2);
  await clock.advance(10_000);
  // Not every user may read it.
  expect(told.filter((line) => !line.includes('EPERM') && !line.includes('EACCES'))).toEqual([]);
});
