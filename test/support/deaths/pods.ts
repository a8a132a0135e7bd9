/** The pods whose daemon dies: what their containers do, and what is to become of each of them. */
import type { Container, ObjectMeta, PodSpec } from '../../../src/types/kubernetes.ts';

/** One life of a name. A manifest that is taken away and comes back as it was is the same again. */
export interface Incarnation {
  readonly name: string;
  readonly uid: string;
  readonly kind: KindName;
  /** Raised where the containers change under the UID that they have: they get another image, and start anew for it. */
  readonly revision: number;
}

export interface Kind {
  /** Containers that run for as long as the pod is wanted. */
  readonly lasting: readonly string[];
  /** Containers that run to their end, once. */
  readonly once: readonly string[];
  /** Containers that end again and again. */
  readonly restless: readonly string[];
  readonly spec: (container: Containers) => Partial<PodSpec> & Pick<PodSpec, 'containers'>;
}

/** Makes a container that notes its start, and then runs the script. */
type Containers = (name: string, script: string, fields?: Partial<Container>) => Container;

/** Makes a container of the runtime at hand that runs a shell script. */
export type Shell = (script: string, fields: Partial<Container>) => Container;

/** More changes than these a pod does not see under one UID. */
export const LAST_REVISION = 3;

export interface PodSurroundings {
  readonly shell: Shell;
  /** For each revision of a container. */
  readonly image: (revision: number) => string;
  /** The file into which the containers write. */
  readonly journal: string;
  /** What every pod of the runtime at hand has. */
  readonly fields: Partial<PodSpec>;
}

const SERVE = serve('exit 0');
/** Long enough for another to start beside it, were it not waited for. */
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
  /** On a network of its own. */
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
      containers: [container('main', SERVE, { lifecycle: { preStop: exec('sleep 0.2') } })],
    }),
  },
} as const satisfies Record<string, Kind>;

export type KindName = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as readonly KindName[];

export function kindOf({ kind }: Incarnation): Kind {
  return KINDS[kind];
}

/** A pod of which nothing runs for as long as it is wanted. */
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

/** Shell: runs until it is told to end, and does that then. */
function serve(onTerm: string): string {
  return `trap "${onTerm}" TERM; while :; do sleep 1000 & wait $!; done`;
}
