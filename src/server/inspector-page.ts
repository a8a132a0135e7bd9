/**
 * The page with Stately's inspector in a frame. The browser gets the events from the daemon through a WebSocket and posts them
 * to the frame. The socket is opened when the inspector says that it is ready, and again after each reload of it. Until then the page
 * says what it waits for: without that web site the frame stays empty.
 */
export const INSPECTOR_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Statelet inspector</title>
    <style>
      html, body { height: 100%; margin: 0 }
      body { display: flex; flex-direction: column; font: 16px/1.5 system-ui, sans-serif }
      p { margin: 0; padding: 1em; background: #fff4c2; color: #222 }
      iframe { flex: 1; border: 0 }
    </style>
  </head>
  <body>
    <p id="waiting" role="status">
      Waiting for Stately's inspector, which is a web site: this browser has to reach <a href="https://stately.ai/inspect">https://stately.ai</a>.
      Statelet's own page shows the same charts and needs no other site: <code>statelet run --ui</code>, and <code>statelet ui</code> opens it.
    </p>
    <iframe id="inspector" src="https://stately.ai/inspect" title="Stately inspector"></iframe>
    <script>
      const frame = document.getElementById('inspector');
      let socket;
      addEventListener('message', ({ source, origin, data }) => {
        const fromInspector = source === frame.contentWindow && /^https:\\/\\/([a-z0-9-]+\\.)*stately\\.ai$/.test(origin);
        if (!fromInspector || !data || data.type !== '@statelyai.connected') return;
        document.getElementById('waiting').hidden = true;
        if (socket) socket.close();
        socket = new WebSocket('ws://' + location.host);
        socket.onmessage = (message) => frame.contentWindow.postMessage(JSON.parse(message.data), origin);
      });
    </script>
  </body>
</html>
`;
