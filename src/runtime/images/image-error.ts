import type { ImageErrorReason } from '../../policies/images/image-pull.ts';
import { type ErrorKind, StateletError } from '../../types/errors.ts';

/** Why a container's image cannot be had: what the container's waiting state says. */
export class ImageError extends StateletError {
  readonly reason: ImageErrorReason;
  /** From when on trying again is worth it (Unix ms), where that is known. */
  readonly retryAt?: number;

  constructor(
    reason: ImageErrorReason,
    message: string,
    options: { kind: ErrorKind; cause?: unknown; retryAt?: number },
  ) {
    super(options.kind, message, { cause: options.cause });
    this.name = 'ImageError';
    this.reason = reason;
    if (options.retryAt !== undefined) this.retryAt = options.retryAt;
  }
}
