/** Text for a terminal: what may not stand in it, its width, and text that is cut to a width. Colours (SGR sequences) take no room. */

// oxlint-disable-next-line no-control-regex -- colours begin with ESC
const COLOUR = /\u001b\[[\d;]*m/;
const PIECES = new RegExp(`${COLOUR.source}|.`, 'gsu');
/**
 * Characters that are not seen but act: control characters, those that turn the direction of text, separators of lines and
 * paragraphs, halves of characters, and fillers without a glyph.
 */
const ACTING = String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]`;
/** Of these, line breaks and tabs, accents and forms of the character before, and Arabic signs around a number, which are seen. */
const HARMLESS = String.raw`[\n\t\p{M}\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\u{110bd}\u{110cd}]`;
/** Used between letters of scripts that join them, and in emoji of several characters. Elsewhere they are invisible and have no use. */
const JOINING = [
  String.raw`(?<=(?![\p{scx=Latn}\p{scx=Grek}\p{scx=Cyrl}])[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}])`,
  String.raw`(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})`,
].join('|');
const UNSEEN = new RegExp(`(?!${HARMLESS}|${JOINING})${ACTING}`, 'gu');
/** East Asian characters and pictures take two cells. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;
/** Marks above or below another character, and what only joins characters. */
const ZERO = /[\p{Mn}\p{Me}\p{Cf}]/u;
const ESCAPE = '\u001b';
const RESET = '\u001b[0m';
const ELLIPSIS = '…';

/**
 * Characters that act on a terminal are shown as JSON writes them (`\u001b`), so that JSON stays the same JSON. Line breaks and tabs
 * stay, and so does whatever people write with.
 */
export function printable(text: string): string {
  return text.replaceAll('\r\n', '\n').replace(UNSEEN, escaped);
}

/** The same for text with colours of our own, which stay. Texts of others in it have to be `printable` already. */
export function printableStyled(text: string): string {
  const colours = text.match(new RegExp(COLOUR, 'gu')) ?? [];
  return text
    .split(COLOUR)
    .map((part, index) => printable(part) + (colours[index] ?? ''))
    .join('');
}

/** In one line: a name or a message of others must not look like several. */
export function oneLine(text: string): string {
  return printable(text).replace(/[\n\t]+/gu, ' ');
}

/** What others say, in one line of at most about so many characters: no more of a long text is looked at. */
export function shortLine(text: string, lengthMax: number): string {
  const line = oneLine(text.slice(0, lengthMax + 1));
  return line.length > lengthMax ? `${line.slice(0, lengthMax)}${ELLIPSIS}` : line;
}

/** Of what a driver says in an error. */
const DRIVER_WORDS_MAX_LENGTH = 500;

/** What a driver says in an error, which becomes an event, in one line. */
export function driverWords(text: string): string {
  return shortLine(text, DRIVER_WORDS_MAX_LENGTH);
}

export function isPrintable(text: string): boolean {
  return text.search(UNSEEN) < 0;
}

/** Each half of a character by itself. */
function escaped(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
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
