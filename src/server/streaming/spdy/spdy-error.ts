/** The peer broke the rules of SPDY/3.1; the connection cannot go on. */
export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}
