/** Other parts' messages end with a full stop or without one: to put them into a sentence it is taken off. */
export function withoutStop(text: string): string {
  return text.replace(/(?<![.\s])[.\s]+$/u, '');
}
