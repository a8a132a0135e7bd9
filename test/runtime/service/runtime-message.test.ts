import { status } from '@grpc/grpc-js';
import { expect, test } from '@jest/globals';
import { callError } from '../../../src/runtime/cri/calls/call-errors.ts';
import { runtimeMessage } from '../../../src/runtime/service/runtime-message.ts';
import { StateletError } from '../../../src/types/errors.ts';

const ENDPOINT = 'unix:///run/x.sock';

test("a runtime's answer has gRPC's code before it", () => {
  const error = callError('PullImage', ENDPOINT, { code: status.NOT_FOUND, details: 'no such image' });
  expect(runtimeMessage(error)).toBe('rpc error: code = NotFound desc = no such image');
});

test("the code is the runtime's also where the kind of the error has been made more exact", () => {
  const details = 'container is in CONTAINER_EXITED state';
  const answer = callError('ExecSync', ENDPOINT, { code: status.UNKNOWN, details });
  const error = new StateletError('FailedPrecondition', details, { cause: answer });
  expect(runtimeMessage(error)).toBe(`rpc error: code = Unknown desc = ${details}`);
});

test.each([
  ['says what to do', callError('Version', ENDPOINT, { code: status.UNAVAILABLE, details: 'refused' })],
  ['is no answer of a runtime', new StateletError('Internal', 'no room')],
  ['is of another kind', new Error('broken')],
])('an error that %s keeps its message', (_what, error) => {
  expect(runtimeMessage(error)).toBe(error.message);
});
