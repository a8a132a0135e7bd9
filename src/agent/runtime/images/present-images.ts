import type { Clock } from '../../../types/clock.ts';
import type { Image } from '../../../types/cri.ts';
import type { ImageInUse } from '../node/pod-node.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

/** How long an image that was found counts as present: containers that start together ask once. */
const RECENT_MS = 2_000;

type Annotations = Readonly<Record<string, string>>;

interface Answer {
  readonly image: ImageInUse;
  readonly askedAt: number;
}

/**
 * Which images the runtime has. Questions about one image at the same moment share one call. A yes holds for two seconds; a no holds
 * only for questions that came before the call. If the image is removed within that time, CreateContainer fails with NotFound, and
 * the caller has to call `forget`.
 */
export class PresentImages {
  readonly #runtime: Pick<RuntimeService, 'imageStatus'>;
  readonly #clock: Clock;
  readonly #asking = new Map<string, Promise<ImageInUse | undefined>>();
  readonly #recent = new Map<string, Answer>();

  constructor(runtime: Pick<RuntimeService, 'imageStatus'>, clock: Clock) {
    this.#runtime = runtime;
    this.#clock = clock;
  }

  /** Where several ask at the same moment, the annotations of the first are used. */
  async find(name: string, annotations: Annotations = {}): Promise<ImageInUse | undefined> {
    const recent = this.#recent.get(name);
    if (recent !== undefined && this.#isRecent(recent)) return recent.image;
    // The runtime may have answered the call under way before this question: then a "no" does not count.
    return (await this.#asking.get(name)) ?? this.#asking.get(name) ?? this.#ask(name, annotations);
  }

  /** The runtime is known to have the image at this moment. */
  found(name: string, image: ImageInUse, askedAt = this.#clock.now()): void {
    this.#recent.set(name, { image, askedAt });
  }

  /** By its name, or by the runtime's id of it. */
  forget(nameOrRef: string): void {
    // The ids in these answers are not known yet: any of them may be the image.
    this.#asking.clear();
    for (const [name, { image }] of this.#recent) {
      if (name === nameOrRef || image.imageRef === nameOrRef) this.#recent.delete(name);
    }
  }

  collectGarbage(): void {
    for (const [name, answer] of this.#recent) if (!this.#isRecent(answer)) this.#recent.delete(name);
  }

  #isRecent({ askedAt }: Answer): boolean {
    const age = this.#clock.now() - askedAt;
    return age >= 0 && age <= RECENT_MS;
  }

  #ask(name: string, annotations: Annotations): Promise<ImageInUse | undefined> {
    const askedAt = this.#clock.now();
    const answer = this.#answer(name, annotations);
    this.#asking.set(name, answer);
    const settle = (image: ImageInUse | undefined) => {
      // Otherwise `forget` was called meanwhile.
      if (this.#asking.get(name) !== answer) return;
      this.#asking.delete(name);
      if (image !== undefined) this.found(name, image, askedAt);
    };
    answer.then(settle, () => settle(undefined));
    return answer;
  }

  async #answer(name: string, annotations: Annotations): Promise<ImageInUse | undefined> {
    const image = await this.#runtime.imageStatus(name, { annotations });
    return image && imageInUse(image.id, image);
  }
}

export function imageInUse(imageRef: string, { uid, username }: Pick<Image, 'uid' | 'username'>): ImageInUse {
  return { imageRef, uid, ...(username && { username }) };
}
