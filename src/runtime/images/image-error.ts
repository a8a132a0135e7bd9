import type { ImageErrorReason } from '../../policies/images/image-pull.ts';
import { type ErrorKind, StateletError } from '../../types/errors.ts';

/** Why a container has no image: the reason and the message of the container's waiting state. */
export class ImageError extends StateletError {
  readonly reason: ImageErrorReason;
  /** When to try again (Unix ms), where that is known. */
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
