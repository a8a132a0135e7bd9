/** Which part of a drawing is in its box: by buttons, wheel, keys, dragging and two fingers. */
import { html, type TemplateResult } from 'lit-html';

export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** The element on the screen. */
export interface Box {
  readonly width: number;
  readonly height: number;
}

const STEP = 1.25;
/** Screen pixels for one pixel of the drawing: smaller text cannot be read, larger text wastes room. */
const READABLE = 0.8;
const LARGE = 1.2;
const SMALLEST_PX = 120;
const PAN_SHARE = 0.15;

export class Camera {
  /** The drawing and the size of the box. When it changes, the camera starts anew. */
  #of = '';
  #whole: Rect = { x: 0, y: 0, width: 1, height: 1 };
  #rect: Rect = this.#whole;
  #box: Box = { width: 0, height: 0 };
  /** Where fingers touch the drawing, on the screen, by the ids of their pointers. */
  readonly #fingers = new Map<number, Point>();
  readonly #onChange: () => void;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** `focus`: the part to show where the whole would be too small to read. */
  look(of: string, whole: Rect, focus: Rect | undefined, box: Box): Rect {
    const name = `${of} ${box.width} ${box.height}`;
    if (name !== this.#of) {
      this.#of = name;
      this.#whole = whole;
      this.#box = box;
      this.#rect = inBox(whole, box, focus, READABLE);
    }
    return this.#rect;
  }

  get #fitting(): Rect {
    return inBox(this.#whole, this.#box, undefined, 0);
  }

  /** `factor` above 1 shows more. */
  zoom(factor: number, at: Point = centre(this.#rect)): void {
    const { x, y, width, height } = this.#rect;
    const next = Math.min(this.#fitting.width, Math.max(SMALLEST_PX, width * factor));
    const by = next / width;
    this.#set({ x: at.x - (at.x - x) * by, y: at.y - (at.y - y) * by, width: next, height: height * by });
  }

  fit(): void {
    this.#set(this.#fitting);
  }

  pan(right: number, down: number): void {
    const { x, y, width, height } = this.#rect;
    this.#set({ x: x + right, y: y + down, width, height });
  }

  /** Never further than the edge. */
  #set(rect: Rect): void {
    const { x, y, width, height } = this.#whole;
    this.#rect = {
      ...rect,
      x: within(rect.x, rect.width, x, width),
      y: within(rect.y, rect.height, y, height),
    };
    this.#onChange();
  }

  readonly wheel = (event: WheelEvent): void => {
    // When the whole drawing is in sight, the wheel scrolls the page.
    if (event.deltaY > 0 && this.#rect.width >= this.#fitting.width) return;
    event.preventDefault();
    this.zoom(event.deltaY > 0 ? STEP : 1 / STEP, pointOf(event));
  };

  readonly key = (event: KeyboardEvent): void => {
    const { width, height } = this.#rect;
    const acts: Readonly<Record<string, () => void>> = {
      '+': () => this.zoom(1 / STEP),
      '-': () => this.zoom(STEP),
      '0': () => this.fit(),
      ArrowLeft: () => this.pan(-width * PAN_SHARE, 0),
      ArrowRight: () => this.pan(width * PAN_SHARE, 0),
      ArrowUp: () => this.pan(0, -height * PAN_SHARE),
      ArrowDown: () => this.pan(0, height * PAN_SHARE),
    };
    const act = acts[event.key];
    if (act === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  };

  readonly fingerDown = ({ pointerType, pointerId, clientX: x, clientY: y }: PointerEvent): void => {
    if (pointerType === 'touch') this.#fingers.set(pointerId, { x, y });
  };

  readonly fingerUp = ({ pointerId }: PointerEvent): void => {
    this.#fingers.delete(pointerId);
  };

  /** With one finger the browser scrolls the page up and down. Only sideways moves arrive here. */
  readonly drag = (event: PointerEvent): void => {
    if (event.buttons !== 1) return;
    if (this.#fingers.size > 1) {
      this.#pinch(event);
      return;
    }
    const scale = this.#rect.width / (event.currentTarget as Element).clientWidth;
    this.pan(-event.movementX * scale, -event.movementY * scale);
  };

  /** The part between the fingers stays between them. */
  #pinch({ currentTarget, pointerId, clientX: x, clientY: y }: PointerEvent): void {
    const [one, other] = this.#fingers.values();
    this.#fingers.set(pointerId, { x, y });
    const [oneNow, otherNow] = this.#fingers.values();
    if (!one || !other || !oneNow || !otherNow) return;
    const { left, top, width } = (currentTarget as Element).getBoundingClientRect();
    const scale = this.#rect.width / width;
    const [before, after] = [middle(one, other), middle(oneNow, otherNow)];
    const at = { x: this.#rect.x + (before.x - left) * scale, y: this.#rect.y + (before.y - top) * scale };
    this.zoom(Math.max(1, distance(one, other)) / Math.max(1, distance(oneNow, otherNow)), at);
    const scaleNow = this.#rect.width / width;
    this.pan((before.x - after.x) * scaleNow, (before.y - after.y) * scaleNow);
  }

  buttons(): TemplateResult {
    return html`<div class="zooms" role="group" aria-label="Size of the chart">
      <button type="button" aria-label="Larger" @click=${() => this.zoom(1 / STEP)}>+</button>
      <button type="button" aria-label="Smaller" @click=${() => this.zoom(STEP)}>−</button>
      <button type="button" @click=${() => this.fit()}>Fit</button>
    </div>`;
  }
}

const middle = (one: Point, other: Point): Point => ({
  x: (one.x + other.x) / 2,
  y: (one.y + other.y) / 2,
});

const distance = (one: Point, other: Point): number => Math.hypot(one.x - other.x, one.y - other.y);

const centre = ({ x, y, width, height }: Rect) => ({ x: x + width / 2, y: y + height / 2 });

/** A point of the screen, in the coordinates of the drawing. */
function pointOf({ currentTarget, clientX, clientY }: MouseEvent): Point | undefined {
  const svg = (currentTarget as Element).querySelector('svg');
  const matrix = svg?.getScreenCTM()?.inverse();
  return matrix && new DOMPoint(clientX, clientY).matrixTransform(matrix);
}

/** A part that is no wider than the whole stays within it. A wider one has the whole in its middle. */
function within(from: number, size: number, wholeFrom: number, wholeSize: number): number {
  if (size >= wholeSize) return wholeFrom - (size - wholeSize) / 2;
  return Math.min(Math.max(from, wholeFrom), wholeFrom + wholeSize - size);
}

/** The size of the element for the drawing, no larger than the room. */
export function boxFor(whole: Rect, room: Box): Box {
  const scale = Math.min(LARGE, room.width / whole.width);
  return { width: room.width, height: Math.round(Math.min(room.height, whole.height * scale)) };
}

/** All of it, where that is not smaller than `least`; else the focus in the middle. Of the shape of the box. */
function inBox(whole: Rect, box: Box, focus: Rect | undefined, least: number): Rect {
  const fits = Math.min(LARGE, box.width / whole.width, box.height / whole.height);
  const scale = Math.max(fits, least);
  const [width, height] = [box.width / scale, box.height / scale];
  const { x, y } = centre(focus ?? whole);
  return {
    x: within(x - width / 2, width, whole.x, whole.width),
    y: within(y - height / 2, height, whole.y, whole.height),
    width,
    height,
  };
}
