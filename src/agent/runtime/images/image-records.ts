import { join } from 'node:path';
import type { PullCredentials } from '../../policies/images/image-credentials.ts';
import {
  fullName,
  nameWithoutTag,
  needsVerification,
  type VerificationSettings,
} from '../../policies/images/image-pull.ts';
import {
  accessWith,
  type CredentialSource,
  credentialsFrom,
  type ImagePullCredentials,
  type ImagePulledRecord,
  type ImagePullIntent,
  readPulledRecord,
  readPullIntent,
  recordedAccess,
  RECORD_API_VERSION,
  recordWith,
} from '../../policies/images/pulled-record.ts';
import { rfc3339 } from '../../policies/formats/time.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import type { Image } from '../../../types/cri.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { PullCheck } from '../../../types/measurements.ts';
import type { RuntimeService } from '../service/runtime-service.ts';
import { RecordFiles } from './record-files.ts';

/** A record has whole seconds. */
const TIME_ROUNDING_MS = 1000;

/**
 * Which images this node has pulled, and with whose credentials: in memory, and on disk in the kubelet's files below `image_manager`,
 * so that either agent goes on where the other ended. No file holds credentials, only hashes of those of Secrets.
 */
export class ImageRecords {
  readonly #context: AgentContext;
  readonly #runtime: Pick<RuntimeService, 'listImages'>;
  readonly #verification: VerificationSettings;
  readonly #pulling: RecordFiles;
  readonly #pulled: RecordFiles;
  /** By image: how many pods wait for a pull of it. 0: the agent was ended during such a pull. */
  readonly #intents = new Map<string, number>();
  /** By the runtime's id of the image. */
  readonly #records = new Map<string, ImagePulledRecord>();
  /** Paths of files that are no records. They say only that the image was pulled. */
  readonly #unreadable = new Set<string>();
  #loaded: Promise<void> | undefined;
  #recovered: Promise<void> | undefined;

