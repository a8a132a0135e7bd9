/** Checks at the end, when nothing fails any more, that the volumes of pods have the contents of the objects at the API server. */
import type { Container, Pod } from '../../../types/kubernetes.ts';
import { referenceKey, referencesOf } from '../../api/pod-references.ts';
import type { SimulatedDisk } from '../../node/simulated-disk.ts';
import type { ObjectVersions } from './object-versions.ts';
import { type ContentNeed, contentsBy, isMetBy, needsOfVariables, needsOfVolume } from './pod-needs.ts';

export interface ContentFacts {
  readonly versions: ObjectVersions;
  readonly disk: SimulatedDisk;
}

/** The first object that the pod requires and the API server does not have, or not with all its keys, if any. The pod may wait for it. */
export function lackedObject({ versions }: ContentFacts, { spec }: Pod): string | undefined {
  const containers: readonly Container[] = [...(spec.initContainers ?? []), ...spec.containers];
  const mounted = new Set(
    containers.flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
  );
  const volumes = (spec.volumes ?? []).filter(({ name }) => mounted.has(name));
  const needs = [...containers.flatMap(needsOfVariables), ...volumes.flatMap(needsOfVolume)];
  return needs.find((need) => isLacking(versions, need))?.object.name;
}

/** The first volume whose files are not up to date, if any. */
export function outdatedVolume(
  { versions, disk }: ContentFacts,
  { metadata, spec }: Pod,
): string | undefined {
  const written = disk.get(metadata.uid)?.volumes ?? new Map<string, ReadonlyMap<string, string>>();
  for (const [name, files] of written) {
    const volume = spec.volumes?.find((one) => one.name === name);
    const needs = volume === undefined ? [] : needsOfVolume(volume);
    // While an object is missing, a volume keeps the files that it has.
    if (needs.some((need) => isLacking(versions, need))) continue;
    const stale = needs.find((need) => !isUpToDate(versions, need, files));
    if (stale !== undefined) return `its volume ${name} has not what ${stale.object.name} has`;
    const labels = files.get('labels');
    const wanted = Object.entries(metadata.labels ?? {}).map(([key, value]) => `${key}="${value}"`);
    if (labels !== undefined && labels !== wanted.join('\n')) return `its volume ${name} has not its labels`;
  }
  return undefined;
}

const isLacking = (versions: ObjectVersions, need: ContentNeed): boolean =>
  contentsBy(need, versions.current(need.object).values) === undefined;

/** A node does not look again at an immutable object: it may still have a version whose object was deleted and made again. */
function isUpToDate(
  versions: ObjectVersions,
  need: ContentNeed,
  files: ReadonlyMap<string, string>,
): boolean {
  const { object } = need;
  const allowed = [versions.current(object), ...versions.all(object).filter(({ immutable }) => immutable)];
  return allowed.some(({ values }) => isMetBy(contentsBy(need, values), files, need));
}

const CONTENT = /^(?:configmaps|secrets)\//;

/** A node watches the ConfigMaps and Secrets to which its pods refer, each once. Returns the first needless watch, if any. */
export function needlessWatch(watched: readonly string[], pods: readonly Pod[]): string | undefined {
  const contents = watched.filter((subject) => CONTENT.test(subject));
  const twice = contents.find((subject, index) => contents.indexOf(subject) !== index);
  if (twice !== undefined) return `${twice} is watched twice`;
  const referred = new Set(pods.flatMap((pod) => referencesOf(pod).map(referenceKey)));
  const needless = contents.find((subject) => !referred.has(subject));
  return needless === undefined ? undefined : `${needless} is watched, and no pod refers to it`;
}
