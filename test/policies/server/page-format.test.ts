import { describe, expect, test } from '@jest/globals';
import { pageFormat, refusalType } from '../../../src/policies/server/page-format.ts';

const J = 'application/json;v=v1beta1;g=config.k8s.io;as=Statusz';
const shown = (accept: string): string => {
  const format = pageFormat(accept, 'Statusz');
  if (format === undefined) return 'none';
  return format.type === 'text' ? 'text' : `${format.type} ${format.version}`;
};

describe('the format of a page, as a kubelet 1.36.2 chose it', () => {
  test.each([
    ['', 'text'],
    ['*/*', 'text'],
    ['*', 'text'],
    ['text/*', 'text'],
    ['text/plain; charset=utf-8', 'text'],
    ['text/plain;foo=bar', 'text'],
    ['text/plain;q=0', 'text'],
    ['text/plain;q=abc', 'text'],
    ['text/html, */*;q=0.1', 'text'],
    ['application/json, text/plain', 'text'],
    ['garbage, text/plain', 'text'],
    [`text/plain, ${J}`, 'text'],
    [`text/plain;q=0.6,${J};q=0.5`, 'text'],
    [`${J};q=0,text/plain`, 'text'],
    [`text/plain;q=2,${J}`, 'text'],
    [J, 'json v1beta1'],
    [`${J};q=0`, 'json v1beta1'],
    [`${J};pretty=1`, 'json v1beta1'],
    [`${J};charset=utf-8`, 'json v1beta1'],
    [`${J};profile=x`, 'json v1beta1'],
    ['application/json; v=v1beta1 ; g=config.k8s.io ; as=Statusz', 'json v1beta1'],
    ['application/json;v=v1alpha1;g=config.k8s.io;as=Statusz', 'json v1alpha1'],
    ['application/*;v=v1beta1;g=config.k8s.io;as=Statusz', 'json v1beta1'],
    ['*/*;v=v1beta1;g=config.k8s.io;as=Statusz', 'json v1beta1'],
    [`text/plain;q=0.1, ${J}`, 'json v1beta1'],
    [`*/*;q=0.8,${J};q=0.1`, 'json v1beta1'],
    [`${J}, text/plain`, 'json v1beta1'],
    ['application/yaml;v=v1beta1;g=config.k8s.io;as=Statusz', 'yaml v1beta1'],
    ['application/json', 'none'],
    ['application/yaml', 'none'],
    ['application/*', 'none'],
    ['application/json;as=Statusz', 'none'],
    ['application/json;v=v1beta1;as=Statusz', 'none'],
    ['application/json;g=config.k8s.io;as=Statusz', 'none'],
    ['application/json;v=v1;g=config.k8s.io;as=Statusz', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io;as=statusz', 'none'],
    ['application/json;v=v1beta1;g=config.k8s.io;as=Flagz', 'none'],
    ['application/json;v="v1beta1";g="config.k8s.io";as="Statusz"', 'none'],
    ['application/json;V=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['APPLICATION/JSON;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['application/cbor;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['text/yaml;v=v1beta1;g=config.k8s.io;as=Statusz', 'none'],
    ['text/plain;as=Statusz;v=v1beta1;g=config.k8s.io', 'none'],
    ['text/plain;v=x', 'none'],
    ['text/html', 'none'],
    ['garbage', 'none'],
    [',,', 'none'],
    [';', 'none'],
  ])('%j: %s', (accept, format) => {
    expect(shown(accept)).toBe(format);
  });
});

describe('the format of the refusal', () => {
  test.each([
    ['text/html', 'json'],
    ['application/json', 'json'],
    ['application/*', 'json'],
    ['application/yaml', 'yaml'],
    ['text/html, application/yaml', 'yaml'],
    ['application/yaml;as=Statusz', 'json'],
  ])('%j: %s', (accept, type) => {
    expect(refusalType(accept)).toBe(type);
  });
});
