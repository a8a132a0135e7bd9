/** The pods of a simulation. A container's command says what it does (src/simulation/runtime/simulated-program.ts). */
import type { Container, Pod, PodSpec } from '../../types/kubernetes.ts';
import { withRequests } from './pod-requests.ts';
import { withStorage } from './pod-storage.ts';
import type { SeededRandom } from './seeded-random.ts';

const IMAGE = 'registry.example/app:1';

function container(name: string, words: string, more: Partial<Container> = {}): Container {
  return { name, image: IMAGE, command: words.split(' '), ...more };
}

const RUN = container('main', 'run');

type SpecMaker = (random: SeededRandom) => PodSpec;

const seconds = (random: SeededRandom, min: number, max: number): string =>
  `${String(random.integer(min, max))}s`;

const SPECS: readonly SpecMaker[] = [
  () => ({ containers: [RUN] }),
  () => ({ containers: [RUN, container('side', 'run')] }),
  () => ({ containers: [RUN], hostNetwork: true }),
  // Containers that end: with success, with failure, and again and again.
  (random) => ({
    containers: [container('main', `run exit-after=${seconds(random, 0, 120)}`)],
    restartPolicy: 'Never',
  }),
  (random) => ({
    containers: [container('main', `run exit-after=${seconds(random, 1, 60)} code=1`)],
    restartPolicy: 'OnFailure',
  }),
  (random) => ({ containers: [container('main', `run exit-after=${seconds(random, 5, 900)} code=1`)] }),
  (random) => ({
    containers: [RUN, container('job', `run exit-after=${seconds(random, 0, 30)}`)],
    restartPolicy: 'OnFailure',
  }),
  () => ({ containers: [container('main', 'fail'), container('side', 'succeed')], restartPolicy: 'Never' }),
  // Containers that cannot start.
  () => ({ containers: [container('main', 'crash-at-start')] }),
  () => ({ containers: [{ ...RUN, image: 'registry.example/missing:1' }] }),
  // Containers that are slow to stop, or ignore SIGTERM.
  (random) => ({
    containers: [container('main', `run term-takes=${seconds(random, 1, 20)} term-code=0`)],
  }),
  (random) => ({
    containers: [container('main', 'run ignore-term')],
    terminationGracePeriodSeconds: random.integer(1, 60),
  }),
  // Init containers and sidecars.
  (random) => ({
    initContainers: [container('init', `run exit-after=${seconds(random, 0, 20)}`)],
    containers: [RUN],
  }),
  () => ({ initContainers: [container('init', 'fail')], containers: [RUN], restartPolicy: 'Never' }),
  (random) => ({
    initContainers: [
      container('first', 'succeed'),
      container('sidecar', `run term-takes=${seconds(random, 0, 5)}`, { restartPolicy: 'Always' }),
      container('last', 'succeed'),
    ],
    containers: [RUN],
  }),
  (random) => ({
    initContainers: [container('sidecar', 'run', { restartPolicy: 'Always' })],
    containers: [container('main', `run exit-after=${seconds(random, 1, 60)}`)],
    restartPolicy: 'Never',
  }),
  // Hooks.
  (random) => {
    const seconds = random.integer(0, 5);
    const command = ['succeed', `takes=${String(seconds)}s`];
    const postStart = seconds % 2 === 0 ? { sleep: { seconds } } : { exec: { command } };
    return { containers: [container('main', 'run', { lifecycle: { postStart } })] };
  },
  (random) => ({
    containers: [
      container('main', 'run ignore-term', {
        lifecycle: { preStop: { exec: { command: ['succeed', `takes=${seconds(random, 1, 40)}`] } } },
      }),
    ],
  }),
  () => ({
    containers: [container('main', 'run', { lifecycle: { postStart: { exec: { command: ['fail'] } } } })],
  }),
  // Probes.
  (random) => ({
    containers: [
      container('main', 'run', {
        readinessProbe: {
          exec: { command: ['succeed', `until=${seconds(random, 1, 30)}`] },
          periodSeconds: 5,
        },
        livenessProbe: {
          exec: { command: ['fail', `until=${seconds(random, 60, 600)}`] },
          periodSeconds: 10,
          failureThreshold: 2,
        },
      }),
    ],
  }),
  (random) => ({
    containers: [
      container('main', 'run', {
        startupProbe: {
          exec: { command: ['succeed', `until=${seconds(random, 1, 40)}`] },
          periodSeconds: 5,
          failureThreshold: 4,
        },
      }),
    ],
  }),
  (random) => ({ containers: [RUN], activeDeadlineSeconds: random.integer(5, 600) }),
];

/** A pod spec, with the defaults that the API server sets. */
export function podSpec(random: SeededRandom): PodSpec {
  const spec = random.pick(SPECS)(random);
  const completed = {
    restartPolicy: 'Always',
    terminationGracePeriodSeconds: 30,
    enableServiceLinks: true,
    ...spec,
  };
  return withStorage(withRequests(completed, random), random);
}

/** Whether, by its spec, all containers of the pod run until they are stopped. */
export function goesOnForever({ spec }: Pod): boolean {
  if (spec.activeDeadlineSeconds !== undefined) return false;
  const inits = spec.initContainers ?? [];
  return spec.containers.every(runsForever) && inits.every((init) => succeeds(init) || isSidecar(init));
}

function runsForever(container: Container): boolean {
  const { image = '', livenessProbe, startupProbe, lifecycle } = container;
  const isKilled = livenessProbe ?? startupProbe;
  const hookFails = lifecycle?.postStart?.exec?.command?.[0] === 'fail';
  return !endsItself(container) && !image.includes('missing') && isKilled === undefined && !hookFails;
}

function endsItself({ command = [] }: Container): boolean {
  return command[0] !== 'run' || command.some((word) => word.startsWith('exit-after'));
}

function succeeds({ command = [] }: Container): boolean {
  return command[0] !== 'fail' && !command.includes('code=1');
}

const isSidecar = ({ restartPolicy }: Container): boolean => restartPolicy === 'Always';

/** Whether, by its spec, the pod always runs to its end. */
export function endsForGood({ spec }: Pod): boolean {
  const { containers, initContainers = [], activeDeadlineSeconds, restartPolicy } = spec;
  if (activeDeadlineSeconds !== undefined) return true;
  if (restartPolicy === 'Never') return containers.every(endsItself) || !initContainers.every(succeeds);
  return restartPolicy === 'OnFailure' && containers.every((one) => endsItself(one) && succeeds(one));
}
