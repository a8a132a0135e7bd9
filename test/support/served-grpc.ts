/** Methods of ours, carried out by grpc-js. */
import type { sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { codeOfKind } from '../../src/system/grpc/grpc-codes.ts';
import { StateletError } from '../../src/types/errors.ts';

/** An error that it throws is sent with its kind as gRPC's code. */
export function answering<Q, A>(work: (request: Q) => A | Promise<A>) {
  return (call: ServerUnaryCall<Q, A>, callback: sendUnaryData<A>) => {
    void (async () => {
      try {
        callback(null, await work(call.request));
      } catch (error) {
        const kind = error instanceof StateletError ? error.kind : 'Unknown';
        const failure = { code: codeOfKind(kind), details: (error as Error).message };
        callback(failure);
      }
    })();
  };
}
