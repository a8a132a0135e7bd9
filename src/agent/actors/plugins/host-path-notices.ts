/**
 * Writes a file for each pod that a plugin would evict: Katalyst's host path notifier. A pod mounts its folder and may put links
 * there: they are not followed.
 */
import { randomUUID } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { inFolder, placeIn } from '../../../system/files/open-place.ts';
import { patientCalls } from '../../../system/files/patient-calls.ts';
import { removeIn } from '../../../system/files/remove-tree.ts';
import { makeFolder } from '../../../system/make-folder.ts';
import { errnoCode } from '../../../system/system-errors.ts';
import { replaceFile } from '../../../system/replace-file.ts';
import type { AgentContext } from '../../../types/agent-context.ts';
import { errorMessage } from '../../../types/errors.ts';
import type { Pod } from '../../../types/kubernetes.ts';
import type { PodNotice } from '../../../types/measurements.ts';
import { podFields } from '../../../types/logger.ts';
import type { RuledPod } from '../../policies/eviction-plugins/collected-answers.ts';
import { wantsNotice } from '../../policies/eviction-plugins/qos-level.ts';
import type { PodNotices } from './plugin-parts.ts';

/** Katalyst's names. */
const FILE = 'soft_eviction_notify';
const SEPARATOR = '@@__@@';
const FOLDER_MODE = 0o755;
const FILE_MODE = 0o644;

export class HostPathNotices implements PodNotices {
  readonly #context: AgentContext;
  readonly #root: string;
  /** Names of the folders that are there; undefined until the root folder has been read. */
  #folders: Set<string> | undefined;
  /** By pod: why its folder could not be made, or written, as it was logged last. */
  readonly #problems = new Map<string, string>();
  #underWay: Promise<void> | undefined;
  #isStopped = false;

  constructor(context: AgentContext, root: string) {
    this.#context = context;
    this.#root = root;
  }

  /** Does nothing twice that is still under way from the pass before. */
  async notify(known: readonly Pod[], notified: readonly RuledPod[]): Promise<void> {
    if (!this.#isStopped)
      this.#underWay ??= this.#work(known, notified).finally(() => (this.#underWay = undefined));
    await this.#underWay;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#underWay;
  }

  /** Never rejects. */
  async #work(known: readonly Pod[], notified: readonly RuledPod[]): Promise<void> {
    const wanted = new Map(known.filter(wantsNotice).map((pod) => [folderOf(pod), pod]));
    await this.#attempt('', 'The folders for notices of evictions could not be kept up to date', () =>
      this.#keep(wanted),
    );
    const notices: PodNotice[] = [];
    for (const { pod, plugin } of notified) {
      const { name, namespace } = pod.metadata;
      const folder = folderOf(pod);
      const isWritten = await this.#attempt(
        folder,
        `Pod ${name} could not be told of its eviction`,
        () => this.#write(folder),
        pod,
      );
      const labels = { pod_ns: namespace, pod_name: name, plugin_name: plugin };
      notices.push({ state: isWritten ? 'succeeded' : 'failed', ...labels });
    }
    this.#context.measurements?.plugins.notified(notices);
  }

  async #keep(wanted: ReadonlyMap<string, Pod>): Promise<void> {
    const folders = (this.#folders ??= await this.#read(wanted.size > 0));
    for (const name of wanted.keys()) {
      if (folders.has(name)) continue;
      await this.#call(() => makeFolder(join(this.#root, name), FOLDER_MODE));
      folders.add(name);
    }
    for (const name of folders) {
      if (wanted.has(name)) continue;
      await this.#call(() => inFolder(this.#root, (root) => removeIn(root, name)));
      folders.delete(name);
      this.#problems.delete(name);
    }
  }

  /** The existing folders, also those of an earlier agent. */
  async #read(makes: boolean): Promise<Set<string>> {
    if (makes) await this.#call(() => makeFolder(this.#root, FOLDER_MODE));
    try {
      const entries = await this.#call(() => readdir(this.#root, { withFileTypes: true }));
      const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
      return new Set(names.filter((name) => name.includes(SEPARATOR)));
    } catch (error) {
      if (!makes && errnoCode(error) === 'ENOENT') return new Set();
      throw error;
    }
  }

  /** The file is replaced as a whole: a link in its place is not followed. */
  async #write(name: string): Promise<void> {
    const text = new Date(this.#context.clock.now()).toISOString();
    await this.#call(() =>
      inFolder(join(this.#root, name), (folder) => {
        const [path, draft] = [FILE, `.${FILE}.${randomUUID()}`].map((one) =>
          placeIn(folder, one).toString(),
        );
        return replaceFile(path ?? '', text, { mode: FILE_MODE, flag: 'wx', draft });
      }),
    );
  }

  #call<T>(work: () => Promise<T>): Promise<T> {
    return patientCalls.call(this.#root, work);
  }

  /** Returns whether it succeeded. Logs each problem once, and again after it was over. */
  async #attempt(key: string, what: string, work: () => Promise<void>, pod?: Pod): Promise<boolean> {
    try {
      await work();
      this.#problems.delete(key);
      return true;
    } catch (error) {
      // Somebody may have removed it: then it is made again.
      this.#folders?.delete(key);
      // The system's own message names the draft, whose name differs each time.
      const problem = `${join(this.#root, key)}: ${errnoCode(error) ?? errorMessage(error)}`;
      if (this.#problems.get(key) === problem) return false;
      this.#problems.set(key, problem);
      this.#context.logger.warn(pod ? podFields(pod.metadata) : {}, `Eviction plugins: ${what}: ${problem}`);
      if (pod)
        this.#context.recorder.event(pod.metadata, 'Warning', 'NotifyFailed', `notify failed: ${problem}`);
      return false;
    }
  }
}

/** Names of pods and namespaces have no characters that mean something in a path. */
function folderOf({ metadata: { name, namespace } }: Pod): string {
  return `${name}${SEPARATOR}${namespace}`;
}
