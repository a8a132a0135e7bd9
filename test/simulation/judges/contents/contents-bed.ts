import type { KeyValue } from '../../../../src/types/cri.ts';
import type { Container, PodSpec } from '../../../../src/types/kubernetes.ts';
import { ContentJudge } from '../../../../src/simulation/judges/contents/content-judge.ts';
import { ObjectVersions } from '../../../../src/simulation/judges/contents/object-versions.ts';
import type { ContentResource } from '../../../../src/simulation/api/pod-references.ts';
import { newFolder, type SimulatedDisk } from '../../../../src/simulation/node/simulated-disk.ts';
import { ApiBed } from '../../api/api-bed.ts';
import { container as runningContainer } from '../lifecycle-judge-bed.ts';

export const UID = 'uid-of-web';

/** A simulated API server with objects, a pod on the disk of its node, and the judge of its contents. */
export class ContentsBed {
  readonly bed = new ApiBed();
  readonly versions = new ObjectVersions(this.bed.server.store.changes);
  readonly disk: SimulatedDisk = new Map();
  readonly reported: string[] = [];
  spec: PodSpec = { containers: [] };
  isStatic = false;
  readonly #judge = new ContentJudge({
    versions: this.versions,
    disk: this.disk,
    specOf: () => this.spec,
    isStatic: () => this.isStatic,
    violated: (uid, what) => this.reported.push(`${uid}: ${what}`),
  });

  /** Undefined: the object is deleted. Of a Secret, the values are base64. */
  set(
    resource: ContentResource,
    name: string,
    data: Record<string, string> | undefined,
    immutable = false,
  ): void {
    const { operations, store } = this.bed.server;
    const target = { resource, namespace: 'default', name };
    const object = { metadata: { name, namespace: 'default' }, data, ...(immutable && { immutable }) };
    if (data === undefined) operations.delete(target);
    else if (store.get(resource, target) === undefined) operations.create(target, object);
    else operations.update(target, object);
  }

  /** The pod has these files in its volume `contents`. */
  write(files: Record<string, string>): void {
    this.disk.set(UID, { ...newFolder(), volumes: new Map([['contents', new Map(Object.entries(files))]]) });
  }

  /** The container `main` starts, with these variables. Returns what is wrong with that. */
  start(variables: Record<string, string> = {}): readonly string[] {
    const values = { KUBERNETES_SERVICE_HOST: '10.96.0.1', ...variables };
    const envs: KeyValue[] = Object.entries(values).map(([key, value]) => ({ key, value }));
    this.#judge.started(runningContainer('c1', { envs }));
    return this.reported.splice(0);
  }
}

/** A pod whose container has this volume. */
export function withVolume(volume: Omit<NonNullable<PodSpec['volumes']>[number], 'name'>): PodSpec {
  const main = { name: 'main', image: 'app', volumeMounts: [{ name: 'contents', mountPath: '/mnt' }] };
  return { containers: [main], volumes: [{ name: 'contents', ...volume }] };
}

/** A pod whose container has these variables. */
export function withVariables(variables: Pick<Container, 'env' | 'envFrom'>): PodSpec {
  return { containers: [{ name: 'main', image: 'app', ...variables }] };
}
