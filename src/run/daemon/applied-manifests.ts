/**
 * The manifests that `statelet apply` writes: a file for each object in a folder of `--pods`, named after the object. The folder shows what was
 * applied, and people may change it there: the source reads it as any other manifest.
 */
import { createHash } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { LocalPods } from '../../agent/config/config.ts';
import { canonicalJson } from '../../agent/policies/formats/canonical-json.ts';
import { fullName, isLocalPod } from '../../agent/policies/pod/pod-kinds.ts';
import type { AppliedObject, ObjectName } from '../../agent/server/routes/apply-routes.ts';
import { readManifestContent } from '../../agent/sources/manifests/manifest-files.ts';
import { readManifestPods } from '../../agent/sources/manifests/manifest-pods.ts';
import type { Placed } from '../../agent/sources/objects/local-objects.ts';
import { problemText } from '../../agent/sources/source.ts';
import { patientCalls } from '../../system/files/patient-calls.ts';
import { OneAtATime } from '../../system/promises.ts';
import { replaceFile } from '../../system/replace-file.ts';
import { ifThere } from '../../system/system-errors.ts';
import { StateletError } from '../../types/errors.ts';
import type { Pod } from '../../types/kubernetes.ts';

export interface AppliedManifestsOptions {
  readonly nodeName: string;
  /** Where ordinary pods come from. */
  readonly localPods: readonly LocalPods[];
  /** The pods come from an API server. */
  readonly isInCluster: boolean;
  /** A pod that is wanted here. */
  readonly pod: (namespace: string, name: string) => Pod | undefined;
  /** What the sources have beside pods. */
  readonly objects: () => readonly Placed[];
}

type ManifestObject = Pick<AppliedObject, keyof ObjectName | 'version'>;

/** Manifests may have the values of secrets. */
const MODE = 0o600;
/** File systems take 255 bytes; a draft has a few more. */
const FILE_NAME_MAX = 200;

export class AppliedManifests {
  readonly #options: AppliedManifestsOptions;
  readonly #inTurn = new OneAtATime();
  /** Objects whose files are gone, although the source may not have noticed yet. */
  readonly #removed = new Set<string>();

  constructor(options: AppliedManifestsOptions) {
    this.#options = options;
  }

