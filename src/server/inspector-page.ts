/**
 * The page with Stately's inspector in a frame. The browser gets the events from the daemon through a WebSocket and posts them
 * to the frame. The socket is opened when the inspector says that it is ready, and again after each reload of it.
 */
export const INSPECTOR_PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Statelet inspector</title>
    <style>html, body, iframe { display: block; width: 100%; height: 100%; margin: 0; border: 0 }</style>
  </head>
  <body>
    <iframe id="inspector" src="https://stately.ai/inspect" title="Stately inspector"></iframe>
    <script>
      const frame = document.getElementById('inspector');
      let socket;
      addEventListener('message', ({ source, origin, data }) => {
        const fromInspector = source === frame.contentWindow && /^https:\\/\\/([a-z0-9-]+\\.)*stately\\.ai$/.test(origin);
        if (!fromInspector || !data || data.type !== '@statelyai.connected') return;
        if (socket) socket.close();
        socket = new WebSocket('ws://' + location.host);
        socket.onmessage = (message) => frame.contentWindow.postMessage(JSON.parse(message.data), origin);
      });
    </script>
  </body>
</html>
`;
