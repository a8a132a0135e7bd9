import type { Image } from '../../types/cri.ts';
import { StateletError } from '../../types/errors.ts';

const IMAGE_BYTES = 50_000_000;

/** An image is present once it was pulled. One whose name contains `missing` cannot be pulled. */
export class SimulatedImages {
  readonly #images = new Map<string, Image>();

  pull(image: string): string {
    if (image.includes('missing')) {
      throw new StateletError('NotFound', `image "${image}" is in no registry: it is called missing`);
    }
    this.#images.set(image, { id: image, repoTags: [image], size: IMAGE_BYTES });
    return image;
  }

  find(image: string): Image | undefined {
    return this.#images.get(image);
  }

  list(): readonly Image[] {
    return [...this.#images.values()];
  }

  remove(image: string): void {
    this.#images.delete(image);
  }
}
