import { expect, test } from '@jest/globals';
import { NodeShutdown, type ShutdownRecord } from '../../../../src/agent/actors/node/node-shutdown.ts';
import type { KillPodOptions } from '../../../../src/agent/policies/termination/pod-termination.ts';
import { settled } from '../../../../src/simulation/node/virtual-clock.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { testPod } from '../../../support/pods.ts';
import { RecordedMeasurements } from '../../../support/recorded-measurements.ts';
import { recordingLogger } from '../../../support/recording-logger.ts';
import { testContext } from '../../../support/test-context.ts';

const PERIODS = [
  { priority: 0, shutdownGracePeriodSeconds: 20 },
  { priority: 2_000_000_000, shutdownGracePeriodSeconds: 10 },
];
const critical = (name: string): Pod => {
  const pod = testPod({ name });
  return { ...pod, spec: { ...pod.spec, priority: 2_000_000_000 } };
};

function setUp(pods: readonly Pod[], record?: ShutdownRecord) {
  const killed: [uid: string, KillPodOptions][] = [];
  /** Whether the node was shutting down, each time that a change was told. */
  const told: boolean[] = [];
  const { logger, lines } = recordingLogger();
  const measurements = new RecordedMeasurements();
  const context = testContext({ logger, measurements });
  const { clock, recorder } = context;
  const shutdown: NodeShutdown = new NodeShutdown(context, {
    periods: PERIODS,
    pods: () => pods,
    phaseOf: () => 'Running',
    kill: (uid, options) => {
      killed.push([uid, options]);
      return true;
    },
    onChange: () => told.push(shutdown.isShuttingDown),
    record,
  });
  const uids = () => killed.map(([uid]) => uid);
  return { clock, shutdown, killed, uids, recorder, told, lines, measurements };
}

test('a listener that is called at the shutdown already sees the node shutting down: otherwise NotReady would be reported late', () => {
  const { shutdown, told, recorder } = setUp([testPod()]);
  void shutdown.shutDown();
  expect(told).toEqual([true]);
  expect(recorder.all).toMatchObject([{ type: 'Normal', reason: 'Shutdown' }]);
  shutdown.cancel();
  expect(told).toEqual([true, false]);
});

test('critical pods end after all others have ended', async () => {
  const { shutdown, uids } = setUp([critical('dns'), testPod({ name: 'web' })]);
  const down = shutdown.shutDown();
  expect(uids()).toEqual(['uid-of-web']);
  shutdown.podEnded('uid-of-web');
  expect(uids()).toEqual(['uid-of-web', 'uid-of-dns']);
  shutdown.podEnded('uid-of-dns');
  await down;
});

test('a group that does not end within its time no longer delays the next one, and the log says so', async () => {
  const { clock, shutdown, uids, lines } = setUp([critical('dns'), testPod({ name: 'web' })]);
  const down = shutdown.shutDown();
  await clock.advance(20_000);
  expect(uids()).toEqual(['uid-of-web', 'uid-of-dns']);
  expect(JSON.stringify(lines)).toContain('has not ended within the time');
  await clock.advance(10_000);
  await down;
});

test('a shutdown without pods ends at once', async () => {
  const { shutdown, uids } = setUp([]);
  await shutdown.shutDown();
  expect(uids()).toEqual([]);
});

test('a shutdown that is cancelled ends no further group, and no timer is left', async () => {
  const { clock, shutdown, uids } = setUp([critical('dns'), testPod({ name: 'web' })]);
  const down = shutdown.shutDown();
  shutdown.cancel();
  await down;
  await settled();
  shutdown.podEnded('uid-of-web');
  expect(uids()).toEqual(['uid-of-web']);
  expect(clock.armed).toBe(0);
});

test.each(['all pods have ended', 'it is cancelled'])(
  'is measured from its beginning until %s',
  async (end) => {
    const { clock, shutdown, measurements } = setUp([testPod()]);
    const startMs = clock.now();
    const down = shutdown.shutDown();
    await clock.advance(3_000);
    if (end === 'it is cancelled') shutdown.cancel();
    else shutdown.podEnded('uid-of-web');
    await down;
    await clock.advance(1_000);
    shutdown.cancel();
    expect(measurements.told).toEqual([
      `shutdown begins at ${startMs}`,
      `shutdown ends at ${startMs + 3_000}`,
    ]);
  },
);

test('the times at which pods are being ended and have ended are stored before the machine shuts down', async () => {
  const written: [startMs: number, endMs: number | undefined][] = [];
  const writes: (() => void)[] = [];
  const record: ShutdownRecord = {
    write: (startMs, endMs) => {
      written.push([startMs, endMs]);
      return new Promise((resolve) => writes.push(resolve));
    },
  };
  const { clock, shutdown } = setUp([testPod({ name: 'web' })], record);
  const startMs = clock.now();
  let isOver = false as boolean;
  const down = shutdown.shutDown().then(() => (isOver = true));
  expect(written).toEqual([[startMs, undefined]]);
  await clock.advance(3_000);
  shutdown.podEnded('uid-of-web');
  await settled();
  // One write at a time.
  expect(written).toHaveLength(1);
  writes[0]?.();
  await settled();
  expect(written).toEqual([
    [startMs, undefined],
    [startMs, startMs + 3_000],
  ]);
  expect(isOver).toBe(false);
  writes[1]?.();
  await down;
});