  constructor(
    context: AgentContext,
    runtime: Pick<RuntimeService, 'listImages'>,
    rootDir: string,
    verification: VerificationSettings,
  ) {
    this.#context = context;
    this.#runtime = runtime;
    this.#verification = verification;
    const dir = join(rootDir, 'image_manager');
    const onChange = () => context.measurements?.images.pullRecords(this.#pulling.count, this.#pulled.count);
    this.#pulling = new RecordFiles(join(dir, 'pulling'), onChange);
    this.#pulled = new RecordFiles(join(dir, 'pulled'), onChange);
  }

  /**
   * Whether a pod may use an image that is present; otherwise the registry has to be asked. `credentials` is called only where the
   * answer depends on it.
   */
  async mayUse(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredentials[]>,
  ): Promise<boolean> {
    let result: PullCheck = 'error';
    try {
      result = await this.#check(image, imageRef, credentials);
      return result !== 'mustAuthenticate';
    } finally {
      this.#context.measurements?.images.pullChecked(result);
    }
  }

  /** A pull of the image begins. Rejects with the system's error. */
  async begin(image: string): Promise<void> {
    await this.#load();
    const intent: ImagePullIntent = { kind: 'ImagePullIntent', apiVersion: RECORD_API_VERSION, image };
    this.#intents.set(image, (this.#intents.get(image) ?? 0) + 1);
    try {
      await this.#pulling.write(image, intent);
    } catch (error) {
      await this.end(image);
      throw error;
    }
  }

  /** The image has been pulled with credentials of that source. To be followed by `end`, unless it resolves with false. */
  async pulled(image: string, imageRef: string, source: CredentialSource | undefined): Promise<boolean> {
    return this.#note(image, imageRef, credentialsFrom(source));
  }

  /** The pull has ended for one of those who wanted it. */
  async end(image: string): Promise<void> {
    const others = (this.#intents.get(image) ?? 0) - 1;
    if (others > 0) {
      this.#intents.set(image, others);
      return;
    }
    this.#intents.delete(image);
    try {
      await this.#pulling.remove(image);
    } catch (error) {
      this.#context.logger.warn({ image }, `failed to remove image pull intent: ${errorMessage(error)}`);
    }
  }

  /** Forgets images that the runtime did not have at that time (Unix ms). */
  async prune(imageRefs: Iterable<string>, listedAt: number): Promise<void> {
    await this.#load();
    const present = new Set(imageRefs);
    for (const [imageRef, { lastUpdatedTime }] of this.#records) {
      const mayBeNewer = Date.parse(lastUpdatedTime) + TIME_ROUNDING_MS > listedAt;
      if (present.has(imageRef) || mayBeNewer) continue;
      this.#records.delete(imageRef);
      await this.#pulled.remove(imageRef);
    }
  }

  async #check(
    image: string,
    imageRef: string,
    credentials: () => Promise<readonly PullCredentials[]>,
  ): Promise<PullCheck> {
    await this.#load();
    const record = this.#records.get(imageRef);
    if (!needsVerification(this.#verification, image, this.#wasPulled(image, imageRef)))
      return 'credentialPolicyAllowed';
    const name = nameWithoutTag(image);
    const recorded = recordedAccess(record, name);
    if (recorded === 'granted') return 'credentialRecordFound';
    if (recorded !== 'depends on credentials' || record === undefined) return 'mustAuthenticate';
    const sources = (await credentials()).map(({ source }) => source);
    const { isGranted, learned } = accessWith(record, name, sources);
    if (learned) await this.#note(image, imageRef, learned);
    return isGranted ? 'credentialRecordFound' : 'mustAuthenticate';
  }

  #wasPulled(image: string, imageRef: string): boolean {
    return (
      this.#records.has(imageRef) ||
      this.#unreadable.has(this.#pulled.pathOf(imageRef)) ||
      this.#intents.has(image) ||
      this.#unreadable.has(this.#pulling.pathOf(image))
    );
  }

  /** False: the record could not be written. The intent stays then, and says that this node has pulled the image. */
  async #note(
    image: string,
    imageRef: string,
    credentials: ImagePullCredentials | undefined,
  ): Promise<boolean> {
    const { clock, logger } = this.#context;
    const record = recordWith(this.#records.get(imageRef), {
      imageRef,
      name: nameWithoutTag(image),
      credentials,
      now: rfc3339(clock.now()),
    });
    if (record === undefined) return true;
    this.#records.set(imageRef, record);
    try {
      await this.#pulled.write(imageRef, record);
      return true;
    } catch (error) {
      logger.warn({ image }, `failed to write image pulled record: ${errorMessage(error)}`);
      return false;
    }
  }

  async #load(): Promise<void> {
    this.#loaded ??= this.#read();
    try {
      await this.#loaded;
    } catch (error) {
      this.#loaded = undefined;
      throw error;
    }
    this.#recovered ??= this.#recover();
    await this.#recovered;
  }

  async #read(): Promise<void> {
    for (const { path, content } of await this.#pulled.read()) {
      const record = readPulledRecord(content);
      if (record !== undefined) this.#records.set(record.imageRef, record);
      else this.#cannotRead(path);
    }
    for (const { path, content } of await this.#pulling.read()) {
      const image = readPullIntent(content);
      if (image !== undefined) this.#intents.set(image, 0);
      else this.#cannotRead(path);
    }
  }

  #cannotRead(path: string): void {
    this.#unreadable.add(path);
    const effect = 'the next pod of the image has to show credentials to the registry';
    this.#context.logger.warn({ file: path }, `${path}: is no record of a pull: ${effect}`);
  }

  /**
   * The agent was ended during a pull. If the image is there, it may be that this pull brought it: its next pod has to show credentials.
   * Where the runtime does not answer, the intents stay, which has the same effect.
   */
  async #recover(): Promise<void> {
    if (this.#intents.size === 0) return;
    let images: readonly Image[];
    try {
      images = await this.#runtime.listImages();
    } catch {
      this.#recovered = undefined;
      return;
    }
    for (const [image, waiting] of this.#intents) {
      const name = fullName(image);
      const found = images.filter(({ repoTags, repoDigests = [] }) =>
        [...repoTags, ...repoDigests].includes(name),
      );
      if (waiting > 0 || found.length === 0) continue;
      const notes = await Promise.all(found.map(({ id }) => this.#note(image, id, undefined)));
      if (notes.every(Boolean)) await this.end(image);
    }
  }
}
