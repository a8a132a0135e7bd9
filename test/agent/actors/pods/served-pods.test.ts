import { expect, test } from '@jest/globals';
import { NEVER } from 'rxjs';
import { createActor } from 'xstate';
import { DesiredPods } from '../../../../src/agent/actors/pods/desired-pods.ts';
import { PodRegistry, type PodRegistryParts } from '../../../../src/agent/actors/pods/pod-registry.ts';
import { podsForCluster, servedPods, withOwnCpus } from '../../../../src/agent/actors/pods/served-pods.ts';
import { StatusManager } from '../../../../src/agent/actors/pods/status-manager.ts';
import type { PodEvent } from '../../../../src/agent/machines/pod-machine.ts';
import { supervisorMachine } from '../../../../src/agent/machines/supervisor-machine.ts';
import { LEAVE_TO_START, podChart } from '../../../support/pod-chart.ts';
import { VirtualClock } from '../../../../src/simulation/node/virtual-clock.ts';
import { testPod } from '../../../support/pods.ts';
import { testContext } from '../../../support/test-context.ts';

const pod = testPod();

/** What is served of a pod that has been told these events. */
function served(...events: PodEvent[]) {
  return servedWith(undefined, ...events);
}

function servedWith(waits: PodRegistryParts['waits'], ...events: PodEvent[]) {
  const parent = createActor(supervisorMachine, { input: { sources: [] } });
  const registry = new PodRegistry(testContext({ parent }), { synced: () => true, ...(waits && { waits }) });
  const { uid, name, namespace } = pod.metadata;
  registry.spawn({ uid, name, namespace }, 'nothing', podChart);
  for (const event of events) registry.send(uid, event);
  const statusManager = new StatusManager(testContext({ clock: new VirtualClock(0) }));
  statusManager.set(pod, { phase: 'Pending' });
  return [...servedPods(registry, statusManager)];
}

const STATUS = { phase: 'Pending', startTime: '1970-01-01T00:00:00Z' };
const CREATE: PodEvent = { type: 'SyncPodCreate', pod };

test('a pod is served with its status and the state of its chart', () => {
  expect(served(CREATE)).toEqual([{ pod, status: STATUS, state: 'Syncing.Starting.AwaitingRuntime' }]);
});

test('a pod that only the runtime knows has no object to serve', () => {
  expect(served({ type: 'SyncPodKill' })).toEqual([]);
});

test('a pod that waits is served with what it waits for, until it waits no more', () => {
  const notReady: PodEvent = { type: 'RUNTIME_NOT_READY', problem: 'it is down' };
  expect(served(CREATE, notReady)[0]?.waitsFor).toBe('waits for the container runtime: it is down');
  expect(served(CREATE, notReady, ...LEAVE_TO_START)[0]).toEqual({
    pod,
    status: STATUS,
    state: 'Syncing.Working',
  });
});

test('a pod that waits for a device plugin is served with the call', () => {
  const wait = { resource: 'example.com/gpu', call: 'Allocate', since: 0 } as const;
  const waitOf = (uid: string) => (uid === pod.metadata.uid ? wait : undefined);
  expect(servedWith([{ waitOf, waitChanges: NEVER }], CREATE)[0]?.waitsFor).toBe(
    'has waited since 1970-01-01T00:00:00.000Z for the device plugin of example.com/gpu to answer Allocate',
  );
});

test('a pod is served with the CPUs that its containers have for themselves', () => {
  const own = (...cpuIDs: number[]) =>
    [
      ...withOwnCpus(served(CREATE), {
        ofContainer: () => ({ devices: [], memory: [], claims: [], cpuIDs }),
      }),
    ][0];
  expect(own(3, 2, 5)?.ownCpus).toBe('2-3,5');
  expect(own()).toEqual(served(CREATE)[0]);
});

test('the cluster gets the pods of the sources without mirror pods; static pods with the status of this node', () => {
  const ofSource = (name: string, annotations: Readonly<Record<string, string>>) => {
    const { metadata, spec } = pod;
    const status = { phase: 'Running' as const };
    return { metadata: { ...metadata, name, uid: name, annotations }, spec, status };
  };
  const staticPod = ofSource('static', { 'kubernetes.io/config.source': 'file' });
  const apiPod = ofSource('api', { 'kubernetes.io/config.source': 'api' });
  const unknownPod = ofSource('unknown', { 'kubernetes.io/config.source': 'file' });
  const mirrorPod = ofSource('mirror', {
    'kubernetes.io/config.source': 'api',
    'kubernetes.io/config.mirror': 'static',
  });
  const desired = new DesiredPods();
  const statusManager = new StatusManager(testContext({ clock: new VirtualClock(0) }));
  for (const one of [staticPod, apiPod, unknownPod, mirrorPod]) desired.set(one);
  for (const one of [staticPod, apiPod]) statusManager.set(one, { phase: 'Pending' });
  expect([...podsForCluster(desired, statusManager)]).toEqual([
    { ...staticPod, status: STATUS },
    apiPod,
    unknownPod,
  ]);
});
