/** Notices of evictions in real folders, which pods may change. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { HostPathNotices } from '../../../../src/agent/actors/plugins/host-path-notices.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { requestingPod } from '../../../support/admission.ts';
import { ruled } from '../../../support/eviction-plugins.ts';
import { type LogLine, recordingLogger } from '../../../support/recording-logger.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { testContext } from '../../../support/test-context.ts';

const SHY = requestingPod('shy', { annotations: { 'katalyst.kubewharf.io/pod_soft_evict_notify': 'true' } });
const BOLD = requestingPod('bold');
const FOLDER = 'shy@@__@@default';

let root: string;
let clock: VirtualClock;
let lines: readonly LogLine[];
let events: string[];
let measurements: RecordedMeasurements;

beforeEach(() => {
  root = join(mkdtempSync(join(tmpdir(), 'notices-')), 'root');
});

afterEach(() => rmSync(join(root, '..'), { recursive: true }));

/** Tells in one pass after another. */
function notices() {
  const logger = recordingLogger();
  lines = logger.lines;
  events = [];
  clock = new VirtualClock();
  const recorder = {
    event: ({ name }: { name: string }, type: string, reason: string) =>
      void events.push(`${name} ${type} ${reason}`),
    nodeEvent: () => undefined,
  };
  measurements = new RecordedMeasurements();
  return async (known: readonly Pod[], told: readonly Pod[] = [], passes = 1) => {
    const one = new HostPathNotices(
      testContext({ clock, logger: logger.logger, recorder, measurements }),
      root,
    );
    for (let pass = 0; pass < passes; pass += 1) {
      await one.notify(
        known,
        told.map((pod) => ruled(pod)),
      );
    }
    await one.stop();
  };
}

const file = () => join(root, FOLDER, 'soft_eviction_notify');

test('a pod that asks for notices has a folder while it runs, and a file with the time after a notice', async () => {
  const pass = notices();
  await pass([BOLD]);
  expect(existsSync(root)).toBe(false);
  await pass([BOLD, SHY]);
  expect([readdirSync(root), readdirSync(join(root, FOLDER))]).toEqual([[FOLDER], []]);
  await pass([BOLD, SHY], [SHY]);
  expect(readFileSync(file(), 'utf8')).toBe(new Date(clock.now()).toISOString());
  expect(readdirSync(join(root, FOLDER))).toEqual(['soft_eviction_notify']);
  // An agent after this one removes what is left of pods that have gone.
  mkdirSync(join(root, 'of-others'));
  await pass([BOLD]);
  expect(readdirSync(root)).toEqual(['of-others']);
  expect(lines).toEqual([]);
});

test('a link that a pod has put in the place of the file, or of something below its folder, is not followed', async () => {
  const pass = notices();
  const secret = join(root, '..', 'secret');
  writeFileSync(secret, 'kept');
  await pass([SHY]);
  symlinkSync(secret, file());
  symlinkSync(join(root, '..'), join(root, FOLDER, 'up'));
  await pass([SHY], [SHY]);
  expect(readFileSync(secret, 'utf8')).toBe('kept');
  expect(readFileSync(file(), 'utf8')).toContain('T');
  await pass([]);
  expect([existsSync(join(root, FOLDER)), readFileSync(secret, 'utf8')]).toEqual([false, 'kept']);
});

test('where the file cannot be written, the pod gets an event once, and other pods get their notices', async () => {
  const pass = notices();
  const other = requestingPod('other', { annotations: SHY.metadata.annotations ?? {} });
  await pass([SHY, other]);
  mkdirSync(file());
  writeFileSync(join(file(), 'full'), '');
  await pass([SHY, other], [SHY, other], 3);
  expect(events).toEqual(['shy Warning NotifyFailed']);
  expect(lines.map(({ level, message }) => [level, message.includes('Pod shy could not be told')])).toEqual([
    ['warn', true],
  ]);
  expect(existsSync(join(root, 'other@@__@@default', 'soft_eviction_notify'))).toBe(true);
  const pass3 = ['shy is told of p: failed', 'other is told of p: succeeded'];
  expect(measurements.told).toEqual([...pass3, ...pass3, ...pass3]);
});

test('a folder that was removed is created again', async () => {
  const pass = notices();
  mkdirSync(root);
  const agent = new HostPathNotices(testContext({ clock }), root);
  const once = () => agent.notify([SHY], [ruled(SHY)]);
  await once();
  rmSync(join(root, FOLDER), { recursive: true });
  await once();
  await once();
  expect(existsSync(file())).toBe(true);
  await pass([SHY]);
});
