/** Probes of a real container: their results change the pod's status and the decisions about the pod. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { ProbeManager } from '../../../../src/agent/actors/probes/probe-manager.ts';
import { StatusManager } from '../../../../src/agent/actors/pods/status-manager.ts';
import { computePodActions } from '../../../../src/agent/policies/pod-actions/pod-actions.ts';
import { generateAPIPodStatus } from '../../../../src/agent/policies/status/pod-status.ts';
import { rfc3339 } from '../../../../src/agent/policies/formats/time.ts';
import { systemClock } from '../../../../src/system/timer.ts';
import type { Pod } from '../../../../src/types/kubernetes.ts';
import { podBed, type PodBed, podOf, shell } from '../../runtime/pods/pod-bed.ts';
import { LOCAL_PODS } from '../../../support/local-pods.ts';
import { testContext } from '../../../support/test-context.ts';
import { waitFor } from '../../../support/wait-for.ts';

let bed: PodBed;
let manager: ProbeManager;
const statusManager = new StatusManager(testContext({ clock: systemClock }));

beforeAll(() => {
  bed = podBed();
});
afterAll(async () => {
  manager.stop();
  await bed.cleanup();
});

/** Like the sync effect: reads the pod from the runtime, and stores its status. */
async function report(pod: Pod): Promise<void> {
  const { uid } = pod.metadata;
  const { startup, readiness } = manager.results(uid);
  const previous = statusManager.get(uid);
  const status = generateAPIPodStatus({
    pod,
    podStatus: await bed.read(pod),
    ...(previous && { previous }),
    podIsTerminal: false,
    startFailures: new Map(),
    probeResults: (probe, id) => ({ startup, readiness })[probe].get(id),
    runtimeName: 'containerd',
    hostIPs: ['127.0.0.1'],
    now: rfc3339(Date.now()),
  });
  statusManager.set(pod, status);
  manager.podStatusChanged(uid);
}

async function reasonsToKill(pod: Pod): Promise<string[]> {
  const { liveness, startup } = manager.results(pod.metadata.uid);
  const podStatus = await bed.read(pod);
  const facts = { pod, podStatus, liveness, startup, restartAllContainers: false, specChanged: () => false };
  return computePodActions(facts).containersToKill.map(({ reason }) => reason);
}

test('liveness and readiness start after startup; readiness changes both ways; liveness that fails ends the container', async () => {
  const path = (name: string) => join(bed.rootDir, name);
  const probe = (name: string, more = {}) => ({
    exec: { command: ['test', '-e', path(name)] },
    timeoutSeconds: 10,
    periodSeconds: 1,
    successThreshold: 1,
    failureThreshold: 1,
    ...more,
  });
  const main = shell('main', 'sleep 1000', {
    startupProbe: probe('started', { failureThreshold: 1000 }),
    readinessProbe: probe('ready'),
    livenessProbe: probe('alive'),
  });
  const pod = podOf({ containers: [main] });
  const { uid } = pod.metadata;
  const seen = () => {
    const { started, ready } = statusManager.get(uid)?.containerStatuses?.[0] ?? {};
    return `started ${String(started)}, ready ${String(ready)}`;
  };
  const until = (what: string) => waitFor(() => seen() === what, { what });
  const told: string[] = [];
  const context = { ...bed.context, random: Math.random };
  manager = new ProbeManager(context, { runtime: bed.runtime, ...LOCAL_PODS, statusManager });
  manager.news.subscribe(({ probe: kind, result }) => {
    told.push(`${kind} ${result}`);
    void report(pod);
  });
  for (const name of ['ready', 'alive']) writeFileSync(path(name), '');

  manager.addPod(pod);
  await bed.run(pod);
  await report(pod);
  expect(seen()).toBe('started false, ready false');

  writeFileSync(path('started'), '');
  await until('started true, ready true');
  expect(told).toEqual(['startup Success', 'readiness Success']);

  rmSync(path('ready'));
  await until('started true, ready false');
  writeFileSync(path('ready'), '');
  await until('started true, ready true');

  expect(await reasonsToKill(pod)).toEqual([]);
  rmSync(path('alive'));
  await waitFor(() => told.includes('liveness Failure'), { what: 'the liveness probe to fail' });
  expect(await reasonsToKill(pod)).toEqual(['LivenessProbe']);

  expect(bed.events.slice(-1)).toEqual(['Warning Unhealthy: Liveness probe failed: ']);
});
