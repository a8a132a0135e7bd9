/** How answers are written. The headers are those of the kubelet's own answers. */
import type { ServerResponse } from 'node:http';
import { goJSON } from '../../policies/formats/go-text.ts';

export const PLAIN_TEXT = 'text/plain; charset=utf-8';
export const JSON_TYPE = 'application/json';
/** Of answers that Go's http.Error writes, among others. */
export const NO_SNIFF = { 'X-Content-Type-Options': 'nosniff' } as const;

type Headers = Readonly<Record<string, string>>;

/** Node leaves the body out for HEAD. */
export function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  headers: Headers = {},
): void {
  const length = Buffer.byteLength(body);
  response.writeHead(status, { 'Content-Type': PLAIN_TEXT, ...headers, 'Content-Length': length }).end(body);
}

/** `indent` as in `goJSON`. */
export function answerJSON(
  response: ServerResponse,
  value: unknown,
  indent = 0,
  headers: Headers = {},
): void {
  answer(response, 200, goJSON(value, indent), { 'Content-Type': JSON_TYPE, ...headers });
}
