/**
 * Checks that a container starts only with all files and variables that it requires of ConfigMaps and Secrets, in versions that
 * these have had.
 */
import type { ContainerTruth } from '../../runtime/witness.ts';
import type { Container, PodSpec } from '../../../types/kubernetes.ts';
import type { SimulatedDisk } from '../../node/simulated-disk.ts';
import { hasFiles } from '../../node/simulated-volumes.ts';
import type { ObjectVersions } from './object-versions.ts';
import { type ContentNeed, contentsBy, isMetBy, needsOfVariables, needsOfVolume } from './pod-needs.ts';

export interface ContentJudgeOptions {
  readonly versions: ObjectVersions;
  readonly disk: SimulatedDisk;
  readonly specOf: (uid: string) => PodSpec | undefined;
  readonly isStatic: (uid: string) => boolean;
  readonly violated: (uid: string, what: string) => void;
}

/** Every container of a pod of the API server gets the address of the API server. */
const OF_SERVICES = 'KUBERNETES_SERVICE_HOST';

export class ContentJudge {
  readonly #options: ContentJudgeOptions;

  constructor(options: ContentJudgeOptions) {
    this.#options = options;
  }

  started({ uid, metadata, envs }: ContainerTruth): void {
    const { specOf, isStatic, disk } = this.#options;
    const spec = specOf(uid);
    const all: readonly Container[] = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
    const container = all.find(({ name }) => name === metadata.name);
    if (spec === undefined || container === undefined || isStatic(uid)) return;
    const variables = new Map(envs.map(({ key, value }) => [key, value]));
    if ((variables.get(OF_SERVICES) ?? '') === '') this.#violated(uid, container, `knows no services`);
    for (const need of needsOfVariables(container)) this.#check(uid, container, need, variables);
    for (const { name } of container.volumeMounts ?? []) {
      const volume = spec.volumes?.find((one) => one.name === name);
      if (volume === undefined || !hasFiles(volume)) continue;
      const files = disk.get(uid)?.volumes.get(name);
      if (files === undefined) this.#violated(uid, container, `has no files in its volume ${name}`);
      else for (const need of needsOfVolume(volume)) this.#check(uid, container, need, files);
    }
  }

  #check(uid: string, container: Container, need: ContentNeed, has: ReadonlyMap<string, string>): void {
    const versions = this.#options.versions.all(need.object);
    if (versions.some(({ values }) => isMetBy(contentsBy(need, values), has, need))) return;
    const { resource, name } = need.object;
    this.#violated(uid, container, `has contents of no version of ${name} (${resource}) that it could have`);
  }

  #violated(uid: string, { name }: Container, what: string): void {
    this.#options.violated(uid, `${name} starts, and ${what}`);
  }
}
