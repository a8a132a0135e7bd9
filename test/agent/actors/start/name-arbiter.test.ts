import { beforeEach, describe, expect, test } from '@jest/globals';
import { NameArbiter } from '../../../../src/agent/actors/start/name-arbiter.ts';
import type { PodReference } from '../../../../src/types/event-recorder.ts';

const pod = (uid: string, more: Partial<PodReference> = {}): PodReference => ({
  name: 'web',
  namespace: 'default',
  uid,
  ...more,
});

let names: NameArbiter;
/** The answers to pods, in their order. */
let answers: string[];

beforeEach(() => {
  names = new NameArbiter();
  answers = [];
});

function request(uid: string, more: Partial<PodReference> = {}): void {
  names.request(pod(uid, more), (event) => {
    if (event.type === 'NAME_GRANTED') answers.push(`${uid} granted`);
    else answers.push(`${uid} waits for ${/UID ([^)]*)/.exec(event.delay.message)?.[1] ?? ''}`);
  });
}

describe('10: under a static full name', () => {
  test('one pod starts at a time, in the order of the requests; the others learn which pod must end first', () => {
    for (const uid of ['a', 'b', 'c']) request(uid);
    expect(answers).toEqual(['a granted', 'b waits for a', 'c waits for a']);
    names.ended(pod('a'));
    expect(answers.slice(3)).toEqual(['b granted', 'c waits for b']);
    names.ended(pod('b'));
    expect(answers.slice(5)).toEqual(['c granted']);
  });

  test('the delay names the pod that has to end', () => {
    request('a');
    let message = '';
    names.request(pod('b'), (event) => {
      if (event.type === 'NAME_TAKEN') ({ message } = event.delay);
    });
    expect(message).toBe('waits for default/web (UID a) to end: it has the same name');
  });

  test('pods of other names and namespaces start at once', () => {
    request('a');
    request('b', { namespace: 'other' });
    request('c', { name: 'db' });
    expect(answers).toEqual(['a granted', 'b granted', 'c granted']);
  });

  test('a pod that was deleted while it waited is skipped', () => {
    for (const uid of ['a', 'b', 'c']) request(uid);
    names.ended(pod('b'));
    names.ended(pod('a'));
    expect(answers.slice(3)).toEqual(['c granted']);
  });

  test('the pod that has the name may ask again: its actor was replaced', () => {
    for (const uid of ['a', 'b', 'a']) request(uid);
    expect(answers).toEqual(['a granted', 'b waits for a', 'a granted']);
  });

  test('a pod that waits may ask again, keeps its place, and is answered by its newest request', () => {
    for (const uid of ['a', 'b', 'c', 'b']) request(uid);
    names.ended(pod('a'));
    expect(answers.filter((answer) => answer.endsWith('granted'))).toEqual(['a granted', 'b granted']);
  });

  test('I6: the end of a pod that does not have the name frees nothing', () => {
    request('a');
    names.ended(pod('x'));
    request('b');
    expect(answers).toEqual(['a granted', 'b waits for a']);
  });

  test('a name that is free again can be taken', () => {
    request('a');
    names.ended(pod('a'));
    request('b');
    expect(answers).toEqual(['a granted', 'b granted']);
  });
});

describe('10: if pods of one static name run when the agent starts', () => {
  const granted = () => answers.filter((answer) => answer.endsWith('granted'));

  test('the wanted pod waits until all others have ended', () => {
    for (const uid of ['a', 'b', 'c']) names.adopt(pod(uid));
    request('b');
    names.ended(pod('a'));
    expect(granted()).toEqual([]);
    names.ended(pod('c'));
    expect(granted()).toEqual(['b granted']);
  });

  test('one of several wanted pods goes on, because none of them would end for another', () => {
    for (const uid of ['a', 'b']) names.adopt(pod(uid));
    request('b');
    request('a');
    expect(granted()).toEqual(['a granted']);
    names.ended(pod('a'));
    expect(granted()).toEqual(['a granted', 'b granted']);
  });

  test('a new pod waits for all pods that ran before it, wanted or not', () => {
    names.adopt(pod('a'));
    request('new');
    request('a');
    expect(granted()).toEqual(['a granted']);
    names.ended(pod('a'));
    expect(granted()).toEqual(['a granted', 'new granted']);
  });
});
