import { describe, expect, test } from '@jest/globals';
import { type ProbeResults, withReadiness } from '../../../src/policies/status/container-readiness.ts';
import type { ProbeResult } from '../../../src/policies/sync/pod-facts.ts';
import type { Container, ContainerStatus } from '../../../src/types/kubernetes.ts';
import { podOf } from '../../support/pod-status-facts.ts';

const RUNNING = { running: {} };
const PROBE = { exec: { command: ['true'] } };

function status(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return {
    name,
    image: '',
    imageID: '',
    containerID: `process://${name}-1`,
    ready: false,
    restartCount: 0,
    ...more,
  };
}

/** `started` and `ready` of the regular container `app`. */
function mark(probes: Partial<Container>, state: ContainerStatus['state'], results?: ProbeResults) {
  const pod = podOf({ containers: [{ name: 'app', ...probes }] });
  const statuses = {
    containerStatuses: [status('app', { state })],
    initContainerStatuses: [],
    ephemeralContainerStatuses: [],
  };
  const [app] = withReadiness(pod, statuses, results).containerStatuses;
  return [app?.started, app?.ready];
}

/** Of the instance `app-1` only. */
const resultsOf =
  (results: { startup?: ProbeResult; readiness?: ProbeResult }): ProbeResults =>
  (probe, id) =>
    id === 'app-1' ? results[probe] : undefined;

describe('started and ready of a container', () => {
  test('that runs and has no probes: both', () => {
    expect(mark({}, RUNNING)).toEqual([true, true]);
  });

  test.each([{ waiting: {} }, { terminated: { exitCode: 0 } }, undefined])(
    'that does not run (%j): neither',
    (state) => {
      expect(mark({}, state)).toEqual([false, false]);
    },
  );

  test.each([undefined, 'UNKNOWN', 'Failure'] as const)('whose startup probe says %s: neither', (startup) => {
    expect(mark({ startupProbe: PROBE }, RUNNING, resultsOf({ startup }))).toEqual([false, false]);
  });

  test.each([undefined, 'UNKNOWN', 'Failure'] as const)(
    'whose readiness probe says %s: started alone',
    (readiness) => {
      expect(mark({ readinessProbe: PROBE }, RUNNING, resultsOf({ readiness }))).toEqual([true, false]);
    },
  );

  test('whose probes succeed: both', () => {
    const probes = { startupProbe: PROBE, readinessProbe: PROBE };
    const results = resultsOf({ startup: 'Success', readiness: 'Success' });
    expect(mark(probes, RUNNING, results)).toEqual([true, true]);
  });
});

describe('started and ready of init containers', () => {
  const pod = podOf({ initContainers: [{ name: 'setup' }, { name: 'proxy', restartPolicy: 'Always' }] });
  const initStatuses = (...initContainerStatuses: ContainerStatus[]) =>
    withReadiness(pod, { containerStatuses: [], initContainerStatuses, ephemeralContainerStatuses: [] })
      .initContainerStatuses;

  test('an init container is ready when it has succeeded, and only then', () => {
    const states = [RUNNING, { terminated: { exitCode: 1 } }, { terminated: { exitCode: 0 } }];
    const ready = states.map((state) => initStatuses(status('setup', { state }))[0]?.ready);
    expect(ready).toEqual([false, false, true]);
  });

  test('a sidecar is ready as a regular container is', () => {
    expect(initStatuses(status('proxy', { state: RUNNING }))[0]).toMatchObject({
      started: true,
      ready: true,
    });
    const ended = status('proxy', { state: { terminated: { exitCode: 0 } } });
    expect(initStatuses(ended)[0]).toMatchObject({ started: false, ready: false });
  });
});

test('ephemeral containers, and containers that are not in the spec, are left as they are', () => {
  const ephemeralContainerStatuses = [status('debug', { state: RUNNING })];
  const containerStatuses = [status('other', { state: RUNNING })];
  const statuses = { containerStatuses, initContainerStatuses: [], ephemeralContainerStatuses };
  expect(withReadiness(podOf(), statuses)).toEqual(statuses);
});
