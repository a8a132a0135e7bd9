/** A URL as logs and messages show it: without user and password, and without its query, which may hold a token. */
export function shownURL(url: string): string {
  const [address = '', query] = url.split(/[?#]/u, 2);
  const shown = address.replace(/^([a-z][a-z\d+.-]*:)?(\/\/)?[^/]*@/iu, '$1$2');
  return query === undefined ? shown : `${shown}?…`;
}