  /** Rejects with `InvalidArgument` for a manifest that the source would refuse, and with `FailedPrecondition` where it has no place. */
  apply(content: Buffer, { dryRun = false } = {}): Promise<AppliedObject> {
    return this.#inTurn.run(async () => {
      const folders = await this.#folders();
      const [first] = folders;
      if (first === undefined) throw this.#noFolder();
      const { kind, namespace, name } = await this.#objectOf(content, first);
      const object = { kind, namespace, name };
      const known = await this.#fileOf(object, folders);
      if (known === undefined) this.#refuseForeign(object);
      const file = known ?? join(first, fileName(object));
      const { version } = await this.#objectOf(content, file);
      const before = known === undefined ? undefined : await readManifestContent(known);
      const former = before === undefined ? undefined : await this.#formerObject(before, file, object);
      if (!dryRun) {
        if (before?.equals(content) !== true) await write(file, content);
        this.#removed.delete(idOf(object));
      }
      const changed = former === undefined ? 'created' : 'configured';
      return { ...object, version, file, outcome: former?.version === version ? 'unchanged' : changed };
    });
  }

  /** Removes what `apply` has written of the object. False where it has written nothing. */
  remove(object: ObjectName): Promise<boolean> {
    return this.#inTurn.run(async () => {
      const file = await this.#fileOf(object, await this.#folders());
      if (file === undefined) return false;
      await this.#formerObject(await readManifestContent(file), file, object);
      await rm(file);
      this.#removed.add(idOf(object));
      return true;
    });
  }

  /**
   * The same of what pods refer to. Rejects with `NotFound`, and with `FailedPrecondition` for an object in a manifest that `apply` has not written.
   */
  async removeObject(object: ObjectName): Promise<void> {
    if (await this.remove(object)) return;
    const place = this.#foreignPlace(object);
    if (place === undefined) throw new StateletError('NotFound', `there is no ${shown(object)}`);
    throw new StateletError(
      'FailedPrecondition',
      `${shown(object)} is in ${place}, which apply has not written: remove it there`,
    );
  }

  /** Of `--pods`, those that are folders now. */
  async #folders(): Promise<readonly string[]> {
    const paths = this.#options.localPods.flatMap((pods) => ('path' in pods ? [pods.path] : []));
    const found = await Promise.all(
      paths.map((path) => patientCalls.call(path, () => ifThere(stat(path)).catch(() => undefined))),
    );
    return paths.filter((_, index) => found[index]?.isDirectory());
  }

  async #fileOf(object: ObjectName, folders: readonly string[]): Promise<string | undefined> {
    for (const folder of folders) {
      const file = join(folder, fileName(object));
      if ((await patientCalls.call(file, () => ifThere(stat(file)))) !== undefined) return file;
    }
    return undefined;
  }

  /** `place`: the file or folder that problems name. */
  async #objectOf(content: Buffer, place: string): Promise<ManifestObject> {
    const { nodeName } = this.#options;
    const { pods, objects, problems } = await readManifestPods(content, {
      source: 'local',
      location: place,
      nodeName,
    });
    if (problems.length > 0) {
      const texts = problems.map(problemText);
      throw new StateletError('InvalidArgument', texts.join('\n'));
    }
    const all = [
      ...pods.map(({ metadata }) => ({ kind: 'Pod', ...metadata, version: metadata.uid })),
      ...objects.map(({ object, ...one }) => ({ ...one, version: digestOf(canonicalJson(object)) })),
    ];
    const [only, ...others] = all;
    if (only === undefined || others.length > 0)
      throw new StateletError('InvalidArgument', `has ${all.length} objects: one is applied at a time`);
    return only;
  }

  /** The present content of the object's file. Rejects where `apply` has not written it. */
  async #formerObject(content: Buffer, file: string, object: ObjectName): Promise<ManifestObject> {
    const former = await this.#objectOf(content, file).catch(() => undefined);
    if (former !== undefined && idOf(former) === idOf(object)) return former;
    const message = `${file} does not have ${shown(object)} alone, as apply writes it: change or remove it by hand`;
    throw new StateletError('FailedPrecondition', message);
  }

  /** Another manifest has the object, and two files cannot have the same one. */
  #refuseForeign(object: ObjectName): void {
    const place = this.#removed.has(idOf(object)) ? undefined : this.#foreignPlace(object);
    if (place === undefined) return;
    throw new StateletError(
      'FailedPrecondition',
      `${shown(object)} has a manifest that apply has not written, in ${place}: change that, and the change is noticed`,
    );
  }

  #foreignPlace(object: ObjectName): string | undefined {
    const { kind, namespace, name } = object;
    if (kind !== 'Pod') return this.#options.objects().find((one) => idOf(one.object) === idOf(object))?.file;
    const pod = this.#options.pod(namespace, name);
    return pod !== undefined && isLocalPod(pod) ? this.placeOf(pod) : undefined;
  }

  /** Where its manifest is that apply has not written, for a sentence. */
  placeOf(pod: Pod): string {
    const places = this.#options.localPods.map((one) => ('path' in one ? one.path : 'a URL'));
    return isLocalPod(pod) ? places.join(' or ') : 'the folder or URL of static pods';
  }

  #noFolder(): StateletError {
    const message = this.#options.isInCluster
      ? 'the pods of this node come from an API server: apply the manifest there, by kubectl apply'
      : 'this daemon has no folder of manifests to write into: start it with --pods FOLDER';
    return new StateletError('FailedPrecondition', message);
  }
}

/** No part of it has an underscore. */
function fileName({ kind, namespace, name }: ObjectName): string {
  const text = [kind.toLowerCase(), namespace, name].join('_');
  if (text.length <= FILE_NAME_MAX) return `${text}.yaml`;
  const hash = digestOf(text);
  return `${text.slice(0, FILE_NAME_MAX - hash.length)}_${hash}.yaml`;
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

function idOf({ kind, namespace, name }: ObjectName): string {
  return `${kind}/${fullName({ namespace, name })}`;
}

function shown({ kind, namespace, name }: ObjectName): string {
  return `${kind.toLowerCase()} ${namespace}/${name}`;
}

/** No source reads a file whose name begins with a dot. */
async function write(file: string, content: Buffer): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.tmp`);
  await rm(draft, { force: true });
  await replaceFile(file, content, { mode: MODE, draft, flag: 'wx' });
}
