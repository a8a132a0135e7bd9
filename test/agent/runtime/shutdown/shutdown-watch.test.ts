import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from '@jest/globals';
import { shutdownSignal } from '../../../../src/agent/runtime/shutdown/logind.ts';
import { ShutdownWatch } from '../../../../src/agent/runtime/shutdown/shutdown-watch.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import { testAsRoot } from '../../../support/as-root.ts';
import { Logind } from '../../../support/logind.ts';
import { silentLogger } from '../../../support/silent-logger.ts';
import { waitFor } from '../../../support/wait-for.ts';
import { testContext } from '../../../support/test-context.ts';

const cleanUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const contextOf = (warnings: string[]) =>
  testContext({
    clock: systemClock,
    logger: { ...silentLogger, warn: (_, message) => void warnings.push(message) },
  });

async function watched(seconds: number) {
  const logind = await Logind.start();
  cleanUps.push(() => logind.stop());
  const heard: string[] = [];
  const warnings: string[] = [];
  const watch = new ShutdownWatch(contextOf(warnings), {
    seconds,
    onShutdown: () => heard.push('shutdown'),
    onCancelled: () => heard.push('cancelled'),
    etc: join(logind.dir, 'logind.conf.d'),
  });
  cleanUps.push(() => watch.close());
  await watch.start();
  const holds = async () => (await logind.inhibitors()).includes('statelet shutdown');
  await waitFor(holds, { what: 'the lock' });
  return { logind, watch, heard, warnings, holds };
}

describe('a watch of logind', () => {
  testAsRoot('holds the shutdown up from its signal until it is released', async () => {
    const { logind, watch, heard, holds } = await watched(5);
    // busctl may not listen yet: a signal that is not heard is sent again.
    const isHeard = async (what: string, isShuttingDown: boolean) => {
      if (!heard.includes(what)) await logind.announce(isShuttingDown);
      return heard.includes(what);
    };
    await waitFor(() => isHeard('shutdown', true), { what: 'the signal to be heard', pauseMs: 200 });
    expect(await holds()).toBe(true);
    await watch.release();
    await waitFor(async () => !(await holds()), { what: 'the lock to go' });
    await waitFor(() => isHeard('cancelled', false), {
      what: 'the end of the shutdown to be heard',
      pauseMs: 200,
    });
    await waitFor(holds, { what: 'the lock for the next shutdown' });
  });

  testAsRoot('asks logind for more time than its default, and says where that is not granted', async () => {
    const { logind, warnings } = await watched(120);
    const dropIn = join(logind.dir, 'logind.conf.d/99-kubelet.conf');
    expect(existsSync(dropIn) && readFileSync(dropIn, 'utf8')).toContain('InhibitDelayMaxSec=120');
    expect(warnings).toEqual([
      'The time limit of logind for a shutdown cannot be raised',
      'logind allows less time for a shutdown than shutdownGracePeriod: raise InhibitDelayMaxSec',
    ]);
  });
});

test('without logind the watch says once that a shutdown is not noticed', async () => {
  const before = process.env.DBUS_SYSTEM_BUS_ADDRESS;
  process.env.DBUS_SYSTEM_BUS_ADDRESS = 'unix:path=/nonexistent/bus';
  const warnings: string[] = [];
  const watch = new ShutdownWatch(contextOf(warnings), {
    seconds: 5,
    onShutdown: () => undefined,
    onCancelled: () => undefined,
  });
  await watch.start();
  await watch.close();
  if (before === undefined) delete process.env.DBUS_SYSTEM_BUS_ADDRESS;
  else process.env.DBUS_SYSTEM_BUS_ADDRESS = before;
  expect(warnings).toEqual(['A shutdown of this machine is not noticed: no logind']);
});

describe('a line of busctl', () => {
  test.each([
    ['{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[true]}}', true],
    ['{"type":"signal","member":"PrepareForShutdown","payload":{"type":"b","data":[false]}}', false],
    ['{"type":"signal","member":"PrepareForSleep","payload":{"type":"b","data":[true]}}', undefined],
    ['Monitoring bus message stream.', undefined],
  ])('%s: %s', (line, expected) => {
    expect(shutdownSignal(line)).toBe(expected);
  });
});
