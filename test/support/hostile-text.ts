/** A text that other programs or users may send to this program: in names, messages, answers. */

export const MARK = 'PWNED';

/** Sets a title, clears the screen, sets a colour by one character, and deletes, reverses and breaks text. */
export const HOSTILE = `\u001b]0;${MARK}\u0007\u001b[2J\u009b31m${MARK}\b\b\u202e${MARK}\u2066\u2028x\u2029\u200f\u061c\u200b\u007f\u0085`;

/** Characters that act on a terminal, and must not reach it. */
export const ACTING =
  // oxlint-disable-next-line no-control-regex -- it is about control characters
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e0fff}]|\p{Cs}/u;

/** For a shell: writes the hostile text. */
export const SAYING = `printf '${[...Buffer.from(HOSTILE)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')}'`;
