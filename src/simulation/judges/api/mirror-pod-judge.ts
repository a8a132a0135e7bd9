/** Mirror pods are made of static pods, and are not deleted as long as they are right. */
import { CONFIG_HASH_ANNOTATION, CONFIG_MIRROR_ANNOTATION } from '../../../policies/pod/pod-kinds.ts';
import { isTerminal } from '../../api/served-pod-rules.ts';
import type { Pod } from '../../../types/kubernetes.ts';

export interface MirrorPodJudgeOptions {
  /** The name of the static pod of that UID, if there ever was one. */
  readonly staticNameOf: (uid: string) => string | undefined;
  /** The UID of the static pod that is wanted under that name now. */
  readonly wantedUID: (name: string) => string | undefined;
  /** Whether the agent is still ending the pod of that UID. */
  readonly isEnding: (uid: string) => boolean;
  /** Whether the manifest of that UID was removed and came back: then the static pod lives again, and gets another mirror pod. */
  readonly wasWantedAgain: (uid: string) => boolean;
  /** Whether a person has deleted the pod of that UID on the node. */
  readonly wasDeletedByHand: (uid: string) => boolean;
  readonly violated: (subject: { readonly uid: string }, what: string) => void;
}

export class MirrorPodJudge {
  readonly #options: MirrorPodJudgeOptions;

  constructor(options: MirrorPodJudgeOptions) {
    this.#options = options;
  }

  made({ metadata }: Pod): void {
    const { name } = metadata;
    const hash = hashOf(metadata);
    const mirrored = metadata.annotations?.[CONFIG_MIRROR_ANNOTATION];
    if (mirrored !== hash) this.#violated(hash, `the mirror pod ${name} is one of ${String(mirrored)}`);
    if (this.#options.staticNameOf(hash) !== name)
      this.#violated(hash, `the mirror pod ${name} is made of no static pod of that name`);
  }

  /**
   * One that has ended may be replaced: the same manifest may be wanted again. `isAgreed`: the request is of a time when the static
   * pod was wanted again, and this mirror pod was of its earlier life.
   */
  removed(mirrorPod: Pod, { isAgreed = false } = {}): void {
    const { metadata } = mirrorPod;
    const { name, deletionTimestamp } = metadata;
    const hash = hashOf(metadata);
    if (deletionTimestamp !== undefined || isTerminal(mirrorPod)) return;
    const { wantedUID, wasWantedAgain, wasDeletedByHand, isEnding } = this.#options;
    const wanted = wantedUID(name);
    const isDeleted = wasDeletedByHand(hash);
    if (wanted === hash && !wasWantedAgain(hash) && !isDeleted)
      this.#violated(hash, `the mirror pod ${name} is deleted, and it is right`);
    if ((wanted === undefined || isDeleted) && isEnding(hash) && !isAgreed)
      this.#violated(hash, `the mirror pod ${name} is deleted before its static pod has ended`);
  }

  /** Whether the mirror pod may go although its static pod is wanted. */
  mayBeReplaced({ metadata }: Pod): boolean {
    const { wantedUID, wasWantedAgain } = this.#options;
    const hash = hashOf(metadata);
    return wantedUID(metadata.name) === hash && wasWantedAgain(hash);
  }

  #violated(uid: string, what: string): void {
    this.#options.violated({ uid }, what);
  }
}

const hashOf = ({ annotations = {} }: Pod['metadata']): string => annotations[CONFIG_HASH_ANNOTATION] ?? '';
