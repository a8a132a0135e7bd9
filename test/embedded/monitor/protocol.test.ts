import { describe, expect, test } from '@jest/globals';
import { encode, fromWireError, LineSplitter, toWireError } from '../../../src/embedded/monitor/protocol.ts';
import { StateletError } from '../../../src/types/errors.ts';

test('a message is one line, whatever its text', () => {
  const params = ['two\nlines'];
  const line = encode({ id: 1, method: 'removeContainer', params });
  expect(line.indexOf('\n')).toBe(line.length - 1);
  expect(JSON.parse(line)).toEqual({ id: 1, method: 'removeContainer', params });
});

describe('an error', () => {
  test('keeps its kind and message over the wire', () => {
    const sent = JSON.stringify(toWireError(new StateletError('NotFound', 'there is no container x')));
    const received = fromWireError(JSON.parse(sent) as ReturnType<typeof toWireError>);
    expect(received).toBeInstanceOf(StateletError);
    expect(received).toMatchObject({ kind: 'NotFound', message: 'there is no container x' });
  });

  test('of Node or the system is Internal, with its message', () => {
    expect(toWireError(new TypeError('no function'))).toEqual({ kind: 'Internal', message: 'no function' });
  });
});

describe('the stream of messages', () => {
  test('is cut into lines wherever chunks end', () => {
    const lines = new LineSplitter();
    const text = Buffer.from('{"ä":1}\n{"b":2}\n{"c"');
    const cut = Array.from(text, (byte) => lines.push(Buffer.from([byte]))).flat();
    expect(cut).toEqual(['{"ä":1}', '{"b":2}']);
    expect(lines.push(Buffer.from(':3}\n'))).toEqual(['{"c":3}']);
  });

  test('must not have a line that never ends', () => {
    const lines = new LineSplitter();
    const chunk = Buffer.alloc(8 * 1024 * 1024, 'x');
    expect(() => {
      for (let round = 0; round < 9; round++) lines.push(chunk);
    }).toThrow('a message of more than');
  });
});
