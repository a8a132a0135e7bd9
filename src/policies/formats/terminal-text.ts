/** Text for the cells of a terminal: its width, and text that is cut to a width. Colours (SGR sequences) take no room. */

// eslint-disable-next-line no-control-regex -- colours begin with ESC
const PIECES = /\u001b\[[\d;]*m|./gsu;
// eslint-disable-next-line no-control-regex -- control characters are what it finds
const CONTROL = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/gu;
/** East Asian characters and pictures take two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks above or below another character, and what only joins characters. */
const ZERO = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ESCAPE = '\u001b';
const RESET = '\u001b[0m';
const ELLIPSIS = '…';

/** Without control characters, which could move the cursor or change colours; line breaks stay. */
export function printable(text: string): string {
  return text.replace(CONTROL, ' ');
}

/** How many cells of a terminal the text takes. */
export function textWidth(text: string): number {
  return pieces(text).reduce((sum, piece) => sum + pieceWidth(piece), 0);
}

/** At most `width` cells. A text that was cut ends with an ellipsis. */
export function cutText(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let [room, kept, isColoured] = [width - 1, '', false];
  if (room < 0) return '';
  for (const piece of pieces(text)) {
    room -= pieceWidth(piece);
    if (room < 0) break;
    isColoured ||= piece.startsWith(ESCAPE);
    kept += piece;
  }
  return `${kept}${isColoured ? RESET : ''}${ELLIPSIS}`;
}

/** Filled up with blanks. */
export function padText(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - textWidth(text)));
}

/** Lines of at most `width` cells, broken between words; a word that is longer is cut. */
export function wrapText(text: string, width: number): readonly string[] {
  return text.split(' ').reduce<readonly string[]>((lines, word) => {
    const longer = [...lines.slice(-1), word].join(' ');
    const isRoom = lines.length > 0 && textWidth(longer) <= width;
    return isRoom ? [...lines.slice(0, -1), longer] : [...lines, cutText(word, width)];
  }, []);
}

function pieces(text: string): readonly string[] {
  return text.match(PIECES) ?? [];
}

function pieceWidth(piece: string): number {
  if (piece.length > 1 && piece.startsWith(ESCAPE)) return 0;
  if (ZERO.test(piece)) return 0;
  return WIDE.test(piece) ? 2 : 1;
}
