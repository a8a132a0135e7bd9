import type { MessageType } from '../protobuf.ts';

/** A method of a gRPC service that is asked once and answers once. */
export interface Method<Q, A> {
  /** The name in errors. */
  readonly name: string;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly request: MessageType<Q>;
  readonly response: MessageType<A>;
}
