import { expect, test } from '@jest/globals';
import { podText, resultJson, resultLine, resultTable } from '../../src/commands/run-once-command.ts';
import type { PodResult } from '../../src/run/once/pod-verdict.ts';
import type { Pod } from '../../src/types/kubernetes.ts';

const WEB: Pod = {
  metadata: {
    name: 'web-node1',
    namespace: 'default',
    uid: 'uid-1',
    annotations: { 'kubernetes.io/config.source': 'file' },
  },
  spec: { containers: [{ name: 'main' }, { name: 'job' }] },
  status: {
    phase: 'Running',
    podIP: '10.0.0.7',
    containerStatuses: [
      { name: 'main', image: 'i', imageID: '', ready: true, restartCount: 2, state: { running: {} } },
    ],
  },
};
const FAILED: PodResult = {
  pod: WEB,
  result: 'Failed',
  reason: 'ContainersFailed',
  message: 'a container failed: job: exit code 3 (Error)',
  failedContainers: ['job'],
  leftRunning: true,
};

test('a line has the pod and its result, with reason and message if there are any', () => {
  expect(podText(WEB)).toBe('default/web-node1');
  expect(resultLine(WEB, FAILED)).toBe(
    'default/web-node1: Failed: ContainersFailed: a container failed: job: exit code 3 (Error)',
  );
  expect(resultLine(WEB, { result: 'Running', failedContainers: [] })).toBe('default/web-node1: Running');
});

test('the table has a line for each pod, with its failed containers', () => {
  expect(resultTable({ pods: [FAILED], problems: [] })).toMatch(
    /^NAMESPACE +NAME +READY +STATUS +RESTARTS +RESULT +FAILED\ndefault +web-node1 +1\/2 +Running +2 +Failed +job\n$/,
  );
  expect(resultTable({ pods: [{ ...FAILED, failedContainers: [] }], problems: [] })).toMatch(/<none>\n$/);
  expect(resultTable({ pods: [], problems: [] })).toBe('No pods.\n');
});

test('the document has results, container statuses and problems', () => {
  const problem = { source: 'file', file: 'a.yaml', message: 'is broken' } as const;
  const [container] = WEB.status?.containerStatuses ?? [];
  expect(JSON.parse(resultJson({ pods: [FAILED], problems: [problem] }))).toEqual({
    pods: [
      {
        namespace: 'default',
        name: 'web-node1',
        uid: 'uid-1',
        source: 'file',
        result: 'Failed',
        reason: 'ContainersFailed',
        message: 'a container failed: job: exit code 3 (Error)',
        failedContainers: ['job'],
        leftRunning: true,
        phase: 'Running',
        podIP: '10.0.0.7',
        initContainers: [],
        containers: [{ name: 'main', image: 'i', ready: true, restartCount: 2, state: container?.state }],
      },
    ],
    problems: [problem],
  });
});
