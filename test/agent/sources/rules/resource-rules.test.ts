import { expect, test } from '@jest/globals';
import { withDefaults } from '../../../../src/agent/sources/defaults/pod-defaults.ts';
import { resourceProblems } from '../../../../src/agent/sources/rules/resource-rules.ts';
import { problemText } from '../../../../src/agent/sources/source.ts';

function problems(spec: object): string[] {
  const complete = withDefaults({ containers: [{ name: 'main' }], ...spec });
  return resourceProblems(complete).map((problem) => problemText(problem));
}
const ofContainer = (resources: object) => problems({ containers: [{ name: 'main', resources }] });
const AMOUNTS = 'spec.containers[0].resources';

test('extended resources and huge pages come in whole units', () => {
  const limits = { 'example.com/gpu': '1500m', 'hugepages-2Mi': '3Mi', memory: '1Gi' };
  const found = ofContainer({ limits });
  expect(found).toContain(`${AMOUNTS}.limits.example.com/gpu: must be a whole number`);
  expect(found).toContain(`${AMOUNTS}.limits.hugepages-2Mi: must be a multiple of 2Mi`);
  expect(ofContainer({ limits: { 'example.com/gpu': 2, 'hugepages-2Mi': '4Mi', memory: '1Gi' } })).toEqual(
    [],
  );
});

test('a resource that cannot be overcommitted has a limit, and a request of the same amount', () => {
  expect(ofContainer({ requests: { 'example.com/gpu': 1 } })).toEqual([
    `${AMOUNTS}.requests.example.com/gpu: needs a limit of the same amount: it cannot be overcommitted`,
  ]);
  expect(ofContainer({ limits: { 'example.com/gpu': 2 }, requests: { 'example.com/gpu': 1 } })).toEqual([
    `${AMOUNTS}.requests.example.com/gpu: must equal the limit, 2: it cannot be overcommitted`,
  ]);
});

test('a container with huge pages also needs cpu or memory', () => {
  expect(ofContainer({ limits: { 'hugepages-2Mi': '2Mi' } })).toEqual([
    `${AMOUNTS}: huge pages need cpu or memory beside them`,
  ]);
});

test('a pod-level request is within the pod-level limit, and covers the requests of the containers', () => {
  const containers = [{ name: 'main', resources: { requests: { cpu: '2' } } }];
  expect(problems({ resources: { requests: { cpu: '2' }, limits: { cpu: '1' } } })).toEqual([
    'spec.resources.requests.cpu: must not exceed the limit of the pod (2 > 1)',
  ]);
  expect(problems({ resources: { requests: { cpu: '1' } }, containers })).toEqual([
    'spec.resources.requests.cpu: must be at least what its containers request together, 2',
  ]);
});

test('a limit of a container is within the pod-level limit', () => {
  const containers = [
    { name: 'main', resources: { limits: { memory: '2Gi' }, requests: { memory: '1Gi' } } },
  ];
  expect(problems({ resources: { limits: { memory: '1Gi' } }, containers })).toEqual([
    `${AMOUNTS}.limits.memory: must not exceed the limit of the pod, 1Gi`,
  ]);
});

test('only cpu, memory and huge pages can be set for a whole pod; claims are refused', () => {
  expect(
    problems({ resources: { limits: { 'ephemeral-storage': '1Gi' }, claims: [{ name: 'c' }] } }),
  ).toEqual(
    expect.arrayContaining([
      'spec.resources.claims: must not be set for the pod as a whole',
      'spec.resources.limits.ephemeral-storage: only cpu, memory and hugepages-SIZE can be set for the pod as a whole',
    ]),
  );
  expect(ofContainer({ claims: [{ name: 'c' }] })).toEqual([
    `${AMOUNTS}.claims: needs spec.resourceClaims, which a pod of a file or URL cannot have`,
  ]);
});

test('a divisor fits its resource, in variables and in volumes', () => {
  const ref = (resource: string, divisor: string) => ({ resourceFieldRef: { resource, divisor } });
  const env = [
    { name: 'A', valueFrom: ref('limits.cpu', '1m') },
    { name: 'B', valueFrom: ref('limits.cpu', '1Ki') },
  ];
  const item = { path: 'memory', ...ref('limits.memory', '2Mi') };
  const volumes = [{ name: 'v', projected: { sources: [{ downwardAPI: { items: [item] } }] } }];
  expect(problems({ containers: [{ name: 'main', env }], volumes })).toEqual([
    'spec.containers[0].env[1].valueFrom.resourceFieldRef.divisor: must be one of 1m, 1 (got "1Ki")',
    expect.stringMatching(
      /^spec\.volumes\[0\]\.projected\.sources\[0\]\.downwardAPI\.items\[0\]\.resourceFieldRef\.divisor: must be one of 1, 1k, /,
    ),
  ]);
});

test('a container has one resize policy for a resource', () => {
  const resizePolicy = ['cpu', 'cpu'].map((resourceName) => ({ resourceName, restartPolicy: 'NotRequired' }));
  expect(problems({ containers: [{ name: 'main', resizePolicy }] })).toEqual([
    'spec.containers[0].resizePolicy[1].resourceName: "cpu" is used twice',
  ]);
});
