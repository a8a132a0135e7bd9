/** What the page asks for. Values of secrets and of the environment are left out, at the owner's socket too. */
import { RequestError, type Route } from '../routes/route.ts';
import { streamChart, streamPod } from './look-stream.ts';
import { streamOverview } from './overview-stream.ts';
import type { PageSource } from './page-source.ts';

/** The first part of all paths. */
export const PAGE_ROUTES = '/ui/';
/** Each takes a connection, and some work. */
const STREAMS_MAX = 24;

/** `source`: asked for when the first page is opened. */
export function pageRoutes(source: () => Promise<PageSource>): readonly Route[] {
  let open = 0;
  const route = (
    path: string,
    stream: (from: PageSource, ...of: Parameters<Route['handle']>) => void,
  ): Route => ({
    path,
    methods: ['GET'],
    handle: async (request, response) => {
      if (open >= STREAMS_MAX) throw TOO_MANY;
      open += 1;
      response.once('close', () => (open -= 1));
      const from = await source();
      if (!response.destroyed) stream(from, request, response);
    },
  });
  return [
    route('/ui/overview', (from, _, response) => streamOverview(from, response)),
    route('/ui/pod/:namespace/:name', (from, { params: { namespace = '', name = '' } }, response) =>
      streamPod(from, { namespace, name }, response),
    ),
    route('/ui/chart/:chart', (from, { params: { chart = '' } }, response) =>
      streamChart(from, chart, response),
    ),
  ];
}

const TOO_MANY = new RequestError(503, 'too many pages are open\n');
