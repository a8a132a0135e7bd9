/** For `sort`: as Go compares texts; `localeCompare` would sort by language. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
