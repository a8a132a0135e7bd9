import { describe, expect, test } from '@jest/globals';
import {
  forwardedPorts,
  parsePort,
  remoteCommand,
  runCommand,
} from '../../../../src/agent/policies/server/remote-command-options.ts';
import { testVectors } from '../../../support/test-vectors.ts';

testVectors('remoteCommandOptions');

describe('the streams of a command', () => {
  test('are those whose parameter is exactly 1', () => {
    expect(remoteCommand({ query: 'input=1&output=true&error=1&command=ls&command=-l' }, true)).toEqual({
      stdin: true,
      stdout: false,
      stderr: true,
      tty: false,
      command: ['ls', '-l'],
    });
  });

  test('leave stderr out with a terminal, and then at least one must remain', () => {
    expect(remoteCommand({ query: 'output=1&error=1&tty=1' }, true)).toMatchObject({ stderr: false });
    expect(remoteCommand({ query: 'error=1&tty=1' }, true)).toMatchObject({ status: 400 });
  });

  test('follow the form before the query, while the command is of the query alone', () => {
    const asked = remoteCommand({ query: 'output=0&command=ls', form: 'output=1&command=rm' }, true);
    expect(asked).toMatchObject({ stdout: true, command: ['ls'] });
  });

  test('are judged before the pod is looked for', () => {
    expect(remoteCommand({ query: '' }, false)).toMatchObject({ status: 400 });
    expect(remoteCommand({ query: 'output=1' }, false)).toEqual({
      status: 404,
      message: 'pod does not exist',
    });
  });
});

describe('the ports to forward', () => {
  const ports = (query: string) => forwardedPorts({ query, isWebSocket: true, uid: '' }, 'u-1');

  test('are named by a WebSocket client, as lists or one by one', () => {
    expect(ports('port=80,81&port=0443')).toEqual([80, 81, 443]);
  });

  test('are named by the streams of any other client', () => {
    expect(forwardedPorts({ query: 'port=x', isWebSocket: false, uid: '' }, 'u-1')).toEqual([]);
  });

  test.each([
    ['', 'query parameter "port" is required'],
    ['port=', 'query parameter "port" cannot be empty'],
    ['port=80,0', 'port "80,0" must be > 0'],
    ['port=-1', 'unable to parse "-1" as a port: strconv.ParseUint: parsing "-1": invalid syntax'],
    [
      'port=65536x',
      'unable to parse "65536x" as a port: strconv.ParseUint: parsing "65536x": value out of range',
    ],
  ])('of the query %j are refused: %s', (query, message) => {
    expect(ports(query)).toEqual({ status: 400, message });
  });

  test('are refused for a pod of another UID', () => {
    expect(forwardedPorts({ query: '', isWebSocket: false, uid: 'u-2' }, 'u-1')).toEqual({
      status: 404,
      message: 'pod not found',
    });
  });

  test('are between 1 and 65535', () => {
    expect(parsePort('65535')).toBe(65_535);
    expect(parsePort('0')).toMatchObject({ isZero: true });
  });
});

test('the command of /run is split at each blank', () => {
  expect(runCommand('cmd=ls+-l%20%20x', true)).toEqual(['ls', '-l', '', 'x']);
  expect(runCommand('', true)).toEqual(['']);
});
