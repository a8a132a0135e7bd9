/** Methods of ours, served by grpc-js. */
import type { MethodDefinition, sendUnaryData, ServerUnaryCall } from '@grpc/grpc-js';
import { codeOfKind } from '../../src/system/grpc/grpc-codes.ts';
import type { Method } from '../../src/system/grpc/method.ts';
import { StateletError } from '../../src/types/errors.ts';

export function served<Q, A>({ path, request, response }: Method<Q, A>): MethodDefinition<Q, A> {
  return {
    path,
    requestStream: false,
    responseStream: false,
    requestSerialize: request.encode,
    requestDeserialize: request.decode,
    responseSerialize: response.encode,
    responseDeserialize: response.decode,
  };
}

/** What it throws is told with its kind as gRPC's code. */
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
