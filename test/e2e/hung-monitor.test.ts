/** The monitor of the embedded runtime is stopped (SIGSTOP): the agent becomes unhealthy, and continues after SIGCONT. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { containerStatus, type Daemon, DaemonBed } from '../support/daemon.ts';
import { holdStill } from '../support/hold-still.ts';
import { monitorPid } from '../support/process-runtime.ts';
import { waitFor } from '../support/wait-for.ts';
import { manifest, SERVE, shell } from './manifests.ts';

let bed: DaemonBed;
let monitor: number | undefined;

beforeEach(() => {
  monitor = undefined;
  bed = new DaemonBed();
});
afterEach(async () => {
  if (monitor !== undefined) process.kill(monitor, 'SIGCONT');
  await bed.cleanUp();
});

function write(name: string): void {
  writeFileSync(join(bed.manifestDir, `${name}.json`), manifest(name, { containers: [shell(SERVE)] }));
}

async function problem(daemon: Daemon): Promise<string | undefined> {
  const response = await daemon.fetch('/healthz');
  return response.ok ? undefined : response.text();
}

test('a monitor that hangs makes the agent unhealthy; its pods keep running, and others start when the monitor continues', async () => {
  write('stays');
  const daemon = await bed.start('--runtime-request-timeout', '2s');
  const stays = await daemon.running('stays');
  monitor = await monitorPid(bed.rootDir);
  await holdStill(monitor);
  write('added');
  const told = await waitFor(() => problem(daemon), { what: 'it to be unhealthy' });
  expect(told).toContain('the monitor of the embedded runtime');
  expect(told).toContain('within 2 s: it hangs');
  process.kill(monitor, 'SIGCONT');
  await daemon.running('added');
  expect(await problem(daemon)).toBeUndefined();
  expect(containerStatus(await daemon.running('stays'))).toEqual(containerStatus(stays));
});
