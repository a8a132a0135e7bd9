/** What the next daemon knows of running containers without an API server: completed hooks, results of probes. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { Pod } from '../../src/types/kubernetes.ts';
import { containerStatus, type Daemon, DaemonBed, mainProcesses } from '../support/daemon.ts';
import { waitFor } from '../support/wait-for.ts';
import { awaitFile, manifest, type ManifestFields, replaceFile, SERVE, shell, touch } from './manifests.ts';

let bed: DaemonBed;
beforeEach(() => {
  bed = new DaemonBed();
});
afterEach(async () => bed.cleanUp());

const at = (name: string) => join(bed.dir, name);
const lines = (name: string) =>
  existsSync(at(name)) ? readFileSync(at(name), 'utf8').split('\n').length - 1 : 0;
const write = (name: string, fields: ManifestFields) =>
  replaceFile(join(bed.manifestDir, `${name}.json`), manifest(name, fields));
const command = (script: string) => ({ exec: { command: ['sh', '-c', script] } });
const isReady = ({ status }: Pod) =>
  status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
const settled = async (daemon: Daemon) => daemon.inState('web', 'Syncing.Settled');

test('a postStart hook that a killed daemon has interrupted runs again: the pod is not ready before it has completed', async () => {
  const hook = `echo began >> ${at('began')}; ${awaitFile(at('go'))}; echo done >> ${at('done')}`;
  write('web', { containers: [shell(SERVE, { lifecycle: { postStart: command(hook) } })] });
  const first = await bed.start();
  await waitFor(() => lines('began') === 1, { what: 'the hook' });
  await first.end('SIGKILL');

  const second = await bed.start();
  await waitFor(() => lines('began') === 2, { what: 'the hook to run again' });
  const waiting = await second.until('web', 'shown', (pod) => containerStatus(pod) !== undefined);
  expect(containerStatus(waiting)).toMatchObject({
    ready: false,
    state: { waiting: { reason: 'ContainerCreating' } },
  });
  expect(waiting.status?.phase).toBe('Pending');
  const [before] = mainProcesses(waiting);
  touch(at('go'));
  const ready = await second.until('web', 'ready', isReady);
  expect(mainProcesses(ready)).toEqual([before]);
  expect(containerStatus(ready)).toMatchObject({ restartCount: 0, started: true });
  expect(lines('done')).toBe(1);

  // It has completed: no further daemon runs it.
  await second.end('SIGKILL');
  const third = await bed.start();
  await settled(third);
  expect([lines('began'), lines('done')]).toEqual([2, 1]);
});

test('results of probes outlive the daemon; a startup probe that has succeeded does not run again', async () => {
  const probe = (name: string, more = {}) => ({ ...command(`echo run >> ${at(name)}`), ...more });
  write('web', {
    containers: [
      shell(SERVE, {
        startupProbe: probe('startup'),
        readinessProbe: probe('readiness', { initialDelaySeconds: 1, periodSeconds: 1 }),
      }),
      shell(SERVE, { name: 'never', readinessProbe: { ...command('exit 1'), periodSeconds: 1 } }),
    ],
  });
  const first = await bed.start();
  const before = await first.until('web', 'ready', (pod) => containerStatus(pod)?.ready === true);
  const memory = join(bed.rootDir, 'pods', before.metadata.uid, 'known-containers');
  await waitFor(() => existsSync(memory) && readFileSync(memory, 'utf8').includes('"ready":true'), {
    what: 'it to be remembered',
  });
  await first.end('SIGKILL');
  const startups = lines('startup');

  const second = await bed.start();
  // The first status that the next daemon shows.
  const adopted = await second.until('web', 'shown', (pod) => containerStatus(pod) !== undefined);
  const statuses = before.status?.containerStatuses ?? [];
  expect(adopted.status?.containerStatuses).toEqual(statuses);
  const readiness = lines('readiness');
  await waitFor(() => lines('readiness') > readiness + 1, { what: 'the readiness probe to go on' });
  expect((await settled(second)).status?.containerStatuses).toEqual(statuses);
  expect(lines('startup')).toBe(startups);
});
