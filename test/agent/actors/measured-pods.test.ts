import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { podObserver } from '../../../src/agent/actors/measured-pods.ts';
import { AgentMetrics } from '../../../src/agent/server/metrics/agent-metrics.ts';
import { startAgent, staticPod, type TestAgent } from '../../support/agent.ts';
import { RecordedMeasurements } from '../../support/recorded-measurements.ts';
import { testPod } from '../../support/pods.ts';
import { waitFor } from '../../support/wait-for.ts';
import { samplesNamed } from '../server/metrics/samples.ts';

let agent: TestAgent;
let measurements: RecordedMeasurements;
beforeEach(async () => {
  measurements = new RecordedMeasurements();
  agent = await startAgent({ measurements });
  agent.ready();
});
afterEach(() => agent.cleanUp());

/** The lines about the pod; each state once where the chart stays in it. */
const story = (uid: string) =>
  measurements.told.filter((line, index, lines) => line.startsWith(uid) && lines.indexOf(line) === index);

test('the life of a pod is measured from its beginning to its end', async () => {
  const pod = staticPod('web', 'uid-web');
  agent.add(pod);
  await agent.until('uid-web', 'Syncing.Settled');
  agent.remove(pod);
  await agent.until('uid-web', '');
  expect(story('uid-web')).toEqual([
    'uid-web new',
    'uid-web in Syncing.Starting.New',
    'uid-web gets SyncPodCreate',
    'uid-web in Syncing.Starting.AwaitingRuntime',
    'uid-web gets RUNTIME_READY',
    'uid-web in Syncing.Starting.AwaitingRemoval',
    'uid-web in Syncing.Starting.AwaitingName',
    'uid-web in Syncing.Starting.Admitting',
    'uid-web in Syncing.Working',
    'uid-web sync begins',
    'uid-web is Pending',
    'uid-web is Running',
    'uid-web sync ends',
    'uid-web in Syncing.Settled',
    'uid-web gets SyncPodKill',
    'uid-web in Terminating.Stopping',
    'uid-web stop begins',
    'uid-web stop ends',
    'uid-web in Terminated.CleaningUp',
    'uid-web clean_up begins',
    'uid-web clean_up ends',
    'uid-web in Terminated.Finished',
    'uid-web forgotten',
  ]);
});

test('a pod that ran before the agent started is measured as known', async () => {
  agent.add(staticPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.Settled');
  const { rootDir } = agent;
  await agent.detach();
  measurements.told.length = 0;
  agent = await startAgent({ rootDir, measurements });
  agent.ready();
  agent.add(staticPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.Settled');
  expect(measurements.told).toContain('uid-web known');
});

test('starts and ends of a pod and its containers are measured, and its new start with the same UID', async () => {
  const pod = staticPod('web', 'uid-web', {
    restartPolicy: 'Never',
    containers: [{ name: 'main', command: ['sh', '-c', 'exit 3'] }],
  });
  const told = () =>
    measurements.told.filter((line) => /^(?:admitted|pod (?!relist)|container|restarted)/.test(line));
  const once = ['admitted with 1 containers', 'pod starts', 'container starts', 'container ended: 3 Error'];
  agent.add(pod);
  await agent.until('uid-web', 'Terminated.Finished');
  expect(told()).toEqual(once);
  expect(measurements.told).toEqual(expect.arrayContaining(['pod relist begins', 'pod relist ends']));
  agent.remove(pod);
  agent.add(pod);
  await waitFor(() => told().filter((line) => line === 'container ended: 3 Error').length === 2, {
    what: 'the second end',
  });
  expect(told().filter((line) => line.startsWith('restarted'))).toEqual(['restarted a static pod']);
});

test('results of probes are measured, until the probes end', async () => {
  const probe = (command: string) => ({
    exec: { command: [command] },
    periodSeconds: 1,
    failureThreshold: 3,
  });
  const containers = [
    {
      name: 'main',
      command: ['sleep', '1000'],
      livenessProbe: probe('true'),
      readinessProbe: probe('false'),
    },
  ];
  const pod = staticPod('web', 'uid-web', { containers });
  agent.add(pod);
  const found = ['web main liveness Success', 'web main readiness Failure'];
  await waitFor(() => found.every((line) => measurements.told.includes(line)), { what: 'results' });
  agent.remove(pod);
  await agent.until('uid-web', '');
  expect(story('web')).toEqual(
    expect.arrayContaining(['web main liveness removed', 'web main readiness removed']),
  );
});

test('an effect that fails is measured as ended as well', async () => {
  await agent.cleanUp();
  const metrics = new AgentMetrics();
  agent = await startAgent({
    measurements: metrics,
    wrapEffects: (effects) => ({ ...effects, syncPod: () => Promise.reject(new Error('it must fail')) }),
  });
  agent.ready();
  agent.add(staticPod('web', 'uid-web'));
  await agent.until('uid-web', 'Syncing.BackingOff');
  await waitFor(() => metrics.pods.effectsInFlight.get('sync') === 0, { what: 'the sync to end' });
  const { 'statelet_pod_effect_duration_seconds_count{effect="sync"}': count } = samplesNamed(
    metrics.metrics(),
    'statelet_pod_effect',
  );
  expect(count).toBe('1');
});

test('a pod of the API server that has not started on any node counts as new; a pod of a manifest does not', () => {
  const observer = podObserver(measurements);
  const fromApi = testPod({ name: 'api' });
  for (const pod of [fromApi, { ...fromApi, status: { startTime: '2030-01-01T00:00:00Z' } }])
    observer.sent(pod.metadata.uid, { type: 'SyncPodCreate', pod });
  observer.sent('uid-web', { type: 'SyncPodCreate', pod: staticPod('web', 'uid-web') });
  expect(measurements.told.filter((line) => line.endsWith('is to start'))).toEqual([
    'uid-of-api is to start',
  ]);
});

test('the run time of an init container is measured once', async () => {
  const pod = staticPod('web', 'uid-web', {
    initContainers: [{ name: 'first', command: ['true'] }],
  });
  agent.add(pod);
  // The pod also settles while the init container runs.
  await waitFor(() => measurements.told.includes('uid-web is Running'), { what: 'the pod to be Running' });
  const told = measurements.told.filter((line) => line.startsWith('uid-web init container:'));
  expect(told).toHaveLength(1);
  expect(told[0]).toMatch(/: \d+ ms$/);
});
