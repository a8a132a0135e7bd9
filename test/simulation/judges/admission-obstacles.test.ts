import { describe, expect, test } from '@jest/globals';
import {
  admissionObstacles,
  insufficientResources,
  takenPorts,
} from '../../../src/simulation/judges/admission-obstacles.ts';
import { pod, withPort } from './admission-judge-bed.ts';

const ALLOCATABLE = { cpu: '4', memory: '4Gi', pods: '3' };

describe('insufficient resources', () => {
  test('none, if the requests of all pods together are just what is allocatable', () => {
    expect(insufficientResources(pod('a', '1'), [pod('b', '3')], ALLOCATABLE)).toEqual([]);
  });

  test('cpu, if there is one millicore too little', () => {
    expect(insufficientResources(pod('a', '1001m'), [pod('b', '3')], ALLOCATABLE)).toEqual(['cpu']);
  });

  test('pods, if there are as many as allowed already', () => {
    const others = ['b', 'c', 'd'].map((name) => pod(name, '1'));
    expect(insufficientResources(pod('a', '1'), others, ALLOCATABLE)).toEqual(['pods']);
  });

  test('a pod that requests none of a resource does not lack it', () => {
    expect(insufficientResources(pod('a', '0'), [pod('b', '5')], ALLOCATABLE)).toEqual([]);
  });
});

test('a host port is taken if another pod has it', () => {
  const others = [withPort(8080, pod('b')), withPort(8081, pod('c'))];
  expect(takenPorts(withPort(8081, pod('a')), others)).toEqual([8081]);
  expect(takenPorts(withPort(8082, pod('a')), others)).toEqual([]);
});

test('obstacles are insufficient resources and taken ports together', () => {
  const others = [withPort(8080, pod('b', '4'))];
  expect(admissionObstacles(withPort(8080, pod('a')), others, ALLOCATABLE)).toEqual(['cpu', 'port 8080']);
});
