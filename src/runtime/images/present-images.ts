import type { Clock } from '../../types/clock.ts';
import type { Image } from '../../types/cri.ts';
import type { ImageInUse } from '../node/pod-node.ts';
import type { RuntimeService } from '../service/runtime-service.ts';

/** How long an image that was found counts as being there: what starts together asks once. */
const RECENT_MS = 2_000;

type Annotations = Readonly<Record<string, string>>;

interface Answer {
  readonly image: ImageInUse;
  readonly askedAt: number;
}

/**
 * Which images the runtime has. Questions about one image at the same moment are one call, and a yes holds for two
 * seconds; a no holds for nobody who asked later than the call was made. An image that is removed within that time
 * makes CreateContainer fail with NotFound; whoever sees that calls `forget`.
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

  /** Of those who ask at the same moment, the first's annotations count: they share the pull as well. */
  async find(name: string, annotations: Annotations = {}): Promise<ImageInUse | undefined> {
    const recent = this.#recent.get(name);
    if (recent !== undefined && this.#isRecent(recent)) return recent.image;
    // The call under way may have been answered before this question came up: only its yes is good for it.
    return (await this.#asking.get(name)) ?? this.#asking.get(name) ?? this.#ask(name, annotations);
  }

  /** The runtime has just been seen to have it. */
  found(name: string, image: ImageInUse, askedAt = this.#clock.now()): void {
    this.#recent.set(name, { image, askedAt });
  }

  /** By its name or by what the runtime calls it. */
  forget(nameOrRef: string): void {
    // Which of these it is about is not known before they are answered.
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
      // Otherwise it has been forgotten since.
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
  return { imageRef, ...(uid !== undefined && { uid }), ...(username && { username }) };
}
