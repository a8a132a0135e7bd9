/** The pods whose daemon is killed: the work of their containers, and the expected result of each. */
import type { Container, ObjectMeta, PodSpec } from '../../../src/types/kubernetes.ts';

/** One incarnation of a pod name. A manifest that is removed and added again without a change is the same incarnation. */
export interface Incarnation {
  readonly name: string;
  readonly uid: string;
  readonly kind: KindName;
  /** Incremented when the containers change under the same UID: they get another image, and start again. */
  readonly revision: number;
}

export interface Kind {
  /** Containers that run as long as the pod has a manifest. */
  readonly lasting: readonly string[];
  /** Containers that run to completion, once. */
  readonly once: readonly string[];
  /** Containers that end again and again. */
  readonly restless: readonly string[];
  readonly spec: (container: Containers) => Partial<PodSpec> & Pick<PodSpec, 'containers'>;
}

/** Returns a container that records its start, and then runs the script. */
type Containers = (name: string, script: string, fields?: Partial<Container>) => Container;

/** Returns a container that runs a shell script in the tested runtime. */
export type Shell = (script: string, fields: Partial<Container>) => Container;

/** The largest number of changes under one UID. */
export const LAST_REVISION = 3;

export interface PodSurroundings {
  readonly shell: Shell;
  /** The image of each revision of a container. */
  readonly image: (revision: number) => string;
  /** The file into which the containers write. */
  readonly journal: string;
  /** The fields that every pod has in the tested runtime. */
  readonly fields: Partial<PodSpec>;
}

const SERVE = serve('exit 0');
/** Long enough that another container would start meanwhile if the agent did not wait. */
const END_SLOWLY = serve('sleep 0.2; exit 0');
const IGNORE_TERM = serve('');
const END = 'note ends';

export const KINDS = {
  two: {
    lasting: ['main', 'second'],
    once: [],
    restless: [],
    spec: (container) => ({ containers: [container('main', SERVE), container('second', SERVE)] }),
  },
  staged: {
    lasting: ['main'],
    once: ['first'],
    restless: [],
    spec: (container) => ({
      initContainers: [container('first', `sleep 0.1; ${END}`)],
      containers: [container('main', END_SLOWLY)],
    }),
  },
  /** A pod with its own network. */
  sidecar: {
    lasting: ['side', 'main'],
    once: [],
    restless: [],
    spec: (container) => ({
      hostNetwork: false,
      initContainers: [container('side', SERVE, { restartPolicy: 'Always' })],
      containers: [container('main', END_SLOWLY)],
    }),
  },
  job: {
    lasting: [],
    once: ['main'],
    restless: [],
    spec: (container) => ({ restartPolicy: 'Never', containers: [container('main', `sleep 0.3; ${END}`)] }),
  },
  crash: {
    lasting: [],
    once: [],
    restless: ['main'],
    spec: (container) => ({ containers: [container('main', 'sleep 0.1; exit 3')] }),
  },
  stubborn: {
    lasting: ['main'],
    once: [],
    restless: [],
    spec: (container) => ({
      terminationGracePeriodSeconds: 1,
      containers: [container('main', IGNORE_TERM)],
    }),
  },
  hooked: {
    lasting: ['main'],
    once: [],
    restless: [],
    spec: (container) => ({
      containers: [
        container('main', SERVE, { lifecycle: { postStart: exec('sleep 0.2'), preStop: exec('sleep 0.2') } }),
      ],
    }),
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly KindName[];

export function kindOf({ kind }: Incarnation): Kind {
  return KINDS[kind];
}

/** A pod whose containers do not run permanently. */
export function completes(pod: Incarnation): boolean {
  const { lasting, restless } = kindOf(pod);
  return lasting.length + restless.length === 0;
}

export function manifestOf(
  pod: Incarnation,
  { shell, image, journal, fields }: PodSurroundings,
): { metadata: Partial<ObjectMeta>; spec: Partial<PodSpec> } {
  const { name, uid, revision } = pod;
  const container: Containers = (containerName, script, more = {}) => {
    const note = `note() { echo "${uid} ${containerName} ${String(revision)} $1" >> ${journal}; }`;
    return shell(`${note}; note starts; ${script}`, {
      name: containerName,
      image: image(revision),
      ...more,
    });
  };
  return {
    metadata: { name, uid },
    spec: { terminationGracePeriodSeconds: 2, ...fields, ...kindOf(pod).spec(container) },
  };
}

function exec(script: string) {
  return { exec: { command: ['sh', '-c', script] } };
}

/** Shell: runs until SIGTERM, and then ends. */
function serve(onTerm: string): string {
  return `trap "${onTerm}" TERM; while :; do sleep 1000 & wait $!; done`;
}
